import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.body import LARGEST, decode, restrict_encodings


def encoded_by(encoding: str) -> Headers:
    return Headers([("Content-Encoding", encoding)])


def raw_deflate(body: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(body) + engine.flush()


@given(st.binary(max_size=2000))
@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("X-GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
        ("zstd", lambda body: zstandard.compress(body[:7]) + zstandard.compress(body[7:])),
        ("br, gzip", lambda body: gzip.compress(brotli.compress(body))),
        ("identity", bytes),
        ("", bytes),
        ("gzip", lambda body: gzip.compress(body[:7]) + gzip.compress(body[7:])),
        ("deflate, gzip", lambda body: gzip.compress(zlib.compress(body))),
    ],
)
def test_an_encoded_body_is_decoded(encoding, encode, body):
    assert decode(encoded_by(encoding), encode(body)) == body


def test_without_the_header_a_body_is_not_decoded():
    assert decode(Headers(), b"\x1f\x8b") == b"\x1f\x8b"


@pytest.mark.parametrize(
    ("encoding", "broken"),
    [
        ("compress", lambda: b"x"),
        ("br", lambda: b"not brotli"),
        ("br", lambda: brotli.compress(bytes(range(256)) * 9)[:-5]),
        ("br", lambda: brotli.compress(b"\0" * (LARGEST + 1))),
        ("zstd", lambda: b"not zstd"),
        ("zstd", lambda: zstandard.compress(bytes(range(256)) * 9)[:-5]),
        ("zstd", lambda: zstandard.compress(b"x" * 1000) + zstandard.compress(bytes(range(256)) * 9)[:-5]),
        ("zstd", lambda: zstandard.compress(b"\0" * (LARGEST + 1))),
        ("gzip", lambda: b"not gzip"),
        ("gzip", lambda: gzip.compress(b"x" * 1000)[:-9]),
        ("gzip", lambda: gzip.compress(b"\0" * (LARGEST + 1))),
    ],
    ids=[
        "unknown",
        "no brotli",
        "brotli cut off",
        "brotli too large",
        "no zstd",
        "zstd cut off",
        "second frame of zstd cut off",
        "zstd too large",
        "no gzip",
        "cut off",
        "too large",
    ],
)
def test_a_body_that_cannot_be_decoded_is_none(encoding, broken):
    assert decode(encoded_by(encoding), broken()) is None


@pytest.mark.parametrize(
    ("requested", "sent"),
    [
        ("gzip, deflate, br, zstd", "gzip, deflate, br, zstd"),
        ("gzip;q=1.0, identity; q=0.5", "gzip;q=1.0, identity; q=0.5"),
        ("", ""),
        ("gzip, dcb, br;q=0.8, *;q=0.1", "gzip, br;q=0.8"),
        ("*", "identity"),
        ("dcz", "identity"),
    ],
)
def test_only_readable_encodings_are_requested(requested: str, sent: str) -> None:
    headers = Headers([("Accept", "*/*"), ("Accept-Encoding", requested)])
    assert restrict_encodings(headers).get("accept-encoding") == sent
    assert restrict_encodings(headers).get("accept") == "*/*"


def test_a_request_without_accepted_encodings_is_not_changed() -> None:
    headers = Headers([("Accept", "*/*")])
    assert restrict_encodings(headers) is headers
