"""A guess: the steps that were recorded for things of one kind, such as authorising a consent, are those for others.

They are told once more for a thing of the other kind: with new ids, the path and the states of a payment. What is told
in this way is learned like what was recorded.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.unknown.recorded.places import anywhere, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, as_seen, parts
from xs2a_sandbox.features.derive.unknown.states.machines import ByRequest, StateMachine
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, StateChange, ThingKind, World
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.messages import to_json
from xs2a_sandbox.recording.tape import Tape

_ATTEMPTS = 9
"""How often another id is tried, because it can be the same by chance."""

type _Machines = Mapping[ThingKind, StateMachine]
type _Shape = tuple[str, tuple[str | None, ...], int, frozenset[str], frozenset[str]]
"""How a step looks: method, path below the word, status, and the members of the request and of the answer."""


@dataclass(frozen=True)
class _Steps:
    """The exchanges at a `word` below the path of a thing, such as `authorisations`, with the same `id` there.

    `at` is the place of the word in their paths. The exchanges `before` have made the thing, and brought it so far.
    """

    thing: LearnedThing
    word: str
    at: int
    id: str
    before: Sequence[SeenExchange]
    seen: Sequence[SeenExchange]

    @property
    def owner(self) -> str:
        return str(self.thing.keys[self.thing.kind.id][0])

    @property
    def starts(self) -> list[SeenExchange]:
        """The requests that have made what the steps are about. There is none if it was made with the thing."""
        return [one for one in self.seen if len(one.path) == self.at + 1]

    @property
    def ends_well(self) -> bool:
        return self.seen[-1].status < 400

    @property
    def path(self) -> str:
        """The path of all things of the kind."""
        return "/" + "/".join(self.seen[0].path[: self.at - 1])

    def state(self, number: int, first: Any) -> Any:
        """Return the state of the thing after the exchange with this number."""
        before = [change.state for change in self.thing.changes if change.number <= number]
        return before[-1] if before else first


@dataclass(frozen=True)
class CarriedOver:
    """Exchanges that were not recorded, with numbers after those of the recording.

    `changes` are those of the state by one of them, with the number of the exchange that made the thing.
    """

    seen: list[SeenExchange] = field(default_factory=list)
    changes: list[tuple[int, ByRequest]] = field(default_factory=list)

    def add_changes(self, machines: _Machines) -> None:
        """Add the changes of states that no answer shows."""
        things = {thing.created.number: thing for kind in machines for thing in kind.things}
        for number, change in self.changes:
            thing = things.get(number)
            machine = machines.get(thing.kind) if thing else None
            if thing and machine and all(known.number != change.one.number for known in thing.changes):
                thing.changes.append(StateChange(change.one.number, change.after, "request"))
                machine.by_request.append(change)


def carry_over(tape: Tape, seen: Sequence[SeenExchange], world: World, machines: _Machines) -> CarriedOver:
    """Return the steps of each kind of things that were only recorded for others. `seen` is the recording."""
    groups: defaultdict[tuple[ThingKind, str], list[_Steps]] = defaultdict(list)
    for steps in _find_steps(world):
        groups[steps.thing.kind, steps.word].append(steps)
    names = {machine.member for machine in machines.values()}
    number = seen[-1].number
    carried = CarriedOver()
    for key, own in groups.items():
        target = min(own, key=lambda steps: (len(steps.before), steps.thing.created.number))
        known = {_shape(world, steps, one, names) for steps in own for one in steps.seen}
        for other, theirs in groups.items():
            for steps in theirs if other != key and _are_alike(known, world, theirs, names) else ():
                shapes = {_shape(world, steps, one, names) for one in steps.seen}
                states = None if shapes <= known else _map_states(machines, target, own, steps, theirs)
                if states is not None:
                    known |= shapes
                    told = list(_tell(tape, world, machines, target, steps, states, number + len(carried.seen)))
                    changes = machines[steps.thing.kind].by_request
                    carried.changes.extend((told[0].number, change) for change in _move(changes, told, states))
                    carried.seen.extend(told)
    return carried


def _move(changes: Sequence[ByRequest], told: Sequence[SeenExchange], states: Mapping[Any, Any]) -> Iterator[ByRequest]:
    """Yield the changes by the steps as changes by what was told of them."""
    by_source = {one.like: one for one in told if not one.is_copy}
    for change in changes:
        before, after = states.get(change.before), states.get(change.after)
        if change.one.number in by_source and before != after:
            yield ByRequest(before, after, by_source[change.one.number])


def _find_steps(world: World) -> Iterator[_Steps]:
    found: defaultdict[tuple[LearnedThing, int], list[SeenExchange]] = defaultdict(list)
    for operation in world.operations:
        for kind in world.kinds:
            at = len(kind.made_by.pattern) + 1
            is_below = operation.pattern[: at - 1] == kind.made_by.pattern and len(operation.pattern) > at
            if is_below and operation.pattern[at - 1] is None and operation.pattern[at] is not None:
                things = {str(thing.keys[kind.id][0]): thing for thing in kind.things}
                for one in operation.seen:
                    if one.path[at - 1] in things:
                        found[things[one.path[at - 1]], at].append(one)
    every = sorted((one for operation in world.operations for one in operation.seen), key=lambda one: one.number)
    for (thing, at), seen in found.items():
        for word, id in dict.fromkeys(one.path[at : at + 2] for one in seen if len(one.path) == at + 2):
            own = [one for one in seen if one.path[at : at + 2] == (word, id)]
            own += [one for one in seen if one.path[at:] == (word,) and id in _told_by(one)]
            own.sort(key=lambda one: one.number)
            below = [one for one in every if one.path[:at] == own[0].path[:at] and one.number < own[0].number]
            before = [one for one in below if one.method != "GET" and world.is_ok[one]]
            yield _Steps(thing, word, at, id, (thing.created, *before), own)


def _told_by(one: SeenExchange) -> set[str]:
    return {text for _, value in answer_values(one) for text in parts(value)}


def _shape(world: World, steps: _Steps, one: SeenExchange, states: set[str]) -> _Shape:
    sent, told = (
        frozenset(".".join(map(str, anywhere(place))) for place, _ in leaves(document))
        for document in (one.body, one.document)
    )
    return one.method, world.operation_of[one].pattern[steps.at + 1 :], one.status, sent, told - states


def _are_alike(known: set[_Shape], world: World, theirs: Sequence[_Steps], states: set[str]) -> bool:
    """Return whether a good answer to one of their steps has mostly the same members as one to an own step."""
    others = {_shape(world, steps, one, states) for steps in theirs for one in steps.seen}
    return any(
        (mine[0], mine[1]) == (other[0], other[1]) and len(mine[4] & other[4]) * 2 > len(mine[4] | other[4])
        for mine in known
        for other in others
        if max(mine[2], other[2]) < 300 and mine[0] != "GET" and mine[1]
    )


def _map_states(
    machines: _Machines, target: _Steps, own: Sequence[_Steps], steps: _Steps, theirs: Sequence[_Steps]
) -> dict[Any, Any] | None:
    """Return the states of the target's kind by those of the other one, or None if the end of the steps has none."""
    mine, other = machines.get(target.thing.kind), machines.get(steps.thing.kind)
    if mine is None or other is None:
        return None
    begins = steps.state(steps.seen[0].number - 1, other.first)
    states = {begins: target.state(target.seen[0].number - 1, mine.first)}
    for one, to in ((one, to) for one in theirs for to in own if one.ends_well and to.ends_well):
        end, goal = one.state(one.seen[-1].number, other.first), to.state(to.seen[-1].number, mine.first)
        if end != begins and goal != states[begins]:
            states.setdefault(end, goal)
    ends = steps.state(steps.seen[-1].number, other.first)
    if ends not in states and steps.ends_well:
        return None
    declined = guess_word("declined", mine) if steps.word == target.word else states[begins]
    for word in (*other.words, *(word for thing in other.kind.things for _, word in thing.states)):
        states.setdefault(word, declined)
    return states


def _tell(
    tape: Tape,
    world: World,
    machines: _Machines,
    target: _Steps,
    steps: _Steps,
    states: Mapping[Any, Any],
    number: int,
) -> Iterator[SeenExchange]:
    """Yield what makes a thing of the target's kind, and the steps as steps of this thing."""
    random = Random(number)
    owner, id = _write_like(target.owner, random), _write_like(target.id, random)
    own = {target.owner: owner, target.id: id}
    theirs = {
        f"{steps.path}/{steps.owner}/{steps.word}": f"{target.path}/{owner}/{target.word}",
        f"{steps.path}/{steps.owner}": f"{target.path}/{owner}",
        steps.owner: owner,
        steps.id: id,
    }
    before = [*target.before, *(() if steps.starts else target.starts)]
    after = [one for one in steps.seen if one not in steps.starts or target.starts]
    members = machines[steps.thing.kind].member, machines[target.thing.kind].member
    for one in (*before, *after):
        is_copy = one in before
        names = own if is_copy else theirs
        for text in _find_own(world, one):
            names.setdefault(text, _write_like(text, random))
        number += 1
        entry = _rename(tape.entries[one.number - 1], names)
        if not is_copy and members[0] != members[1]:
            entry = replace(entry, answer_body=_change_states(entry.answer_body, members, states))
        time = steps.thing.created.time if is_copy else one.time
        seen = replace(as_seen(number, one.place, entry), time=time, has_pseudonyms=one.has_pseudonyms)
        yield replace(seen, like=one.number, is_copy=is_copy)


def _find_own(world: World, one: SeenExchange) -> Iterator[str]:
    """Yield the ids that only this request has, such as its own, and the keys of what it has made."""
    yield from (value for value in one.headers.values() if FORMATS["uuid"](value))
    if made := world.made(one):
        yield from made.key_texts
        texts = (value for _, value in leaves(one.body) if isinstance(value, str) and not FORMATS["iban"](value))
        yield from (text for text in texts if world.ids.has(text) and world.users.get(text) == {made.kind.made_by})


def _write_like(text: str, random: Random) -> str:
    """Return another id of the same form: its later half has other characters, of those that it has."""
    half = len(text) // 2
    classes = [[letter for letter in text if letter in ones] for ones in (digits, ascii_lowercase, ascii_uppercase)]
    classes[0] = classes[0] and list(digits)

    def choose(letter: str) -> str:
        return next((random.choice(ones) for ones in classes if letter in ones), letter)

    made = (text[:half] + "".join(map(choose, text[half:])) for _ in range(_ATTEMPTS))
    return next((one for one in made if one != text), text)


def _rename(entry: Exchange, names: Mapping[str, str]) -> Exchange:
    # A path may follow the address of the bank.
    longest_first = sorted(names, key=len, reverse=True)
    every = "|".join(("" if name[0] == "/" else r"(?<!\w)") + re.escape(name) for name in longest_first)
    known = re.compile(rf"(?:{every})(?![A-Za-z0-9])")

    def change(text: str) -> str:
        return known.sub(lambda found: names[found[0]], text)

    return replace(
        entry,
        target=change(entry.target),
        headers=Headers((name, change(value)) for name, value in entry.headers),
        body=change(entry.body.decode("latin-1")).encode("latin-1"),
        answer_headers=Headers((name, change(value)) for name, value in entry.answer_headers),
        answer_body=change(entry.answer_body.decode("latin-1")).encode("latin-1"),
    )


def _change_states(content: bytes, members: tuple[str, str], states: Mapping[Any, Any]) -> bytes:
    """Give the member for states in a JSON document the name and the words of the other kind."""
    said = body.read(content)

    def change(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(change_member(name, inner) for name, inner in value.items())
        return [change(inner) for inner in value] if isinstance(value, list) else value

    def change_member(name: str, value: Any) -> tuple[str, Any]:
        is_state = name == members[0] and isinstance(value, str | int) and value in states
        return (members[1], states[value]) if is_state else (name, change(value))

    return to_json(change(said.value)) if said.kind == "json" else content
