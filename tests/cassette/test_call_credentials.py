"""Forms, tokens, JSON Web Tokens, and names of headers in requests."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey

from tests.support.doors import limits
from tests.support.writing import BANK, SCHEMAS, check
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.state import MemoryStore

KEY = ECKey.generate_key("P-256", {"kid": "k1"})
CLIENT = {"name": "Anna", "secret": "s", "jwks": {"keys": [KEY.as_dict(private=False)]}}
TOKENS = {
    "good": {"client": "anna", "expires": "2999-01-01T00:00:00Z", "resource": "c-1"},
    "old": {"client": "anna", "expires": "2001-01-01T00:00:00Z"},
    "endless": {"client": "anna"},
}


def served(directory: Path, value: Any) -> Engine:
    """Return a bank that answers with this value."""
    operation = {"id": "all", "method": "POST", "path": "/v1/all", "respond": {"body": {"is": value}}}
    read, problems = check(directory, bank={**BANK, "operations": [operation]})
    assert read is not None
    assert not problems, "\n".join(map(str, problems))
    data = TestData({"clients": {"anna": CLIENT}, "tokens": TOKENS}, ())
    return Engine(Parts(Banks(Bank(read, SCHEMAS)), MemoryStore(), data, limits=limits(), sign=sign))


def sign(claims: Mapping[str, Any], header: Mapping[str, Any]) -> str:
    return json.dumps([claims, header])


def answer(directory: Path, value: Any, body: bytes = b"", target: str = "/v1/all", **headers: str) -> Any:
    pairs = [(name.replace("_", "-"), text) for name, text in headers.items()]
    response = asyncio.run(served(directory, value).answer(Request("POST", target, Headers(pairs), body)))
    assert response.status == 200, response.body
    return json.loads(response.body)["is"]


FORM = {"Content_Type": "application/x-www-form-urlencoded; charset=utf-8"}
JSON = {"Content_Type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        (FORM, b"a=1&b=&a=2&c=%C3%A4+x", {"a": "1", "b": "", "c": "ä x"}),
        (FORM, b"", {}),
        (FORM, b'{"a": 1}', None),
        (JSON, b'{"a": 1}', None),
        ({"Content_Type": "application/xml"}, b"<a>1</a>", None),
        ({}, b"", None),
    ],
)
def test_form_members_are_read(tmp_path: Path, headers: Mapping[str, str], body: bytes, expected: Any) -> None:
    assert answer(tmp_path, "{{ form }}", body, **headers) == expected


def test_form_members_in_larger_expressions(tmp_path: Path) -> None:
    assert answer(tmp_path, "{{ form.a ~ '-' ~ form['b'] }}", b"a=1&b=2", **FORM) == "1-2"
    assert answer(tmp_path, "{{ 'yes' if form is none and not form.a }}", b"{}", **JSON) == "yes"


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer good", "c-1"),
        ("bearer  good", "c-1"),
        ("DPoP good", "c-1"),
        ("Basic good", None),
        ("Bearer old", None),
        ("Bearer nobody", None),
        ("Bearer ", None),
        ("good", None),
    ],
)
def test_the_token_of_a_request(tmp_path: Path, authorization: str, expected: Any) -> None:
    assert answer(tmp_path, "{{ token.resource }}", Authorization=authorization) == expected
    assert answer(tmp_path, "{{ 'none' if token is none else token.resource }}", Authorization=authorization) == (
        expected or "none"
    )


def test_a_token_without_an_expiry_has_no_member_for_it(tmp_path: Path) -> None:
    assert answer(tmp_path, "{{ token }}", Authorization="Bearer endless") == {"client": "anna"}


def test_a_request_without_a_token_has_none(tmp_path: Path) -> None:
    assert answer(tmp_path, "{{ token }}") is None


@pytest.mark.parametrize(
    "value",
    [
        "{{ headers['Consent-ID'] }}",
        "{{ headers['CONSENT-id'] ~ '' }}",
        "{{ headers['Consent-ID'] | lower }}",
        "{{ headers.Who if headers.WHO == 'me' }}",
    ],
)
def test_names_of_headers_can_have_any_case(tmp_path: Path, value: str) -> None:
    assert answer(tmp_path, value, Consent_ID="c", Who="me") in ("c", "me")


def signed(claims: Mapping[str, Any], key: Any = KEY, algorithm: str = "ES256", **header: Any) -> str:
    return jws.serialize_compact({"alg": algorithm, "kid": "k1", **header}, json.dumps(claims), key, [algorithm])


def test_a_request_object_is_read_and_verified(tmp_path: Path) -> None:
    text = signed({"iss": "anna", "intent": {"id": "c-1"}, "max_age": 1.5})
    value = [
        "{{ jwt(query.request).claims.intent.id }}",
        "{{ jwt(query.request).header.kid }}",
        "{{ jwt(query.request).claims.max_age + 1 }}",
        "{{ verifies(query.request, state.clients[jwt(query.request).claims.iss].jwks) }}",
        "{{ verifies(query.request, state.clients['nobody'].jwks) }}",
        "{{ jwt(query.nothing) }}",
        "{{ jwt('a.b.c').claims }}",
    ]
    read = answer(tmp_path, value, target=f"/v1/all?request={text}")
    assert read == ["c-1", "k1", 2.5, True, False, None, None]
    forged = signed({"iss": "anna"}, ECKey.generate_key("P-256"))
    assert answer(tmp_path, value, target=f"/v1/all?request={forged}")[3] is False


def test_the_clock_has_seconds_for_comparison_with_claims(tmp_path: Path) -> None:
    text = signed({"exp": 32503680000, "nbf": 1000})
    value = "{{ jwt(query.t).claims.nbf < clock.seconds < jwt(query.t).claims.exp }}"
    assert answer(tmp_path, value, target=f"/v1/all?t={text}") is True


def test_verification_of_signatures_is_charged(tmp_path: Path) -> None:
    value = {"each": "{{ body }}", "give": "{{ verifies(entry, state.clients.anna.jwks) }}"}
    body = json.dumps([signed({})] * 60).encode()
    response = asyncio.run(served(tmp_path, value).answer(Request("POST", "/v1/all", Headers([]), body)))
    assert (response.status, b"internal" in response.body) == (500, True)


def test_claims_are_signed_with_the_key_of_the_bank(tmp_path: Path) -> None:
    value = ["{{ signed({'iss': 'bank'}, {'typ': 'JWT'}) }}", "{{ signed({}, none) }}", "{{ signed('a', {}) }}"]
    assert answer(tmp_path, value) == ['[{"iss": "bank"}, {"typ": "JWT"}]', "[{}, {}]", None]


def test_signing_is_charged(tmp_path: Path) -> None:
    value = {"each": "{{ body }}", "give": "{{ signed({'n': entry}, {}) }}"}
    statuses = []
    for count in (50, 120):
        request = Request("POST", "/v1/all", Headers([]), json.dumps([*range(count)]).encode())
        statuses.append(asyncio.run(served(tmp_path, value).answer(request)).status)
    assert statuses == [200, 500]
