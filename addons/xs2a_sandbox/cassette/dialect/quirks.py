"""Options that a layer gives the handlers of those below it, and rules of quirks that are for another dialect."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette.evaluation.values import merged
from xs2a_sandbox.cassette.handler import Handler, complaints
from xs2a_sandbox.cassette.model import Cassette, Operation, Rule
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem


def with_options[Entry: Operation | Rule](by: Entry, options: Mapping[str, Mapping[str, Any]]) -> Entry:
    """The same, its handler told these options, too; a rule that says none has those of its operation."""
    behaviour = by.behaviour
    if (change := options.get(behaviour.handler or "")) is None or (isinstance(by, Rule) and behaviour.options is None):
        return by
    return replace(by, behaviour=replace(behaviour, options=merged(behaviour.options, change)))


def below_options[Entry: Operation | Rule](by: Entry, options: Mapping[str, Mapping[str, Any]]) -> Entry:
    """The same, an entry of the layer that gives these options: what it says itself counts."""
    behaviour = by.behaviour
    if (change := options.get(behaviour.handler or "")) is None or (isinstance(by, Rule) and behaviour.options is None):
        return by
    return replace(by, behaviour=replace(behaviour, options=merged(change, behaviour.options or {})))


def with_own_options(operation: Operation, options: Mapping[str, Any]) -> Operation:
    behaviour = operation.behaviour
    return replace(operation, behaviour=replace(behaviour, options=merged(behaviour.options, options)))


def check_operation_options(
    cassette: Cassette,
    operations: Mapping[str, Operation],
    own: Mapping[str, Operation],
    handlers: Mapping[str, Handler],
) -> Iterator[Problem]:
    """Finds options of operations that there are not, that the layer has itself, or that their handler lacks.

    `operations` are those of the layers below and its own.
    """
    for id, options in cassette.operation_options.items():
        at = ("changes", "operations", id)
        if id in own:
            text = f"the operation {id!r} is in the same layer, at {own[id].origin.place}: write the options there"
            yield cassette.place.problem("extends", text, at, key=True)
            continue
        if (operation := operations.get(id)) is None:
            if not (cassette.is_quirk and id in _bundled_operations()):
                text = f"there is no operation {id!r}{did_you_mean(id, operations)}"
                yield cassette.place.problem("unknown-operation", text, at, key=True)
            continue
        handler = handlers.get(operation.behaviour.handler or "")
        if handler is None:
            text = f"the operation {id!r} has no handler, so nothing reads options of it"
            yield cassette.place.problem("unknown-handler", text, at, key=True)
            continue
        for complaint in complaints(handler, merged(operation.behaviour.options, options)):
            where = (*at, "with", *complaint.pointer)
            yield cassette.place.problem(complaint.code, complaint.text, where, key=complaint.key)


def check_options(
    cassette: Cassette, operations: Mapping[str, Operation], handlers: Mapping[str, Handler]
) -> Iterator[Problem]:
    """Finds options that no handler has, or that cannot be so."""
    for name, options in cassette.options.items():
        origin, at = cassette.place, ("changes", "options", name)
        if (own := handlers.get(name)) is None or own.is_action:
            hint = did_you_mean(name, [name for name, handler in handlers.items() if not handler.is_action])
            yield origin.problem("unknown-handler", f"there is no handler {name!r}{hint}", at, key=True)
            continue
        of_all = [
            operation.behaviour.options or {}
            for operation in operations.values()
            if operation.behaviour.handler == name
        ]
        for complaint in next((list(complaints(own, merged(options_there, options))) for options_there in of_all), []):
            yield origin.problem(complaint.code, complaint.text, (*at, *complaint.pointer), key=complaint.key)


def check_use(quirk: Cassette, operations: Mapping[str, Operation]) -> Iterator[Problem]:
    """Finds that it has nothing to do in a dialect of these operations."""
    handlers = {operation.behaviour.handler for operation in operations.values()} & quirk.options.keys()
    if (
        not handlers
        and not quirk.operation_options.keys() & operations.keys()
        and all(is_elsewhere(rule, operations) for rule in quirk.rules)
    ):
        text = "this quirk does nothing here: the dialect has none of the operations and handlers that it is about"
        yield quirk.place.problem("unknown-operation", text, ("quirk",), key=True)


def is_elsewhere(rule: Rule, operations: Mapping[str, Operation]) -> bool:
    """Tells if a quirk's rule is for an operation that other dialects have, and this one does not."""
    return bool(rule.operation) and rule.operation not in operations and rule.operation in _bundled_operations()


@cache
def _bundled_operations() -> frozenset[str]:
    """The ids of the operations of all bundled dialects."""
    folders = [bundled("cassettes") / name for name in dialects()]
    documents = (yaml_reader.read(file).value for folder in folders for file in folder.rglob("*.yaml"))
    return frozenset(operation["id"] for document in documents for operation in document.get("operations", ()))
