"""Leaves out the end of a long recording if it only repeats what is known: learning then takes no longer."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from xs2a_sandbox.features.derive.unknown.recorded.places import anywhere, leaves
from xs2a_sandbox.features.derive.unknown.recorded.recorded_ids import RecordedIds, find_ids
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, see
from xs2a_sandbox.recording.tape import Tape

_ENOUGH = 300
"""A recording with no more exchanges is used as a whole."""
_SAMPLES = 5
"""What has occurred so often is no longer new."""
_WORDS = 20
"""The values of a member with more different ones are not words, such as states."""


def cut_repetition(tape: Tape) -> Tape:
    """Return the recording up to the last exchange that shows something new.

    Only the end can be left out: balances, limits and states depend on everything before.
    """
    if len(tape.entries) <= _ENOUGH:
        return tape
    count = _find_last(see(tape))
    return replace(tape, entries=tape.entries[:count], keys=tape.keys[:count], places=tape.places[:count])


def _find_last(seen: Sequence[SeenExchange]) -> int:
    """Return the number of the last exchange to learn from."""
    shown = list(_shown(seen, find_ids(seen)))
    wanted = {what: min(count, _SAMPLES) for what, count in Counter(what for own in shown for what in own).items()}
    last = _ENOUGH
    for one, own in zip(seen, shown, strict=True):
        for what in own:
            wanted[what] -= 1
            if not wanted[what]:
                last = max(last, one.number)
    return last


def _shown(seen: Sequence[SeenExchange], ids: RecordedIds) -> Iterator[set[Hashable]]:
    """Yield what each exchange shows: its operation, status and members, and the words and codes of members."""
    told = [list(_values(one, _operation(one, ids))) for one in seen]
    values: defaultdict[Hashable, set[object]] = defaultdict(set)
    for where, value in (pair for own in told for pair in own if _could_be_word(pair[1], ids)):
        values[where].add(value)
    for own in told:
        yield {
            *((where, type(value)) for where, value in own),
            *(pair for pair in own if _could_be_word(pair[1], ids) and len(values[pair[0]]) <= _WORDS),
        }


def _could_be_word(value: object, ids: RecordedIds) -> bool:
    """Return whether a value could be a word or a number for a state or an error."""
    is_text = isinstance(value, str) and not any(map(str.isdecimal, value)) and not ids.has(value)
    return is_text or type(value) is int


def _operation(one: SeenExchange, ids: RecordedIds) -> Hashable:
    return one.method, tuple("" if ids.has(segment) else segment for segment in one.path)


def _values(one: SeenExchange, operation: Hashable) -> Iterator[tuple[Hashable, object]]:
    yield from (((operation, anywhere(place)), value) for place, value in one.slots())
    answer = {"status": str(one.status), "body": one.document}
    yield from (((operation, one.status, anywhere(place)), value) for place, value in leaves(answer))
