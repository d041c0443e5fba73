"""Further checks of strict banks: return addresses, preferences, and data about the payment user."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client, an_engine
from xs2a_sandbox.bank.request_rules import _is_below
from xs2a_sandbox.config import RealBank


@pytest.fixture(scope="module")
def bank() -> Client:
    return Client(an_engine(real=RealBank(checks=("validity", "redirect"))))


def create(bank: Client, headers: dict[str, str], **changes: Any) -> Answer:
    return bank.post("/v1/consents", json=bodies.consent(facts.untied()[0], **changes), headers=headers)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("PSU-IP-Port", "1"),
        ("PSU-IP-Port", "65535"),
        ("PSU-Http-Method", "DELETE"),
        ("PSU-Device-ID", "99435c7e-ad88-49ec-a2ad-99ddcb1f5555"),
        ("PSU-Geo-Location", "GEO:+52.506931;-13"),
        ("TPP-Redirect-Preferred", "FALSE"),
        ("TPP-Decoupled-Preferred", "true"),
    ],
)
def test_valid_values(bank: Client, header: str, value: str) -> None:
    assert create(bank, {header: value}).status == 200


@pytest.mark.parametrize(
    ("header", "value", "expected"),
    [
        ("PSU-IP-Port", "0", "must be a port"),
        ("PSU-IP-Port", "65536", "must be a port"),
        ("PSU-IP-Port", "99999", "must be a port"),
        ("PSU-IP-Port", "080", "must be a port"),
        ("PSU-Http-Method", "HEAD", "must be GET, POST, PUT, PATCH or DELETE"),
        ("PSU-Device-ID", "1", "must be a UUID"),
        ("PSU-Geo-Location", "52.5;13.1", "such as GEO:"),
        ("TPP-Decoupled-Preferred", "1", "must be true or false"),
        ("TPP-Redirect-Preferred", "true", "TPP-Redirect-URI must be the address to which customers return"),
    ],
)
def test_invalid_values(bank: Client, header: str, value: str, expected: str) -> None:
    answer = create(bank, {header: value})
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert expected in answer.error["text"]
    assert header in answer.error["text"]


def test_a_one_off_consent_must_have_frequency_1(bank: Client) -> None:
    assert create(bank, {}, recurringIndicator=False, frequencyPerDay=1).status == 200
    answer = create(bank, {}, recurringIndicator=False, frequencyPerDay=2)
    assert (answer.error["path"], answer.error["code"]) == ("/frequencyPerDay", "FORMAT_ERROR")


@pytest.mark.parametrize(
    ("registered", "uri", "below"),
    [
        ("https://tpp.example/back", "https://tpp.example/back", True),
        ("https://tpp.example/back", "https://tpp.example/back?a=1", True),
        ("https://tpp.example/back", "https://tpp.example/back/2", True),
        ("https://tpp.example/", "https://tpp.example/back", True),
        ("https://tpp.example", "https://tpp.example.evil.example/back", False),
        ("https://tpp.example", "https://tpp.example:8443/back", False),
        ("https://tpp.example/back", "https://tpp.example/backdoor", False),
        ("https://tpp.example/back", "https://tpp.example/", False),
        ("https://tpp.example/back", "https://tpp.example/back/../other", False),
        ("https://tpp.example/back", "https://tpp.example/back/%2E%2e/other", False),
    ],
)
def test_addresses_below_a_registered_one(registered: str, uri: str, below: bool) -> None:
    assert _is_below(uri, registered) is below


@given(st.text(alphabet="ab./%2eE?#@:", max_size=20))
def test_an_accepted_address_cannot_leave_the_registered_path(rest: str) -> None:
    if _is_below(f"https://tpp.example/back{rest}", "https://tpp.example/back"):
        path = f"/back{rest}".partition("?")[0].partition("#")[0].lower().replace("%2e", ".")
        assert ".." not in path.split("/")
