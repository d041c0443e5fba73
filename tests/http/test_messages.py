import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.errors import InvalidResponse
from xs2a_sandbox.http import Headers, Response, to_json
from xs2a_sandbox.http.messages import header_mistake, is_field_value


def test_headers_compare_case_insensitively_and_keep_their_order() -> None:
    headers = Headers([("B", "1"), ("a", "2"), ("b", "3"), ("Consent-ID", "")])

    assert headers.get("CONSENT-id") == ""
    assert headers.get("b") == "1"
    assert headers.all("B") == ["1", "3"]
    assert headers.get("nope") is None
    assert headers.all("nope") == []
    assert list(headers) == [("B", "1"), ("a", "2"), ("b", "3"), ("Consent-ID", "")]
    assert headers.first == {"b": "1", "a": "2", "consent-id": ""}


@pytest.mark.parametrize("status", [-1, 0, 99, 100, 101, 199, 600, 1000])
def test_an_interim_status_is_refused(status: int) -> None:
    with pytest.raises(InvalidResponse, match=str(status)):
        Response(status)


@pytest.mark.parametrize("status", [204, 304])
def test_a_body_is_refused_where_none_is_allowed(status: int) -> None:
    assert Response(status).body == b""
    with pytest.raises(InvalidResponse):
        Response(status, body=b"x")


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\r\nb", "ä", "a\x00", "(a)", "a\n"])
def test_an_invalid_header_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidResponse):
        Response(headers=((name, "x"),))


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\r\nb: c", "\x00", "€", "a\n", "\ud800"])
def test_a_header_value_that_would_break_the_message_is_refused(value: str) -> None:
    assert not is_field_value(value)
    with pytest.raises(InvalidResponse):
        Response(headers=(("X", value),))
    with pytest.raises(InvalidResponse):
        Response().with_headers(("X", value))


@given(st.text())
def test_an_accepted_value_can_be_sent(value: str) -> None:
    if is_field_value(value):
        sent = value.encode("latin-1")
        assert not set(sent) & set(b"\r\n\x00")
        Response(headers=(("X", value),))


FIELDS = st.lists(st.tuples(st.sampled_from(["A", "b"]), st.text(max_size=3)), max_size=4)


@given(FIELDS)
def test_the_first_invalid_header_is_named(fields: list[tuple[str, str]]) -> None:
    unfit = [name for name, value in fields if max(value, default="") > "\xff" or {*value} & {"\r", "\n", "\0"}]

    mistake = header_mistake(Headers(fields))

    assert (mistake is None) == (not unfit)
    if unfit:
        assert mistake is not None
        assert mistake.startswith(f"the header {unfit[0]} contains")
        with pytest.raises(InvalidResponse, match=f"the header {unfit[0]} contains"):
            Response(headers=tuple(fields))


@given(FIELDS, st.sampled_from(["a", "B", "c"]))
def test_all_values_of_a_name_are_returned(fields: list[tuple[str, str]], name: str) -> None:
    assert Headers(fields).all(name) == [value for other, value in fields if other.lower() == name.lower()]


def test_a_response_can_have_no_body() -> None:
    response = Response(200, (("A", "b"),), b"x", "reset").without_body()

    assert (response.status, response.headers, response.body, response.fault) == (200, (("A", "b"),), b"", "reset")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"),
        (Decimal("-0.00"), "-0.00"),
        ([Decimal("100"), None, True, "ü"], '[100,null,true,"ü"]'),
        ({"b": 1, "a": {}}, '{"b":1,"a":{}}'),
        (10**30, "1" + "0" * 30),
    ],
)
def test_json_values_are_written_as_json(value: object, text: str) -> None:
    assert to_json(value).decode() == text


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    again = json.loads(to_json(value), parse_float=Decimal, parse_int=Decimal)

    assert again.as_tuple() == value.as_tuple() or again == value
