"""Reads flows that mitmproxy has written with `mitmdump -w`, `save_stream_file` or its key `w`."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mitmproxy import exceptions, flow, http
from mitmproxy.io import FlowReader

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers, browser_files
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import duration, split_url
from xs2a_sandbox.recording.har import DEEPEST, LARGEST, Foreign, Room

_PREFIX = re.compile(rb"(\d{1,12}):")
_MOST_VALUES = 1_000_000
"""The most values in one flow."""
_LONGEST_REASON = 200


def read(file: Path) -> Foreign:
    """Read a dump. Raises ConfigError if it cannot be read, is not a dump, or is from a newer mitmproxy."""
    entries, left_out, room = [], [], Room()
    try:
        with own_file.open_file(file) as stream:
            for number, dumped in enumerate(_flows(stream), 1):
                if not isinstance(dumped, http.HTTPFlow):
                    left_out.append(f"flow {number}: its type is {dumped.type}, not HTTP")
                elif dumped.response is None:
                    left_out.append(f"flow {number}: it has no response")
                elif dumped.request.method == "CONNECT":
                    left_out.append(f"flow {number}: it only opened a connection")
                elif browser_files.is_browser_file(dumped.request.method, dumped.request.path):
                    left_out.append(f"flow {number}: only browsers request {dumped.request.path}")
                else:
                    entries.append(_entry(dumped, dumped.response))
                    room.take(len(entries[-1].body) + len(entries[-1].answer_body))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    # mitmproxy trusts the types in a dump: with wrong types, any operation may fail.
    except Exception as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        if not isinstance(error, ValueError | exceptions.FlowReadException):
            reason = f"{type(error).__name__}: {reason}"
        text = f"{file}: after {len(entries) + len(left_out)} flows: {reason}"
        raise ConfigError(f"{text}. The file is not a mitmproxy dump, or is incomplete") from None
    return Foreign(tuple(entries), tuple(left_out))


def _flows(stream: BinaryIO) -> Iterator[flow.Flow]:
    """Yield the flows, passing mitmproxy one complete and checked flow at a time, because it trusts the lengths.

    Raises ValueError if a flow is malformed or too large.
    """
    left = os.fstat(stream.fileno()).st_size
    while begin := stream.peek(13)[:13]:  # type: ignore[attr-defined]
        prefix = _PREFIX.match(begin)
        if not prefix:
            raise ValueError("it must start with a length of at most 12 digits")
        size = prefix.end() + int(prefix[1]) + 1
        if size > min(left, LARGEST):
            text = f"{left:,} are left" if size > left else f"the maximum is {LARGEST:,}"
            raise ValueError(f"its length is {size:,} bytes, but {text}")
        left -= size
        written = stream.read(size)
        _check(written)
        yield from FlowReader(BytesIO(written)).stream()


def _check(written: bytes) -> None:
    """Check that values are nested as their lengths say; mitmproxy accepts even negative ones. Raises ValueError."""
    ends, place = [len(written)], 0
    for _ in range(_MOST_VALUES):
        while ends and place == ends[-1]:
            place = ends.pop() + 1
        if not ends:
            return
        prefix = _PREFIX.match(written, place, ends[-1])
        end = prefix.end() + int(prefix[1]) if prefix else -1
        if not prefix or end >= ends[-1]:
            raise ValueError(f"the length at byte {place:,} is missing or wrong")
        if written[end] in b"]}":
            ends.append(end)
            place = prefix.end()
        else:
            place = end + 1
        if len(ends) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    raise ValueError(f"it has more than {_MOST_VALUES:,} values")


def _entry(exchange: http.HTTPFlow, answer: http.Response) -> Exchange:
    request = exchange.request
    bank, target = split_url(request.url)
    ended = answer.timestamp_end or request.timestamp_start
    if not isinstance(answer.status_code, int):
        raise ValueError("the status must be a number")
    return Exchange(
        time=_time(request.timestamp_start),
        milliseconds=duration((ended - request.timestamp_start) * 1000),
        bank=bank,
        method=request.method,
        target=target,
        headers=_headers(request.headers),
        body=_body(request),
        status=answer.status_code,
        answer_headers=_headers(answer.headers),
        answer_body=_body(answer),
        cut=answer.raw_content is None,
    )


def _time(timestamp: float) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{timestamp!r} is not a valid time") from None


def _body(message: http.Message) -> bytes:
    """Return the body, decoded unless its Content-Encoding is wrong or it becomes too large."""
    written = message.raw_content
    if not isinstance(written, bytes | None):
        raise ValueError("a body must be bytes")
    plain = decode(_headers(message.headers), written or b"")
    return written or b"" if plain is None else plain


def _headers(headers: http.Headers) -> Headers:
    return Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields)
