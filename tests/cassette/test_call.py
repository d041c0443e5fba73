"""One parsed request."""

import json
from decimal import Decimal
from typing import Any

import pytest

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import MAX_DEPTH, Session, parse_json
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Transaction


def call(target: str = "/", body: bytes = b"") -> Call:
    request = Request("GET", target, Headers([("Consent-ID", "1")]), body)
    transaction = Transaction(MemoryStore(), "a", lambda _: {})
    return Call(request, split_target(target), Session("a", "http://x/s/a"), Clock(), transaction)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.10", Decimal("1.10")),
        (b"1", 1),
        (b'{"a": [true, null, "\\u00fc"]}', {"a": [True, None, "ü"]}),
        (b' {"a": 1e2} ', {"a": Decimal("1E+2")}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_valid_json(text: bytes, value: Any) -> None:
    parsed = parse_json(text, [])

    assert parsed == value
    assert repr(parsed) == repr(value)


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        (b'{"a": "b:c", "d": {"e:f": 1}}', []),
        (b'{"a": ":", "a": 1}', ["a"]),
        (b'[{"a": 1}, {"a": 1}]', []),
        (b'[[{"a": 1, "a": 1}]]', ["a"]),
        (b'{"a": "\\u003a", "a" : {}}', ["a"]),
        (b'{"a": 1, "a": "\\u003A"}', ["a"]),
    ],
)
def test_colons_in_strings_are_not_members(text: bytes, twice: list[str]) -> None:
    warnings: list[str] = []
    assert parse_json(text, warnings) == json.loads(text)
    assert [warning.split("'")[1] for warning in warnings] == twice


def test_a_duplicate_member_causes_a_warning() -> None:
    warnings: list[str] = []
    parse_json(b'{"a": {"b": 1, "c": 1, "b": 2, "b": 3}}', warnings)

    assert ["'b'" in warning for warning in warnings] == [True, True]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"NaN", b"-Infinity", b"1e999", b"\xff", b"'a'", b"[" * 100_000, b"9" * 5000, b'{"a" 1}']
)
def test_invalid_json(text: bytes) -> None:
    with pytest.raises(BankError) as error:
        parse_json(text, [])

    assert error.value.name == "format-error"
    assert 0 < len(error.value.values["expected"]) < 300


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth(opening: bytes, closing: bytes) -> None:
    def nested(depth: int) -> bytes:
        return opening * depth + b"1" + closing * depth

    parse_json(nested(MAX_DEPTH), [])
    parse_json(b"[" + b",".join([nested(3)] * 100) + b"]", [])
    with pytest.raises(BankError):
        parse_json(nested(MAX_DEPTH + 1), [])


def test_a_missing_body_is_null_in_expressions() -> None:
    assert call().scope()["body"] is None
    assert call(body=b"{").scope()["body"] is None
    with pytest.raises(BankError):
        _ = call(body=b"{").body


def test_the_first_of_several_values_is_used() -> None:
    assert call("/v1/x/?a=1&a=2&b=&c=%20").query == {"a": "1", "b": "", "c": " "}
    assert call("/v1/a%2Fb/").segments == ("v1", "a/b")
    assert call("/v1/x/").self_path == "/v1/x"


def test_roots_of_expressions() -> None:
    scope = call("/v1/x?a=1", b'{"n": 1.0}').scope()

    assert scope["session"]["id"] == "a"
    assert scope["session"]["url"] == "http://x/s/a"
    assert scope["headers"]["consent-id"] == "1"
    assert scope["body"] == {"n": Decimal("1.0")}
    assert scope["today"](1) == Clock().today(1).isoformat()
    assert scope["clock"]["today"] == Clock().today().isoformat()
    assert scope["uuid"]() != scope["uuid"]()
    assert dict(scope["request"])["method"] == "GET"
    assert dict(scope["request"])["text"] == '{"n": 1.0}'
