"""Options that a layer gives to handlers of lower layers, and checks for quirks that have no effect in a dialect."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from xs2a_sandbox.cassette.dialect import doers
from xs2a_sandbox.cassette.evaluation.values import merge_patch
from xs2a_sandbox.cassette.handler import Handler, complaints, gaps, misplaced
from xs2a_sandbox.cassette.model import Cassette, Operation, Rule
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.errors import Problem


def with_options[Entry: Operation | Rule](by: Entry, options: Mapping[str, Mapping[str, Any]]) -> Entry:
    """Return the entry with these options added for its handler. A rule without options keeps using its operation's."""
    behaviour = by.behaviour
    if (change := options.get(behaviour.handler or "")) is None or (isinstance(by, Rule) and behaviour.options is None):
        return by
    return replace(by, behaviour=replace(behaviour, options=merge_patch(behaviour.options, change)))


def below_options[Entry: Operation | Rule](by: Entry, options: Mapping[str, Mapping[str, Any]]) -> Entry:
    """Return an entry of the layer that gives these options. Its own options win over them."""
    behaviour = by.behaviour
    if (change := options.get(behaviour.handler or "")) is None or (isinstance(by, Rule) and behaviour.options is None):
        return by
    # A null removes a lower value; there is none here, so drop it.
    given = merge_patch(None, change)
    return replace(by, behaviour=replace(behaviour, options=merge_patch(given, behaviour.options or {})))


def with_own_options(operation: Operation, options: Mapping[str, Any]) -> Operation:
    behaviour = operation.behaviour
    return replace(operation, behaviour=replace(behaviour, options=merge_patch(behaviour.options, options)))


def check_operation_options(
    cassette: Cassette,
    operations: Mapping[str, Operation],
    own: Mapping[str, Operation],
    handlers: Mapping[str, Handler],
) -> Iterator[Problem]:
    """Yield problems with options of operations: unknown operations, operations of the same layer, unknown options.

    `operations` are those of the layers below and its own.
    """
    for id, options in cassette.operation_options.items():
        at = ("changes", "operations", id)
        if id in own:
            text = f"the operation {id!r} is in the same layer, at {own[id].origin.place}: write the options there"
            yield cassette.place.problem("extends", text, at, key=True)
            continue
        if (operation := operations.get(id)) is None:
            text = f"unknown operation {id!r}{did_you_mean(id, operations)}"
            yield cassette.place.problem("unknown-operation", text, at, key=True)
            continue
        handler = handlers.get(operation.behaviour.handler or "")
        if handler is None:
            text = f"the operation {id!r} has no handler, so it has no options"
            yield cassette.place.problem("unknown-handler", text, at, key=True)
            continue
        for complaint in _new_complaints(handler, operation, with_own_options(operation, options)):
            where = (*at, "with", *complaint.pointer)
            yield cassette.place.problem(complaint.code, complaint.text, where, key=complaint.key)


def check_options(
    cassette: Cassette,
    operations: Mapping[str, Operation],
    own: Mapping[str, Operation],
    handlers: Mapping[str, Handler],
) -> Iterator[Problem]:
    """Yield problems with options that no handler has or that are invalid. Parameters as in check_operation_options."""
    for name, options in cassette.options.items():
        origin, at = cassette.place, ("changes", "options", name)
        if (handler := handlers.get(name)) is None or handler.is_action:
            hint = did_you_mean(name, [name for name, one in handlers.items() if not one.is_action])
            yield origin.problem("unknown-handler", f"unknown handler {name!r}{hint}", at, key=True)
            continue
        change = {name: options}
        changed = [
            (operation, below_options(operation, change) if id in own else with_options(operation, change))
            for id, operation in operations.items()
            if operation.behaviour.handler == name
        ]
        # Most complaints are the same for every operation, so report only those of the first.
        for complaint in next(filter(None, (_new_complaints(handler, *both) for both in changed)), []):
            yield origin.problem(complaint.code, complaint.text, (*at, *complaint.pointer), key=complaint.key)


def _new_complaints(handler: Handler, before: Operation, after: Operation) -> list[Complaint]:
    """Return the complaints about the options of an operation that a change has caused."""
    old, new = (
        [*complaints(handler, options), *misplaced(handler, options), *gaps(handler, options)]
        for operation in (before, after)
        for options in (operation.behaviour.options or {},)
    )
    return [complaint for complaint in new if complaint not in old]


def check_order(layer: Sequence[Cassette]) -> Iterator[Problem]:
    """Yield problems with options that two files set to different values: the order of files would decide."""
    for one, other in combinations(layer, 2):
        for section, first, second in (
            ("options", one.options, other.options),
            ("operations", one.operation_options, other.operation_options),
        ):
            for name in first.keys() & second.keys():
                mine, theirs = first[name], second[name]
                if merge_patch(merge_patch(None, mine), theirs) != merge_patch(merge_patch(None, theirs), mine):
                    text = (
                        f"{one.file}, in the same layer, changes the same options of {name!r} to different "
                        "values; keep one of the changes"
                    )
                    yield other.place.problem("duplicate-id", text, ("changes", section, name), key=True)


def check_use(cassette: Cassette, operations: Mapping[str, Operation], sections: Collection[str]) -> Iterator[Problem]:
    """Yield a problem if a quirk or scenario has no effect in a dialect with these operations and sections."""
    if not has_effect(cassette, operations, sections):
        what, key = ("quirk", "quirk") if cassette.is_quirk else ("scenario", "title")
        text = f"this {what} has no effect: none of the operations and handlers that it changes exist in this dialect"
        yield cassette.place.problem("unknown-operation", text, (key,), key=True)


def has_effect(cassette: Cassette, operations: Mapping[str, Operation], sections: Collection[str]) -> bool:
    """Return whether a quirk or scenario changes one of these operations or sections, or options of an operation."""
    handlers = {operation.behaviour.handler for operation in operations.values()} & cassette.options.keys()
    return bool(
        handlers
        or cassette.sections.keys() & set(sections)
        or cassette.operation_options
        or any(True for rule in cassette.rules for _ in doers.for_each(rule, operations))
    )
