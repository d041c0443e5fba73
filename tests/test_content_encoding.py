import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.content_encoding import LARGEST, decode
from xs2a_sandbox.messages import Headers


def named(encoding: str) -> Headers:
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
        ("identity", bytes),
        ("", bytes),
        ("gzip", lambda body: gzip.compress(body[:7]) + gzip.compress(body[7:])),
        ("deflate, gzip", lambda body: gzip.compress(zlib.compress(body))),
    ],
)
def test_what_was_encoded_comes_back(encoding, encode, body):
    assert decode(named(encoding), encode(body)) == body


def test_without_the_header_a_body_is_what_it_is():
    assert decode(Headers(), b"\x1f\x8b") == b"\x1f\x8b"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"x"),
        ("gzip", b"not gzip"),
        ("gzip", gzip.compress(b"x" * 1000)[:-9]),
        ("gzip", gzip.compress(b"\0" * (LARGEST + 1))),
    ],
    # Compressed bodies hold the time of day, so they are no names.
    ids=["brotli", "no gzip", "cut off", "too large"],
)
def test_what_cannot_be_decoded_is_none(encoding, body):
    assert decode(named(encoding), body) is None
