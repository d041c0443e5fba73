"""With test data derived from a recording, the sandbox gives the recorded answers."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.engine_client import an_engine, speaking
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
    interface = speaking("berlin-group-1.3").interface
    collections = recorded_data(entries, data, interface).at(datetime(2026, 11, 22, tzinfo=UTC).date())
    return {name: dict(documents) for name, documents in collections.items()}


def listed(*ibans: str) -> dict[str, Any]:
    return {"accounts": [{"resourceId": f"r{n}", "iban": iban, "usage": None} for n, iban in enumerate(ibans)]}


def test_accounts_belong_to_the_consent_of_their_list() -> None:
    data = collections_of(
        taped("/v1/accounts", listed(IBAN, ANOTHER), headers=[("Consent-ID", CONSENT), ("PSU-ID", "plyb")])
    )
    assert {id: account["iban"] for id, account in data["accounts"].items()} == {"r0": IBAN, "r1": ANOTHER}
    assert data["consents"][CONSENT]["accounts"] == ["r0", "r1"]
    assert {one["psuId"] for one in data["accounts"].values()} == {"plyb"}
    assert data["psus"]["plyb"]["password"] == "dropped"


def test_details_balances_and_entries_are_added_to_the_account() -> None:
    balance = {"balanceAmount": {"currency": "CHF", "amount": "1.00"}, "balanceType": "forwardAvailable"}
    entry = {"transactionId": "T-1", "bookingDate": DAY, "checkId": None}
    data = collections_of(
        taped("/v1/accounts", listed(IBAN)),
        taped("/v1/accounts/r0/balances", {"balances": [balance | {"referenceDate": DAY, "lastChangeDateTime": None}]}),
        taped("/v1/accounts/r0/transactions?dateFrom=2026-11-20", {"transactions": {"booked": [entry]}}),
        taped("/v1/accounts/r0/transactions", {"transactions": {"booked": [entry, entry | {"transactionId": "T-0"}]}}),
    )
    account = data["accounts"]["r0"]
    assert account["balances"] == [{"amount": balance["balanceAmount"], "type": "FWAV", "reference_date": DAY}]
    assert account["currency"] == "CHF"
    assert [one["id"] for one in account["entries"]["booked"]] == ["T-1", "T-0"]
    assert account["entries"]["booked"][0] == {"id": "T-1", "booked_on": DAY}


def test_resources_created_in_the_recording_are_not_test_data() -> None:
    body = {"access": {"accounts": [{"iban": IBAN}]}, "consentStatus": "received"}
    made = taped("/v1/consents", {"consentId": CONSENT}, "POST")
    assert collections_of(made, taped(f"/v1/consents/{CONSENT}", body))["consents"] == {}
    assert CONSENT in collections_of(taped(f"/v1/consents/{CONSENT}", body), made)["consents"]


def test_accounts_of_the_existing_test_data_are_not_changed() -> None:
    there = {"accounts": {"r0": {"name": "Anna"}}, "psus": {"anna": {}}, "consents": {CONSENT: {"accounts": []}}}
    entry = taped("/v1/accounts", listed(IBAN), headers=[("Consent-ID", CONSENT)])
    assert collections_of(entry, data=TestData(there, ())) == there | {"payments": {}}


def test_answers_without_data_change_nothing() -> None:
    for body in (b"", b"[1]", b"null", b'{"accounts": 7}', b'{"accounts": [7, {"iban": null}]}', b'{"access": "all"}'):
        for target in ("/v1/accounts", "/v1/accounts/x", f"/v1/consents/{CONSENT}", "/v1/accounts/x/transactions", "/"):
            assert collections_of(replace(taped(target), answer_body=body))["payments"] == {}
    assert collections_of(taped("/v1/accounts", listed(IBAN), status=404))["accounts"] == {}


def journey() -> list[Exchange]:
    """Return the answers of another bank: the sandbox with its bundled test data and other ids of accounts."""
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


def test_a_redacted_recording_of_a_bank_with_the_same_dialect_has_no_differences(tmp_path: Path) -> None:
    tape = redacted_tape(tmp_path / "conf", *journey())
    assert IBAN not in str(tape.entries)
    (tmp_path / "conf" / "vault").unlink()
    words = ["compare", "--offline", str(tape.path), "--confdir", str(tmp_path / "conf"), "--fail-on", "low"]
    done = CliRunner().invoke(cli, words, prog_name="xs2a-sandbox")
    assert done.exit_code == 0, done.output
    assert "12 same, 0 differ" in done.output


def offline(conf: Path, *exchanges: Exchange, more: tuple[str, ...] = ()) -> Any:
    tape = redacted_tape(conf, *exchanges)
    (conf / "vault").unlink()
    words = ["compare", "--offline", str(tape.path), "--confdir", str(conf), "--fail-on", "low", *more]
    return CliRunner().invoke(cli, words, prog_name="xs2a-sandbox")


@pytest.mark.parametrize("part", [slice(3, 4), slice(4, 5), slice(3, 6), slice(0, 1)])
def test_reads_without_a_list_of_accounts_are_compared_too(tmp_path: Path, part: slice) -> None:
    done = offline(tmp_path / "conf", *journey()[part])
    assert done.exit_code == 0, done.output
    assert "adopted from the recording: 1 customer, " in done.output


def payment_journey() -> list[Exchange]:
    bank = an_engine()
    body = {
        "debtorAccount": {"iban": IBAN}, "creditorAccount": {"iban": "DE89370400440532013000"},
        "creditorName": "Bäckerei", "instructedAmount": {"currency": "EUR", "amount": "12.50"},
    }  # fmt: skip
    headers = Headers(
        [("X-Request-ID", CONSENT), ("Content-Type", "application/json"), ("PSU-IP-Address", "81.20.30.40"),
         ("PSU-ID", "anna"), ("TPP-Redirect-URI", "https://app.example/back")]
    )  # fmt: skip

    async def ask(method: str, target: str, content: bytes) -> Exchange:
        request = Request(method, target, headers, content, "bank.example")
        return Exchange.of(request, await bank.answer(request), "https://bank.example", Clock().now(), 1.0)

    async def walk() -> list[Exchange]:
        made = await ask("POST", "/v1/payments/sepa-credit-transfers", json.dumps(body).encode())
        assert made.status in (200, 201), made.answer_body
        id = json.loads(made.answer_body)["paymentId"]
        paths = [f"/v1/payments/sepa-credit-transfers/{id}/status", f"/v1/payments/sepa-credit-transfers/{id}"]
        return [made, *[await ask("GET", path, b"") for path in paths]]

    return asyncio.run(walk())


def test_a_single_payment_shows_the_payer(tmp_path: Path) -> None:
    done = offline(tmp_path / "conf", *payment_journey())
    # The redirect link may differ, because it contains the sandbox's address.
    assert "2 same, 1 differ" in done.output or "3 same, 0 differ" in done.output, done.output
    assert "/transactionStatus" not in done.output


@pytest.mark.parametrize("prefix", ["/v1", "/v1.3.8", "/v3", "/psd2/berlin/v2", ""])
def test_accounts_are_recognised_for_any_version(prefix: str) -> None:
    data = collections_of(
        taped(f"{prefix}/accounts", listed(IBAN)), taped(f"{prefix}/consents/{CONSENT}", {"access": {}})
    )
    assert list(data["accounts"]) == ["r0"]
    assert CONSENT not in data["consents"] or data["consents"][CONSENT]["accounts"] == []


def test_an_account_whose_iban_is_known_later_is_one_account() -> None:
    balance = {"balanceAmount": {"currency": "CHF", "amount": 1.5}, "balanceType": "expected"}
    headers = [("Consent-ID", CONSENT)]
    early = taped("/v1/accounts/r0/balances", {"balances": [balance]}, headers=headers)
    assert list(collections_of(early)["accounts"]) == ["r0"]
    data = collections_of(early, taped("/v1/accounts", listed(IBAN), headers=headers))
    assert list(data["accounts"]) == ["r0"] == data["consents"][CONSENT]["accounts"]
    assert data["accounts"]["r0"]["iban"] == IBAN
    assert data["accounts"]["r0"]["balances"][0]["amount"] == {"currency": "CHF", "amount": "1.5"}


def test_an_account_whose_id_is_known_later_is_one_account() -> None:
    asked = {"access": {"balances": [{"iban": IBAN, "currency": "CHF"}]}, "consentStatus": "valid"}
    data = collections_of(taped(f"/v1/consents/{CONSENT}", asked), taped("/v1/accounts", listed(IBAN)))
    assert list(data["accounts"]) == ["r0"] == data["consents"][CONSENT]["accounts"]
    assert (data["accounts"]["r0"]["iban"], data["accounts"]["r0"]["currency"]) == (IBAN, "CHF")


def test_consents_and_payments_for_existing_accounts_are_kept() -> None:
    there = TestData({"accounts": {"r0": {"name": "Anna"}}, "psus": {"anna": {}}, "consents": {}, "payments": {}}, ())
    payment = {"debtorAccount": {"iban": IBAN}, "creditorName": "x"}
    data = collections_of(
        taped("/v1/accounts", listed(IBAN), headers=[("Consent-ID", CONSENT)]),
        taped(f"/v1/payments/sepa-credit-transfers/{PAYMENT}", payment),
        data=there,
    )
    assert data["consents"][CONSENT]["accounts"] == ["r0"]
    assert PAYMENT in data["payments"]
    assert data["accounts"] == {"r0": {"name": "Anna"}}


def test_a_payment_is_stored_as_if_it_had_been_initiated() -> None:
    shown = {
        "debtorAccount": {"iban": IBAN},
        "creditorName": "x",
        "instructedAmount": {"currency": "eur", "amount": 3},
        "startDate": "2026-12-01",
        "frequency": "Monthly",
        "transactionStatus": "ACTC",
    }
    data = collections_of(taped(f"/v1/periodic-payments/sepa-credit-transfers/{PAYMENT}", shown))
    payment = data["payments"][PAYMENT]
    amount = {"currency": "EUR", "amount": "3"}
    assert (payment["kind"], payment["status"], payment["debtor"]["account"]) == ("standing", "ACTC", IBAN)
    assert (payment["amount"], payment["parts"]) == (amount, [{"amount": amount, "creditor": {"name": "x"}}])
    assert payment["schedule"] == {"start": "2026-12-01", "frequency": "Monthly"}
    assert payment["sent"]["frequency"] == "Monthly"


def test_an_incomplete_payment_is_skipped() -> None:
    shown = {"debtorAccount": "x"}
    assert collections_of(taped(f"/v1/payments/sepa-credit-transfers/{PAYMENT}", shown))["payments"] == {}


def test_a_payment_without_a_payer_is_adopted() -> None:
    shown = {
        "instructedAmount": {"currency": "EUR", "amount": "3.00"},
        "creditorName": "x",
        "transactionStatus": "ACSC",
    }
    data = EMPTY.collections | {"payments": {PAYMENT: {"kind": "single"}}}
    entry = taped(f"/v1/payments/sepa-credit-transfers/{PAYMENT}", shown)
    assert collections_of(entry, data=TestData(data, ()))["payments"][PAYMENT]["parts"]


def test_the_payer_is_identified_by_an_id_that_is_known_later() -> None:
    shown = {"debtorAccount": {"iban": IBAN}, "instructedAmount": {"currency": "EUR", "amount": "3.00"}}
    data = collections_of(
        taped(f"/v1/payments/sepa-credit-transfers/{PAYMENT}", shown), taped("/v1/accounts", listed(IBAN))
    )
    assert data["payments"][PAYMENT]["debtor"]["account"] == "r0"


def test_adopted_values_are_normalised(tmp_path: Path) -> None:
    name = "Müller".encode().decode("cp1252")
    reference = {"resourceId": "r", "iban": IBAN, "currency": "eur", "product": name, "displayName": "Mu\u0308ller"}
    account = collections_of(taped("/v1/accounts", {"accounts": [reference]}))["accounts"]["r"]
    assert (account["currency"], account["product"], account["display_name"]) == ("EUR", "Müller", "Müller")
    exchanges = journey()[:1]
    body = exchanges[0].answer_body.replace(b'"EUR"', b'"eur"')
    done = offline(tmp_path / "conf", replace(exchanges[0], answer_body=body))
    assert done.exit_code == 1, done.output
    assert "/currency" in done.output
