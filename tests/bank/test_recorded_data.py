"""The test data that a recording shows: the sandbox answers from it what the recorded bank has answered."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.support.engine_client import an_engine
from tests.support.taping import redacted_tape, taped
from xs2a_sandbox.bank.recorded_data import recorded_data
from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange

IBAN = "AT459880000010204711"
ANOTHER = "AT849999900047110815"
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
PAYMENT = "0b6e4d1a-73c8-4f52-9a0e-18d5c7b2f301"
EMPTY = TestData({"accounts": {}, "psus": {}}, ())
DAY = "2026-11-21"


def collections_of(*entries: Exchange, data: TestData = EMPTY) -> dict[str, Any]:
    collections = recorded_data(entries, data).at(datetime(2026, 11, 22, tzinfo=UTC).date())
    return {name: dict(documents) for name, documents in collections.items()}


def listed(*ibans: str) -> dict[str, Any]:
    return {"accounts": [{"resourceId": f"r{n}", "iban": iban, "usage": None} for n, iban in enumerate(ibans)]}


def test_accounts_are_those_of_the_consent_that_they_were_listed_with() -> None:
    data = collections_of(
        taped("/v1/accounts", listed(IBAN, ANOTHER), headers=[("Consent-ID", CONSENT), ("PSU-ID", "plyb")])
    )
    assert list(data["accounts"]) == [IBAN, ANOTHER]
    assert data["consents"][CONSENT]["accounts"] == [IBAN, ANOTHER]
    assert {one["psuId"] for one in data["accounts"].values()} == {"plyb"}
    assert data["psus"]["plyb"]["password"] == "dropped"


def test_what_is_asked_of_an_account_becomes_part_of_it() -> None:
    balance = {"balanceAmount": {"currency": "CHF", "amount": "1.00"}, "balanceType": "forwardAvailable"}
    entry = {"transactionId": "T-1", "bookingDate": DAY, "checkId": None}
    data = collections_of(
        taped("/v1/accounts", listed(IBAN)),
        taped("/v1/accounts/r0/balances", {"balances": [balance | {"referenceDate": DAY, "lastChangeDateTime": None}]}),
        taped("/v1/accounts/r0/transactions?dateFrom=2026-11-20", {"transactions": {"booked": [entry]}}),
        taped("/v1/accounts/r0/transactions", {"transactions": {"booked": [entry, entry | {"transactionId": "T-0"}]}}),
    )
    account = data["accounts"][IBAN]
    assert account["balances"] == [balance | {"referenceDate": DAY}]
    assert account["currency"] == "CHF"
    assert [one["transactionId"] for one in account["transactions"]["booked"]] == ["T-1", "T-0"]
    assert "checkId" not in account["transactions"]["booked"][0]


def test_what_the_recording_itself_makes_is_not_there_before() -> None:
    body = {"access": {"accounts": [{"iban": IBAN}]}, "consentStatus": "received"}
    made = taped("/v1/consents", {"consentId": CONSENT}, "POST")
    assert collections_of(made, taped(f"/v1/consents/{CONSENT}", body))["consents"] == {}
    assert CONSENT in collections_of(taped(f"/v1/consents/{CONSENT}", body), made)["consents"]


def test_accounts_of_the_test_data_stay_as_they_are_there() -> None:
    there = {"accounts": {IBAN: {"name": "Anna"}}, "psus": {"anna": {}}, "consents": {CONSENT: {"accounts": []}}}
    entry = taped("/v1/accounts", listed(IBAN), headers=[("Consent-ID", CONSENT)])
    assert collections_of(entry, data=TestData(there, ())) == there | {"payments": {}}


def test_answers_that_show_nothing_change_nothing() -> None:
    for body in (b"", b"[1]", b"null", b'{"accounts": 7}', b'{"accounts": [7, {"iban": null}]}', b'{"access": "all"}'):
        for target in ("/v1/accounts", "/v1/accounts/x", f"/v1/consents/{CONSENT}", "/v1/accounts/x/transactions", "/"):
            assert collections_of(replace(taped(target), answer_body=body))["payments"] == {}
    assert collections_of(taped("/v1/accounts", listed(IBAN), status=404))["accounts"] == {}


def journey() -> list[Exchange]:
    """The answers of some bank: the sandbox with its bundled test data, whose accounts no recording calls so."""
    bank = an_engine()
    consent = ("Consent-ID", CONSENT)
    exchanges = [
        ("/v1/accounts", [consent]), ("/v1/accounts?withBalance=true", [consent]), (f"/v1/accounts/{IBAN}", [consent]),
        (f"/v1/accounts/{IBAN}/balances", [consent]),
        (f"/v1/accounts/{IBAN}/transactions?bookingStatus=both", [consent]),
        (f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked&dateFrom=2026-10-01", [consent]),
        (f"/v1/accounts/{IBAN}/transactions/A-0308", [consent]), (f"/v1/consents/{CONSENT}", []),
        (f"/v1/consents/{CONSENT}/status", []), (f"/v1/payments/sepa-credit-transfers/{PAYMENT}", []),
        (f"/v1/payments/sepa-credit-transfers/{PAYMENT}/status", []), ("/v1/accounts/AT049880000030577001", [consent]),
    ]  # fmt: skip

    async def exchange(target: str, fields: list[tuple[str, str]]) -> Exchange:
        request = Request("GET", target, Headers([("X-Request-ID", CONSENT), *fields]), b"", "bank.example")
        return Exchange.of(request, await bank.answer(request), "https://bank.example", Clock().now(), 1.0)

    async def walk() -> list[Exchange]:
        return [await exchange(target, fields) for target, fields in exchanges]

    return asyncio.run(walk())


def test_a_redacted_recording_of_a_bank_that_speaks_the_dialect_shows_no_difference(tmp_path: Path) -> None:
    tape = redacted_tape(tmp_path / "conf", *journey())
    assert IBAN not in str(tape.entries)
    (tmp_path / "conf" / "vault").unlink()
    words = ["compare", "--offline", str(tape.path), "--confdir", str(tmp_path / "conf"), "--fail-on", "low"]
    done = CliRunner().invoke(cli, words, prog_name="xs2a-sandbox")
    assert done.exit_code == 0, done.output
    assert "12 same, 0 differ" in done.output
