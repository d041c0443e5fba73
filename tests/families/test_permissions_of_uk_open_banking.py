"""The permissions of a consent decide what an app sees; what it may not see is refused with a reason."""

from pathlib import Path
from typing import Any

import pytest

from tests.families.test_uk_open_banking import AISP, BILLS, HOUSEHOLD, PISP, ask, authorise, initiation, token
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

PLACE = f"{AISP}/accounts/22289"


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    return Client(build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path)))


def reader(bank: Client, *permissions: str, accounts: tuple[str, ...] = (BILLS,)) -> str:
    """A token with exactly these permissions."""
    own = token(bank, grant_type="client_credentials", scope="accounts")
    data = {"Data": {"Permissions": [*permissions]}, "Risk": {}}
    made = ask(bank, "POST", f"{AISP}/account-access-consents", own, data)
    assert made.status == 201, made.body
    return authorise(bank, made.json()["Data"]["ConsentId"], "accounts", *accounts)


def shown(bank: Client, path: str, bearer: str, member: str) -> Any:
    answer = ask(bank, "GET", path, bearer)
    assert answer.status == 200, answer.body
    return answer.json()["Data"][member]


def refusal(answer: Answer) -> tuple[int, str, str]:
    (error,) = answer.json()["Errors"]
    return answer.status, error["ErrorCode"], error["Message"]


def test_accounts_without_and_with_detail(bank: Client) -> None:
    basic = shown(bank, PLACE, reader(bank, "ReadAccountsBasic"), "Account")
    detail = shown(bank, PLACE, reader(bank, "ReadAccountsDetail"), "Account")
    assert [one["Identification"] for one in detail[0].pop("Account")] == ["20201555555555", BILLS]
    assert basic == detail


def test_entries_without_and_with_detail(bank: Client) -> None:
    path = f"{PLACE}/transactions"
    basic = shown(bank, path, reader(bank, "ReadAccountsBasic", "ReadTransactionsBasic"), "Transaction")
    detail = shown(bank, path, reader(bank, "ReadAccountsBasic", "ReadTransactionsDetail"), "Transaction")
    details = {"TransactionInformation", "CreditorAccount", "DebtorAccount"}
    assert [entry.keys() & details for entry in basic] == [set()] * 3
    assert [entry.keys() & details for entry in detail] == [
        {"TransactionInformation"},
        {"TransactionInformation", "DebtorAccount"},
        {"TransactionInformation", "CreditorAccount"},
    ]


@pytest.mark.parametrize(
    ("permissions", "ids"),
    [
        (["ReadTransactionsDebits"], ["T-1", "T-3"]),
        (["ReadTransactionsCredits"], ["T-2"]),
        (["ReadTransactionsDebits", "ReadTransactionsCredits"], ["T-1", "T-2", "T-3"]),
    ],
)
def test_entries_of_one_direction(bank: Client, permissions: list[str], ids: list[str]) -> None:
    bearer = reader(bank, "ReadAccountsBasic", "ReadTransactionsBasic", *permissions)
    for path in (f"{PLACE}/transactions", f"{AISP}/transactions"):
        assert [entry["TransactionId"] for entry in shown(bank, path, bearer, "Transaction")] == ids


@pytest.mark.parametrize(
    ("resource", "right", "member", "hidden"),
    [
        ("beneficiaries", "ReadBeneficiaries", "Beneficiary", "CreditorAccount"),
        ("standing-orders", "ReadStandingOrders", "StandingOrder", "CreditorAccount"),
        ("scheduled-payments", "ReadScheduledPayments", "ScheduledPayment", "CreditorAccount"),
        ("statements", "ReadStatements", "Statement", "StatementAmount"),
    ],
)
def test_further_resources(bank: Client, resource: str, right: str, member: str, hidden: str) -> None:
    bearers = [reader(bank, "ReadAccountsBasic", f"{right}{level}") for level in ("Basic", "Detail")]
    for path in (f"{PLACE}/{resource}", f"{AISP}/{resource}"):
        basic, detail = ([*shown(bank, path, bearer, member)] for bearer in bearers)
        assert ([hidden in one for one in basic], [hidden in one for one in detail]) == ([False], [True])


@pytest.mark.parametrize(
    "path",
    [
        *("balances", "transactions", "beneficiaries", "direct-debits", "offers", "party", "parties", "product"),
        *("scheduled-payments", "standing-orders", "statements", "statements/ST1", "statements/ST1/file"),
        "statements/ST1/transactions",
    ],
)
def test_what_the_consent_does_not_permit(bank: Client, path: str) -> None:
    status, code, text = refusal(ask(bank, "GET", f"{PLACE}/{path}", reader(bank, "ReadAccountsBasic")))
    assert (status, code) == (403, "U019")
    assert text.startswith("the consent is not for ")


def test_the_balances_and_entries_of_all_accounts(bank: Client) -> None:
    rights = ("ReadAccountsBasic", "ReadBalances", "ReadTransactionsBasic")
    bearer = reader(bank, *rights, accounts=(BILLS, HOUSEHOLD))
    balances = shown(bank, f"{AISP}/balances", bearer, "Balance")
    assert [(one["AccountId"], one["Type"], one["Amount"]["Amount"]) for one in balances] == [
        ("22289", "ITAV", "1230.00"),
        ("22289", "ITBD", "1230.00"),
        ("31820", "ITAV", "57.36"),
    ]
    entries = shown(bank, f"{AISP}/transactions", bearer, "Transaction")
    assert [(one["AccountId"], one["TransactionId"]) for one in entries] == [("22289", f"T-{n}") for n in (1, 2, 3)]


def test_only_the_chosen_accounts_are_in_the_lists(bank: Client) -> None:
    bearer = reader(bank, "ReadAccountsBasic", "ReadBalances", "ReadTransactionsBasic", accounts=(HOUSEHOLD,))
    assert [one["AccountId"] for one in shown(bank, f"{AISP}/balances", bearer, "Balance")] == ["31820"]
    assert shown(bank, f"{AISP}/transactions", bearer, "Transaction") == []


@pytest.mark.parametrize("path", ["balances", "transactions", "beneficiaries", "statements", "party"])
def test_lists_that_the_consent_does_not_permit(bank: Client, path: str) -> None:
    assert refusal(ask(bank, "GET", f"{AISP}/{path}", reader(bank, "ReadAccountsBasic")))[:2] == (403, "U019")


MISSING = (401, "U005", "the access token of a customer's consent is missing, unknown or expired")


@pytest.mark.parametrize("path", ["accounts", "accounts/22289/balances", "balances", "transactions", "statements"])
def test_no_token_and_one_without_a_customer(bank: Client, path: str) -> None:
    own = token(bank, grant_type="client_credentials", scope="accounts")
    assert refusal(bank.get(f"{AISP}/{path}")) == MISSING
    assert refusal(ask(bank, "GET", f"{AISP}/{path}", "unknown")) == MISSING
    assert refusal(ask(bank, "GET", f"{AISP}/{path}", own)) == MISSING


def test_a_consent_needs_a_token(bank: Client) -> None:
    answer = bank.post(f"{AISP}/account-access-consents", json={})
    assert refusal(answer) == (401, "U005", "the access token is missing, unknown or expired")


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("payments", f"{AISP}/account-access-consents"),
        ("accounts", f"{PISP}/domestic-payment-consents"),
        ("accounts", "/open-banking/v4.0/cbpii/funds-confirmation-consents"),
    ],
)
def test_a_token_of_another_scope(bank: Client, scope: str, path: str) -> None:
    own = token(bank, grant_type="client_credentials", scope=scope)
    assert refusal(ask(bank, "POST", path, own, {})) == (403, "U005", f"the token is for {scope}")


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("accounts", f"{AISP}/account-access-consents/none"),
        ("payments", f"{PISP}/domestic-payment-consents/none"),
        ("payments", f"{PISP}/domestic-vrp-consents/none"),
        ("fundsconfirmations", "/open-banking/v4.0/cbpii/funds-confirmation-consents/none"),
    ],
)
def test_a_consent_that_nobody_knows(bank: Client, scope: str, path: str) -> None:
    own = token(bank, grant_type="client_credentials", scope=scope)
    assert refusal(ask(bank, "GET", path, own)) == (400, "U011", "consent none unknown")


@pytest.mark.parametrize("path", ["", "/balances", "/transactions"])
def test_an_account_of_somebody_else(bank: Client, path: str) -> None:
    bearer = reader(bank, "ReadAccountsBasic", "ReadBalances", "ReadTransactionsBasic")
    for account in ("40111", "none"):
        answer = ask(bank, "GET", f"{AISP}/accounts/{account}{path}", bearer)
        assert refusal(answer) == (403, "U011", f"the consent is not for {account}")


def test_a_payment_request_without_signature(bank: Client) -> None:
    own = token(bank, grant_type="client_credentials", scope="payments")
    order = {"Data": {"Initiation": initiation()}, "Risk": {}}
    place = f"{PISP}/domestic-payment-consents"
    unsigned = bank.post(place, json=order, headers={"Authorization": f"Bearer {own}"})
    assert refusal(unsigned) == (400, "U019", "the header x-jws-signature is missing")
    empty = ask(bank, "POST", place, own, order, **{"x-jws-signature": "e30..c2ln"})
    assert refusal(empty) == (
        400,
        "U017",
        "the claim http://openbanking.org.uk/iss is missing in x-jws-signature",
    )


HOLD = """
cassette: 1
rules:
  - id: hold
    match: {method: POST, path: /own/hold}
    effects:
      - {set: "state.accounts['22289'].entries.pending", to: [{id: H-1, amount: {currency: GBP, amount: "-7.00"}}]}
    respond: {status: 204}
"""


def with_a_hold(tmp_path: Path, **more: Any) -> Client:
    (tmp_path / "hold.yaml").write_text(HOLD)
    settings = Settings(
        dialect="obie-4.0", state="memory:", confdir=tmp_path, cassettes=(tmp_path / "hold.yaml",), **more
    )
    bank = Client(build(settings))
    assert bank.post("/own/hold").status == 204
    return bank


@pytest.mark.parametrize("path", [f"{PLACE}/transactions", f"{AISP}/transactions"])
def test_a_pending_entry_is_marked(tmp_path: Path, path: str) -> None:
    bank = with_a_hold(tmp_path)
    bearer = reader(bank, "ReadAccountsBasic", "ReadTransactionsBasic")
    status = {entry["TransactionId"]: entry["Status"] for entry in shown(bank, path, bearer, "Transaction")}
    assert status == {"H-1": "PDNG", "T-1": "BOOK", "T-2": "BOOK", "T-3": "BOOK"}
