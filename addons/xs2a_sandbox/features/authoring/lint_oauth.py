"""Finds authorisations by OAuth that could lead the payment user to no page."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xs2a_sandbox.bank.handlers.approaches import OAUTH
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import Action
from xs2a_sandbox.cassette.model import Pointer
from xs2a_sandbox.errors import Problem

_START = "authorisations.start"
_CREATED = {"consents.create": "consent", "payments.initiate": "payment"}
"""The family of what is authorised, by handler, where no option names it."""
_OPTIONS = ("sca", "approaches")
"""An approach, and a list of them."""


class _Beginning(NamedTuple):
    """A place where an authorisation can begin, and its options."""

    by: Operation | Rule
    family: str
    options: Mapping[str, Any]
    at: Pointer


def check_oauth(interface: Interface) -> Iterator[Problem]:
    starts = {
        start.family: start.options
        for operation in interface.operations.values()
        for start in _beginnings(operation)
        if operation.behaviour.handler == _START
    }
    owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    for by in owners:
        for one in _beginnings(by):
            option = next((name for name in _OPTIONS if OAUTH in (one.options.get(name) or ())), None)
            if option is None or starts.get(one.family, {}).get("page"):
                continue
            lacks = "says no page in its `with`" if one.family in starts else "is not there"
            text = (
                f"the authorisation of a {one.family} by OAuth leads to no page: the operation that starts it {lacks}. "
                f"Give the dialect an operation with handler: {_START} and with: {{family: {one.family}, page: …}}, "
                f"or take {OAUTH} out of {option}"
            )
            yield one.by.origin.problem("no-page", text, (*one.at, option))


def _beginnings(by: Operation | Rule) -> Iterator[_Beginning]:
    options, handler = by.behaviour.options or {}, by.behaviour.handler or ""
    if family := options.get("family") if handler == _START else _CREATED.get(handler):
        yield _Beginning(by, family, options, ("with",))
    for number, effect in enumerate(by.behaviour.effects):
        if isinstance(effect, Action) and effect.name == "begin-authorisation":
            family = effect.written.get("family")
            if isinstance(family, str) and "{{" not in family:
                yield _Beginning(by, family, effect.written, ("effects", number, "with"))
