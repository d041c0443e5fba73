"""Lists of prompts, as on the customer's phone: each asks for a decision about something that the app has made."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.places import value_at
from xs2a_sandbox.features.derive.unknown.scopes import plural
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind
from xs2a_sandbox.features.derive.unknown.written.sources import below
from xs2a_sandbox.features.derive.unknown.written.thing_entries import find_members
from xs2a_sandbox.features.derive.unknown.written.thing_states import tell_apart

type _Pairs = Sequence[tuple[LearnedThing, Mapping[str, Any]]]
_LEAST = 3
"""The least letters of a text that an entry repeats."""


def write_prompts(learned: LearnedInterface, operation: LearnedOperation) -> dict[str, Any]:
    """Return the named values with the entries of a list of prompts, by kind of thing, and with all of them."""
    lets: dict[str, Any] = {}
    for kind in learned.world.kinds:
        if key := kind.prompts_of(operation):
            pairs = list(_pairs(learned, operation, kind, key))
            when = " and ".join(_conditions(learned, operation, kind, [thing for thing, _ in pairs]))
            every = {"each": braced(f"let.{plural(kind)}"), "as": "thing", "when": when}
            lets[f"asking_{kind.name}"] = {**every, "give": _write_entry(pairs)}
    newest = " | reverse | list" if learned.listings[operation].is_newest_first and len(lets) == 1 else ""
    return {**lets, "entries": braced(" + ".join(f"let.{name}" for name in lets) + newest)} if lets else {}


def _pairs(
    learned: LearnedInterface, operation: LearnedOperation, kind: ThingKind, key: str
) -> Iterator[tuple[LearnedThing, Mapping[str, Any]]]:
    """Yield the things with their entries, as often as one was shown."""
    for one in operation.seen:
        for row in value_at(one.document, learned.listings[operation].place) or ():
            shown = {str(value) for value in row.values()}
            yield from ((thing, row) for thing in kind.things if key in thing.keys and str(thing.keys[key][0]) in shown)


def _conditions(
    learned: LearnedInterface, operation: LearnedOperation, kind: ThingKind, shown: Sequence[LearnedThing]
) -> Iterator[str]:
    """Yield what is true for things that have an entry: their state, and what only their requests have."""
    named = [
        (one, thing) for one in operation.seen for thing in shown if str(thing.keys[kind.id][0]) in str(one.document)
    ]
    states = (learned.scopes.snapshot(thing, one, after=False)["state"] for one, thing in named)
    yield f"thing.state in {literal(list(dict.fromkeys(states)))}"
    mine = [thing.created.body for thing in shown]
    others = [thing.created.body for thing in kind.things if thing not in shown]
    yield from islice(tell_apart(learned.scopes, mine, others, "thing.sent") if others else (), 1)


def _write_entry(pairs: _Pairs) -> dict[str, Any]:
    known, (thing, row) = find_members(pairs), pairs[0]
    return {name: known.get(name) or _compose(thing, value, name, pairs) for name, value in row.items()}


def _compose(thing: LearnedThing, value: Any, name: str, pairs: _Pairs) -> Any:
    """Return a text with what it repeats of a thing's request, if every entry repeats the same."""
    made = value
    for source, sent in below("thing.sent", thing.created.body) if isinstance(value, str) else ():
        if isinstance(sent, str) and len(sent) >= _LEAST:
            made = made.replace(sent, braced(source))
    return made if all(_fill(made, thing) == row.get(name) for thing, row in pairs) else value


def _fill(text: Any, thing: LearnedThing) -> Any:
    for source, sent in below("thing.sent", thing.created.body) if isinstance(text, str) else ():
        text = text.replace(braced(source), str(sent))
    return text
