"""The dialect obie-4.0, UK Open Banking: a folder of YAML, which shares no word with the Berlin Group's."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

AISP, PISP = "/open-banking/v4.0/aisp", "/open-banking/v4.0/pisp"
APP = "https://tpp.example/back"
BILLS, HOUSEHOLD = "GB33BUKB20201555555555", "GB94BARC10201530093459"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OUTSIDE = "GB29NWBK60161331926819"
JWS = (
    base64.urlsafe_b64encode(b'{"http://openbanking.org.uk/iss": "0015800000jf9gGAAQ/tpp"}').decode().rstrip("=")
    + "..c2ln"
)


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Client:
    return Client(build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path)))


def request_object(intent: str) -> str:
    claims = {"claims": {"id_token": {"openbanking_intent_id": {"value": intent, "essential": True}}}}
    parts = ({"alg": "PS256", "kid": "tpp"}, claims)
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".c2ln"
    )


def token(bank: Client, **form: str) -> str:
    body = {"client_id": "tpp", "client_secret": "secret", **form}
    answer = bank.post("/token", body=urlencode(body).encode(), headers=FORM)
    assert answer.status == 200, answer.body
    text: str = answer.json()["access_token"]
    return text


def link_for(intent: str, scope: str) -> dict[str, str]:
    """The parameters of the link to the bank's page."""
    query = {"response_type": "code", "client_id": "tpp", "redirect_uri": APP, "scope": f"openid {scope}"}
    return {**query, "request": request_object(intent), "state": "abc"}


def authorise(bank: Client, intent: str, scope: str, *accounts: str) -> str:
    """The customer's way through the pages; returns the token that the app gets for it."""
    return token(bank, **grant(approve(bank, link_for(intent, scope), *accounts)))


def grant(code: str) -> dict[str, str]:
    return {"grant_type": "authorization_code", "code": code, "redirect_uri": APP}


def approve(bank: Client, query: dict[str, str], *accounts: str) -> str:
    """The customer's way through the pages; returns the code that the app gets."""
    link = bank.get(f"/sca/auth?{urlencode(query)}")
    assert link.status == 303, link.body
    page = link.headers["location"]
    page = page if page.startswith("/") else f"/sca/{page}"
    steps: list[dict[str, Any]] = [{"customer": "grace"}, *([{"account": accounts}] if accounts else []), {}]
    for fields in steps:
        shown = bank.get(page)
        assert shown.status == 200, shown.body
        hidden = {name: _hidden(shown.body.decode(), name) for name in ("authorisation", "nonce", "step")}
        answer = bank.post(page, body=urlencode({**hidden, **fields}, doseq=True).encode(), headers=FORM)
        assert answer.status == 303, answer.body
    back = urlsplit(answer.headers["location"])
    assert f"{back.scheme}://{back.netloc}{back.path}" == APP
    answered = parse_qs(back.query)
    assert answered["state"] == ["abc"]
    return answered["code"][0]


def _hidden(html: str, name: str) -> str:
    return html.partition(f'name="{name}" value="')[2].partition('"')[0]


def ask(bank: Client, method: str, path: str, bearer: str, data: Any = None, **headers: str) -> Answer:
    signed = {"x-jws-signature": JWS} if method == "POST" and PISP in path else {}
    sent = {"Authorization": f"Bearer {bearer}", **signed, **headers}
    more: dict[str, Any] = {} if data is None else {"body": data} if isinstance(data, bytes) else {"json": data}
    return bank.request(method, path, headers=sent, **more)


def initiation(amount: str = "10.00", **more: Any) -> dict[str, Any]:
    return {
        "InstructionIdentification": "ACME412",
        "EndToEndIdentification": "FRESCO.21302.GFX.20",
        "InstructedAmount": {"Amount": amount, "Currency": "GBP"},
        "CreditorAccount": {"SchemeName": "UK.OBIE.IBAN", "Identification": OUTSIDE, "Name": "ACME Inc"},
        "RemittanceInformation": {"Unstructured": ["Internal ops code 5120101"]},
        **more,
    }


def order_for(consent: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"Data": {"ConsentId": consent, "Initiation": data}, "Risk": {}}


def payment_consent(bank: Client, data: dict[str, Any]) -> tuple[str, str]:
    """The id of a new consent for a payment, and the app's own token."""
    own = token(bank, grant_type="client_credentials", scope="payments")
    made = ask(bank, "POST", f"{PISP}/domestic-payment-consents", own, {"Data": {"Initiation": data}, "Risk": {}})
    assert made.status == 201, made.body
    told = made.json()["Data"]
    assert (told["Status"], told["Initiation"]) == ("AWAU", data)
    return told["ConsentId"], own


def test_a_payment_is_authorised_first_and_executed_when_told(bank: Client) -> None:
    order = initiation()
    consent, own = payment_consent(bank, order)
    place = f"{PISP}/domestic-payment-consents/{consent}"

    early = ask(bank, "POST", f"{PISP}/domestic-payments", own, order_for(consent, order))
    assert (early.status, early.json()["Errors"][0]["ErrorCode"]) == (401, "U005")

    bearer = authorise(bank, consent, "payments", HOUSEHOLD)
    told = ask(bank, "GET", place, own).json()["Data"]
    assert (told["Status"], told["Debtor"]["Identification"]) == ("AUTH", HOUSEHOLD)
    answer = ask(bank, "GET", f"{place}/funds-confirmation", bearer)
    funds = answer.json()["Data"]["FundsAvailableResult"]
    assert funds["FundsAvailable"] is True

    other = ask(
        bank,
        "POST",
        f"{PISP}/domestic-payments",
        bearer,
        order_for(consent, initiation("11.00")),
    )
    assert (other.status, other.json()["Errors"][0]["ErrorCode"]) == (400, "U008")

    paid = ask(bank, "POST", f"{PISP}/domestic-payments", bearer, order_for(consent, order))
    assert (paid.status, paid.json()["Data"]["Status"]) == (201, "ACSC")
    assert ask(bank, "GET", place, own).json()["Data"]["Status"] == "COND"
    read = ask(bank, "GET", f"{PISP}/domestic-payments/{paid.json()['Data']['DomesticPaymentId']}", own)
    assert (read.status, read.json()["Data"]["Status"]) == (200, "ACSC")

    again = ask(bank, "POST", f"{PISP}/domestic-payments", bearer, order_for(consent, order))
    assert (again.status, again.json()["Errors"][0]["ErrorCode"]) == (400, "U009")


def test_funds_that_an_account_does_not_have(bank: Client) -> None:
    consent, _ = payment_consent(
        bank, initiation("1000.00", DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": HOUSEHOLD})
    )
    bearer = authorise(bank, consent, "payments")
    place = f"{PISP}/domestic-payment-consents/{consent}/funds-confirmation"
    assert ask(bank, "GET", place, bearer).json()["Data"]["FundsAvailableResult"]["FundsAvailable"] is False


def account_consent(bank: Client, *permissions: str) -> tuple[str, str]:
    """The id of a new consent for accounts, and the app's own token."""
    own = token(bank, grant_type="client_credentials", scope="accounts")
    data = {"Permissions": ["ReadAccountsDetail", *permissions]}
    made = ask(bank, "POST", f"{AISP}/account-access-consents", own, {"Data": data, "Risk": {}})
    assert (made.status, made.json()["Data"]["Status"]) == (201, "AWAU"), made.body
    return made.json()["Data"]["ConsentId"], own


def test_the_customer_chooses_accounts_and_the_token_finds_the_consent(bank: Client) -> None:
    consent, own = account_consent(bank, "ReadBalances", "ReadTransactionsDetail")
    bearer = authorise(bank, consent, "accounts", BILLS)
    assert ask(bank, "GET", f"{AISP}/account-access-consents/{consent}", own).json()["Data"]["Status"] == "AUTH"

    (account,) = ask(bank, "GET", f"{AISP}/accounts", bearer).json()["Data"]["Account"]
    assert (account["AccountId"], [one["Identification"] for one in account["Account"]]) == (
        "22289",
        [BILLS[-14:], BILLS],
    )
    entries = ask(bank, "GET", f"{AISP}/accounts/22289/transactions", bearer).json()["Data"]["Transaction"]
    assert [(entry["TransactionId"], entry["Amount"]["Amount"]) for entry in entries] == [
        ("T-1", "12.50"),
        ("T-2", "1840.00"),
        ("T-3", "640.00"),
    ]
    other = ask(bank, "GET", f"{AISP}/accounts/31820", bearer)
    assert (other.status, other.json()["Errors"][0]["ErrorCode"]) == (403, "U011")

    assert ask(bank, "DELETE", f"{AISP}/account-access-consents/{consent}", own).status == 204
    assert ask(bank, "GET", f"{AISP}/accounts", bearer).status == 403


def test_a_permission_that_was_not_asked_for(bank: Client) -> None:
    consent, _ = account_consent(bank)
    bearer = authorise(bank, consent, "accounts", BILLS)
    assert ask(bank, "GET", f"{AISP}/accounts/22289", bearer).status == 200
    refused = ask(bank, "GET", f"{AISP}/accounts/22289/balances", bearer)
    assert (refused.status, refused.json()["Errors"][0]["ErrorCode"]) == (403, "U019")


def test_a_payment_moves_the_balance(bank: Client) -> None:
    consent, _ = account_consent(bank, "ReadBalances", "ReadTransactionsDetail")
    reader = authorise(bank, consent, "accounts", BILLS)
    balances = f"{AISP}/accounts/22289/balances"
    assert balance_of(ask(bank, "GET", balances, reader)) == "1230.00"

    order = initiation("30.00", DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS})
    mandate, _ = payment_consent(bank, order)
    payer = authorise(bank, mandate, "payments")
    body = order_for(mandate, order)
    assert ask(bank, "POST", f"{PISP}/domestic-payments", payer, body).status == 201

    assert balance_of(ask(bank, "GET", balances, reader)) == "1200.00"
    entries = ask(bank, "GET", f"{AISP}/accounts/22289/transactions", reader).json()["Data"]["Transaction"]
    assert (entries[0]["CreditDebitIndicator"], entries[0]["Amount"]["Amount"]) == ("Debit", "30.00")


def balance_of(answer: Answer) -> str:
    balance = next(one for one in answer.json()["Data"]["Balance"] if one["Type"] == "ITAV")
    amount: str = balance["Amount"]["Amount"]
    return amount


UNKNOWN = """
cassette: 1
errors: {authorisation-unknown: &any {status: 400, code: U000, text: no}, method-unknown: *any, resource-blocked: *any, service-invalid: *any}
rules:
  - {id: s, match: {path: /nobody/start}, handler: authorisations.start, with: {family: mandate}, input: &nobody {mandate: nobody}, respond: {body: "{{ result.id }}"}}
  - {id: l, match: {path: /nobody/list}, handler: authorisations.list, with: {family: mandate}, input: *nobody, respond: {body: "{{ result.ids }}"}}
  - {id: r, match: {path: /nobody/read}, handler: authorisations.read, with: {family: mandate}, input: {mandate: nobody, authorisation: one}, respond: {body: "{{ result.id }}"}}
  - {id: u, match: {path: /nobody/update}, handler: authorisations.update, with: {family: mandate}, input: {mandate: nobody, authorisation: one}, respond: {body: "{{ result.id }}"}}
  - {id: f, match: {path: /nobody/funds}, handler: funds.confirm, input: *nobody, respond: {body: "{{ result.available }}"}}
  - {id: m, match: {path: /nobody/mandate}, handler: mandates.read, input: *nobody, respond: {body: "{{ result.id }}"}}
  - {id: e, match: {path: /nobody/execute}, handler: payments.execute, input: *nobody, respond: {body: "{{ result.id }}"}}
"""  # noqa: E501


@pytest.mark.parametrize("what", ["start", "list", "read", "update", "funds", "mandate", "execute"])
def test_a_mandate_that_nobody_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    file = tmp_path / "nobody.yaml"
    file.write_text(UNKNOWN)
    bank = Client(build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, cassettes=(file,))))
    answer = bank.post(f"/nobody/{what}", json={})
    assert (answer.status, answer.json()["Errors"][0]["ErrorCode"]) == (400, "U011")


ORDERS = f"""
cassette: 1
rules:
  - id: mandate
    match: {{path: /own/mandate}}
    handler: mandates.create
    input:
      customer: "{{{{ body.who }}}}"
      debtor: {{iban: "{{{{ body.payer }}}}"}}
      execute_on: "{{{{ body.on }}}}"
      schedule: {{start: "{{{{ body.start }}}}", end: "{{{{ body.end }}}}", frequency: Monthly}}
      kind: "{{{{ body.kind or 'single' }}}}"
      parts:
        - amount: {{currency: "{{{{ body.currency or 'GBP' }}}}", amount: "{{{{ body.amount or '1.00' }}}}"}}
          creditor: {{account: {{iban: {OUTSIDE}}}}}
    respond: {{body: {{id: "{{{{ result.id }}}}"}}}}
  - id: authorised
    match: {{path: /own/authorised}}
    effects: [{{set: "state.mandates[body.id].status", to: authorised}}]
    respond: {{status: 204}}
  - id: execute
    match: {{path: /own/execute}}
    handler: payments.execute
    input: {{mandate: "{{{{ body.id }}}}"}}
    respond: {{body: {{id: "{{{{ result.id }}}}"}}}}
"""


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Client:
    (tmp_path / "orders.yaml").write_text(ORDERS)
    cassettes = (tmp_path / "orders.yaml",)
    return Client(build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, cassettes=cassettes)))


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ({"payer": OUTSIDE}, "U021"),
        ({"amount": "much"}, "U002"),
        ({"on": "2000-01-01"}, "U003"),
        ({"kind": "standing", "start": "2999-02-01", "end": "2999-01-01"}, "U003"),
        ({"who": "nobody"}, "U005"),
    ],
)
def test_a_mandate_that_the_bank_does_not_take(orders: Client, order: dict[str, str], code: str) -> None:
    answer = orders.post("/own/mandate", json={"payer": BILLS, **order})
    assert (answer.status >= 400, answer.json()["Errors"][0]["ErrorCode"]) == (True, code)


def test_a_mandate_that_nobody_has_authorised_is_not_executed(orders: Client) -> None:
    made = orders.post("/own/mandate", json={"payer": BILLS})
    answer = orders.post("/own/execute", json=made.json())
    assert (answer.status, answer.json()["Errors"][0]["ErrorCode"]) == (400, "U009")


def test_a_currency_without_a_rate_is_told_when_the_payment_is_executed(orders: Client) -> None:
    made = orders.post("/own/mandate", json={"payer": BILLS, "currency": "SEK"})
    assert orders.post("/own/authorised", json=made.json()).status == 204
    answer = orders.post("/own/execute", json=made.json())
    assert (answer.status, answer.json()["Errors"][0]["ErrorCode"]) == (400, "U002")


def test_orders_of_another_kind_are_not_found(bank: Client) -> None:
    order = initiation(DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS})
    consent, own = payment_consent(bank, order)
    paid = ask(
        bank, "POST", f"{PISP}/domestic-payments", authorise(bank, consent, "payments"), order_for(consent, order)
    )
    id = paid.json()["Data"]["DomesticPaymentId"]
    statuses = [ask(bank, "GET", f"{PISP}/{name}/{id}", own).status for name in ("domestic-payments", "file-payments")]
    assert statuses == [200, 400]
