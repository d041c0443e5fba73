"""Recognises the operation of a recorded request below any base path, and reads its inputs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.cassette.inputs import InputSource
from xs2a_sandbox.cassette.model import Operation
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL, Segment
from xs2a_sandbox.cassette.things import SentMessage
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.http.target import split_target

_VERSION = re.compile(r"v\d+(\.\d+)*")
_PRODUCT = "product"
"""The input whose values at a real bank may differ from the documented ones."""


class SentRequest(SentMessage):
    """A recorded request, whose inputs can be read like those of a request that is answered."""

    @property
    def sent(self) -> Any:
        return self.body_or_null

    def input_scope(self) -> dict[str, Any]:
        parts = {"path": self.path, "query": self.query, "headers": self.headers, "body": self.body_or_null}
        return {**parts, "let": {}, WORK: Work()}

    def take(self, source: InputSource | None) -> Any:
        """Return the value of an input, or None if the request does not have it."""
        try:
            return source.read(self) if source else None
        except ExpressionError:  # the expression reads something that only a request being answered has
            return None


def find_source(interface: Interface, operation: Operation | None, input: str) -> InputSource | None:
    own = operation.behaviour.inputs if operation else {}
    return own.get(input) or interface.inputs.get(input)


def find_candidates(interface: Interface) -> list[Operation]:
    """Return the operations that can be recognised by their path."""
    return [
        operation
        for operation in interface.operations.values()
        if not any(segment.kind == TAIL for segment in operation.pattern.segments)
    ]


def recognise(
    method: str, target: str, operations: Sequence[Operation]
) -> tuple[Operation | None, str, Mapping[str, str]]:
    """Return the most literal operation whose path is the end of the request's path.

    The part before it, including a version, is the bank's base path. Also returns the bank's path of the operation, and
    the path parameters.
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
    """Return the path parameter that names the payment product."""
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
    """Return whether the path parameters match, except for the product: a bank may have other products."""
    product = product_parameter(operation)
    return any(
        all(c.place.name == product or c.fits((parameters[c.place.name],)) for c in alternative)
        for alternative in operation.where
    )
