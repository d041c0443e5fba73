"""Compares how consents, payments, authorisations and baskets behave: the chains of their states, the answers in each
state, and the times. Compares two recordings, or a recording and a bank as it is now.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from typing import Literal

from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.compare.difference import Severity
from xs2a_sandbox.compare.states import THINGS, Asked, Thing, find_used_consent, is_decided, reported_state, resource
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.exchange import Exchange

DELETED = "(deleted)"


@dataclass(frozen=True, slots=True)
class StateVisit:
    """The time in one state: `seconds` until another was reported, shortest and longest, or None if none was.

    `answers` are the statuses of each operation during that time.
    """

    state: str
    seconds: tuple[float, float] | None
    answers: Mapping[str, frozenset[int]]

    @property
    def took(self) -> str:
        if self.seconds is None:
            return ""
        short, long = (f"{value:.3g}" for value in self.seconds)
        return f"{short} s" if short == long else f"{short} to {long} s"


@dataclass(frozen=True, slots=True)
class Chain:
    """The states that some things went through, in order."""

    thing: Thing
    stays: tuple[StateVisit, ...]
    times: int

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(stay.state for stay in self.stays)

    def __str__(self) -> str:
        parts = [f"{stay.state} –{stay.took}→" if stay.took else stay.state for stay in self.stays]
        return f"{' '.join(parts)} ({self.times} ×)"


@dataclass(frozen=True, slots=True)
class BehaviourDifference:
    """A difference in behaviour. `then` and `now` describe the two sides.

    `chain`: one side never shows this chain; the most similar one is reported with it. `answer`: in the same state of
    the same chain an operation has another answer.
    """

    kind: Literal["chain", "answer"]
    severity: Severity
    thing: Thing
    place: str
    then: str
    now: str


@dataclass(frozen=True, slots=True)
class BehaviourComparison:
    """`then` and `now` are the names of the two sides, followed by the chains of each.

    `alone` are things that only one side has.
    """

    then: str
    now: str
    chains_then: tuple[Chain, ...]
    chains_now: tuple[Chain, ...]
    differences: tuple[BehaviourDifference, ...]
    alone: tuple[Thing, ...]


@dataclass(eq=False, slots=True)
class _History:
    thing: Thing
    states: list[tuple[str, datetime]] = field(default_factory=list)
    answers: list[dict[str, set[int]]] = field(default_factory=list)

    def enter(self, state: str, at: datetime) -> None:
        if not self.states or self.states[-1][0] != state:
            self.states.append((state, at))
            self.answers.append(defaultdict(set))


def chains(exchanges: Iterable[Exchange], index: Index) -> tuple[Chain, ...]:
    """Return the different chains, with the number of things that went through each."""
    things = index.interface.things
    authorised = things["consent"].authorised
    lives: dict[tuple[Thing, str], _History] = {}
    for exchange in exchanges:
        asked = Asked.in_exchange(index, exchange)
        answer = content.read(exchange.answer_body)
        state = reported_state(asked, answer) if exchange.status < 400 else None
        if state:
            lives.setdefault((state.thing, state.id), _History(state.thing)).enter(state.state, exchange.time)
        consent = asked.consent
        key = resource(asked, None) or (("consent", consent) if consent else None)
        life = lives.get(key) if key else None
        if life is None or key is None:
            continue
        before = life.states[-1][0]
        if find_used_consent(asked, exchange) and before != DELETED and not is_decided(things, "consent", before):
            life.enter(authorised or before, exchange.time)
        operation = asked.lookup.operation
        if operation and operation.does and exchange.status < 300:
            verb, thing, _ = operation.does
            if (verb, thing) == ("end", key[0]):
                life.enter(DELETED, exchange.time)
        if operation:
            life.answers[-1][operation.id].add(exchange.status)
    alike: dict[tuple[Thing, tuple[str, ...]], list[_History]] = {}
    for life in lives.values():
        alike.setdefault((life.thing, tuple(state for state, _ in life.states)), []).append(life)
    return tuple(
        Chain(thing, tuple(_stay(state, number, ones) for number, state in enumerate(states)), len(ones))
        for (thing, states), ones in sorted(alike.items(), key=lambda item: (THINGS.index(item[0][0]), item[0][1]))
    )


def _stay(state: str, number: int, lives: Sequence[_History]) -> StateVisit:
    spans = [
        (life.states[number + 1][1] - life.states[number][1]).total_seconds()
        for life in lives
        if number + 1 < len(life.states)
    ]
    answers: dict[str, set[int]] = defaultdict(set)
    for life in lives:
        for operation, statuses in life.answers[number].items():
            answers[operation] |= statuses
    seconds = (min(spans), max(spans)) if spans else None
    return StateVisit(
        state, seconds, {operation: frozenset(statuses) for operation, statuses in sorted(answers.items())}
    )


def behaviour(then: str, now: str, chains_then: Sequence[Chain], chains_now: Sequence[Chain]) -> BehaviourComparison:
    """Compare chains. `then` and `now` are the names of the two sides."""
    differences: list[BehaviourDifference] = []
    alone: list[Thing] = []
    for thing in THINGS:
        before = {chain.states: chain for chain in chains_then if chain.thing == thing}
        after = {chain.states: chain for chain in chains_now if chain.thing == thing}
        if bool(before) != bool(after):
            alone.append(thing)
            continue
        for states in before.keys() - after.keys():
            other = _find_nearest(states, after.values())
            severity = _severity(states, after)
            differences.append(
                BehaviourDifference("chain", severity, thing, _place(states), str(before[states]), str(other))
            )
        for states in after.keys() - before.keys():
            other = _find_nearest(states, before.values())
            severity = _severity(states, before)
            differences.append(
                BehaviourDifference("chain", severity, thing, _place(states), str(other), str(after[states]))
            )
        for states in before.keys() & after.keys():
            differences += _answers(thing, before[states], after[states])
    ordered = sorted(
        differences,
        key=lambda difference: (
            THINGS.index(difference.thing),
            difference.kind != "chain",
            difference.place,
            difference.then,
        ),
    )
    return BehaviourComparison(then, now, tuple(chains_then), tuple(chains_now), tuple(ordered), tuple(alone))


def _answers(thing: Thing, before: Chain, after: Chain) -> Iterable[BehaviourDifference]:
    for then, now in zip(before.stays, after.stays, strict=True):
        for operation in then.answers.keys() & now.answers.keys():
            if then.answers[operation] != now.answers[operation]:
                place = f"{operation} while {then.state} in {_place(before.states)}"
                statuses = [", ".join(map(str, sorted(side.answers[operation]))) for side in (then, now)]
                yield BehaviourDifference("answer", "high", thing, place, *statuses)


def _place(states: Sequence[str]) -> str:
    return " → ".join(states)


def _find_nearest(states: Sequence[str], others: Iterable[Chain]) -> Chain:
    return max(others, key=lambda chain: SequenceMatcher(None, states, chain.states, autojunk=False).ratio())


def _severity(states: Sequence[str], others: Collection[tuple[str, ...]]) -> Severity:
    """Return `low` if one chain is another minus some states between the same ends, otherwise `high`.

    With missing states, the client may just have polled less often.
    """
    return "low" if any(_skips(states, other) or _skips(other, states) for other in others) else "high"


def _skips(states: Sequence[str], other: Sequence[str]) -> bool:
    left = iter(other)
    return (
        len(states) > 1 and states[0] == other[0] and states[-1] == other[-1] and all(state in left for state in states)
    )
