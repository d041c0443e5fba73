"""Determines the consequence of a difference for an app, from the values and from what the interface declares."""

from dataclasses import replace
from typing import Any

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.compare.difference import Consequence, Difference
from xs2a_sandbox.compare.loaded_answer import LoadedAnswer
from xs2a_sandbox.documents.formats import is_uuid, number
from xs2a_sandbox.documents.json_pointer import Pointer, at_pointer
from xs2a_sandbox.documents.json_schema import Node, Schema

_ABSENT: Any = object()


class Consequences:
    """Weighs differences by the error codes of an interface, and by its schemas."""

    def __init__(self, interface: Interface) -> None:
        self._identifiers = interface.things.identifiers
        self._codes = {code for error in interface.errors.values() for code in error.codes.values()}

    def weigh(
        self, difference: Difference, bank: LoadedAnswer, sandbox: LoadedAnswer, schema: Schema | None
    ) -> Difference:
        """Return the difference with its consequence. `schema` is that of the bank's answer."""
        if difference.header is not None:
            mine, theirs = (side.exchange.answer_headers.get(difference.header) for side in (bank, sandbox))
            is_count = difference.kind == "header-changed" and number(mine) is not None and number(theirs) is not None
            return replace(difference, means="other-value") if difference.named and is_count else difference
        mine, theirs = _at(bank.content.value, difference.bank_place), _at(sandbox.content.value, difference.place)
        nodes = schema.nodes(difference.bank_place) if schema else []
        means = self._means(difference, mine, theirs, nodes, bank.response.status >= 400)
        return replace(difference, means=means) if means else difference

    def _means(
        self, difference: Difference, mine: Any, theirs: Any, nodes: list[Node], is_error: bool
    ) -> Consequence | None:
        kind, name = difference.kind, _name(difference.place)
        if is_error and kind in ("value", "format", "type") and isinstance(theirs, str) and theirs in self._codes:
            return "error-code"
        if difference.means or kind in ("status", "state", "drift"):
            return difference.means
        match kind:
            case "member-extra" if _is_link(difference.place, theirs):
                return "link-missing"
            case "member-extra" if nodes:
                return "optional-missing"
            case "type" if theirs is None and nodes:
                return "more"
            case "order" if any("x-order" in node.schema for node in nodes):
                return "order-with-meaning"
            case "format" if name in self._identifiers and is_uuid(str(theirs)):
                return "other-identifier"
            case "format" if nodes or is_uuid(str(theirs)):
                return _judge_declared(nodes) or "other-value"
            case "value":
                return self._of_value(difference, mine, theirs, nodes)
        return None

    def _of_value(self, difference: Difference, mine: Any, theirs: Any, nodes: list[Node]) -> Consequence | None:
        if _is_link(difference.place, theirs):
            return "other-link"
        if _name(difference.place) in self._identifiers:
            return "other-identifier"
        ours, others = number(mine), number(theirs)
        if ours is not None and others is not None and min(ours, others) < 0 < max(ours, others):
            return "other-sign"
        return _judge_declared(nodes)


def _judge_declared(nodes: list[Node]) -> Consequence | None:
    """Return the consequence if the schema lists the possible values, or restricts them by a format."""
    if any("enum" in node.schema or "const" in node.schema for node in nodes):
        return "known-enum"
    return "other-currency" if any(node.schema.get("format") == "currency" for node in nodes) else None


def _at(value: Any, place: Pointer) -> Any:
    return next(iter(at_pointer(value, [str(step) for step in place])), _ABSENT)


def _name(place: Pointer) -> str | None:
    return next((step for step in reversed(place) if isinstance(step, str)), None)


def _is_link(place: Pointer, value: Any) -> bool:
    """Return whether it is a HAL link or its address."""
    return (isinstance(value, dict) and "href" in value) or (isinstance(value, str) and _name(place) == "href")
