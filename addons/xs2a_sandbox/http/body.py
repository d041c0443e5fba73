"""The content of a body: JSON, text, bytes or nothing, whatever its Content-Type says."""

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
    """`value` is the JSON with decimals as `Decimal`, the text, or the bytes."""

    kind: Literal["json", "text", "bytes", "nothing"]
    value: Any = None


def read(body: bytes) -> Content:
    """Never raises. Of a member that is written twice the later counts."""
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
        # Half a surrogate pair, a number of thousands of digits: JSON all the same.
        return Content("json", json.loads(text, parse_float=exact_number, parse_int=_integer, parse_constant=refuse))
    except (ValueError, RecursionError):
        return Content("text", text)


_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def exact_number(text: str) -> Decimal | float:
    """The number with its digits, unless its exponent has twenty of them."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < _LONGEST_INT else Decimal(text)


def refuse(text: str) -> NoReturn:
    """Raises ValueError for `NaN` and `Infinity`, which other readers take."""
    raise ValueError(f"{text} is no JSON")


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. Raises ValueError where one occurs twice, as only one of them would be looked at."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member occurs twice")
    return members


LARGEST = 16 * 1024 * 1024
"""Bytes that a body may grow to: what stops a gzip bomb."""

_WINDOW = 8 * 1024 * 1024
"""Bytes of memory that a zstd body may ask for (RFC 9659)."""


def decode(headers: Headers, body: bytes) -> bytes | None:
    """None where the encoding is not a known one, or the body is not what it says, or too large."""
    for encoding in reversed(_list(headers, "Content-Encoding")):
        if encoding in ("", "identity"):
            continue
        plain = _DECODERS[encoding](body) if encoding in _DECODERS else None
        if plain is None:
            return None
        body = plain
    return body


def restrict_encodings(headers: Headers) -> Headers:
    """The same request, which asks for no encoding that is not known here."""
    encodings = _list(headers, "Accept-Encoding")
    kept = [encoding for encoding in encodings if split_parameters(encoding)[0] in _READABLE]
    if kept == encodings:
        return headers
    pairs = [pair for pair in headers if pair[0].lower() != "accept-encoding"]
    return Headers([*pairs, ("Accept-Encoding", ", ".join(kept or ["identity"]))])


def _list(headers: Headers, name: str) -> list[str]:
    return [word.strip().lower() for value in headers.all(name) for word in value.split(",")]


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


def _deflate(body: bytes) -> bytes | None:
    """Some send it without its header."""
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
        # That reader takes a frame that breaks off for one that ends.
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
