"""The content of a body: JSON, text, bytes or nothing, regardless of its Content-Type."""

import json
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from io import BytesIO
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec

from xs2a_sandbox.http.media_type import split_parameters
from xs2a_sandbox.http.messages import Headers

_LONGEST_INT = 4000


class Content(NamedTuple):
    """`value` is the JSON with decimals as `Decimal`, or the text, or the bytes."""

    kind: Literal["json", "text", "bytes", "nothing"]
    value: Any = None


def read(body: bytes) -> Content:
    """Parse a body; never raises. If a member is repeated, the last one counts."""
    if not body:
        return Content("nothing")
    try:
        return Content("json", _decode(body))
    except (ValueError, RecursionError, InvalidOperation):
        pass
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Content("bytes", body)
    try:
        # Lone surrogates and numbers of thousands of digits: still valid JSON.
        return Content("json", json.loads(text, parse_float=exact_number, parse_int=_integer, parse_constant=refuse))
    except (ValueError, RecursionError):
        return Content("text", text)


_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def exact_number(text: str) -> Decimal | float:
    """Parse a number and keep its digits, unless the exponent is too large for Decimal."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < _LONGEST_INT else Decimal(text)


def refuse(text: str) -> NoReturn:
    """Raise ValueError for `NaN` and `Infinity`, which other parsers accept."""
    raise ValueError(f"{text} is not JSON")


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object.

    Raises ValueError if a member is repeated, because only one of the two would be checked.
    """
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member occurs twice")
    return members


LARGEST = 16 * 1024 * 1024
"""The most bytes of a decoded body, as a protection against gzip bombs."""

_WINDOW = 8 * 1024 * 1024
"""The most bytes of memory for decoding a zstd body (RFC 9659)."""


def decode(headers: Headers, body: bytes) -> bytes | None:
    """Decode a body. Returns None if the encoding is unknown, or the body is malformed or too large."""
    for encoding in reversed(_list(headers, "Content-Encoding")):
        if encoding in ("", "identity"):
            continue
        plain = _DECODERS[encoding](body) if encoding in _DECODERS else None
        if plain is None:
            return None
        body = plain
    return body


def restrict_encodings(headers: Headers) -> Headers:
    """Return the headers without unknown encodings in Accept-Encoding."""
    encodings = _list(headers, "Accept-Encoding")
    kept = [encoding for encoding in encodings if split_parameters(encoding)[0] in _READABLE]
    if kept == encodings:
        return headers
    pairs = [pair for pair in headers if pair[0].lower() != "accept-encoding"]
    return Headers([*pairs, ("Accept-Encoding", ", ".join(kept or ["identity"]))])


def _list(headers: Headers, name: str) -> list[str]:
    return [word.strip().lower() for value in headers.all(name) for word in value.split(",")]


def _inflate(body: bytes, window: int) -> bytes | None:
    """Decompress gzip, which may consist of several members, or zlib."""
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


def _deflate(body: bytes) -> bytes | None:
    """Decompress deflate. Some senders omit the zlib header."""
    plain = _inflate(body, 15)
    return _inflate(body, -15) if plain is None else plain


def _brotli(body: bytes) -> bytes | None:
    import brotli

    stream = brotli.Decompressor()
    try:
        plain: bytes = stream.process(body, output_buffer_limit=LARGEST + 1)
    except brotli.error:
        return None
    return plain if stream.is_finished() and len(plain) <= LARGEST else None


def _zstd(body: bytes) -> bytes | None:
    import zstandard

    engine = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with engine.stream_reader(BytesIO(body), read_across_frames=True) as reader:
            plain = reader.read(LARGEST + 1)
        if len(plain) > LARGEST:
            return None
        # The other decoder accepts a truncated frame.
        while body:
            frame = engine.decompressobj()
            frame.decompress(body)
            if not frame.eof:
                return None
            body = frame.unused_data
    except zstandard.ZstdError:
        return None
    return plain


_DECODERS: Mapping[str, Callable[[bytes], bytes | None]] = {
    "gzip": partial(_inflate, window=31),
    "x-gzip": partial(_inflate, window=31),
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
_READABLE = {*_DECODERS, "identity", ""}
