"""Variable recurring payments: one consent for many payments, within limits."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.families.test_tools import TOKEN, control
from tests.families.test_uk_open_banking import (
    BILLS,
    FORM,
    JWS,
    OUTSIDE,
    PISP,
    approve,
    ask,
    grant,
    link_for,
    token,
)
from tests.journeys.test_scenarios import move
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

CREDITOR = {"SchemeName": "UK.OBIE.IBAN", "Identification": OUTSIDE, "Name": "ACME Inc"}
PAYER = {"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS, "Name": "Grace Harbour"}
WEDNESDAY = datetime(2027, 1, 20, 10, tzinfo=UTC)
CONSENTS, PAYMENTS = f"{PISP}/domestic-vrp-consents", f"{PISP}/domestic-vrps"


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    engine = build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, frozen_at=WEDNESDAY))
    engine.use(admin_token=TOKEN)
    return Client(engine)


def limit(period: str, amount: str, alignment: str = "Consent", currency: str = "GBP") -> dict[str, str]:
    return {"PeriodType": period, "PeriodAlignment": alignment, "Amount": amount, "Currency": currency}


class Payer:
    """An app with a consent that a customer has authorised."""

    def __init__(self, bank: Client, *limits: dict[str, str], each: str = "100.00") -> None:
        self.bank = bank
        parameters = {
            "VRPType": ["UK.OBIE.VRPType.Sweeping"],
            "PSUAuthenticationMethods": ["UK.OBIE.SCA"],
            "MaximumIndividualAmount": {"Amount": each, "Currency": "GBP"},
            "PeriodicLimits": [*limits],
        }
        data = {"ControlParameters": parameters, "Initiation": {"DebtorAccount": PAYER, "CreditorAccount": CREDITOR}}
        made = ask(bank, "POST", CONSENTS, self.own(), {"Data": data, "Risk": {}})
        assert made.status == 201, made.body
        self.consent = made.json()["Data"]["ConsentId"]
        self.tokens: dict[str, str] = {}
        self.get_tokens(**grant(approve(bank, link_for(self.consent, "payments"))))

    def get_tokens(self, **form: str) -> None:
        body = urlencode({"client_id": "tpp", "client_secret": "secret", **form}).encode()
        self.tokens = {**self.tokens, **self.bank.post("/token", body=body, headers=FORM).json()}

    def own(self) -> str:
        return token(self.bank, grant_type="client_credentials", scope="payments")

    def pay(self, amount: str, currency: str = "GBP", key: str | None = None, **more: Any) -> Answer:
        instruction = {
            "InstructionIdentification": "SWEEP",
            "EndToEndIdentification": "SWEEP-1",
            "InstructedAmount": {"Amount": amount, "Currency": currency},
            "CreditorAccount": CREDITOR,
        }
        data = {
            "ConsentId": self.consent,
            "PSUAuthenticationMethod": "UK.OBIE.SCA",
            "VRPType": "UK.OBIE.VRPType.Sweeping",
            "Initiation": {"DebtorAccount": PAYER, "CreditorAccount": CREDITOR},
            "Instruction": instruction,
        }
        once = {"x-idempotency-key": key} if key else {}
        body = {"Data": {**data, **more}, "Risk": {}}
        return ask(self.bank, "POST", PAYMENTS, self.tokens["access_token"], body, **once)

    def pay_after(self, amount: str, **span: int) -> Answer:
        move(self.bank, **span)
        self.get_tokens(grant_type="refresh_token", refresh_token=self.tokens["refresh_token"])
        return self.pay(amount)

    def state(self) -> str:
        read = ask(self.bank, "GET", f"{CONSENTS}/{self.consent}", self.own())
        status: str = read.json()["Data"]["Status"]
        return status

    def documents(self) -> dict[str, Any]:
        """What the bank keeps of payments, mandates and accounts."""
        return {name: control(self.bank, "GET", f"state/{name}") for name in ("payments", "mandates", "accounts")}


def refusal(answer: Answer) -> tuple[int, str, str]:
    (error,) = answer.json()["Errors"]
    return answer.status, error["ErrorCode"], error["Message"].rpartition(" permits only ")[2]


def test_a_consent_is_for_many_payments_and_stays_authorised(bank: Client) -> None:
    app = Payer(bank, limit("Month", "200.00"))
    paid = [app.pay(amount) for amount in ("10.00", "20.00")]
    assert [one.status for one in paid] == [201, 201]
    assert app.state() == "AUTH"
    kept = app.documents()["payments"]
    assert sorted(kept[one.json()["Data"]["DomesticVRPId"]]["amount"]["amount"] for one in paid) == ["10.00", "20.00"]


def test_the_consent_names_the_payer_once_it_is_authorised(bank: Client) -> None:
    app = Payer(bank, limit("Month", "200.00"))
    read = ask(bank, "GET", f"{CONSENTS}/{app.consent}", app.own())
    assert read.json()["Data"]["DebtorAccount"] == PAYER


def test_a_payment_over_the_limit_of_one_payment_changes_nothing(bank: Client) -> None:
    app = Payer(bank, limit("Month", "500.00"), each="100.00")
    before = app.documents()
    assert refusal(app.pay("100.01")) == (400, "U014", "100.00 GBP per payment")
    assert app.documents() == before
    assert app.state() == "AUTH"
    assert app.pay("100.00").status == 201


def test_a_payment_over_the_limit_of_its_period_changes_nothing(bank: Client) -> None:
    app = Payer(bank, limit("Month", "150.00"))
    assert app.pay("100.00").status == 201
    before = app.documents()
    assert refusal(app.pay("50.01")) == (400, "U014", "150.00 GBP per month")
    assert app.documents() == before
    assert app.pay("50.00").status == 201


def test_a_week_begins_on_the_day_of_the_consent(bank: Client) -> None:
    app = Payer(bank, limit("Week", "100.00"))
    assert app.pay("100.00").status == 201
    assert refusal(app.pay_after("1.00", days=6)) == (400, "U014", "100.00 GBP per week")
    assert app.pay_after("100.00", days=1).status == 201


def test_a_week_of_the_calendar_begins_on_monday(bank: Client) -> None:
    app = Payer(bank, limit("Week", "100.00", "Calendar"))
    assert app.pay("100.00").status == 201
    assert refusal(app.pay_after("1.00", days=4)) == (400, "U014", "100.00 GBP per week")
    assert app.pay_after("100.00", days=1).status == 201


def test_a_month_of_the_calendar(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00", "Calendar"))  # from 20 January
    assert app.pay("100.00").status == 201
    assert refusal(app.pay_after("1.00", days=11)) == (400, "U014", "100.00 GBP per month")
    assert app.pay_after("100.00", days=1).status == 201


def test_every_limit_counts(bank: Client) -> None:
    app = Payer(bank, limit("Day", "100.00"), limit("Week", "150.00"))
    assert app.pay("100.00").status == 201
    assert refusal(app.pay("0.01")) == (400, "U014", "100.00 GBP per day")
    assert refusal(app.pay_after("50.01", days=1)) == (400, "U014", "150.00 GBP per week")
    assert app.pay("50.00").status == 201


def test_limits_cannot_be_avoided_by_another_currency(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    assert refusal(app.pay("90.00", "USD"))[:2] == (400, "U008")


def test_a_payment_to_somebody_else(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    other = {"DebtorAccount": PAYER, "CreditorAccount": {**CREDITOR, "Identification": "GB82WEST12345698765432"}}
    assert refusal(app.pay("10.00", Initiation=other))[:2] == (400, "U008")


def test_a_deleted_consent_pays_nothing(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    place = f"{CONSENTS}/{app.consent}"
    assert ask(bank, "DELETE", place, app.own()).status == 204
    assert refusal(ask(bank, "GET", place, app.own()))[:2] == (400, "U011")
    assert refusal(app.pay("10.00"))[:2] == (400, "U011")


def change(app: Payer, **changes: Any) -> Answer:
    """Send the consent again, with changes of its Data."""
    place, own = f"{CONSENTS}/{app.consent}", app.own()
    kept = ask(app.bank, "GET", place, own).json()["Data"]
    data = {"ControlParameters": kept["ControlParameters"], "Initiation": kept["Initiation"], **changes}
    return ask(app.bank, "PUT", place, own, {"Data": data, "Risk": {}}, **{"x-jws-signature": JWS})


def test_a_consent_is_written_anew_for_another_version(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    remittance = {"Unstructured": ["Savings"]}
    parties = {"DebtorAccount": PAYER, "CreditorAccount": CREDITOR, "RemittanceInformation": remittance}
    changed = change(app, Initiation=parties, ReadRefundAccount="Yes")
    data = changed.json()["Data"]
    assert (changed.status, data["Status"], data["Initiation"], data["ReadRefundAccount"]) == (
        200,
        "AUTH",
        parties,
        "Yes",
    )
    assert ask(bank, "GET", f"{CONSENTS}/{app.consent}", app.own()).json()["Data"] == data
    assert app.pay("100.00").status == 201


def test_what_a_customer_has_authorised_does_not_change(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    before = app.documents()
    kept = ask(bank, "GET", f"{CONSENTS}/{app.consent}", app.own()).json()["Data"]["ControlParameters"]
    more = {**kept, "PeriodicLimits": [limit("Month", "1000.00")]}
    other = {"DebtorAccount": PAYER, "CreditorAccount": {**CREDITOR, "Identification": "GB82WEST12345698765432"}}
    refused = [change(app, ControlParameters=more), change(app, Initiation=other)]
    assert [refusal(answer)[:2] for answer in refused] == [(400, "U008"), (400, "U008")]
    assert app.documents() == before


def patch(app: Payer, *steps: Any, media: str = "application/json-patch+json") -> Answer:
    headers = {"x-jws-signature": JWS, "Content-Type": media}
    return ask(app.bank, "PATCH", f"{CONSENTS}/{app.consent}", app.own(), [*steps], **headers)


def test_a_consent_is_changed_by_a_json_patch(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    step = {"op": "add", "path": "/Data/Initiation/RemittanceInformation", "value": {"Unstructured": ["Savings"]}}
    changed = patch(app, step)
    data = changed.json()["Data"]
    assert (changed.status, data["Initiation"]["RemittanceInformation"]) == (200, step["value"])
    assert ask(bank, "GET", f"{CONSENTS}/{app.consent}", app.own()).json()["Data"] == data
    assert app.pay("100.00").status == 201


LIMIT = {"op": "replace", "path": "/Data/ControlParameters/MaximumIndividualAmount/Amount", "value": "999.00"}


@pytest.mark.parametrize(
    ("steps", "media", "refused"),
    [
        ([LIMIT], "application/json-patch+json", (400, "U008")),
        ([{"op": "remove", "path": "/Data/Nothing"}], "application/json-patch+json", (400, "U002")),
        ([{"op": "remove", "path": "/Data"}], "application/json-patch+json", (400, "U002")),
        (["remove"], "application/json-patch+json", (400, "U002")),
        ([{"op": "test", "path": "/Data/VRPType", "value": 1}], "application/json-patch+json", (400, "U002")),
        ([], "application/json", (415, "U002")),
    ],
)
def test_patches_that_the_bank_refuses(bank: Client, steps: list[Any], media: str, refused: tuple[int, str]) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    before = app.documents()
    assert refusal(patch(app, *steps, media=media))[:2] == refused
    assert app.documents() == before


def test_a_patch_that_grows_without_end(bank: Client) -> None:
    app = Payer(bank, limit("Month", "100.00"))
    steps = [{"op": "copy", "from": "/Data", "path": f"/Data/{number}"} for number in range(60)]
    assert patch(app, *steps).status == 500
    assert app.pay("100.00").status == 201


@pytest.mark.parametrize(("amount", "result"), [("1230.00", "Available"), ("1230.01", "NotAvailable")])
def test_funds_for_a_payment(bank: Client, amount: str, result: str) -> None:
    app = Payer(bank, limit("Month", "5000.00"), each="5000.00")
    data = {"ConsentId": app.consent, "Reference": "R", "InstructedAmount": {"Amount": amount, "Currency": "GBP"}}
    place = f"{CONSENTS}/{app.consent}/funds-confirmation"
    answer = ask(bank, "POST", place, app.tokens["access_token"], {"Data": data})
    assert answer.json()["Data"]["FundsAvailableResult"]["FundsAvailable"] == result


OWN = f"""
cassette: 1
rules:
  - id: mandate
    match: {{path: /own/mandate}}
    handler: mandates.create
    input:
      debtor: {{iban: {BILLS}}}
      recurring: true
      limits: "{{{{ body }}}}"
      parts: [{{amount: {{currency: GBP, amount: "1.00"}}, creditor: {{account: {{iban: {OUTSIDE}}}}}}}]
    respond: {{body: {{id: "{{{{ result.id }}}}"}}}}
"""


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([{"amount": "1.00", "currency": "GBP", "period": "decade"}], "a period must be one of day, week"),
        ([{"amount": "much", "currency": "GBP"}], ""),
    ],
)
def test_limits_that_nobody_can_apply(tmp_path: Path, limits: list[dict[str, str]], text: str) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    bank = Client(
        build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path, cassettes=(tmp_path / "own.yaml",)))
    )
    answer = bank.post("/own/mandate", json=limits)
    (error,) = answer.json()["Errors"]
    assert (answer.status, error["ErrorCode"], text in error["Message"]) == (400, "U002", True)


def test_a_repeated_request_pays_once(bank: Client) -> None:
    app = Payer(bank, limit("Month", "500.00"))
    control(bank, "PUT", "checks", {"checks": ["idempotency"]})
    first, again = (app.pay("10.00", key="K1") for _ in range(2))
    assert (first.status, again.json()["Data"]["DomesticVRPId"]) == (201, first.json()["Data"]["DomesticVRPId"])
    assert refusal(app.pay("11.00", key="K1"))[:2] == (400, "U002")
    assert [app.pay("10.00").status for _ in range(2)] == [201, 201]
    assert app.pay("10.00", key="K2").json()["Data"]["DomesticVRPId"] != first.json()["Data"]["DomesticVRPId"]
