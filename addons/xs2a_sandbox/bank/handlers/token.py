"""Access tokens for clients of the test data (RFC 6749, sections 2.3.1 and 4.4; RFC 8705, section 2)."""

import base64
import binascii
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http.media_type import media_type

TOKENS = "tokens"
GRANT = "client_credentials"
MEDIA_TYPE = "application/x-www-form-urlencoded"

Credentials = tuple[str, tuple[str, ...] | None]
"""A client's id, and its secret in the ways it can be meant; None: its certificate stands for the secret."""


@handler(
    "token.issue",
    reads="body/client_id body/client_secret body/grant_type headers.authorization headers.content-type",
    raises="grant-unsupported token-client-unknown token-request-invalid",
    returns="token expires_in",
    options={
        "expires_in": Option("Seconds that a token is good for.", {"type": "integer", "minimum": 0}, required=True)
    },
)
def issue(call: Call) -> dict[str, Any]:
    """A token, which is kept with its client and when it expires."""
    form = _form(call)
    if "grant_type" not in form:
        raise BankError("token-request-invalid", expected="grant_type is required")
    if form["grant_type"] != GRANT:
        raise BankError("grant-unsupported", offered=GRANT)
    id, meant = _credentials(call, form)
    client = call.state.get("clients", id)
    if client is None or (meant is not None and not any(_same(client["secret"], secret) for secret in meant)):
        raise BankError("token-client-unknown", expected="the client is unknown, or its secret is another")
    token = secrets.token_urlsafe(32)
    seconds: int = call.options["expires_in"]
    expires = call.clock.after(seconds)
    call.state.put(TOKENS, token, {"client": id, "expires": expires.isoformat()})
    return {"token": token, "expires_in": seconds}


def _form(call: Call) -> Mapping[str, str]:
    if media_type(call.headers.get("content-type", MEDIA_TYPE)) != MEDIA_TYPE:
        raise BankError("token-request-invalid", expected=f"Content-Type must be {MEDIA_TYPE}")
    try:
        pairs = parse_qsl(call.request.body.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BankError("token-request-invalid", expected="the body must be a form in UTF-8") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise BankError("token-request-invalid", expected="no parameter may be sent twice")
    # A parameter without a value counts as left out.
    return {name: value for name, value in form.items() if value}


def _credentials(call: Call, form: Mapping[str, str]) -> Credentials:
    scheme, _, encoded = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        if "client_secret" in form:
            text = "the client must say who it is in one way: with HTTP Basic, or with client_id and client_secret"
            raise BankError("token-request-invalid", expected=text)
        return _basic(encoded)
    if "client_id" not in form:
        text = "the client must say who it is: with HTTP Basic, or with client_id, with or without client_secret"
        raise BankError("token-client-unknown", expected=text)
    # Without a secret it is mutual TLS that says who the client is, and no door asks for a certificate.
    return form["client_id"], (form["client_secret"],) if "client_secret" in form else None


def _basic(encoded: str) -> Credentials:
    """The RFC wants both parts form-encoded first; most clients do not do it, so that either is meant."""
    try:
        id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise BankError("token-client-unknown", expected="HTTP Basic takes client_id:client_secret in base64")
    return unquote_plus(id), (secret, unquote_plus(secret))


def _same(kept: str, secret: str) -> bool:
    return secrets.compare_digest(kept.encode(), secret.encode())
