"""The section `request`: where requests of a dialect have the inputs of handlers. An operation's own `input` wins."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.handler import Handler, Input
from xs2a_sandbox.cassette.inputs import Inputs, InputSource, compile_sources
from xs2a_sandbox.cassette.model import Operation, Rule
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem

SECTION = "request"


def read(sections: Sections, handlers: Mapping[str, Handler], problems: list[Problem]) -> Mapping[str, InputSource]:
    """Return the place of each input. Problems are added to `problems`."""
    written = sections.get(SECTION)

    def report(pointer: tuple[str | int, ...], text: str) -> None:
        problems.append(sections.problem((SECTION, *pointer), "expression", text))

    known = {name for handler in handlers.values() for name in handler.inputs}
    for name in written.keys() - known:
        text = f"no handler has an input {name!r}{did_you_mean(name, known)}"
        problems.append(sections.problem((SECTION, name), "unknown-input", text, key=True))
    return compile_sources(written, report)


@cache
def default_inputs() -> Mapping[str, InputSource]:
    """Return the inputs of the bundled dialect, for recordings that belong to no dialect."""
    document = yaml_reader.read(bundled("cassettes") / "xs2a-1.84" / "request.yaml")
    return compile_sources(document.value[SECTION], lambda pointer, text: None)


def bind[By: Operation | Rule](by: By, operation: Operation | None, usual: Mapping[str, InputSource]) -> By:
    """Return the operation or rule with all inputs that its handler gets. Its own inputs win."""
    if by.behaviour.handler is None:
        return by
    below = operation.behaviour.inputs if operation else {}
    return replace(by, behaviour=replace(by.behaviour, inputs=Inputs({**usual, **below, **by.behaviour.inputs})))


def check(by: Operation | Rule, pattern: Pattern | None, handlers: Mapping[str, Handler]) -> Iterator[Problem]:
    """Yield problems with unknown inputs, and with required inputs that this path cannot supply."""
    handler = handlers.get(by.behaviour.handler or "")
    if handler is None:
        return
    for name in by.origin.written.get("input", {}).keys() - handler.inputs.keys():
        text = f"the handler {handler.name} has no input {name!r}{did_you_mean(name, handler.inputs)}"
        yield by.origin.problem("unknown-input", text, ("input", name), key=True)
    for input in handler.takes:
        source = by.behaviour.inputs.get(input.name)
        if input.is_needed and not _is_found(source, pattern.names if pattern else ()):
            yield by.origin.problem("missing-input", _lack(handler, input, source), ("handler",))


def _is_found(source: InputSource | None, parameters: Collection[str]) -> bool:
    """Return whether a request on this path can have the input."""
    if source is None:
        return False
    parts = [alternative.place.part if alternative.place else None for alternative in source.alternatives]
    return any(part is None or part.part != "where" or part.name in parameters for part in parts)


def _lack(handler: Handler, input: Input, source: InputSource | None) -> str:
    text = f"the handler {handler.name} needs the input {input.name}"
    if source is None:
        return f"{text}: specify where requests contain it, under `request` of the dialect or `input` of the operation"
    places = " or ".join(place.in_words for place in source.places)
    return f"{text}, and this path does not have {places}: specify under `input` where requests contain it"
