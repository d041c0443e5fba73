"""Rejects request headers that two programs could read differently."""

import re
from functools import lru_cache

from xs2a_sandbox.http.messages import Headers
from xs2a_sandbox.http.origin import split_authority

_DISGUISED = re.compile(r"[^a-z]*(transfer[^a-z]*encoding|content[^a-z]*length)[^a-z]*")
_DIGITS = 18
"""The most digits of a length that every program can read."""
_FRAMING = frozenset({"transfer-encoding", "content-length"})


def mistake(headers: Headers, version: str) -> str | None:
    """Describe what is wrong with the headers of a request in this HTTP `version`, without quoting them."""
    first = headers.first
    has_repeated = len(first) != len(headers.pairs)
    host = first.get("host")
    if host is None:
        if version == "1.1":
            return "its Host header is missing, which HTTP/1.1 requires"
    elif has_repeated and len(headers.all("host")) > 1:
        return "it has more than one Host header"
    elif split_authority(host) is None:
        return "its Host header must be a host, with or without a port"
    if "transfer-encoding" in first:
        if version != "1.1":
            return "its Transfer-Encoding needs HTTP/1.1"
        if [coding.lower() for coding in headers.all("transfer-encoding")] != ["chunked"]:
            return "its Transfer-Encoding must be chunked"
        if "content-length" in first:
            return "it has both Transfer-Encoding and Content-Length"
    if (length := first.get("content-length")) is not None:
        if has_repeated and len(headers.all("content-length")) > 1:
            return "it has more than one Content-Length header"
        if len(length) > _DIGITS:
            return "its Content-Length is not a valid length"
    if _has_disguised(tuple(first)):
        return "the name of a header looks like Transfer-Encoding or Content-Length, but is different"
    return None


@lru_cache(512)  # few apps send headers of other names in each request
def _has_disguised(names: tuple[str, ...]) -> bool:
    return any(name not in _FRAMING and _DISGUISED.fullmatch(name) for name in names)
