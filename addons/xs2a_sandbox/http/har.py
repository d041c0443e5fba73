"""Exchanges with a real bank as HAR 1.2.

Additions to HAR 1.2 start with `_`: `_bank`, `_target`, `_cut` and `_redactions` of `Exchange`, and `_encoding` of a
request's body, which HAR has only for responses.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from xs2a_sandbox import __version__
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.messages import Headers

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def log(entries: Iterable[Exchange] = (), comment: str = "") -> dict[str, Any]:
    """Return a complete document: `{"log": {…}}`."""
    creator = {"name": "xs2a-sandbox", "version": __version__}
    note = {"comment": comment} if comment else {}
    return {"log": {"version": "1.2", "creator": creator, **note, "entries": [to_har(entry) for entry in entries]}}


def to_har(entry: Exchange) -> dict[str, Any]:
    time = entry.time if entry.time.tzinfo else entry.time.replace(tzinfo=UTC)
    request: dict[str, Any] = {
        "method": entry.method,
        "url": entry.bank + entry.target,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(entry.headers),
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(entry.body),
    }
    if entry.body:
        text, encoding = _as_text(entry.body)
        request["postData"] = {"mimeType": entry.headers.get("content-type") or "", "text": text}
        request["postData"] |= {"_encoding": encoding} if encoding else {}
    text, encoding = _as_text(entry.answer_body)
    content = {"size": len(entry.answer_body), "mimeType": entry.answer_headers.get("content-type") or "", "text": text}
    return {
        "startedDateTime": time.isoformat(),
        "time": entry.milliseconds,
        "request": request,
        "response": {
            "status": entry.status,
            "statusText": _PHRASES.get(entry.status, ""),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": _pairs(entry.answer_headers),
            "content": content | ({"encoding": encoding} if encoding else {}),
            "redirectURL": entry.answer_headers.get("location") or "",
            "headersSize": -1,
            "bodySize": len(entry.answer_body),
        },
        "cache": {},
        "timings": {"send": 0, "wait": entry.milliseconds, "receive": 0},
        "_bank": entry.bank,
        "_target": entry.target,
        **({"_cut": True} if entry.cut else {}),
        **({"_redactions": entry.redactions} if entry.redactions else {}),
    }


def from_har(har: Any) -> Exchange:
    """Parse an entry, also from browsers and other proxies. Without `_bank`, the bank is the origin of the URL.

    A response whose body is missing in the HAR is `cut`.

    Raises:
        ValueError: a member is missing or invalid; the text names it.
    """
    bank, target = _get(har, "_bank", str, ""), _get(har, "_target", str, "")
    if not (bank and target):
        bank, target = split_url(_get(har, "request.url", str))
    status = _get(har, "response.status", int)
    method = _get(har, "request.method", str)
    answer_body = _content(_get(har, "response.content", dict, {}), "response.content")
    left_out = not answer_body and "text" not in _get(har, "response.content", dict, {})
    size = _get(har, "response.content.size", _NUMBER, 0)
    return Exchange(
        time=_time(_get(har, "startedDateTime", str)),
        milliseconds=duration(_get(har, "time", _NUMBER, 0)),
        bank=bank,
        method=method,
        target=target,
        headers=_headers(har, "request.headers"),
        body=_read_posted(har),
        status=status,
        answer_headers=_headers(har, "response.headers"),
        answer_body=answer_body,
        cut=_get(har, "_cut", bool, False) or (left_out and size > 0 and method != "HEAD"),
        redactions=_get(har, "_redactions", int, 0),
    )


def split_url(url: str) -> tuple[str, str]:
    """Split a URL into `https://bank.example` and `/v1/accounts?x=y`. Raises ValueError."""
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        raise ValueError(f"{url!r} is not an absolute URL")
    return f"{parts.scheme}://{parts.netloc}", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def duration(milliseconds: float | Decimal) -> float:
    """Return the duration as a float, or 0 if it is not a valid duration."""
    try:
        taken = float(milliseconds)
    except OverflowError:
        return 0.0
    return max(0.0, taken) if math.isfinite(taken) else 0.0


def _pairs(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _as_text(body: bytes) -> tuple[str, str | None]:
    try:
        return body.decode(), None
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"


_NEEDED = object()
_NUMBER = (int, float, Decimal)


def _get(har: Any, place: str, kind: type | tuple[type, ...], default: Any = _NEEDED) -> Any:
    """Return a member. Null counts as missing, because some programs write every member they know."""
    value = har
    for name in place.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None:
        if default is _NEEDED:
            raise ValueError(f"{place} is missing")
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{place} has the wrong type: {str(value)[:40]!r}")
    return value


def _headers(har: Any, place: str) -> Headers:
    pairs = []
    for number, header in enumerate(_get(har, place, list, [])):
        try:
            name, value = _get(header, "name", str), _get(header, "value", str, "")
        except ValueError as error:
            raise ValueError(f"{place}[{number}]: {error}") from None
        # HTTP/2 has parts of the request line among the headers.
        if not name.startswith(":"):
            pairs.append((name, value))
    return Headers(pairs)


def _read_posted(har: Any) -> bytes:
    data = _get(har, "request.postData", dict, {})
    params = [p for p in _get(data, "params", list, []) if isinstance(p, dict)]
    if not data.get("text") and params:
        return urlencode([(str(p.get("name", "")), str(p.get("value", ""))) for p in params]).encode()
    return _content(data, "request.postData")


def _content(data: Mapping[str, Any], place: str) -> bytes:
    text = _get(data, "text", str, "")
    if "base64" not in (data.get("encoding"), data.get("_encoding")):
        return bytes(text.encode(errors="surrogatepass"))
    try:
        return base64.b64decode(text)
    except ValueError as error:
        raise ValueError(f"{place}.text is not base64: {error}") from None


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        time.astimezone(UTC)  # fails in the years 1 and 9999
    except (ValueError, OverflowError):
        raise ValueError(f"startedDateTime must be a time such as 2026-11-21T10:11:12Z, not {text[:40]!r}") from None
    return time
