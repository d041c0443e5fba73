"""File payments: a consent, a file with the payments of a bulk, and one order for all of them."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.families.test_tools import TOKEN, control
from tests.families.test_uk_open_banking import (
    AISP,
    BILLS,
    HOUSEHOLD,
    OUTSIDE,
    PISP,
    account_consent,
    ask,
    authorise,
    balance_of,
    initiation,
    token,
)
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

CONSENTS, ORDERS = f"{PISP}/file-payment-consents", f"{PISP}/file-payments"
JSON, XML = "UK.OBIE.PaymentInitiation.4.0", "UK.OBIE.pain.001.001.08"
PAYER, OTHER_PAYER = ({"SchemeName": "UK.OBIE.IBAN", "Identification": account} for account in (BILLS, HOUSEHOLD))


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    engine = build(Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path))
    engine.use(admin_token=TOKEN)
    return Client(engine)


def json_file(*amounts: str, **more: Any) -> bytes:
    orders = [initiation(amount, EndToEndIdentification=f"E-{number}", **more) for number, amount in enumerate(amounts)]
    return json.dumps({"Data": {"DomesticPayments": orders}}).encode()


def xml_file(*amounts: str, payer: str = BILLS) -> bytes:
    transfers = "".join(
        f'<CdtTrfTxInf><PmtId><EndToEndId>E-{number}</EndToEndId></PmtId><Amt><InstdAmt Ccy="GBP">{amount}</InstdAmt>'
        f"</Amt><Cdtr><Nm>ACME Inc</Nm></Cdtr><CdtrAcct><Id><IBAN>{OUTSIDE}</IBAN></Id></CdtrAcct></CdtTrfTxInf>"
        for number, amount in enumerate(amounts)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.08">'
        f"<CstmrCdtTrfInitn><GrpHdr><MsgId>M-1</MsgId><NbOfTxs>{len(amounts)}</NbOfTxs></GrpHdr><PmtInf>"
        f"<ReqdExctnDt>2999-01-01</ReqdExctnDt><DbtrAcct><Id><IBAN>{payer}</IBAN></Id></DbtrAcct>{transfers}"
        "</PmtInf></CstmrCdtTrfInitn></Document>"
    ).encode()


class Payer:
    """An app with a consent for a file, which it has not uploaded yet."""

    def __init__(self, bank: Client, file: bytes, kind: str = JSON, **more: Any) -> None:
        self.bank, self.file, self.kind = bank, file, kind
        self.own = token(bank, grant_type="client_credentials", scope="payments")
        digest = b64encode(sha256(file).digest()).decode()
        self.initiation = {"FileType": kind, "FileHash": digest, "FileReference": "GB2OK238", **more}
        made = self.ask("POST", CONSENTS, {"Data": {"Initiation": self.initiation}})
        assert made.status == 201, made.body
        data = made.json()["Data"]
        assert (data["Status"], data["Initiation"]) == ("AWUP", self.initiation)
        self.consent = f"{CONSENTS}/{data['ConsentId']}"

    @property
    def id(self) -> str:
        return self.consent.rpartition("/")[2]

    def ask(self, method: str, path: str, data: Any = None, bearer: str = "", **headers: str) -> Answer:
        return ask(self.bank, method, path, bearer or self.own, data, **headers)

    def upload(self, file: bytes | None = None, media: str = "", **headers: str) -> Answer:
        sent = {"Content-Type": media or ("text/xml" if self.kind == XML else "application/json"), **headers}
        body = self.file if file is None else file
        return ask(self.bank, "POST", f"{self.consent}/file", self.own, body, **sent)

    def state(self) -> str:
        status: str = self.ask("GET", self.consent).json()["Data"]["Status"]
        return status

    def pay(self, **more: Any) -> Answer:
        bearer = authorise(self.bank, self.id, "payments", *more.pop("accounts", ()))
        data = {"ConsentId": self.id, "Initiation": {**self.initiation, **more}}
        return self.ask("POST", ORDERS, {"Data": data}, bearer)


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["Errors"][0]["ErrorCode"]


def test_a_file_is_uploaded_authorised_and_paid(bank: Client) -> None:
    reader = authorise(bank, account_consent(bank, "ReadBalances", "ReadTransactionsDetail")[0], "accounts", BILLS)
    app = Payer(bank, json_file("10.00", "20.50", DebtorAccount=PAYER))
    uploaded = app.upload()
    assert (uploaded.status, uploaded.body, app.state()) == (200, b"", "AWAU")
    paid = app.pay()
    assert (paid.status, paid.json()["Data"]["Status"], app.state()) == (201, "INCO", "COND")
    assert balance_of(ask(bank, "GET", f"{AISP}/accounts/22289/balances", reader)) == "1199.50"
    entries = ask(bank, "GET", f"{AISP}/accounts/22289/transactions", reader).json()["Data"]["Transaction"]
    assert sorted(entry["Amount"]["Amount"] for entry in entries[:2]) == ["10.00", "20.50"]

    place = f"{ORDERS}/{paid.json()['Data']['FilePaymentId']}"
    assert app.ask("GET", place).json()["Data"] == paid.json()["Data"]
    details = app.ask("GET", f"{place}/payment-details").json()["Data"]["PaymentStatus"]
    assert [(one["PaymentTransactionId"][-2:], one["Status"]) for one in details] == [("-1", "ACSC"), ("-2", "ACSC")]
    report = app.ask("GET", f"{place}/report-file").json()["Data"]
    assert report["FileReference"] == "GB2OK238"
    assert [(one["EndToEndIdentification"], one["Amount"]) for one in report["Payments"]] == [
        ("E-0", "10.00"),
        ("E-1", "20.50"),
    ]


def test_the_file_is_returned_as_it_was_uploaded(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"))
    early = app.ask("GET", f"{app.consent}/file")
    assert refusal(early) == (400, "U009")
    app.upload()
    read = app.ask("GET", f"{app.consent}/file")
    assert (read.status, read.body, read.headers["content-type"]) == (200, app.file, "application/json")


def test_a_pain_001(bank: Client) -> None:
    app = Payer(bank, xml_file("5.00", "6.00"), XML, NumberOfTransactions="2", ControlSum=11.0)
    assert app.upload().status == 200
    assert app.ask("GET", f"{app.consent}/file").body == app.file
    paid = app.pay()
    assert (paid.status, paid.json()["Data"]["Status"]) == (201, "PDNG")
    report = app.ask("GET", f"{ORDERS}/{paid.json()['Data']['FilePaymentId']}/report-file")
    assert report.headers["content-type"] == "application/xml"
    assert b"<GrpSts>ACTC</GrpSts>" in report.body


def test_the_customer_chooses_the_account_of_a_file_that_names_none(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"))
    app.upload()
    paid = app.pay(accounts=[HOUSEHOLD])
    assert paid.status == 201
    assert app.ask("GET", app.consent).json()["Data"]["Debtor"]["Identification"] == HOUSEHOLD


def test_the_account_of_the_consent_pays(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"), DebtorAccount=PAYER)
    app.upload()
    assert app.pay().status == 201
    assert app.ask("GET", app.consent).json()["Data"]["Debtor"]["Identification"] == BILLS


@pytest.mark.parametrize(
    ("file", "kind", "announced", "code"),
    [
        (json_file("10.00"), JSON, {"NumberOfTransactions": "2"}, "U002"),
        (json_file("10.00"), JSON, {"ControlSum": 10.01}, "U002"),
        (xml_file("10.00"), XML, {"NumberOfTransactions": "2"}, "U002"),
        (json_file("10.00", DebtorAccount=PAYER), JSON, {"DebtorAccount": OTHER_PAYER}, "U008"),
        (xml_file("10.00"), XML, {"DebtorAccount": OTHER_PAYER}, "U008"),
        (json_file("ten"), JSON, {}, "U002"),
        (json_file(), JSON, {}, "U002"),
        (b"{", JSON, {}, "U002"),
        (b"<Document/>", XML, {}, "U002"),
        (json_file("10.00", DebtorAccount={**PAYER, "Identification": OUTSIDE}), JSON, {}, "U021"),
    ],
)
def test_a_file_that_the_bank_does_not_take(
    bank: Client, file: bytes, kind: str, announced: dict[str, Any], code: str
) -> None:
    app = Payer(bank, file, kind, **announced)
    assert refusal(app.upload()) == (400, code)
    assert app.state() == "AWUP"


def test_a_file_with_two_payers(bank: Client) -> None:
    orders = [initiation(DebtorAccount={**PAYER, "Identification": payer}) for payer in (BILLS, HOUSEHOLD)]
    app = Payer(bank, json.dumps({"Data": {"DomesticPayments": orders}}).encode())
    assert refusal(app.upload()) == (400, "U002")


def test_a_file_with_another_hash(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"))
    refused = app.upload(json_file("10.01"))
    assert (refusal(refused), app.state()) == ((400, "U002"), "AWUP")
    assert refused.json()["Errors"][0]["Path"] == "Data.Initiation.FileHash"


def test_a_file_of_another_type(bank: Client) -> None:
    app = Payer(bank, xml_file("10.00"), JSON)
    assert refusal(app.upload(media="application/xml")) == (415, "U002")


def test_a_second_file(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"))
    assert app.upload().status == 200
    assert refusal(app.upload()) == (400, "U009")


def test_an_upload_that_is_sent_again(bank: Client) -> None:
    control(bank, "PUT", "checks", {"checks": ["idempotency"]})
    app = Payer(bank, json_file("10.00"))
    first, again = (app.upload(**{"x-idempotency-key": "K1"}) for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert refusal(app.upload(json_file("11.00"), **{"x-idempotency-key": "K1"})) == (400, "U002")


def test_a_consent_that_is_requested_again(bank: Client) -> None:
    control(bank, "PUT", "checks", {"checks": ["idempotency"]})
    app = Payer(bank, json_file("10.00"))
    data = {"Data": {"Initiation": app.initiation}}
    first, again = (app.ask("POST", CONSENTS, data, **{"x-idempotency-key": "K1"}).json()["Data"] for _ in range(2))
    assert first["ConsentId"] == again["ConsentId"] != app.id


def test_nobody_authorises_a_consent_without_a_file(bank: Client) -> None:
    app = Payer(bank, json_file("10.00"))
    with pytest.raises(AssertionError):
        authorise(bank, app.id, "payments")
    assert app.state() == "AWUP"


def test_an_order_that_differs_from_its_consent(bank: Client) -> None:
    app = Payer(bank, json_file("10.00", DebtorAccount=PAYER))
    app.upload()
    assert refusal(app.pay(FileReference="another")) == (400, "U008")


def test_a_file_that_the_account_cannot_pay(bank: Client) -> None:
    app = Payer(bank, json_file("1000.00", "1000.00", DebtorAccount=PAYER))
    app.upload()
    assert app.pay().json()["Data"]["Status"] == "INFA"


def test_a_consent_for_another_kind_of_payment_takes_no_file(bank: Client) -> None:
    own = token(bank, grant_type="client_credentials", scope="payments")
    made = ask(
        bank, "POST", f"{PISP}/domestic-payment-consents", own, {"Data": {"Initiation": initiation()}, "Risk": {}}
    )
    place = f"{CONSENTS}/{made.json()['Data']['ConsentId']}"
    assert refusal(ask(bank, "GET", place, own)) == (400, "U011")
    assert refusal(ask(bank, "POST", f"{place}/file", own, {})) == (400, "U011")
