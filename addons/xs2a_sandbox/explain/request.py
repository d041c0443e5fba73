"""Reads a request described as JSON: `{"method", "url", "headers", "body", "session"}`."""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from xs2a_sandbox.errors import body_invalid
from xs2a_sandbox.http import Headers, Request, to_json
from xs2a_sandbox.journal.journal import Journaled
from xs2a_sandbox.state.session import is_session_name

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}")
_AS_SENT = "".join(map(chr, range(0x21, 0x7F)))
_LOCAL = ("localhost", "127.0.0.1", "::1", "")


def read(value: Mapping[str, Any], session: str | None = None) -> Request:
    """Return the request as it would be sent, without additions.

    A URL of another host means the proxy, any other the base URL. A body that is not a string is sent as JSON.
    `session` is the default if the description has none. Raises Refused.
    """
    method, session = value.get("method"), value.get("session", session)
    if not isinstance(method, str) or not _TOKEN.fullmatch(method):
        raise body_invalid("method must be an HTTP method such as GET")
    if session is not None and not (isinstance(session, str) and is_session_name(session)):
        raise body_invalid("a session name must have 1 to 64 characters from A-Z a-z 0-9 . _ -")
    scheme, host, port, target = _url(value.get("url"))
    return Request(
        method=method,
        target=target,
        headers=Headers(_headers(value.get("headers"))),
        body=_body(value.get("body")),
        host=host,
        scheme=scheme,
        door="direct" if host in _LOCAL else "proxy",
        user=session,
        port=port,
        certificates=_certificates(value.get("certificates")),
    )


def of(exchange: Journaled) -> Request:
    """Return the request of an exchange, as it was sent."""
    scheme, _, host = exchange.origin.partition("://")
    _, _, port = (exchange.headers.get("Host") or "").rpartition(":")
    return Request(
        method=exchange.method,
        target=exchange.target,
        headers=exchange.headers,
        body=exchange.body,
        host=host,
        scheme=scheme,
        door=exchange.door,
        user=exchange.session,
        port=int(port) if port.isascii() and port.isdigit() else None,
        certificates=exchange.certificates,
    )


def _url(url: Any) -> tuple[str, str, int | None, str]:
    """Return scheme, host, port and target."""
    if isinstance(url, str):
        if url.startswith("/"):
            return "http", "", None, quote(url.partition("#")[0], safe=_AS_SENT)
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if host and parts.scheme in ("http", "https"):
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            return parts.scheme, host, port, quote(target, safe=_AS_SENT)
    raise body_invalid("url must be a path such as /v1/accounts, or start with http:// or https://")


def _headers(headers: Any) -> Iterator[tuple[str, str]]:
    if headers is None:
        return
    if not isinstance(headers, dict):
        raise body_invalid(
            "headers must be an object whose values are strings, or lists of strings for repeated headers"
        )
    for name, values in headers.items():
        if not _TOKEN.fullmatch(name):
            raise body_invalid(f"{name!r} is not a header name")
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, str):
                raise body_invalid(f"the header {name} must be a string or a list of strings")
            yield name, value


def _certificates(texts: Any) -> tuple[bytes, ...] | None:
    if texts is None:
        return None
    try:
        return tuple(b64decode(text, validate=True) for text in texts)
    except (TypeError, ValueError):
        raise body_invalid("certificates must be a list of certificates in DER, each in base64") from None


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode(errors="replace") if isinstance(body, str) else to_json(body)
