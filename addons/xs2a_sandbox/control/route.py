"""The declaration of a route of the control interface: its handler and its documentation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_type_hints, is_typeddict

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import parse_json
from xs2a_sandbox.errors import BankError, body_invalid
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.state import Documents
from xs2a_sandbox.state.store import Transaction

type ControlAnswer = tuple[int, Any]
"""Status and JSON. The value None means no body."""

type Later = Callable[[], Awaitable[ControlAnswer]]
"""Work that has to wait. It starts after the request's transaction has ended."""


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """One attempt at a request to a `route`.

    `names` are the values of the path parameters, `documents` those of all sessions.
    """

    call: Call
    names: Sequence[str]
    route: "ControlRoute[Any]"
    documents: Documents
    shared: Transaction
    """What all sessions share."""
    journal: Journal = field(default_factory=Journal)
    """The journal of all processes of this sandbox."""

    def read(self) -> dict[str, Any]:
        """Return the body. Only members of its declared shape are allowed. Raises Refused."""
        if self.route.is_optional and not self.call.request.body.strip():
            return {}
        return self.body(*members(self.route.body))

    def body(self, *members: str) -> dict[str, Any]:
        """Return the body as an object. If `members` are given, only these are allowed. Raises Refused."""
        warnings: list[str] = []
        try:
            value = parse_json(self.call.request.body, warnings)
        except BankError as error:
            raise body_invalid(error.values["expected"]) from None
        if not isinstance(value, dict):
            raise body_invalid(f"the body must be a JSON object, not {kind(value)}")
        if warnings:
            raise body_invalid(warnings[0])
        if members and (unknown := sorted(value.keys() - set(members))):
            raise body_invalid(f"unknown member {unknown[0]!r} in the body; the members are {', '.join(members)}")
        return value


def kind(value: Any) -> str:
    """Return the type of a JSON value in words."""
    kinds = {list: "a list", str: "a string", bool: "true or false", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")


def members(shape: Any) -> tuple[str, ...]:
    """Return the members that a body of this shape may have, or none if all are allowed."""
    return tuple(get_type_hints(shape)) if is_typeddict(shape) else ()


ERRORS: Mapping[str, int] = {
    "body-invalid": 400,
    "query-invalid": 400,
    "id-empty": 400,
    "session-invalid": 400,
    "token-missing": 401,
    "token-wrong": 401,
    "host-refused": 403,
    "origin-refused": 403,
    "no-token": 403,
    "collection-own": 403,
    "path-unknown": 404,
    "document-unknown": 404,
    "session-unknown": 404,
    "authorisation-unknown": 404,
    "events-unknown": 404,
    "exchange-unknown": 404,
    "fault-unknown": 404,
    "break-unknown": 404,
    "held-unknown": 404,
    "callback-unknown": 404,
    "rules-unknown": 404,
    "method-not-offered": 405,
    "decided": 409,
    "unconfirmed": 409,
    "embedded": 409,
    "resource-gone": 409,
    "status-invalid": 409,
    "resource-blocked": 409,
    "event-impossible": 409,
    "journal-mismatch": 409,
    "too-many-faults": 409,
    "too-many-breaks": 409,
    "breaks-not-shared": 409,
    "too-many-rules": 409,
    "exchange-cut": 409,
    "exchange-not-kept": 409,
    "exchange-callback": 409,
    "bank-not-asked": 409,
    "bank-writes": 409,
    "busy": 503,
}
"""All errors by name, with their status."""

EVERYWHERE = ("token-missing", "token-wrong", "host-refused", "origin-refused", "no-token", "busy")


@dataclass(frozen=True, slots=True)
class ControlRoute[Owner]:
    """`path` is below `/_sandbox/`, with parameters in braces; `id` is the name of the client's method.

    `body` is the shape of the request's JSON, `answers` are those of the responses by status; `query` are the query
    parameters with their types; `errors` are those besides the errors of every route.
    """

    method: str
    path: str
    id: str
    summary: str
    work: Callable[[Owner, ControlRequest], ControlAnswer | Later]
    answers: Mapping[int, Any]
    body: Any = None
    is_optional: bool = False
    query: Mapping[str, type] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))

    @property
    def ends_in(self) -> tuple[str, ...]:
        """The errors that the route itself can return."""
        opened = ("id-empty",) if "{" in self.path else ()
        sent = ("body-invalid",) if self.body is not None else ()
        filters = ("query-invalid",) if self.query else ()
        return (*opened, *sent, *filters, *self.errors)

    def names(self, segments: Sequence[str]) -> tuple[str, ...] | None:
        """Return the values of the path parameters, or None if the path is another one."""
        names = []
        if len(segments) != len(self.segments):
            return None
        for expected, segment in zip(self.segments, segments, strict=True):
            if expected.startswith("{"):
                names.append(segment)
            elif expected != segment:
                return None
        return tuple(names)
