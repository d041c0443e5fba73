"""Lists of what the app has made itself, such as its payments: entries are written as the answer about each of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.lists.lists import shows
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves, value_at
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, plural
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind
from xs2a_sandbox.features.derive.unknown.written.answers import change_templates, write_answer
from xs2a_sandbox.features.derive.unknown.written.sources import below, is_equal, is_telling


def write_thing_entries(learned: LearnedInterface, operation: LearnedOperation) -> dict[str, Any] | None:
    """Return the named value with the entries of a list of things, or None if they cannot be written.

    If all recorded entries belong to what the request names, such as a consent, only such things are listed.
    """
    listing = learned.listings[operation]
    entry = write_entry(learned, listing.kind) if listing.kind else None
    rows = [row for rows in listing.entries.values() for row in rows]
    if listing.kind is None or entry is None or not {name for row in rows for name in row} <= _names(entry):
        return None
    shown = {name for row in rows for name in row}
    give = {name: value for name, value in entry.items() if name.removesuffix("?") in shown}
    give |= find_members(_pairs(learned, operation, listing.kind))
    owner = find_owner(learned, operation, listing.kind) if _belong(learned, operation, listing.kind) else None
    source = f"let.{plural(listing.kind)}" + (" | reverse | list" if listing.is_newest_first else "")
    every = {"each": braced(source), "as": "thing"}
    return {**every, **({"when": owner} if owner else {}), "give": give}


def _pairs(
    learned: LearnedInterface, operation: LearnedOperation, kind: ThingKind
) -> list[tuple[LearnedThing, Mapping[str, Any]]]:
    place, pairs = learned.listings[operation].place, list[tuple[LearnedThing, Mapping[str, Any]]]()
    for one in operation.seen:
        rows = value_at(one.document, place) if learned.scopes.is_ok[one] else None
        pairs += [(thing, row) for row in rows or () for thing in kind.things if shows(thing, row)]
    return pairs


def find_members(pairs: Sequence[tuple[LearnedThing, Mapping[str, Any]]]) -> dict[str, str]:
    """Return expressions for the members that all entries have from their thing, its request, or when it was made."""
    found: dict[str, str] = {}
    for name in pairs[0][1] if pairs else ():
        sources = [dict(_sources(thing, row.get(name))) for thing, row in pairs]
        source = next((one for one in sources[0] if all(one in other for other in sources)), None)
        if source and all(name in row for _, row in pairs):
            found[name] = braced(source)
    return found


def _sources(thing: LearnedThing, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the expressions that give a value of a thing's entry."""
    for key, (known, _) in thing.keys.items():
        if is_equal(known, value):
            yield f"thing.{'id' if key == thing.kind.id else key}", value
    for source, known in below("thing.sent", thing.created.body):
        if is_telling(value) and is_equal(known, value):
            yield source, value
    form = date_form(value)
    if form and form.has_time and form.moment(value) == thing.created.time:
        yield form.write("thing.made"), value


def _belong(learned: LearnedInterface, operation: LearnedOperation, kind: ThingKind) -> bool:
    """Return whether no recorded entry belongs to something else than what the request names."""
    scopes, place = learned.scopes, learned.listings[operation].place
    for one in operation.seen:
        named = {str(thing.keys[thing.kind.id][0]) for _, thing in scopes.found(one)}
        texts = {str(value) for _, value in leaves(value_at(one.document, place) if scopes.is_ok[one] else None)}
        for thing in kind.things:
            owners = {str(owner["id"]) for owner in scopes.snapshot(thing, one, after=False)["of"].values()}
            if str(thing.keys[kind.id][0]) in texts and owners and owners.isdisjoint(named):
                return False
    return True


def _names(entry: Mapping[str, Any]) -> set[str]:
    return {name.removesuffix("?") for name in entry}


def find_owner(learned: LearnedInterface, operation: LearnedOperation, kind: ThingKind) -> str | None:
    """Return the condition that a thing belongs to the one that a request for the list names."""
    for mine in learned.scopes.lookups[operation]:
        for theirs in learned.scopes.lookups[kind.made_by]:
            is_same = mine.kinds == theirs.kinds and theirs.place[0] != "headers"
            if mine.kinds and is_same and mine.kinds[0][0] in learned.scopes.machines:
                return f"{expression('thing.of', (theirs.name, 'id'))} == let.{mine.name}.id"
    return None


def write_entry(learned: LearnedInterface, kind: ThingKind) -> dict[str, Any] | None:
    """Return the thing as its own answer shows it."""
    machine = learned.scopes.machines.get(kind)
    for operation in learned.world.operations:
        lookup = next((one for one in learned.scopes.lookups[operation] if one.kinds == ((kind, kind.id),)), None)
        answer = next((one for one in learned.classes[operation] if one.is_ok), None)
        if operation.method != "GET" or not lookup or lookup.place[0] != "path" or not answer or not machine:
            continue
        lookup_id = expression("path", lookup.place[1:])
        named = _name_thing(write_answer(learned, answer).get("body"), lookup.name, lookup_id)
        inner = [named, *(named.values() if isinstance(named, Mapping) else ())]
        shown = next((one for one in inner if isinstance(one, Mapping) and machine.member in one), None)
        if shown and not re.search(r"\b(let|path|body|query|request)\.", str(shown)):
            return dict(shown)
    return None


def _name_thing(template: Any, name: str, id: str) -> Any:
    """Return a template of an answer about one thing as one of a list."""

    def change(text: str) -> str:
        text = re.sub(rf"\blet\.{name}({AFTER})?\b", "thing", text)
        return re.sub(rf"\b{re.escape(id)}\b", "thing.id", text)

    return change_templates(template, change)
