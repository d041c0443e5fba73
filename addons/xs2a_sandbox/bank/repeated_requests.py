"""The check of repeated requests: a request with the id of an earlier one gets its response again."""

import hashlib

from xs2a_sandbox.bank.handlers.inputs import ONCE
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.state import Document

_REQUESTS = "initiations"


def is_checked(call: Call, handler: str | None) -> bool:
    """Return whether a request must not be carried out twice."""
    own = collect_handlers().get(handler or "")
    return own is not None and ONCE in own.takes and call.judges("idempotency") and bool(_id(call))


def find_earlier(call: Call) -> Response | None:
    """Return the response to the same request. Raises BankError if another request had this id."""
    kept = call.state.get(_REQUESTS, _id(call))
    if kept is None:
        return None
    if kept["request"] != _request(call):
        name = call.name_of("once")
        text = (
            f"{name} was used for a different payment: every request needs its own id, and only a repeated "
            "request has the same id"
        )
        call.object("idempotency", BankError("format-error", expected=text))
        return None
    if not call.refuses("idempotency"):
        return None
    headers = tuple((name, value) for name, value in kept["headers"])
    return Response(kept["status"], headers, kept["body"].encode())


def keep(call: Call, response: Response) -> None:
    """Store the response for a repetition of the request."""
    document: Document = {
        "request": _request(call),
        "status": response.status,
        "headers": [list(pair) for pair in response.headers],
        "body": response.body.decode(),
    }
    call.state.put(_REQUESTS, _id(call), document)


def _id(call: Call) -> str:
    return str(call.take("once") or "").lower()


def _request(call: Call) -> str:
    """Return a hash that is equal for equal requests: of method, path and the exact body."""
    return hashlib.sha256(f"{call.request.method} {call.self_path}\n".encode() + call.request.body).hexdigest()
