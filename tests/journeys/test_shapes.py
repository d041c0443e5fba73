"""A dialect with its own shapes of accounts and entries, over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.support.serving import Serving, served

ACCOUNTS = """
cassette: 1
extends: xs2a-1.84
operations:
  - id: account-list
    method: GET
    path: /v1/accounts
    handler: accounts.list
    respond:
      body:
        Data: {Account: {each: "{{ result.accounts }}", shape: krone-account}}
        Links: {shape: links}
  - id: account-transactions
    method: GET
    path: /v1/accounts/{account-id}/transactions
    handler: accounts.transactions
    with: {lists: {booked: [booked]}}
    respond:
      body:
        Data: {Transaction: {each: "{{ result.booked }}", shape: entry}}
        Links: {shape: links}
"""
SHAPES = """
cassette: 1
shapes:
  links: {Self: "{{ session.url }}{{ request.path }}"}
  amount: {Amount: "{{ it.amount | replace('-', '') }}", Currency: "{{ it.currency }}"}
  krone-account:
    AccountId: "{{ it.iban[-8:] }}"
    Currency: "{{ it.currency }}"
    Nickname?: "{{ it.display_name }}"
    Account: [{SchemeName: UK.OBIE.IBAN, Identification: "{{ it.iban }}"}]
  entry:
    TransactionId: "{{ it.id }}"
    CreditDebitIndicator: "{{ 'Debit' if it.amount.amount[:1] == '-' else 'Credit' }}"
    Amount: {shape: amount, of: "{{ it.amount }}"}
    BookingDateTime: "{{ it.booked_on ~ 'T00:00:00+00:00' }}"
    TransactionInformation?: "{{ it.remittances | join(' ') }}"
"""
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


@pytest.fixture(scope="module")
def krone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("krone")
    dialect = directory / "cassettes" / "krone"
    dialect.mkdir(parents=True)
    (dialect / "accounts.yaml").write_text(ACCOUNTS)
    (dialect / "shapes.yaml").write_text(SHAPES)
    (directory / "cassettes/cases").mkdir()
    (directory / "cassettes/cases/ours.yaml").write_text(
        "cassette: 1\nshapes: {krone-account: {Nickname?: null, Kind: ours}}\n"
    )
    with served(directory, "--dialect", "krone") as serving:
        yield serving


def get(krone: Serving, path: str) -> Any:
    headers = {
        "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
        "Consent-ID": CONSENT,
        "PSU-IP-Address": "192.0.2.7",
    }
    answer = requests.get(f"{krone.direct}/v1/accounts{path}", headers=headers, timeout=20)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_accounts_have_the_form_of_the_shape(krone: Serving) -> None:
    said = get(krone, "")
    (account,) = said["Data"]["Account"]
    (identified,) = account["Account"]
    assert account == {
        "AccountId": identified["Identification"][-8:],
        "Currency": "EUR",
        "Account": [{"SchemeName": "UK.OBIE.IBAN", "Identification": identified["Identification"]}],
        "Kind": "ours",
    }
    assert said["Links"] == {"Self": f"{krone.direct}/v1/accounts"}


def test_entries_have_the_form_of_the_shape(krone: Serving) -> None:
    iban = get(krone, "")["Data"]["Account"][0]["Account"][0]["Identification"]
    entries = get(krone, f"/{iban}/transactions?bookingStatus=booked")["Data"]["Transaction"]
    assert entries
    assert {entry["CreditDebitIndicator"] for entry in entries} == {"Credit", "Debit"}
    for entry in entries:
        assert list(entry)[:4] == ["TransactionId", "CreditDebitIndicator", "Amount", "BookingDateTime"]
        assert not entry["Amount"]["Amount"].startswith("-")
        assert entry["BookingDateTime"].endswith("T00:00:00+00:00")
