"""Bodies without their Content-Encoding."""

import zlib

from xs2a_sandbox.messages import Headers

LARGEST = 16 * 1024 * 1024
"""Bytes that a body may grow to: what stops a gzip bomb."""

# Some send deflate without its header.
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}


def decode(headers: Headers, body: bytes) -> bytes | None:
    """None where the encoding is not gzip or deflate, or the body is not what it says, or too large."""
    encodings = [word.strip().lower() for value in headers.all("Content-Encoding") for word in value.split(",")]
    for encoding in reversed(encodings):
        if encoding in ("", "identity"):
            continue
        inflated = next((found for w in _WINDOWS.get(encoding, ()) if (found := _inflate(body, w)) is not None), None)
        if inflated is None:
            return None
        body = inflated
    return body


def _inflate(body: bytes, window: int) -> bytes | None:
    """A gzip body may be several, one after the other."""
    plain = b""
    while body:
        stream = zlib.decompressobj(window)
        try:
            plain += stream.decompress(body, LARGEST + 1 - len(plain))
        except zlib.error:
            return None
        if not stream.eof or len(plain) > LARGEST:
            return None
        body = stream.unused_data
    return plain
