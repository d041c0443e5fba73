"""Finds authorisations that can start, but that the dialect provides no way to complete."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import Action
from xs2a_sandbox.cassette.dialect.authorisation import ON_PAGES, SECTION
from xs2a_sandbox.cassette.model import Pointer
from xs2a_sandbox.errors import Problem


class _Beginning(NamedTuple):
    """A place where an authorisation starts, and its options."""

    family: str
    options: Mapping[str, Any]
    at: Pointer


def check_beginnings(interface: Interface) -> Iterator[Problem]:
    authorised = interface.authorisation.of
    owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    for by in owners:
        for family, options, at in _beginnings(by):
            if family not in authorised:
                text = f"the section {SECTION} does not define how a {family} is authorised: add it under `of`"
                yield by.origin.problem("no-authorisation", text, (*at, "family"))
            elif authorised[family].page is None and set(ON_PAGES).intersection(options.get("approaches") or ()):
                text = f"the section {SECTION} has no page for a {family}: set its address as `page`"
                yield by.origin.problem("page", text, (*at, "approaches"))


def _beginnings(by: Operation | Rule) -> Iterator[_Beginning]:
    options = by.behaviour.options or {}
    if by.behaviour.handler == "authorisations.start" and "family" in options:
        yield _Beginning(options["family"], options, ("with",))
    for number, effect in enumerate(by.behaviour.effects):
        if isinstance(effect, Action) and effect.name == "begin-authorisation":
            family = effect.written.get("family")
            if isinstance(family, str) and "{{" not in family:
                yield _Beginning(family, effect.written, ("effects", number, "with"))
