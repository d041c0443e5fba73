"""The states that a bank's things went through, and their meaning in a documented state machine.

The states are counted by the operations that reported them.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xs2a_sandbox.compare.states import Thing, reported_state
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.http.body import Content

type Arrows = Collection[tuple[str, str]]

_SETTLED = "AC"
"""The beginning of ISO 20022's words for payments that proceed."""
_EXECUTES = "ACSP"
_NOTHING = "none"


class StateReport(NamedTuple):
    """A word for the state of a thing, and where it was reported.

    `deleted` means that the thing had been deleted before.
    """

    word: str
    operation: str
    place: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class StateSequences:
    """`lives` are the words reported for each thing, in order; `meanings` are the corresponding documented states.

    `after_delete` are words reported for deleted things, and where.
    """

    lives: Mapping[tuple[Thing, str], Sequence[StateReport]]
    meanings: Mapping[tuple[Thing, str], str]
    after_delete: Mapping[Thing, StateReport]
    unknown: tuple[str, ...]

    def meaning(self, thing: Thing, word: str) -> str:
        return self.meanings.get((thing, word), word)

    def words(self, operation: str) -> dict[str, str]:
        """Return the bank's words by documented state, if this operation reports other words."""
        counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (thing, _), tellings in self.lives.items():
            for telling in tellings:
                if telling.operation == operation and (thing, telling.word) in self.meanings:
                    counted[self.meanings[thing, telling.word]][telling.word] += 1
        most = {state: words.most_common(1)[0][0] for state, words in counted.items()}
        return {state: word for state, word in most.items() if word != state}

    def find_last(self, thing: Thing) -> dict[str, list[str]]:
        """Return the last reported words of things whose state changed, with their places."""
        words: dict[str, list[str]] = {}
        for (other, _), tellings in self.lives.items():
            if other == thing and len({telling.word for telling in tellings}) > 1:
                words.setdefault(tellings[-1].word, []).append(tellings[-1].place)
        return words

    def tells(self, thing: Thing, word: str) -> bool:
        return any(
            telling.word == word for (other, _), ones in self.lives.items() if other == thing for telling in ones
        )

    @property
    def transitions(self) -> Counter[tuple[Thing, str, str, str]]:
        """The number of changes from one word to another, by the operation that reported them."""
        counted: Counter[tuple[Thing, str, str, str]] = Counter()
        for (thing, _), tellings in self.lives.items():
            before = _NOTHING
            for telling in tellings:
                if telling.word != before:
                    counted[thing, before, telling.operation, telling.word] += 1
                before = telling.word
        return counted


def courses(
    exchanges: Iterable[RecognisedExchange], arrows: Mapping[Thing, Arrows], beginnings: Mapping[Thing, str]
) -> StateSequences:
    """Return the sequences. `arrows` are those of the documented machines, `beginnings` the initial states."""
    lives: dict[tuple[Thing, str], list[StateReport]] = {}
    deleted: set[tuple[Thing, str]] = set()
    for exchange in exchanges:
        if exchange.operation is None or not exchange.succeeded:
            continue
        if now := reported_state(exchange.asked, Content("json", exchange.answer)):
            key = now.thing, now.id
            lives.setdefault(key, []).append(
                StateReport(now.state, exchange.operation.id, exchange.place, key in deleted)
            )
        if exchange.does and exchange.does.verb == "end":
            deleted |= {key for key in lives if key[1] == exchange.id_about(key[0])}
    meanings: dict[tuple[Thing, str], str] = {}
    unknown: list[str] = []
    after_delete = {key[0]: telling for key, ones in lives.items() for telling in ones if telling.deleted}
    for (thing, _), tellings in lives.items():
        words = [telling for telling in tellings if not telling.deleted]
        for telling, state in zip(words, _states(words, arrows[thing], beginnings.get(thing)), strict=True):
            if state is None:
                text = f"{telling.word!r} ({telling.place}) is not a state that the documented {thing} can reach"
                unknown.append(text)
            elif meanings.setdefault((thing, telling.word), state) != state:
                unknown.append(
                    f"{telling.word!r} of a {thing} means {meanings[thing, telling.word]} and ({telling.place}) "
                    f"{state}; the dialect uses the former"
                )
    learned = StateSequences(lives, meanings, after_delete, tuple(dict.fromkeys(unknown)))
    return replace(learned, unknown=(*learned.unknown, *_find_ambiguous(learned)))


def _states(words: Sequence[StateReport], arrows: Arrows, beginning: str | None) -> list[str | None]:
    """Map each word to a documented state: the same word if it is reachable, otherwise a state on the way.

    None if there is no such state.
    """
    states: list[str | None] = []
    now = _NOTHING
    for position, telling in enumerate(words):
        if position and telling.word == words[position - 1].word:
            states.append(states[-1])
            continue
        later = [word.word for word in words[position + 1 :] if word.word != telling.word]
        state = _state(telling.word, now, later, arrows, beginning)
        states.append(state)
        now = state or now
    return states


def _state(word: str, now: str, later: Sequence[str], arrows: Arrows, beginning: str | None) -> str | None:
    if now == _NOTHING:
        starts = {to for before, to in arrows if before == _NOTHING}
        return word if word in starts or (beginning is None and word in find_reachable(now, arrows)) else beginning
    if word == now or word in find_reachable(now, arrows):
        return word
    ahead = find_reachable(now, arrows)
    settled = [word for word in ahead if word.startswith(_SETTLED)]
    if any(word in ahead or (settled and word.startswith(_SETTLED)) for word in later):
        return now  # another word on the way to states that are reachable in the documented machine as well
    if word.startswith(_SETTLED) and (settled or now.startswith(_SETTLED)):
        return _EXECUTES if _EXECUTES in settled else now
    return None


def find_reachable(state: str, arrows: Arrows) -> set[str]:
    """Return all states that can still be reached."""
    ahead: set[str] = set()
    near = {state}
    while near:
        near = {to for before, to in arrows if before in near} - ahead
        ahead |= near
    return ahead


def _find_ambiguous(courses: StateSequences) -> Iterable[str]:
    for operation in sorted({telling.operation for ones in courses.lives.values() for telling in ones}):
        counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (thing, _), tellings in courses.lives.items():
            for telling in tellings:
                if telling.operation == operation and (thing, telling.word) in courses.meanings:
                    counted[courses.meanings[thing, telling.word]][telling.word] += 1
        for state, words in counted.items():
            if len(words) > 1:
                variants = ", ".join(f"{word} ({number} ×)" for word, number in words.most_common())
                yield f"{operation} reports {variants} for {state}; the requests do not show when it uses which"
