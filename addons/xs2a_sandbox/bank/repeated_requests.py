"""The check of repeated requests: the id of a request that has initiated a payment gives that payment once more."""

import hashlib

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.state import Document

_REQUESTS = "initiations"
_INITIATES = "payments.initiate"


def is_checked(call: Call, handler: str | None) -> bool:
    """Tells if a request is one that is not to be done twice."""
    return handler == _INITIATES and call.judges("idempotency")


def find_earlier(call: Call) -> Response | None:
    """The answer that the same request was given. Raises BankError where it was another one with the same id."""
    kept = call.state.get(_REQUESTS, _id(call))
    if kept is None:
        return None
    if kept["request"] != _request(call):
        name = call.name_of("once")
        text = f"{name} is that of another payment: every request has an id of its own, the same one repeated"
        call.object("idempotency", BankError("format-error", expected=text))
        return None
    if not call.refuses("idempotency"):
        return None
    headers = tuple((name, value) for name, value in kept["headers"])
    return Response(kept["status"], headers, kept["body"].encode())


def keep(call: Call, response: Response) -> None:
    """Keeps the answer for who repeats the request."""
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
    """Returns what two equal requests have in common: where they go, and the body to the byte."""
    return hashlib.sha256(f"{call.request.method} {call.self_path}\n".encode() + call.request.body).hexdigest()
