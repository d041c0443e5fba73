"""Sends a recorded request again with other values, such as the ids that another bank has given."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from xs2a_sandbox.http import Headers, Request, body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.messages import to_json

_PART = re.compile(r"[^\s/?&=;,\"<>]+")
"""A part of a link, a cookie, or a header of several words."""


def rename_request(entry: Exchange, names: Mapping[str, str]) -> Request:
    """Return the request with other texts in place of those in `names`, at every place that has one of them."""

    def in_link(found: re.Match[str]) -> str:
        text = unquote(found[0])
        before, colon, id = ("", "", text) if text in names else text.rpartition(":")
        return quote(before + colon + names[id], safe=":@!$'()*") if id in names else found[0]

    pairs = [(name, _rename(value, names)) for name, value in entry.headers if name.lower() != "content-length"]
    return Request(entry.method, _PART.sub(in_link, entry.target), Headers(pairs), _rename_body(entry, names))


def _rename_body(entry: Exchange, names: Mapping[str, str]) -> bytes:
    content = body.read(entry.body)
    if media_type(entry.headers.get("content-type")) == FORM:
        fields = parse_qsl(entry.body.decode(errors="replace"), keep_blank_values=True)
        return urlencode([(name, _rename(value, names)) for name, value in fields]).encode()
    if content.kind == "json":
        changed = _rename_leaves(content.value, names)
        return entry.body if changed == content.value else to_json(changed)
    return _rename(content.value, names).encode() if content.kind == "text" else entry.body


def _rename_leaves(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _rename_leaves(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rename_leaves(inner, names) for inner in value]
    if isinstance(value, str):
        return _rename(value, names)
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and (new := names.get(str(value))):
        return Decimal(new) if re.fullmatch(r"-?\d+(\.\d+)?", new) else new
    return value


def _rename(text: str, names: Mapping[str, str]) -> str:
    if text in names:
        return names[text]
    words = text.split(" ")
    return " ".join(
        names[word] if word in names else _PART.sub(lambda found: names.get(found[0], found[0]), word) for word in words
    )
