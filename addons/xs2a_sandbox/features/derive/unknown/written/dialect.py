"""Writes what was learned as a dialect of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.lists.balances import write_first_balances
from xs2a_sandbox.features.derive.unknown.recorded.braces import restore_braces
from xs2a_sandbox.features.derive.unknown.recorded.names import new_name
from xs2a_sandbox.features.derive.unknown.recorded.places import change_texts
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, plural
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import World
from xs2a_sandbox.features.derive.unknown.written.answers import write_every_error
from xs2a_sandbox.features.derive.unknown.written.lists import write_entries
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation, write_operation
from xs2a_sandbox.features.derive.unknown.written.other_products import write_other_products
from xs2a_sandbox.features.derive.unknown.written.thing_shapes import write_shape
from xs2a_sandbox.features.derive.unknown.written.things import collection
from xs2a_sandbox.features.derive.unknown.written.unread_lists import write_unread_lists
from xs2a_sandbox.features.derive.unknown.written.unread_states import write_unread_states
from xs2a_sandbox.features.derive.unknown.written.unread_things import write_unread_things

_AFTER = re.compile(rf"\blet\.(\w+?){AFTER}\b")


def write_dialect(title: str, learned: LearnedInterface) -> tuple[dict[str, Any], list[WrittenOperation]]:
    """Return the sections of the cassette without its operations, and the operations."""
    world = learned.world
    written = [
        write_operation(learned, operation)
        for operation in world.operations
        if not all(one.status == 405 for one in operation.seen)
    ]
    written += [*write_unread_things(learned), *write_unread_states(learned), *write_unread_lists(learned)]
    written += list(write_other_products(learned, written))
    lets: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for kind in world.kinds:
        source = f"state.{collection(kind)} | dictsort | map('last') | sort(attribute='number') | list"
        lets[plural(kind)] = {"each": braced(source), "shape": f"{kind.name}-now"}
        shapes[f"{kind.name}-now"] = write_shape(learned.scopes, kind)
    for rows in world.rows:
        found = {str(row[rows.key]): row for row in rows.entries}
        lets[f"{rows.name}_rows"] = _name_what_is_asked(world, rows.told_by, found)
    used = str([one.value for one in written])
    for listing in learned.listings.values():
        named = _name_what_is_asked(world, listing.operation, write_entries(listing))
        lets |= {name: entries for name, entries in named.items() if f"let.{name}" in used}
    lets |= write_first_balances(learned.balances)
    sections: dict[str, Any] = {"cassette": 1, "title": title, "let": lets}
    if shapes:
        sections["shapes"] = shapes
    sections["every_error"] = write_every_error(learned)
    return restore_braces(sections), list(_finish(written))


def _name_what_is_asked[T](world: World, operation: LearnedOperation, entries: T) -> T:
    """Return entries in whose links the id of a thing, such as of the consent, is that in the path of the request."""
    ids = {text: name for one in operation.seen for name, text in one.parameters.items() if text in world.key_texts}
    recorded = re.compile("|".join(rf"(?<=/){re.escape(text)}(?![\w-])" for text in ids) or "(?!)")
    named: T = change_texts(entries, lambda text: recorded.sub(lambda id: braced(f"path.{ids[id[0]]}"), text))
    return named


def _finish(written: Sequence[WrittenOperation]) -> Iterator[WrittenOperation]:
    """Yield the operations, each with an id of its own, and with plain names for things that it does not change.

    If two have the same address, the first is the recorded one, or the better guess.
    """
    taken: set[str] = set()
    addresses: set[tuple[str, str]] = set()
    for one in written:
        address = one.value.get("method", ""), re.sub(r"\{\w+\}", "{}", one.value.get("path", one.value["id"]))
        if address in addresses:
            continue
        addresses.add(address)
        id = new_name(one.value["id"], taken)
        taken.add(id)
        name_plainly = partial(_name_plainly, one.value.get("let", {}))
        yield replace(one, value=restore_braces(change_texts({**one.value, "id": id}, name_plainly)))


def _name_plainly(lets: Mapping[str, Any], text: str) -> str:
    """Return a text in which a thing has the name for after the request only if the operation computes it."""
    return _AFTER.sub(lambda found: found[0] if found[1] + AFTER in lets else f"let.{found[1]}", text)
