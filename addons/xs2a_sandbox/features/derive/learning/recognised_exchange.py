"""Which operation of a documented dialect each recorded request is, wherever the bank has it, and who made which id."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL, Segment
from xs2a_sandbox.http import body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target

MADE = {"consentId": "consent", "paymentId": "payment", "authorisationId": "authorisation", "basketId": "basket"}
"""Ids that the bank gives out, as path parameters and members call them, and what they are of."""

_VERSION = re.compile(r"v\d+(\.\d+)*")
_PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class RecognisedExchange:
    """A recorded exchange with its `place` in the tape. `path` is that of the operation, as the bank has it, and
    `parameters` are its values; the bodies are None where they are no JSON.
    """

    place: str
    entry: Exchange
    operation: Operation | None
    path: str
    parameters: Mapping[str, str]
    body: Any
    answer: Any

    @property
    def succeeded(self) -> bool:
        return self.entry.status < 400

    @property
    def request(self) -> str:
        return f"{self.entry.method} {self.entry.target.partition('?')[0]}"

    @property
    def made(self) -> dict[str, str]:
        """The ids that its answer gives out, by what they are called."""
        if not self.succeeded or self.entry.method != "POST" or not isinstance(self.answer, dict):
            return {}
        own = {name: self.answer[name] for name in MADE if isinstance(self.answer.get(name), str)}
        return {name: id for name, id in own.items() if id and id != self.parameters.get(name)}


def recognise_exchanges(
    places: Sequence[str], entries: Sequence[Exchange], operations: Iterable[Operation]
) -> list[RecognisedExchange]:
    candidates = [operation for operation in operations if not any(s.kind == TAIL for s in operation.pattern.segments)]
    exchanges = []
    for place, entry in zip(places, entries, strict=True):
        operation, path, parameters = _operation(entry, candidates)
        request, answer = body.read(entry.body), body.read(entry.answer_body)
        exchanges.append(
            RecognisedExchange(
                place,
                entry,
                operation,
                path,
                parameters,
                request.value if request.kind == "json" else None,
                answer.value if answer.kind == "json" else None,
            )
        )
    return exchanges


def _operation(entry: Exchange, operations: Sequence[Operation]) -> tuple[Operation | None, str, Mapping[str, str]]:
    """The most literal operation with which the path ends: what stands before, a version among it, is the bank's."""
    segments = split_target(entry.target).segments
    fitting = []
    for operation in operations:
        if operation.method != entry.method:
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
        return None, entry.target.partition("?")[0], {}
    _, operation, path, parameters = max(fitting, key=lambda fit: fit[0])
    return operation, path, parameters


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
    return any(
        all(c.place.name == _PRODUCT or c.fits((parameters[c.place.name],)) for c in alternative)
        for alternative in operation.where
    )
