"""Card accounts, transaction details, confirmations of funds and tokens, through every door."""

import base64
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest

from berlin_group import needs_openapi, validate

from . import bodies, facts
from .doors import Answer, Bank

((CARD, KEPT),) = facts.testdata()["cardAccounts"].items()
CONSENT = facts.tied()[KEPT["linkedAccount"]]
((CLIENT, CLIENT_KEPT),) = facts.testdata()["clients"].items()

spec = pytest.mark.spec

CARD_PATHS = {
    "4.3-card-accounts": "",
    "4.3-card-account": "/{account-id}",
    "4.3-card-balances": "/{account-id}/balances",
    "4.3-card-transactions": "/{account-id}/transactions",
}
"""Below /v1/card-accounts, by the statement of the index."""
every_card_path = pytest.mark.parametrize(
    "path", [pytest.param(p, marks=spec(id), id=id) for id, p in CARD_PATHS.items()]
)
BOTH = {"bookingStatus": "both"}


def card(bank: Bank, path: str, consent: str | None = CONSENT) -> Answer:
    target = f"/v1/card-accounts{path.replace('{account-id}', CARD)}"
    return bank.get(target, consent=consent, query=BOTH if path.endswith("/transactions") else ())


def funds(bank: Bank, amount: Decimal | str, iban: str | None = None) -> Answer:
    body = {"account": {"iban": iban or facts.low()}, "instructedAmount": {"currency": "EUR", "amount": str(amount)}}
    return bank.post("/v1/funds-confirmations", json=body)


def token(bank: Bank, path: str = "/as/token.oauth2", secret: str = CLIENT_KEPT["secret"], **form: str) -> Answer:
    basic = base64.b64encode(f"{CLIENT}:{secret}".encode()).decode()
    return bank.post(
        path,
        content=urlencode({"grant_type": "client_credentials", **form}).encode(),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": f"Basic {basic}",
            "X-Request-ID": None,
        },
    )


@every_card_path
def test_a_card_account_is_shown_with_the_consent_for_its_account(bank: Bank, path: str) -> None:
    assert card(bank, path).status == 200


def test_one_follows_the_links_from_the_list_to_the_transactions(bank: Bank) -> None:
    (listed,) = card(bank, "").json()["cardAccounts"]
    assert listed["resourceId"] == CARD
    balances = bank.get(listed["_links"]["balances"]["href"], consent=CONSENT).json()
    entries = bank.get(listed["_links"]["transactions"]["href"], consent=CONSENT, query=BOTH).json()

    assert balances["cardAccount"] == entries["cardAccount"]
    assert balances["cardAccount"]["maskedPan"] == listed["maskedPan"]
    assert len(entries["cardTransactions"]["booked"]) == len(KEPT["transactions"]["booked"])
    assert len(entries["cardTransactions"]["pending"]) == len(KEPT["transactions"]["pending"])


@every_card_path
@pytest.mark.parametrize(
    ("consent", "status", "code"),
    [
        (None, 400, "FORMAT_ERROR"),
        (facts.consent("unknown"), 403, "CONSENT_UNKNOWN"),
        (facts.consent("expired"), 401, "CONSENT_EXPIRED"),
    ],
)
def test_other_consents_do_not_do(bank: Bank, path: str, consent: str | None, status: int, code: str) -> None:
    answer = card(bank, path, consent)
    assert (answer.status, answer.error["code"]) == (status, code)


@pytest.mark.parametrize("path", list(CARD_PATHS.values())[1:])
def test_a_card_account_that_is_not_covered_is_unknown(bank: Bank, path: str) -> None:
    other = next(id for id in facts.tied().values() if id != CONSENT)
    answer = card(bank, path, other)
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    assert "XS2A016E" in answer.error["text"]


def test_all_accounts_cover_all_cards(bank: Bank) -> None:
    consent = bank.post("/v1/consents", json=bodies.consent()).json()["consentId"]
    assert [one["resourceId"] for one in card(bank, "", consent).json()["cardAccounts"]] == [CARD]


@spec("4.3-transaction")
@pytest.mark.parametrize("kind", ["booked", "pending", "information"])
def test_the_details_of_a_transaction_are_those_of_the_list(bank: Bank, kind: str) -> None:
    path = f"/v1/accounts/{facts.covered()}/transactions"
    listed = bank.get(path, consent=facts.consent(), query={"bookingStatus": kind}).json()["transactions"][kind][0]
    answer = bank.get(f"{path}/{listed['transactionId']}", consent=facts.consent())
    assert (answer.status, answer.json()) == (200, {"transactionsDetails": listed})


def test_the_details_of_no_transaction(bank: Bank) -> None:
    answer = bank.get(f"/v1/accounts/{facts.covered()}/transactions/none", consent=facts.consent())
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")


@spec("4.3-funds-confirmation")
def test_funds_are_confirmed_to_the_cent(bank: Bank) -> None:
    limit = facts.available(facts.low())
    answers = [funds(bank, limit), funds(bank, limit + Decimal("0.01"))]
    assert [(answer.status, answer.json()) for answer in answers] == [
        (200, {"fundsAvailable": True}),
        (200, {"fundsAvailable": False}),
    ]


def test_funds_of_another_bank_are_not_confirmed(bank: Bank) -> None:
    answer = funds(bank, "1.00", facts.foreign_iban())
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "RESOURCE_UNKNOWN", "/account/iban")


@spec("reading-tokens")
@pytest.mark.parametrize("prefix", ["", "/api/psd2"])
def test_a_client_gets_a_token(bank: Bank, prefix: str) -> None:
    answer = token(bank, f"{prefix}/as/token.oauth2")
    body = answer.json()
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 599)


def test_the_session_may_stand_in_the_path(bank: Bank) -> None:
    assert token(bank, f"/s/{bank.session}/as/token.oauth2").status == 200


@spec("reading-tokens")
def test_a_wrong_secret_and_another_grant_get_none(bank: Bank) -> None:
    wrong, other = token(bank, secret="wrong"), token(bank, grant_type="password")
    assert (wrong.status, wrong.json()["error"]) == (401, "invalid_client")
    assert wrong.headers["WWW-Authenticate"].startswith("Basic ")
    assert (other.status, other.json()["error"]) == (400, "unsupported_grant_type")


@needs_openapi
@every_card_path
def test_card_accounts_have_the_shape_of_the_framework(bank: Bank, path: str) -> None:
    validate(f"/v1/card-accounts{path}", "GET", 200, card(bank, path).json())


@needs_openapi
def test_other_answers_have_the_shape_of_the_framework(bank: Bank) -> None:
    validate("/v1/funds-confirmations", "POST", 200, funds(bank, "1.00").json())
    id: Any = facts.booked(facts.covered())[0]["transactionId"]
    details = bank.get(f"/v1/accounts/{facts.covered()}/transactions/{id}", consent=facts.consent())
    validate("/v1/accounts/{account-id}/transactions/{transactionId}", "GET", 200, details.json())
