"""Effects: what an answer changes in the session's state, as cassettes write it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from xs2a_sandbox.environment import to_text
from xs2a_sandbox.errors import BankError, ExpressionError
from xs2a_sandbox.expression import Render, Scope, compile_text, compile_value, render

_PATH = re.compile(
    r"""state\.(?P<collection>\w+)\[(?:(?P<quote>['"])(?P<text>(?:\{\{.*?\}\}|(?!(?P=quote)).)*)(?P=quote)|(?P<expression>[^'"].*))\](?P<members>(?:\.\w+)*)"""
)


class Writable(Protocol):
    """What an effect needs of a transaction."""

    def get(self, collection: str, id: str) -> dict[str, Any] | None: ...
    def put(self, collection: str, id: str, document: dict[str, Any]) -> None: ...
    def delete(self, collection: str, id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Effect:
    """Sets, or deletes, `state.<collection>['<id>']` or a member below it."""

    collection: str
    id: Render | str
    members: tuple[str, ...]
    value: Any
    deletes: bool

    def apply(self, state: Writable, scope: Scope) -> None:
        id = to_text(render(self.id, scope))
        if not id:
            raise BankError("internal", reason=f"an effect on {self.collection} has no id")
        if self.deletes:
            state.delete(self.collection, id)
            return
        value = render(self.value, scope)
        if self.members:
            value = _with_member(state.get(self.collection, id) or {}, self.members, value)
        if not isinstance(value, dict):
            raise BankError("internal", reason=f"an effect on {self.collection} came out as no document")
        state.put(self.collection, id, value)


def compile_effect(
    spec: Mapping[str, Any], roots: frozenset[str], report: Callable[[tuple[str | int, ...], str], None]
) -> Effect | None:
    key = "set" if "set" in spec else "delete"
    fits = _PATH.fullmatch(spec[key])
    if not fits:
        report((key,), f"{spec[key]!r} is not of the form state.<collection>['<id>'], with .<member>s after it or none")
        return None
    members = tuple(fits["members"].split(".")[1:])
    if key == "delete" and members:
        report((key,), "only a whole document can be deleted; set a member to null instead")
    try:
        id = compile_text(fits["text"] if fits["quote"] else "{{ " + fits["expression"] + " }}", roots)
    except ExpressionError as error:
        report((key,), str(error))
        return None
    value = compile_value(spec.get("to"), roots, lambda pointer, text: report(("to", *pointer), text))
    if key == "set" and not members and not (isinstance(spec["to"], dict) or callable(value)):
        report(("to",), "a document is a mapping; to set one value, name its member")
    return Effect(fits["collection"], id, members, value, deletes=key == "delete")


def _with_member(document: Mapping[str, Any], members: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = members
    if rest:
        inner = document.get(first)
        value = _with_member(inner if isinstance(inner, dict) else {}, tuple(rest), value)
    return {**document, first: value}
