"""Quirks and scenarios do at the core of UK Open Banking what they do at the bundled dialects."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.families.test_uk_open_banking import (
    AISP,
    BILLS,
    HOUSEHOLD,
    PISP,
    account_consent,
    ask,
    authorise,
    initiation,
    order_for,
    payment_consent,
    token,
)
from tests.journeys.test_scenarios import move
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.bundled import scenarios
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check

OF_BILLS, OF_HOUSEHOLD = f"{AISP}/accounts/22289", f"{AISP}/accounts/31820"
RIGHTS = ("ReadAccountsDetail", "ReadBalances", "ReadTransactionsDetail")
CUSTOMER = "x-fapi-customer-ip-address"


def settings(directory: Path, **more: Any) -> config.Settings:
    given = {"dialect": "obie-4.0", "state": "memory:", "confdir": str(directory), **more}
    return config.load(given, {}, directory)


def quirky(directory: Path, name: str) -> Client:
    return Client(build(settings(directory, quirk=(name,))))


def started(directory: Path, name: str) -> Client:
    return Client(build(settings(directory, cassettes=(f"scenarios/{name}",))))


def opened(bank: Client, *accounts: str) -> str:
    """A token for the accounts of a new consent."""
    consent, _ = account_consent(bank, *RIGHTS)
    return authorise(bank, consent, "accounts", *(accounts or (BILLS,)))


def entries(bank: Client, bearer: str, **query: str) -> Any:
    answer = ask(bank, "GET", f"{OF_BILLS}/transactions?{'&'.join(f'{k}={v}' for k, v in query.items())}", bearer)
    assert answer.status == 200, answer.body
    return answer.json()["Data"]["Transaction"]


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["Errors"][0]["ErrorCode"]


@pytest.mark.parametrize("name", scenarios())
def test_each_scenario_lints_clean(name: str, tmp_path: Path) -> None:
    assert [str(problem) for problem in check(settings(tmp_path, cassettes=(f"scenarios/{name}",)))] == []


def test_entries_without_dates_or_ids(tmp_path: Path) -> None:
    for name, members in (("dates-null", {"BookingDateTime", "ValueDateTime"}), ("ids-null", {"TransactionId"})):
        bank = quirky(tmp_path / name, name)
        shown = entries(bank, opened(bank))
        assert [members & entry.keys() for entry in shown] == [set()] * 3
        assert shown[0]["Amount"]["Amount"] == "12.50"


def test_entries_with_one_id_and_with_three_decimals(tmp_path: Path) -> None:
    bank = quirky(tmp_path / "zero", "ids-zero")
    assert [entry["TransactionId"] for entry in entries(bank, opened(bank))] == ["0"] * 3
    bank = quirky(tmp_path / "three", "three-decimals")
    assert [entry["Amount"]["Amount"] for entry in entries(bank, opened(bank))] == ["12.500", "1840.000", "640.000"]


def test_entries_of_long_ago_are_refused(tmp_path: Path) -> None:
    bank = quirky(tmp_path, "history-90-days")
    bearer = opened(bank)
    place = f"{OF_BILLS}/transactions?fromBookingDateTime="
    assert refusal(ask(bank, "GET", f"{place}2020-01-01T00:00:00", bearer)) == (400, "U003")
    assert ask(bank, "GET", f"{place}2999-01-01T00:00:00", bearer).status == 200


def test_pending_entries_are_refused_only_where_an_app_can_ask_for_them(tmp_path: Path) -> None:
    bank = quirky(tmp_path, "pending-refused")
    assert len(entries(bank, opened(bank))) == 3


def test_one_closed_account_fails_the_list(tmp_path: Path) -> None:
    bank = quirky(tmp_path, "closed-account-fails-list")
    assert ask(bank, "GET", f"{AISP}/accounts", opened(bank)).status == 200
    bearer = opened(bank, BILLS, HOUSEHOLD)
    assert refusal(ask(bank, "GET", f"{AISP}/accounts", bearer)) == (403, "U011")
    assert ask(bank, "GET", OF_BILLS, bearer).status == 200


def test_a_consent_is_shorter_than_the_app_asked_for(tmp_path: Path) -> None:
    bank = quirky(tmp_path, "valid-until-shortened")
    consent, _ = account_consent(bank)
    authorise(bank, consent, "accounts", BILLS)
    states = []
    for days in (30, 1):
        move(bank, days=days)
        own = token(bank, grant_type="client_credentials", scope="accounts")
        read = ask(bank, "GET", f"{AISP}/account-access-consents/{consent}", own)
        states.append(read.json()["Data"]["Status"])
    assert states == ["AUTH", "EXPD"]


def test_the_fifth_access_of_a_day_is_refused(tmp_path: Path) -> None:
    for name, bank in (
        ("no-retry-after", quirky(tmp_path / "q", "no-retry-after")),
        ("rate-limit", started(tmp_path / "s", "rate-limit")),
    ):
        bearer = opened(bank)
        assert [ask(bank, "GET", OF_BILLS, bearer).status for _ in range(5)] == [200] * 4 + [429], name
        assert ask(bank, "GET", OF_BILLS, bearer, **{CUSTOMER: "192.0.2.1"}).status == 200
        assert ask(bank, "GET", f"{AISP}/accounts", bearer).status == 200


def test_pages_of_ten(tmp_path: Path) -> None:
    bank = started(tmp_path, "paging")
    bearer, order = (
        opened(bank),
        initiation("1.00", DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS}),
    )
    for _ in range(11):
        pay(bank, order)
    assert [len(entries(bank, bearer, page=page)) for page in ("1", "2", "3")] == [10, 4, 0]


def pay(bank: Client, order: dict[str, Any]) -> Answer:
    mandate, _ = payment_consent(bank, order)
    payer = authorise(bank, mandate, "payments")
    answer = ask(bank, "POST", f"{PISP}/domestic-payments", payer, order_for(mandate, order))
    assert answer.status == 201, answer.body
    return answer


def test_the_customer_revokes_the_consent_after_the_list(tmp_path: Path) -> None:
    bank = started(tmp_path, "consent-revoked")
    bearer = opened(bank)
    assert ask(bank, "GET", f"{AISP}/accounts", bearer).status == 200
    assert refusal(ask(bank, "GET", OF_BILLS, bearer)) == (403, "U009")


def test_there_is_nothing_yet(tmp_path: Path) -> None:
    bank = started(tmp_path, "empty-accounts")
    bearer = opened(bank, BILLS, HOUSEHOLD)
    accounts = ask(bank, "GET", f"{AISP}/accounts", bearer).json()["Data"]["Account"]
    assert [account["AccountId"] for account in accounts] == ["22289"]
    (balance,) = ask(bank, "GET", f"{OF_BILLS}/balances", bearer).json()["Data"]["Balance"]
    assert balance["Amount"] == {"Amount": "0.00", "Currency": "GBP"}
    assert entries(bank, bearer) == []


def test_the_bank_is_down_for_a_while(tmp_path: Path) -> None:
    bank = started(tmp_path, "outage")
    answers = [bank.get(f"{AISP}/accounts") for _ in range(3)]
    assert {(answer.status, answer.headers["retry-after"]) for answer in answers} == {(503, "1")}
    assert answers[0].json()["Errors"][0]["ErrorCode"] == "SERVICE_UNAVAILABLE"
    assert ask(bank, "GET", f"{AISP}/accounts", opened(bank)).status == 200


def test_tokens_expire(tmp_path: Path) -> None:
    bank = started(tmp_path, "token-expired")
    bearer = opened(bank)
    assert ask(bank, "GET", f"{AISP}/accounts", bearer).status == 200
    assert refusal(ask(bank, "GET", f"{AISP}/accounts", "expired")) == (401, "U005")
    move(bank, minutes=2)
    assert refusal(ask(bank, "GET", f"{AISP}/accounts", bearer)) == (401, "U005")


def test_slow_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []
    mine, really = threading.get_ident(), asyncio.sleep

    async def sleep(delay: float) -> None:
        if threading.get_ident() != mine:
            await really(delay)
        elif delay:
            seconds.append(delay)

    bank = started(tmp_path, "slow")
    bearer = opened(bank)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    entries(bank, bearer)
    order = initiation("1.00", DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS})
    paid = pay(bank, order).json()["Data"]["DomesticPaymentId"]
    ask(bank, "GET", f"{PISP}/domestic-payments/{paid}", bearer)
    assert seconds == [8, 12, 5]
