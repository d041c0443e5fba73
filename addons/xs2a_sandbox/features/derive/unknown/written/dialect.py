"""Writes what was learned as a dialect of its own."""

from dataclasses import replace
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.lists.balances import write_first_balances
from xs2a_sandbox.features.derive.unknown.recorded.braces import restore_braces
from xs2a_sandbox.features.derive.unknown.scopes import plural
from xs2a_sandbox.features.derive.unknown.written.answers import write_every_error
from xs2a_sandbox.features.derive.unknown.written.lists import write_entries
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation, write_operation
from xs2a_sandbox.features.derive.unknown.written.other_products import write_other_products
from xs2a_sandbox.features.derive.unknown.written.things import collection, write_shape
from xs2a_sandbox.features.derive.unknown.written.unread_lists import write_unread_lists
from xs2a_sandbox.features.derive.unknown.written.unread_states import write_unread_states
from xs2a_sandbox.features.derive.unknown.written.unread_things import write_unread_things


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
        lets[f"{rows.name}_rows"] = {str(row[rows.key]): row for row in rows.entries}
    for listing in learned.listings.values():
        lets |= write_entries(listing)
    lets |= write_first_balances(learned.balances)
    sections: dict[str, Any] = {"cassette": 1, "title": title, "let": lets}
    if shapes:
        sections["shapes"] = shapes
    sections["every_error"] = write_every_error(learned)
    return restore_braces(sections), [replace(one, value=restore_braces(one.value)) for one in written]
