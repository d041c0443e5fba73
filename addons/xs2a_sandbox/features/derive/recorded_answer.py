"""Converts a recorded answer to the form of cassettes: readable if that preserves it, otherwise text or bytes."""

import base64
import hashlib
import json
import re
from decimal import Decimal
from typing import Any

from xs2a_sandbox.documents.yaml_writer import survives
from xs2a_sandbox.errors import InvalidResponse
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.body import decode, read, refuse, unique_members
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import counts
from xs2a_sandbox.http.media_type import is_json, media_type
from xs2a_sandbox.http.xml import is_xml, parse_xml
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED

BODIES = "bodies"
LARGE = 64 * 1024
"""Larger bodies are stored in separate files."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DEEPEST = 6
"""The nesting in a cassette above the body of an answer."""


def write_answer(entry: Exchange, files: dict[str, bytes]) -> dict[str, Any]:
    """Return the value of `respond`. A large body is added to `files`, keyed by its path relative to the cassette."""
    headers = _keep_headers(entry.answer_headers)
    if encoding := _encoding(entry):
        headers["Content-Encoding"] = encoding
    answer: dict[str, Any] = {"status": entry.status, **({"headers": headers} if headers else {}), "raw": True}
    # These answers cannot have a body, even if one was recorded.
    return answer if entry.status in (204, 304) or not entry.answer_body else answer | _body(entry, files)


def only_bytes(entry: Exchange) -> str | None:
    """Return why the body of an answer does not match its media type, and is returned as the original bytes."""
    if not entry.answer_body or note_of(entry.answer_body):
        return None
    if encoding := _encoding(entry):
        return f"its Content-Encoding {encoding} cannot be decoded"
    media = media_type(entry.answer_headers.get("content-type"))
    try:
        if is_json(media):
            json.loads(entry.answer_body)
        elif is_xml(media):
            parse_xml(entry.answer_body)
    except (ValueError, RecursionError):
        return f"it is no {'JSON' if is_json(media) else 'XML'}, as its Content-Type says"
    return None


def _encoding(entry: Exchange) -> str | None:
    """Return the Content-Encoding of a recorded body that is still encoded.

    HAR files of browsers name one of decoded bodies.
    """
    encoding = entry.answer_headers.get("content-encoding")
    if encoding and decode(entry.answer_headers, entry.answer_body) is None and read(entry.answer_body).kind == "bytes":
        return encoding
    return None


def body_file(content: bytes, ending: str) -> str:
    """Return a file name with a hash of the content, so that editing it does not change the answer of another rule."""
    return f"{BODIES}/{hashlib.sha256(content).hexdigest()[:16]}.{ending}"


def is_intact(name: str, content: bytes) -> bool:
    return body_file(content, name.rpartition(".")[2]) == name


def _keep_headers(headers: Headers) -> dict[str, str]:
    kept: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        if not counts(name) or value == DROPPED:
            continue
        try:
            Response(headers=((name, value),))
        except InvalidResponse:
            continue
        spelled, before = kept.get(name.lower(), (name, None))
        kept[name.lower()] = (spelled, value if before is None else f"{before}, {value}")
    return dict(kept.values())


def _body(entry: Exchange, files: dict[str, bytes]) -> dict[str, Any]:
    content = entry.answer_body
    media = media_type(entry.answer_headers.get("content-type") or "application/json")
    if len(content) > LARGE:
        name = body_file(content, "json" if is_json(media) else "txt" if media.startswith("text/") else "bin")
        files[name] = content
        return {"file": name}
    try:
        text = content.decode()
        value = _parse(text) if is_json(media) else _NOTHING
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
    if value is not _NOTHING:
        return {"body": value}
    if not _CONTROL.search(text) and survives(text):
        return {"text": text}
    return {"base64": base64.b64encode(content).decode()}


_NOTHING = object()


def _parse(text: str) -> Any:
    """Parse JSON, if YAML and the resulting answer preserve it."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=unique_members)
    except (ValueError, RecursionError):
        return _NOTHING
    nested = value
    for _ in range(_DEEPEST):
        nested = [nested]
    return value if survives(nested) else _NOTHING
