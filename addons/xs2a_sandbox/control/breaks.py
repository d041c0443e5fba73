"""The breakpoints of a session as the control interface adds, lists and deletes them, and the held exchanges."""

from collections.abc import Mapping
from typing import Any, Protocol

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.config.readers import seconds
from xs2a_sandbox.control.faults import check_requests
from xs2a_sandbox.control.route import ControlAnswer, kind
from xs2a_sandbox.errors import Refused, body_invalid
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.edits import Edits
from xs2a_sandbox.http.header_fields import FRAMING
from xs2a_sandbox.http.messages import TOKEN, is_field_value
from xs2a_sandbox.state.session import DEFAULT, HEADER, SESSION_BREAKS

MOST = 100
"""The most breakpoints of a session."""
TIMEOUT = "60s"
_LONGEST_COUNT = 1_000_000
_PLACES = ("request", "response")
_FIXED = FRAMING | {HEADER.lower()}
"""Headers that determine where a message goes or where it ends."""


class HeldExchanges(Protocol):
    """The exchanges that the processes of this sandbox hold."""

    async def find(self, session: str | None) -> list[dict[str, Any]]:
        """Return the held exchanges of a session, or of all sessions, oldest first."""
        ...

    async def release(self, session: str | None, id: str, edits: Edits) -> dict[str, Any]:
        """Release an exchange with these edits, and return it. Raises Refused."""
        ...

    async def look_again(self, session: str) -> None:
        """Notify all processes that the breakpoints of the session have changed."""
        ...


def list_breaks(call: Call) -> dict[str, Any]:
    return {"breaks": SESSION_BREAKS.all(call.state)}


def add(call: Call, banks: Banks, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add a breakpoint after the existing ones. Raises Refused."""
    there = SESSION_BREAKS.all(call.state)
    if len(there) >= MOST:
        raise Refused(409, "too-many-breaks", f"a session can have at most {MOST} breakpoints: delete some")
    check_requests(body, [bank.interface for bank in banks.all])
    if body.get("on", "request") not in _PLACES:
        raise body_invalid(f"on must be {' or '.join(_PLACES)}")
    count = body.get("next", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _LONGEST_COUNT:
        raise body_invalid(f"next must be a whole number from 1 to {_LONGEST_COUNT}")
    _check_timeout(body.get("timeout", TIMEOUT))
    defaults = {"on": "request", "next": 1, "timeout": TIMEOUT}
    new = {"id": SESSION_BREAKS.next_id(call.state), **defaults, **body, "hits": 0}
    SESSION_BREAKS.keep(call.state, [*there, new])
    return new


def delete(call: Call, id: str) -> None:
    """Delete a breakpoint. Raises Refused if there is none with that id."""
    if not SESSION_BREAKS.remove(call.state, id):
        raise Refused(404, "break-unknown", f"the session {call.session.id} has no breakpoint {id}")


def delete_all(call: Call) -> dict[str, Any]:
    return {"deleted": SESSION_BREAKS.clear(call.state)}


def named_session(call: Call) -> str | None:
    """Return the session in the request, or None for all sessions, as in the journal."""
    return None if call.session.id == DEFAULT else call.session.id


async def list_held(held: HeldExchanges, session: str | None) -> ControlAnswer:
    return 200, {"held": await held.find(session)}


async def release(held: HeldExchanges, session: str | None, id: str, edits: Edits) -> ControlAnswer:
    """Release a held exchange. Raises Refused."""
    return 200, await held.release(session, id, edits)


def read_edits(body: Mapping[str, Any]) -> Edits:
    """Return the edits for a held exchange. Raises Refused."""
    for name in ("continue", "drop"):
        if body.get(name, True) is not True:
            raise body_invalid(f"{name} must be true or missing")
    wishes = [name for name in ("continue", "drop") if name in body]
    wishes += ["edits"] if body.keys() & {"status", "headers", "body"} else []
    if len(wishes) != 1:
        raise body_invalid('send {"continue": true}, {"drop": true}, or the edits in "status", "headers" and "body"')
    status = body.get("status")
    if "status" in body and (isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599):
        raise body_invalid("status must be a number from 200 to 599")
    return Edits(
        status, _read_headers(body.get("headers", {})), _read_body(body) if "body" in body else None, "drop" in body
    )


def _read_headers(headers: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(headers, dict):
        raise body_invalid(f"headers must be an object, not {kind(headers)}")
    return {name: _read_header(name, value) for name, value in headers.items()}


def is_editable(name: str) -> bool:
    """Return whether a header of a held message can be edited: not if it affects where or how the message is sent."""
    return name.lower() not in _FIXED


def _read_header(name: str, value: Any) -> tuple[str, ...]:
    """Return the values of a header, or nothing for null, which removes it."""
    if not TOKEN.fullmatch(name):
        raise body_invalid(f"{name[:80]!r} is not a header name")
    if not is_editable(name):
        text = "it determines where the message goes or how it is sent"
        raise body_invalid(f"the header {name} cannot be edited: {text}")
    values = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) and is_field_value(one or " ") for one in values):
        raise body_invalid(
            f"the header {name} must be a string without line breaks, a list of such strings, or null to remove it"
        )
    return tuple(values)


def _read_body(body: Mapping[str, Any]) -> bytes:
    """Return the body: a string unchanged, null as an empty body, anything else as JSON."""
    value = body["body"]
    if value is None:
        return b""
    return value.encode(errors="replace") if isinstance(value, str) else to_json(value)


def _check_timeout(text: Any) -> None:
    try:
        span = seconds(text if isinstance(text, str) else "")
    except ValueError as error:
        raise body_invalid(f"timeout: {error}") from None
    if not span:
        raise body_invalid("timeout must be longer than 0s")
