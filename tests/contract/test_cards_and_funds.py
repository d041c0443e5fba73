"""Card accounts, transaction details and confirmations of funds, through every door."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.contract.doors import Answer, Bank
from tests.support.berlin_group import needs_openapi, validate

((CARD, KEPT),) = facts.cards().items()
CONSENT = facts.tied()[KEPT["linkedAccount"]]

spec = pytest.mark.spec

CARD_PATHS = {
    "4.3-card-accounts": "",
    "4.3-card-account": "/{account-id}",
    "4.3-card-balances": "/{account-id}/balances",
    "4.3-card-transactions": "/{account-id}/transactions",
}
"""Paths below /v1/card-accounts, by the statement of the index."""
every_card_path = pytest.mark.parametrize(
    "path", [pytest.param(p, marks=spec(id), id=id) for id, p in CARD_PATHS.items()]
)
BOTH = {"bookingStatus": "both"}


def card(bank: Bank, path: str, consent: str | None = CONSENT, **query: str) -> Answer:
    target = f"/v1/card-accounts{path.replace('{account-id}', CARD)}"
    return bank.get(target, consent=consent, query=query or (BOTH if path.endswith("/transactions") else ()))


def entries(bank: Bank, **query: str) -> Any:
    answer = card(bank, "/{account-id}/transactions", **query)
    assert answer.status == 200, answer.body
    return answer.json()["cardTransactions"]


def ids(records: Iterable[Mapping[str, Any]]) -> list[str]:
    return [record["cardTransactionId"] for record in records]


def funds(bank: Bank, amount: Decimal | str, iban: str | None = None) -> Answer:
    body = {"account": {"iban": iban or facts.low()}, "instructedAmount": {"currency": "EUR", "amount": str(amount)}}
    return bank.post("/v1/funds-confirmations", json=body)


@every_card_path
def test_a_card_account_is_shown_with_the_consent_for_its_account(bank: Bank, path: str) -> None:
    assert card(bank, path).status == 200


def test_links_lead_from_the_list_to_balances_and_transactions(bank: Bank) -> None:
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
def test_other_consents_are_refused(bank: Bank, path: str, consent: str | None, status: int, code: str) -> None:
    answer = card(bank, path, consent)
    assert (answer.status, answer.error["code"]) == (status, code)


@every_card_path
def test_a_missing_consent_id_is_reported_first(bank: Bank, path: str) -> None:
    answer = card(bank, path, None)
    assert answer.error["text"] == "{sensitive} XS2A901E: the header Consent-ID is missing"
    assert answer.headers["X-Sandbox-Source"] == "sandbox", "the interface requires it, not a handler"


@every_card_path
def test_an_expired_consent_has_another_number_for_transactions(bank: Bank, path: str) -> None:
    consent = facts.consent("expired")
    number = "XS2A004E" if path.endswith("/transactions") else "XS2A005E"
    assert card(bank, path, consent).error["text"] == f"{{sensitive}} {number}: consent {consent} expired"


@pytest.mark.parametrize("path", list(CARD_PATHS.values())[1:])
def test_an_uncovered_card_account_is_unknown(bank: Bank, path: str) -> None:
    other = next(id for id in facts.tied().values() if id != CONSENT)
    answer = card(bank, path, other)
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    assert "XS2A016E" in answer.error["text"]


def test_a_consent_for_all_accounts_covers_all_cards(bank: Bank) -> None:
    consent = bank.post("/v1/consents", json=bodies.consent()).json()["consentId"]
    assert [one["resourceId"] for one in card(bank, "", consent).json()["cardAccounts"]] == [CARD]


@pytest.mark.parametrize("path", ["", "/{account-id}"])
def test_balances_are_included_in_a_card_account_if_requested(bank: Bank, path: str) -> None:
    plain, without, with_them = (
        card(bank, path),
        card(bank, path, withBalance="false"),
        card(bank, path, withBalance="true"),
    )
    assert (without.status, without.json()) == (200, plain.json())
    ((name, body),) = with_them.json().items()
    ((_, bare),) = plain.json().items()
    record, before = (body[0], bare[0]) if name == "cardAccounts" else (body, bare)
    balances = card(bank, "/{account-id}/balances").json()["balances"]
    assert balances
    assert "balances" not in before
    assert record == {**before, "balances": balances}


@pytest.mark.parametrize("path", ["", "/{account-id}"])
@pytest.mark.parametrize("value", ["yes", "TRUE", ""])
def test_with_balance_must_be_true_or_false(bank: Bank, path: str, value: str) -> None:
    answer = card(bank, path, withBalance=value)
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


def test_a_single_card_account_equals_that_of_the_list(bank: Bank) -> None:
    (listed,) = card(bank, "").json()["cardAccounts"]
    own = f"/v1/card-accounts/{CARD}"
    assert card(bank, "/{account-id}").json() == {"cardAccount": listed}
    assert listed["_links"] == {
        "balances": {"href": f"{own}/balances"},
        "transactions": {"href": f"{own}/transactions"},
    }


@pytest.mark.parametrize(
    ("status", "shown"), [("both", ["booked", "pending"]), ("booked", ["booked"]), ("pending", ["pending"])]
)
def test_the_booking_status_determines_the_lists(bank: Bank, status: str, shown: list[str]) -> None:
    listed = entries(bank, bookingStatus=status)
    assert {name: listed[name] and ids(listed[name]) for name in ("booked", "pending")} == {
        name: ids(KEPT["transactions"][name]) if name in shown else None for name in ("booked", "pending")
    }
    assert listed["_links"] == {"cardAccount": {"href": f"/v1/card-accounts/{CARD}"}}


@pytest.mark.parametrize("query", [{"dateFrom": "2026-01-01"}, {"bookingStatus": "information"}], ids=str)
def test_cards_support_no_other_booking_status(bank: Bank, query: dict[str, str]) -> None:
    answer = card(bank, "/{account-id}/transactions", **query)
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert answer.error["text"].endswith("must be one of both, booked, pending")
    assert answer.headers["X-Sandbox-Source"] == "sandbox", "the interface requires it, not a handler"


@pytest.mark.parametrize("given", [("dateFrom",), ("dateTo",), ("dateFrom", "dateTo")], ids="+".join)
def test_dates_limit_booked_card_transactions(bank: Bank, given: tuple[str, ...]) -> None:
    booked = facts.cards()[CARD]["transactions"]["booked"]
    days = sorted(record["bookingDate"] for record in booked)
    bounds = {"dateFrom": days[len(days) // 3], "dateTo": days[len(days) // 2]}
    expected = [
        record
        for record in booked
        if ("dateFrom" not in given or bounds["dateFrom"] <= record["bookingDate"])
        and ("dateTo" not in given or record["bookingDate"] <= bounds["dateTo"])
    ]
    listed = entries(bank, **BOTH, **{name: bounds[name] for name in given})
    assert ids(listed["booked"]) == ids(expected)
    assert 0 < len(expected) < len(booked)
    assert ids(listed["pending"]) == ids(KEPT["transactions"]["pending"])


@pytest.mark.parametrize("name", ["dateFrom", "dateTo"])
@pytest.mark.parametrize("day", ["2026-02-30", "yesterday", "", "20260101"])
def test_invalid_dates_are_refused(bank: Bank, name: str, day: str) -> None:
    answer = card(bank, "/{account-id}/transactions", **BOTH, **{name: day})
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert name in answer.error["text"]


@spec("4.3-transaction")
@pytest.mark.parametrize("kind", ["booked", "pending", "information"])
def test_details_of_a_transaction_equal_the_entry_in_the_list(bank: Bank, kind: str) -> None:
    path = f"/v1/accounts/{facts.covered()}/transactions"
    listed = bank.get(path, consent=facts.consent(), query={"bookingStatus": kind}).json()["transactions"][kind][0]
    answer = bank.get(f"{path}/{listed['transactionId']}", consent=facts.consent())
    assert (answer.status, answer.json()) == (200, {"transactionsDetails": listed})


def test_details_of_an_unknown_transaction(bank: Bank) -> None:
    answer = bank.get(f"/v1/accounts/{facts.covered()}/transactions/none", consent=facts.consent())
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")


def test_details_of_a_transaction_need_a_valid_consent(bank: Bank) -> None:
    consent = facts.consent("expired")
    answer = bank.get(
        f"/v1/accounts/{facts.covered()}/transactions/{facts.booked(facts.covered())[0]['transactionId']}",
        consent=consent,
    )
    assert answer.error["text"] == f"{{sensitive}} XS2A004E: consent {consent} expired"


@spec("4.3-funds-confirmation")
def test_funds_are_confirmed_exactly_to_the_cent(bank: Bank) -> None:
    limit = facts.available(facts.low())
    answers = [funds(bank, limit), funds(bank, limit + Decimal("0.01"))]
    assert [(answer.status, answer.json()) for answer in answers] == [
        (200, {"fundsAvailable": True}),
        (200, {"fundsAvailable": False}),
    ]


@spec("reading-account-currency")
@spec("reading-empty")
def test_funds_in_an_account_of_another_currency(bank: Bank) -> None:
    body = {
        "account": {"iban": facts.low(), "currency": "USD"},
        "instructedAmount": {"currency": "EUR", "amount": "1.00"},
    }
    answer = bank.post("/v1/funds-confirmations", json=body)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", "/account/currency")

    body |= {"account": {"iban": facts.low(), "currency": "", "pan": ""}, "cardNumber": "", "payee": ""}
    assert bank.post("/v1/funds-confirmations", json=body).json() == {"fundsAvailable": True}


def test_funds_at_another_bank_are_not_confirmed(bank: Bank) -> None:
    answer = funds(bank, "1.00", facts.foreign_iban())
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "RESOURCE_UNKNOWN", "/account/iban")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"account": None}, "/account"),
        ({"account": {"iban": facts.wrong_iban()}}, "/account/iban"),
        ({"instructedAmount": {"currency": "EUR", "amount": "1,00"}}, "/instructedAmount/amount"),
        ({"instructedAmount": {"amount": "1.00"}}, "/instructedAmount/currency"),
        ({"payee": "a" * 71}, "/payee"),
    ],
    ids=str,
)
def test_a_funds_request_must_match_its_schema(bank: Bank, changes: dict[str, Any], path: str) -> None:
    amount = {"currency": "EUR", "amount": "1.00"}
    body = {"account": {"iban": facts.low()}, "instructedAmount": amount, **changes}
    answer = bank.post("/v1/funds-confirmations", json=body)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", path)


@needs_openapi
@pytest.mark.parametrize("path", CARD_PATHS.values())
def test_card_accounts_match_the_framework(bank: Bank, path: str) -> None:
    validate(f"/v1/card-accounts{path}", "GET", 200, card(bank, path).json())


@needs_openapi
def test_other_answers_match_the_framework(bank: Bank) -> None:
    validate("/v1/funds-confirmations", "POST", 200, funds(bank, "1.00").json())
    id: Any = facts.booked(facts.covered())[0]["transactionId"]
    details = bank.get(f"/v1/accounts/{facts.covered()}/transactions/{id}", consent=facts.consent())
    validate("/v1/accounts/{account-id}/transactions/{transactionId}", "GET", 200, details.json())
