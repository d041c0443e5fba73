"""Which operation of a dialect a recorded request is, wherever the bank has it, and what it brings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.cassette.inputs import Source
from xs2a_sandbox.cassette.model import Operation
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL, Segment
from xs2a_sandbox.cassette.things import SentMessage
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.http.target import split_target

_VERSION = re.compile(r"v\d+(\.\d+)*")
_PRODUCT = "product"
"""The input of which a bank may have more than the documented ones."""


class SentRequest(SentMessage):
    """A recorded request, of which inputs are read as of one that is answered."""

    @property
    def sent(self) -> Any:
        return self.body_or_null

    def input_scope(self) -> dict[str, Any]:
        parts = {"path": self.path, "query": self.query, "headers": self.headers, "body": self.body_or_null}
        return {**parts, "let": {}, WORK: Work()}

    def take(self, source: Source | None) -> Any:
        """What a handler would take of it; None where it does not have it."""
        try:
            return source.read(self) if source else None
        except ExpressionError:  # of what only a request that is answered has
            return None


def find_source(interface: Interface, operation: Operation | None, input: str) -> Source | None:
    own = operation.behaviour.inputs if operation else {}
    return own.get(input) or interface.inputs.get(input)


def find_candidates(interface: Interface) -> list[Operation]:
    """The operations that a request can be told to be by its path."""
    return [
        operation
        for operation in interface.operations.values()
        if not any(segment.kind == TAIL for segment in operation.pattern.segments)
    ]


def recognise(
    method: str, target: str, operations: Sequence[Operation]
) -> tuple[Operation | None, str, Mapping[str, str]]:
    """The most literal operation with which the path ends: what stands before, a version among it, is the bank's.

    With it the path as the bank has it, and the values of its parameters.
    """
    segments = split_target(target).segments
    fitting = []
    for operation in operations:
        if operation.method != method:
            continue
        first, *rest = own = operation.pattern.segments
        versioned = first.kind == LITERAL and bool(_VERSION.fullmatch(first.text))
        tail = rest if versioned else own
        before, end = segments[: len(segments) - len(tail)], segments[len(segments) - len(tail) :]
        if len(end) != len(tail) or not (versioned or not before):
            continue
        parameters = _parameters(tail, end)
        if parameters is not None and _fits(operation, parameters):
            start = before[-1:] if before and _VERSION.fullmatch(before[-1]) else before
            written = operation.pattern.text.split("/")[-len(tail) :]
            literal = sum(segment.kind == LITERAL for segment in tail)
            fitting.append((literal, operation, "/".join(["", *start, *written]), parameters))
    if not fitting:
        return None, target.partition("?")[0], {}
    _, operation, path, parameters = max(fitting, key=lambda fit: fit[0])
    return operation, path, parameters


def product_parameter(operation: Operation) -> str | None:
    """The parameter of the path that names the product."""
    source = operation.behaviour.inputs.get(_PRODUCT)
    places = source.places if source else ()
    names = {place.part.name for place in places if place.part.part == "where"}
    return next((name for name in operation.pattern.names if name in names), None)


def _parameters(tail: Sequence[Segment], segments: Sequence[str]) -> dict[str, str] | None:
    parameters = {}
    for segment, word in zip(tail, segments, strict=True):
        if segment.kind != LITERAL:
            parameters[segment.text] = word
        elif segment.text != word:
            return None
    return parameters


def _fits(operation: Operation, parameters: Mapping[str, str]) -> bool:
    """Whatever the product is: a bank may have others."""
    product = product_parameter(operation)
    return any(
        all(c.place.name == product or c.fits((parameters[c.place.name],)) for c in alternative)
        for alternative in operation.where
    )
