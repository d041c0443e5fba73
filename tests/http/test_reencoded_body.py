"""Bodies re-encoded by libraries, and the description of the one that matches a digest."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http.reencoded_body import body_of, other_bodies

BODY = b'{"b": 1, "a": "\xc3\xa4"}'


@pytest.mark.parametrize(
    ("digested", "words"),
    [
        (b"", "an empty body"),
        (BODY + b"\n", "the body with a line end after it"),
        (BODY + b"\r\n", "the body with a carriage return and a line feed after it"),
        (b'{"b":1,"a":"\xc3\xa4"}', "the body without white space"),
        (b'{"b":1,"a":"\\u00e4"}', "the body without white space, with \\u escapes"),
        (b'{"a":"\xc3\xa4","b":1}', "the body without white space, its members in alphabetical order"),
        (b'{\n  "b": 1,\n  "a": "\xc3\xa4"\n}', "the body indented by 2"),
        (b"something else", None),
    ],
)
@pytest.mark.parametrize("algorithm", [hashlib.sha256, hashlib.sha512])
def test_the_digested_body_is_described(algorithm: "type[hashlib._Hash]", digested: bytes, words: str | None) -> None:
    assert body_of(algorithm(digested).digest(), BODY) == words


def test_an_empty_body_is_described() -> None:
    assert {"the body {}", "the body null", "the body undefined"} <= {words for words, _ in other_bodies(b"")}


@pytest.mark.parametrize(
    ("body", "other"), [(b"a\r\nb", b"a\nb"), (b"a\nb", b"a\r\nb")], ids=["line feeds", "carriage returns"]
)
def test_changed_line_ends_are_described(body: bytes, other: bytes) -> None:
    assert other in [written for _, written in other_bodies(body)]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_reencoded(body: bytes) -> None:
    assert all(isinstance(written, bytes) for _, written in other_bodies(body))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_reencoded_json_has_the_same_value(value: object) -> None:
    for words, body in other_bodies(json.dumps({"value": value}).encode()):
        if body and not words.startswith("an empty"):
            assert json.loads(body) == {"value": value}, words


def test_a_body_nested_too_deeply_is_not_reencoded() -> None:
    assert "the body indented by 2" not in [words for words, _ in other_bodies(b"[" * 200_000)]
