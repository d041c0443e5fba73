"""Payments in pain.001: the stored payment, and errors."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import Answer, Client, speaking

DEBTOR, OTHER = "DE47999888770000200002", "DE25999888770000200010"
HEAD = "<?xml version='1.0'?><Document xmlns='urn:iso:std:iso:20022:tech:xsd:pain.001.001.{v}'><CstmrCdtTrfInitn>"
TAIL = "</CstmrCdtTrfInitn></Document>"
GROUP = "<GrpHdr><MsgId>MSG-1</MsgId><CreDtTm>2030-01-01T10:00:00</CreDtTm><NbOfTxs>{n}</NbOfTxs>{sum}</GrpHdr>"
TRANSFER = (
    "<CdtTrfTxInf><PmtId><InstrId>I-1</InstrId><EndToEndId>E2E-1</EndToEndId></PmtId>"
    "<Amt><InstdAmt Ccy='EUR'>{amount}</InstdAmt></Amt>"
    "<CdtrAgt><FinInstnId><{bic}>GIBAATWWXXX</{bic}></FinInstnId></CdtrAgt>"
    "<Cdtr><Nm>{name}</Nm><PstlAdr><StrtNm>Ring</StrtNm><Ctry>AT</Ctry></PstlAdr></Cdtr>"
    "<CdtrAcct><Id><IBAN>AT611904300234573201</IBAN></Id></CdtrAcct><RmtInf><Ustrd>Danke</Ustrd></RmtInf></CdtTrfTxInf>"
)
DAYS = {"03": "<ReqdExctnDt>{day}</ReqdExctnDt>", "09": "<ReqdExctnDt><Dt>{day}</Dt></ReqdExctnDt>"}


def xml(
    *amounts: str,
    version: str = "03",
    number: Any = None,
    control: str = "",
    debtor: str = f"<DbtrAcct><Id><IBAN>{DEBTOR}</IBAN></Id><Ccy>EUR</Ccy></DbtrAcct>",
    day: str = "2999-01-31",
    booking: str = "",
    name: str = "Berta",
) -> str:
    bic = "BIC" if version == "03" else "BICFI"
    transfers = "".join(TRANSFER.format(amount=amount, bic=bic, name=name) for amount in amounts)
    return (
        HEAD.format(v=version)
        + GROUP.format(n=len(amounts) if number is None else number, sum=control)
        + f"<PmtInf><PmtMtd>TRF</PmtMtd>{booking}{DAYS[version].format(day=day)}<Dbtr><Nm>Oskar</Nm></Dbtr>{debtor}"
        + f"<ChrgBr>SLEV</ChrgBr>{transfers}</PmtInf>{TAIL}"
    )


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """Its record shows the stored payment."""
    body = "{{ state.payments[path.id] }}"
    rule = f"{{id: kept, match: {{method: GET, path: '/_kept/{{id}}'}}, respond: {{body: '{body}'}}}}"
    (tmp_path / "kept.yaml").write_text(f"cassette: 1\nrules: [{rule}]\n")
    return Client(speaking("berlin-group-1.3", tmp_path))


def initiate(client: Client, body: str, service: str = "payments", media: str = "application/xml") -> Answer:
    headers = {"Content-Type": media, "PSU-ID": "oskar"}
    return client.post(f"/v1/{service}/pain.001-sepa-credit-transfers", body=body.encode(), headers=headers)


def kept(client: Client, answer: Answer) -> Any:
    assert answer.status == 201, answer.body
    return client.get(f"/_kept/{answer.json()['paymentId']}").json()


@pytest.mark.parametrize("version", ["03", "09"])
def test_both_versions_are_stored_in_the_same_way(client: Client, version: str) -> None:
    payment = kept(client, initiate(client, xml("12.50", version=version)))
    assert payment["debtor"] == {"account": "3d9a81b3-a47d-4130-8765-a9c0ff861b02", "iban": DEBTOR, "currency": "EUR"}
    assert payment["execute_on"] == "2999-01-31"
    assert payment["parts"] == [
        {
            "end_to_end_id": "E2E-1",
            "instruction_id": "I-1",
            "amount": {"currency": "EUR", "amount": "12.50"},
            "creditor": {
                "account": {"iban": "AT611904300234573201"},
                "agent": "GIBAATWWXXX",
                "name": "Berta",
                "address": {"street_name": "Ring", "country": "AT"},
            },
            "charge_bearer": "SLEV",
            "remittance": {"text": "Danke"},
        }
    ]


def test_bulk_payment_in_xml(client: Client) -> None:
    body = xml("1.00", "2.50", booking="<BtchBookg>true</BtchBookg>", control="<CtrlSum>3.5</CtrlSum>")
    payment = kept(client, initiate(client, body, "bulk-payments"))
    assert (payment["kind"], payment["batch"]) == ("bulk", True)
    assert [part["amount"]["amount"] for part in payment["parts"]] == ["1.00", "2.50"]
    assert "debtor" not in payment["parts"][0]


def multipart(xml: str, order: str, kind: str = "Content-Type: application/xml\r\n") -> tuple[str, str]:
    boundary = uuid.uuid4().hex
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="xml_sct"\r\n{kind}\r\n{xml}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="json_standingorderType"\r\n\r\n{order}\r\n'
        f"--{boundary}--\r\n"
    )
    return body, f"multipart/form-data; boundary={boundary}"


@pytest.mark.parametrize("kind", ["Content-Type: application/xml\r\n", ""])
def test_standing_order_in_xml(client: Client, kind: str) -> None:
    order = '{"startDate": "2998-01-05", "endDate": "2999-01-05", "frequency": "Monthly", "dayOfExecution": "5"}'
    payment = kept(client, initiate(client, *_swapped(multipart(xml("7.00"), order, kind))))
    dates = {"start": "2998-01-05", "end": "2999-01-05"}
    assert (payment["kind"], payment["schedule"]) == ("standing", {**dates, "frequency": "Monthly", "day": "5"})
    assert payment["amount"] == {"currency": "EUR", "amount": "7.00"}


def _swapped(body_and_media: tuple[str, str]) -> tuple[str, str, str]:
    body, media = body_and_media
    return body, "periodic-payments", media


M = "/Document/CstmrCdtTrfInitn"
WRONG = {
    "no transfer": (xml(), f"{M}/PmtInf/CdtTrfTxInf", "CdtTrfTxInf is missing"),
    "other document": ("<Order/>", f"{M}/PmtInf/CdtTrfTxInf", "CdtTrfTxInf is missing"),
    "number": (xml("1.00", number=2), f"{M}/GrpHdr/NbOfTxs", "NbOfTxs must be 1, the number of payments"),
    "no number": (xml("1.00", number="x"), f"{M}/GrpHdr/NbOfTxs", "NbOfTxs must be a number, not x"),
    "sum": (
        xml("1.00", control="<CtrlSum>2</CtrlSum>"),
        f"{M}/GrpHdr/CtrlSum",
        "CtrlSum must be 1.00, the sum",
    ),
    "amount": (xml("-1"), f"{M}/PmtInf/CdtTrfTxInf/Amt/InstdAmt", "InstdAmt must be a positive amount"),
    "zero": (xml("0.00"), f"{M}/PmtInf/CdtTrfTxInf/Amt/InstdAmt", "InstdAmt must be a positive amount"),
    "day": (xml("1.00", day="soon"), f"{M}/PmtInf/ReqdExctnDt", "ReqdExctnDt must be a date"),
    "no day": (xml("1.00", day=""), f"{M}/PmtInf/ReqdExctnDt", "ReqdExctnDt is missing"),
    "no debtor": (xml("1.00", debtor=""), f"{M}/PmtInf/DbtrAcct/Id/Othr/Id", "Id is missing"),
    "IBAN": (
        xml("1.00", debtor="<DbtrAcct><Id><IBAN>DE1</IBAN></Id></DbtrAcct>"),
        f"{M}/PmtInf/DbtrAcct/Id/IBAN",
        "IBAN must be an IBAN",
    ),
    "no name": (xml("1.00", name=""), f"{M}/PmtInf/CdtTrfTxInf/Cdtr/Nm", "Nm is missing"),
    "several": (xml("1.00", "2.00"), f"{M}/PmtInf/CdtTrfTxInf/1", "use a bulk payment for several payments"),
    "broken": ("<Document><", None, "the body must be XML"),
    "entities": ("<!DOCTYPE a [<!ENTITY b 'c'>]><Document/>", None, "without a document type"),
}


@pytest.mark.parametrize(("body", "path", "text"), WRONG.values(), ids=WRONG)
def test_errors_name_the_element(client: Client, body: str, path: str | None, text: str) -> None:
    answer = initiate(client, body)
    (message,) = answer.json()["tppMessages"]
    assert (answer.status, message["code"], message.get("path")) == (400, "FORMAT_ERROR", path)
    assert text in message["text"]


def test_orders_with_two_debtors_are_rejected(client: Client) -> None:
    first, second = (
        xml("1.00", number=2),
        xml("1.00", debtor="<DbtrAcct><Id><IBAN>DE25999888770000200010</IBAN></Id></DbtrAcct>"),
    )
    info = second[second.index("<PmtInf>") : second.index("</PmtInf>") + len("</PmtInf>")]
    answer = initiate(client, first.replace(TAIL, info + TAIL), "bulk-payments")
    (message,) = answer.json()["tppMessages"]
    assert (answer.status, message["path"]) == (400, f"{M}/PmtInf")


@pytest.mark.parametrize(
    ("xml_sct", "order", "path"),
    [
        ("no XML", "{}", "/xml_sct"),
        (xml("1.00"), "{}", "/json_standingorderType/startDate"),
        (xml("1.00"), '{"startDate": "soon"}', "/json_standingorderType/startDate"),
        (xml("1.00"), '{"startDate": "2999-01-01"}', "/json_standingorderType/frequency"),
        (xml("1.00"), '{"startDate": "2999-01-01", "frequency": "Often"}', "/json_standingorderType/frequency"),
    ],
)
def test_errors_in_a_standing_order(client: Client, xml_sct: str, order: str, path: str) -> None:
    answer = initiate(client, *_swapped(multipart(xml_sct, order, "")))
    (message,) = answer.json()["tppMessages"]
    assert (answer.status, message["code"], message["path"]) == (400, "FORMAT_ERROR", path)


def test_a_part_that_is_not_the_expected_xml_is_reported(client: Client) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="xml_sct"\r\n\r\n<a>\r\n--x--'
    answer = initiate(client, part, "periodic-payments", "multipart/form-data; boundary=x")

    (message,) = answer.json()["tppMessages"]
    assert (answer.status, message["path"]) == (400, "/xml_sct")
    assert message["text"].startswith("xml_sct must be XML: ")
