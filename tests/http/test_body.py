import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http import body as content


@pytest.mark.parametrize(
    ("body", "kind", "value"),
    [
        (b"", "nothing", None),
        (b'{"a": 1.10}', "json", {"a": Decimal("1.10")}),
        (b'[1, "x", null, true]', "json", [1, "x", None, True]),
        (b'"scalar"', "json", "scalar"),
        (b'\xef\xbb\xbf{"a": 1}', "json", {"a": 1}),
        (b'{"a": 1, "a": 2}', "json", {"a": 2}),
        (b'"\\ud800"', "json", "\ud800"),
        (b"123456789012345678901234567890", "json", 123456789012345678901234567890),
        (b"9" * 5000, "json", Decimal("9" * 5000)),
        (b"1e99999999999999999999999", "json", float("inf")),
        (b"NaN", "text", "NaN"),
        (b"{'a': 1}", "text", "{'a': 1}"),
        (b"<html>", "text", "<html>"),
        (b"\xff\xfe\x00", "bytes", b"\xff\xfe\x00"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_the_kind_of_a_body_follows_from_its_content(body: bytes, kind: str, value: object) -> None:
    assert content.read(body) == (kind, value)


def test_a_body_nested_too_deeply_is_text() -> None:
    assert content.read(b"[" * 200_000 + b"]" * 200_000).kind == "text"


@given(st.binary())
def test_any_bytes_have_a_kind(body: bytes) -> None:
    assert content.read(body).kind in ("json", "text", "bytes", "nothing")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_json_is_read_as_by_the_json_module(value: object) -> None:
    assert content.read(json.dumps(value).encode()) == ("json", value)
