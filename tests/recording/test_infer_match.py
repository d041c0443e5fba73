import json
from decimal import Decimal
from typing import Any

import pytest

from xs2a_sandbox.features.derive.infer_match import RecordedRequest, make_recorded_request, tell_apart
from xs2a_sandbox.features.derive.telling_headers import telling_headers
from xs2a_sandbox.http import Headers

TELLING = telling_headers(None)
A, B = "11111111-1111-4111-8111-111111111111", "22222222-1111-4111-8111-111111111111"


def request(
    number: int = 1, query: str = "", answer: str = "same", body: Any = None, **headers: str
) -> RecordedRequest:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return make_recorded_request(number, {}, f"/x?{query}", Headers(pairs), content, answer, TELLING)


def queries(*requests: RecordedRequest, said_by_bank: dict[str, int] | None = None) -> list[Any]:
    return [match.get("query") for match in tell_apart(requests, said_by_bank or {}, TELLING)]


def bodies(*requests: RecordedRequest) -> list[Any]:
    return [match.get("body") for match in tell_apart(requests, {}, TELLING)]


def test_values_are_compared_and_parameters_of_other_requests_must_be_absent() -> None:
    assert queries(request(query="a=1"), request(query="a=2"), request(query="b=")) == [
        {"a": "1", "b": {"absent": True}},
        {"a": "2", "b": {"absent": True}},
        {"a": {"absent": True}, "b": ""},
    ]


def test_ids_generated_by_the_client_match_any_id() -> None:
    assert queries(request(query=f"a={A}")) == [{"a": {"format": "uuid"}}]
    assert (
        queries(request(query=f"a={A}", answer="1"), request(query=f"a={B}", answer="2"))
        == [{"a": {"format": "uuid"}}] * 2
    )
    assert queries(request(query="a=2026-11-21T10:11:12Z")) == [{"a": {"format": "date-time"}}]


def test_ids_given_by_the_bank_are_compared() -> None:
    assert queries(request(5, f"a={A}"), request(6, f"a={B}"), said_by_bank={A: 4}) == [{"a": A}, {"a": B}]
    assert queries(request(5, f"a={A}"), said_by_bank={A: 5}) == [{"a": {"format": "uuid"}}]


def test_dates_match_any_date_unless_the_answer_depends_on_them() -> None:
    assert queries(request(query="a=2026-11-21")) == [{"a": {"format": "date"}}]
    assert queries(request(query="a=2026-11-21"), request(query="a=2026-11-22")) == [{"a": {"format": "date"}}] * 2
    assert queries(request(query="a=2026-11-21", answer="1"), request(query="a=2026-11-22", answer="2")) == [
        {"a": "2026-11-21"},
        {"a": "2026-11-22"},
    ]
    # The same date twice explains nothing.
    assert (
        queries(request(query="a=2026-11-21", answer="1"), request(query="a=2026-11-21", answer="2"))
        == [{"a": {"format": "date"}}] * 2
    )
    # Another difference may have decided.
    assert queries(request(query="a=2026-11-21&b=1", answer="1"), request(query="a=2026-11-22&b=2", answer="2")) == [
        {"a": {"format": "date"}, "b": "1"},
        {"a": {"format": "date"}, "b": "2"},
    ]


def test_other_values_match_anything_only_if_they_vary_without_effect() -> None:
    def amount(text: str, answer: str) -> RecordedRequest:
        return request(body={"amount": text}, answer=answer)

    assert bodies(amount("10.00", "1")) == [{"/amount": "10.00"}]
    assert bodies(amount("10.00", "1"), amount("11.00", "1")) == [{"/amount": {"format": "amount"}}] * 2
    assert bodies(amount("10.00", "1"), amount("11.00", "2")) == [{"/amount": "10.00"}, {"/amount": "11.00"}]


def test_repeated_values_of_one_request_count_as_one() -> None:
    assert queries(request(query="a=1&a=2"), request(query="a=2&a=3"), request(query="a=4")) == [
        {"a": {"in": ["1", "2", "3"]}},
        {"a": {"in": ["1", "2", "3"]}},
        {"a": "4"},
    ]


@pytest.mark.parametrize("body", [None, b"{", b"a=b", 5, "x", [], {}])
def test_a_body_other_than_a_json_object_is_not_compared(body: Any) -> None:
    assert bodies(request(body=body)) == [None]


def test_bodies_are_compared_by_their_scalars() -> None:
    assert bodies(request(body={"a": {"b/c": [1.5, True]}, "validUntil": "2026-11-21", "d": []})) == [
        {"/a/b~1c/0": Decimal("1.5"), "/a/b~1c/1": True, "/validUntil": {"format": "date"}, "/d": {"equals": []}}
    ]


def test_the_parent_of_a_scalar_is_not_absent() -> None:
    assert bodies(request(body={"a": 1}), request(body={"a": {"b": 2}}), request(body={})) == [
        {"/a": 1, "/a/b": {"absent": True}},
        {"/a/b": 2},
        {"/a": {"absent": True}, "/a/b": {"absent": True}},
    ]


def test_an_empty_list_is_the_same_as_null() -> None:
    assert bodies(request(body={"a": []}), request(body={"a": None})) == [{"/a": {"exists": True}}] * 2


def test_names_that_a_cassette_cannot_contain_are_left_out() -> None:
    assert bodies(request(body={"x" * 200: 1, "a\nb": 2, "c": 3})) == [{"/c": 3}]


def test_end_to_end_ids_match_any_id() -> None:
    assert bodies(request(body={"p": [{"endToEndIdentification": "E-1"}]})) == [
        {"/p/0/endToEndIdentification": {"exists": True}}
    ]


def test_the_consent_is_always_compared_and_other_headers_only_if_they_differ() -> None:
    requests = [request(Consent_ID=A, PSU_ID="x", Accept="a", X_Other=str(n)) for n in range(2)]
    assert [match["headers"] for match in tell_apart(requests, {}, TELLING)] == [{"Consent-ID": A}] * 2

    requests = [request(psu_id="x", X_Request_ID=A, X_Other="1"), request(PSU_ID="y", Accept="b")]
    assert [match["headers"] for match in tell_apart(requests, {}, TELLING)] == [
        {"PSU-ID": "x", "X-Request-ID": {"exists": True}, "Accept": {"absent": True}},
        {"PSU-ID": "y", "X-Request-ID": {"absent": True}, "Accept": "b"},
    ]


FORM = {"Content_Type": "application/x-www-form-urlencoded"}
XML = {"Content_Type": "application/xml"}


def test_fields_of_forms_distinguish_requests() -> None:
    first = request(body=b"grant_type=authorization_code&code=a", answer="1", **FORM)
    second = request(body=b"grant_type=refresh_token", answer="2", **FORM)

    assert bodies(first, second) == [
        {"/grant_type": "authorization_code", "/code": "a"},
        {"/grant_type": "refresh_token", "/code": {"absent": True}},
    ]


def test_generated_fields_of_a_form_match_any_value() -> None:
    first = request(body=b"client_assertion=eyJ.1&code_verifier=a1", **FORM)
    second = request(body=b"client_assertion=eyJ.2&code_verifier=b2", **FORM)

    assert bodies(first, second) == [{"/code_verifier": {"exists": True}}] * 2


def test_signed_values_are_never_compared() -> None:
    signed, other = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJhcHAifQ.c2ln", "eyJhbGciOiJFUzI1NiJ9..c2lnbmVk"
    first = request(body=f"scope=a&request={signed}".encode(), answer="1", **FORM)
    second = request(body=f"scope=b&request={other}&client_assertion=x".encode(), answer="2", **FORM)
    plain = request(body=b"scope=b&request=plain", answer="3", **FORM)

    assert bodies(first, second) == [{"/scope": "a"}, {"/scope": "b"}]
    assert bodies(second, plain)[1] == {"/scope": "b", "/request": "plain"}


def pain(*amounts: str, number: int = 1) -> bytes:
    entries = "".join(f"<Tx><Amt><InstdAmt Ccy='EUR'>{amount}</InstdAmt></Amt></Tx>" for amount in amounts)
    return f"<Document><GrpHdr><MsgId>M{number}</MsgId></GrpHdr>{entries}</Document>".encode()


def test_elements_distinguish_payments() -> None:
    first = request(body=pain("1.00"), answer="1", **XML)
    second = request(body=pain("2.00", number=2), answer="2", **XML)

    (one, other) = bodies(first, second)
    assert (one["/Document/Tx/Amt/InstdAmt"], other["/Document/Tx/Amt/InstdAmt"]) == ("1.00", "2.00")
    assert one["/Document/GrpHdr/MsgId"] == other["/Document/GrpHdr/MsgId"] == {"exists": True}


def test_one_element_and_several_are_distinguished() -> None:
    first, second = bodies(
        request(body=pain("1.00"), answer="1", **XML), request(body=pain("1.00", "3.00"), answer="2", **XML)
    )

    assert first["/Document/Tx/1/Amt/InstdAmt"] == {"absent": True}
    # With two elements, each has a number, and the path without a number is not absent.
    assert second["/Document/Tx/1/Amt/InstdAmt"] == "3.00"
    assert "/Document/Tx/Amt/InstdAmt" not in second


def test_the_boundary_of_a_multipart_body_is_not_compared() -> None:
    def parts(boundary: str, amount: str) -> RecordedRequest:
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n{amount}\r\n--{boundary}--\r\n'
        kind = f"multipart/form-data; boundary={boundary}"
        return request(body=body.encode(), answer=amount, Content_Type=kind)

    assert tell_apart([parts("x1", "1"), parts("y2", "2")], {}, TELLING) == [
        {"body": {"/a": "1"}},
        {"body": {"/a": "2"}},
    ]
