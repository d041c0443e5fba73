"""Payments in NextGenPSD2 1.3: single, bulk and periodic, in JSON and as pain.001, and their cancellation."""

import re
import uuid
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.contract.berlin_group.conftest import OSKAR, PETRA, Tpp, error

SEPA = "/v1/payments/sepa-credit-transfers"
PRODUCTS = "sepa-credit-transfers instant-sepa-credit-transfers target-2-payments cross-border-credit-transfers".split()
BULKS, ORDERS = "/v1/bulk-payments/sepa-credit-transfers", "/v1/periodic-payments/sepa-credit-transfers"
CREDITOR = "DE65999777660000001000"
PAYMENT: dict[str, Any] = {
    "endToEndIdentification": "E2E-4711",
    "debtorAccount": {"iban": OSKAR, "currency": "EUR"},
    "instructedAmount": {"currency": "EUR", "amount": "12.50"},
    "creditorAccount": {"iban": CREDITOR},
    "creditorAgent": "GIBAATWWXXX",
    "creditorName": "Berta Bauer",
    "creditorAddress": {
        "streetName": "Ring",
        "buildingNumber": "1",
        "townName": "Wien",
        "postCode": "1010",
        "country": "AT",
    },
    "ultimateCreditor": "Carla Bauer",
    "purposeCode": "GDDS",
    "chargeBearer": "SLEV",
    "remittanceInformationUnstructured": "Danke",
}
ENTRIES = [{name: value for name, value in PAYMENT.items() if name != "debtorAccount"}, {
    "instructedAmount": {"currency": "EUR", "amount": "7.25"},
    "creditorAccount": {"iban": PETRA},
    "creditorName": "Petra Vogelsang",
}]  # fmt: skip
BULK = {"debtorAccount": {"iban": OSKAR}, "payments": ENTRIES}
ORDER = {
    **PAYMENT,
    "startDate": "2998-01-05",
    "frequency": "Monthly",
    "dayOfExecution": "5",
    "executionRule": "following",
}
EMBEDDED = {"TPP-Redirect-Preferred": "false", "PSU-ID": "oskar"}
EXPLICIT = {"TPP-Explicit-Authorisation-Preferred": "true"}


def initiate(tpp: Tpp, body: Any = PAYMENT, path: str = SEPA, **headers: str) -> httpx.Response:
    sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return tpp.request("POST", path, json=body, headers={**EMBEDDED, **sent_headers})


def links(answer: httpx.Response) -> dict[str, str]:
    return {name: link["href"] for name, link in answer.json()["_links"].items()}


def authorised(tpp: Tpp, body: Any = PAYMENT, path: str = SEPA) -> str:
    """Return the path of an authorised payment."""
    made = initiate(tpp, body, path)
    assert made.status_code == 201, made.text
    assert tpp.authorise(links(made)["updatePsuAuthentication"], "oskar") == "finalised"
    return links(made)["self"]


def status(tpp: Tpp, path: str) -> str:
    return str(tpp.get(f"{path}/status").json()["transactionStatus"])


def booked(tpp: Tpp, path: str) -> list[dict[str, Any]]:
    """Return the bookings of a payment on Oskar's account, newest first."""
    consent = tpp.consent({"balances": [{"iban": OSKAR}], "transactions": [{"iban": OSKAR}]})
    (account,) = tpp.get("/v1/accounts", consent=consent).json()["accounts"]
    answer = tpp.get(
        f"/v1/accounts/{account['resourceId']}/transactions?bookingStatus=booked&dateFrom=2020-01-01", consent=consent
    )
    assert answer.status_code == 200, answer.text
    id = path.rpartition("/")[2]
    return [one for one in answer.json()["transactions"]["booked"] if one["transactionId"].startswith(id)]


# -- initiation


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.berlin_group("payments-created")
def test_a_payment_is_initiated_with_its_authorisation(tpp: Tpp, product: str) -> None:
    made = initiate(tpp, path=f"/v1/payments/{product}")
    id = made.json()["paymentId"]

    assert made.status_code == 201
    assert (made.headers["location"], made.headers["aspsp-sca-approach"]) == (
        f"/v1/payments/{product}/{id}",
        "EMBEDDED",
    )
    assert made.json().items() >= {"transactionStatus": "RCVD", "scaStatus": "psuIdentified"}.items()
    own = made.headers["location"]
    (authorisation,) = tpp.get(f"{own}/authorisations").json()["authorisationIds"]
    path = f"{own}/authorisations/{authorisation}"
    assert links(made) == {"self": own, "status": f"{own}/status", "scaStatus": path, "updatePsuAuthentication": path}
    assert "null" not in made.text


@pytest.mark.parametrize(
    ("headers", "approach", "link"),
    [
        ({"PSU-ID": "oskar"}, "EMBEDDED", "updatePsuAuthentication"),
        ({}, "EMBEDDED", "updatePsuIdentification"),
        ({"TPP-Redirect-Preferred": "true"}, "REDIRECT", "scaRedirect"),
        ({"TPP-Decoupled-Preferred": "true"}, "DECOUPLED", "updatePsuIdentification"),
        ({"PSU-ID": "oskar", **EXPLICIT}, "EMBEDDED", "startAuthorisationWithPsuAuthentication"),
        (EXPLICIT, "EMBEDDED", "startAuthorisationWithPsuIdentification"),
        ({"TPP-Redirect-Preferred": "true", **EXPLICIT}, "REDIRECT", "startAuthorisation"),
    ],
)
@pytest.mark.berlin_group("payments-links")
def test_the_links_match_the_approach(tpp: Tpp, headers: dict[str, str], approach: str, link: str) -> None:
    made = tpp.request("POST", SEPA, json=PAYMENT, headers=headers)
    apart = link.startswith("start")

    assert made.headers["aspsp-sca-approach"] == approach
    assert made.json()["_links"].keys() == {"self", "status", link, *([] if apart else ["scaStatus"])}
    assert links(made)[link].endswith("/authorisations") is apart
    assert ("scaStatus" in made.json()) is not apart


@pytest.mark.parametrize(
    ("headers", "approach"),
    [
        ({}, "EMBEDDED"),
        ({"TPP-Redirect-Preferred": "true"}, "REDIRECT"),
        ({"TPP-Decoupled-Preferred": "true", **EXPLICIT}, "DECOUPLED"),
    ],
)
@pytest.mark.berlin_group("payments-created")
def test_a_payment_above_the_balance_has_an_approach(tpp: Tpp, headers: dict[str, str], approach: str) -> None:
    amount = {"currency": "EUR", "amount": "999999.00"}
    made = tpp.request("POST", SEPA, json={**PAYMENT, "instructedAmount": amount}, headers=headers)

    assert made.headers["aspsp-sca-approach"] == approach
    assert links(made).keys() == {"self", "status"}


@pytest.mark.berlin_group("payments-decoupled")
def test_a_decoupled_payment_waits_for_the_app(tpp: Tpp) -> None:
    made = tpp.request("POST", SEPA, json=PAYMENT, headers={"TPP-Decoupled-Preferred": "true", "PSU-ID": "oskar"})
    assert made.json()["scaStatus"] == "started"
    assert made.json()["psuMessage"]
    assert links(made).keys() == {"self", "status", "scaStatus"}


@pytest.mark.berlin_group("payments-funds")
def test_a_payment_above_the_balance_is_rejected(tpp: Tpp) -> None:
    made = initiate(tpp, {**PAYMENT, "instructedAmount": {"currency": "EUR", "amount": "999999.00"}})
    assert (made.status_code, made.json()["transactionStatus"]) == (201, "RCVD")
    assert links(made).keys() == {"self", "status"}
    assert status(tpp, links(made)["self"]) == "RJCT"


# -- reading


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEPA, PAYMENT),
        (BULKS, BULK),
        (ORDERS, ORDER),
    ],
)
@pytest.mark.berlin_group("payments-read")
def test_a_payment_is_returned_as_it_was_sent(tpp: Tpp, path: str, body: dict[str, Any]) -> None:
    own = links(initiate(tpp, body, path))["self"]
    assert tpp.get(own).json() == {**body, "transactionStatus": "RCVD"}


@pytest.mark.berlin_group("payments-read")
def test_a_reference_is_stored(tpp: Tpp) -> None:
    reference = {"reference": "RF18539007547034", "referenceType": "SCOR"}
    own = links(initiate(tpp, {**PAYMENT, "remittanceInformationStructured": reference}))["self"]
    assert tpp.get(own).json()["remittanceInformationStructured"] == reference


@pytest.mark.parametrize("wish", ["true", True, "false", False])
@pytest.mark.berlin_group("payments-read")
def test_batch_booking_is_returned_as_a_boolean(tpp: Tpp, wish: Any) -> None:
    made = initiate(tpp, {**BULK, "batchBookingPreferred": wish}, BULKS)
    assert tpp.get(links(made)["self"]).json()["batchBookingPreferred"] is (str(wish).lower() == "true")


@pytest.mark.berlin_group("payments-debtor")
def test_the_debtor_can_be_identified_by_another_number(tpp: Tpp) -> None:
    made = initiate(tpp, {**PAYMENT, "debtorAccount": {"msisdn": "+49 170 0002002"}})
    assert tpp.authorise(links(made)["updatePsuAuthentication"], "oskar") == "finalised"
    own = links(made)["self"]
    assert tpp.get(own).json()["debtorAccount"] == {"msisdn": "+49 170 0002002"}
    assert [one["transactionAmount"]["amount"] for one in booked(tpp, own)] == ["-12.50"]


@pytest.mark.parametrize(
    ("debtor", "expected"),
    [
        ({"bban": "0815"}, (400, "RESOURCE_UNKNOWN", "/debtorAccount/bban")),
        ({"currency": "EUR"}, (400, "FORMAT_ERROR", "/debtorAccount")),
        ({"iban": OSKAR, "currency": "USD"}, (400, "FORMAT_ERROR", "/debtorAccount/currency")),
    ],
)
@pytest.mark.berlin_group("payments-debtor")
def test_an_unknown_debtor_is_refused(tpp: Tpp, debtor: Any, expected: tuple[int, str, str]) -> None:
    answer = initiate(tpp, {**PAYMENT, "debtorAccount": debtor})
    assert (*error(answer), answer.json()["tppMessages"][0]["path"]) == expected


# -- execution


@pytest.mark.berlin_group("payments-booked")
def test_an_authorised_payment_is_booked(tpp: Tpp) -> None:
    own = authorised(tpp)
    assert status(tpp, own) == "ACSP"
    (entry,) = booked(tpp, own)
    assert entry["creditorName"] == "Berta Bauer"
    assert entry["creditorAccount"] == {"iban": CREDITOR}
    assert entry["endToEndId"] == "E2E-4711"


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.berlin_group("payments-booked")
def test_a_bulk_is_booked_individually_or_as_one_entry(tpp: Tpp, batch: bool) -> None:
    own = authorised(tpp, {**BULK, "batchBookingPreferred": batch}, BULKS)
    entries = booked(tpp, own)
    if batch:
        (entry,) = entries
        assert (entry["transactionAmount"]["amount"], entry["batchNumberOfTransactions"]) == ("-19.75", 2)
    else:
        assert {one["creditorName"]: one["transactionAmount"]["amount"] for one in entries} == {
            "Berta Bauer": "-12.50",
            "Petra Vogelsang": "-7.25",
        }


@pytest.mark.berlin_group("payments-periodic")
def test_a_standing_order_waits_for_its_first_day(tpp: Tpp) -> None:
    assert status(tpp, authorised(tpp, ORDER, ORDERS)) == "ACTC"


# -- errors


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (SEPA, {}, (400, "FORMAT_ERROR")),
        (SEPA, {**PAYMENT, "instructedAmount": {"currency": "EUR", "amount": "0.00"}}, (400, "FORMAT_ERROR")),
        (SEPA, {**PAYMENT, "remittanceInformationStructured": "RF18539007547034"}, (400, "FORMAT_ERROR")),
        (SEPA, {**PAYMENT, "requestedExecutionDate": "2001-01-01"}, (400, "EXECUTION_DATE_INVALID")),
        (BULKS, {**BULK, "payments": []}, (400, "FORMAT_ERROR")),
        (BULKS, {**BULK, "payments": [{}]}, (400, "FORMAT_ERROR")),
        (ORDERS, PAYMENT, (400, "FORMAT_ERROR")),
        (ORDERS, {**ORDER, "endDate": "2001-01-01"}, (400, "PERIOD_INVALID")),
        ("/v1/payments/pigeon-post", PAYMENT, (404, "PRODUCT_UNKNOWN")),
    ],
)
@pytest.mark.berlin_group("payments-refused")
def test_invalid_payments_are_refused(tpp: Tpp, path: str, body: Any, expected: tuple[int, str]) -> None:
    assert error(initiate(tpp, body, path)) == expected


@pytest.mark.berlin_group("payments-unknown")
def test_an_unknown_payment(tpp: Tpp) -> None:
    for path in (f"{SEPA}/{uuid.uuid4()}", f"{SEPA}/{uuid.uuid4()}/status", f"{SEPA}/{uuid.uuid4()}/authorisations"):
        assert error(tpp.get(path)) == (403, "RESOURCE_UNKNOWN")
    own = links(initiate(tpp))["self"]
    assert error(tpp.get(own.replace("sepa", "instant-sepa"))) == (403, "RESOURCE_UNKNOWN")


# -- cancellation


@pytest.mark.berlin_group("payments-cancelled")
def test_an_unauthorised_payment_is_cancelled_at_once(tpp: Tpp) -> None:
    own = links(initiate(tpp))["self"]
    assert tpp.request("DELETE", own).status_code == 204
    assert status(tpp, own) == "CANC"
    assert error(tpp.request("DELETE", own)) == (405, "CANCELLATION_INVALID")


@pytest.mark.berlin_group("payments-cancellation-authorised")
def test_a_later_payment_is_cancelled_with_an_authorisation(tpp: Tpp) -> None:
    own = authorised(tpp, {**PAYMENT, "requestedExecutionDate": "2999-01-31"})
    answer = tpp.request("DELETE", own, headers=EMBEDDED)
    start = links(answer)["startAuthorisationWithPsuAuthentication"]
    assert (answer.status_code, answer.json()["transactionStatus"]) == (202, "ACTC")
    assert start == f"{own}/cancellation-authorisations"

    begun = tpp.request("POST", start, headers=EMBEDDED)
    assert tpp.get(start).json()["authorisationIds"] == [begun.json()["authorisationId"]]
    assert tpp.authorise(begun.headers["location"], "oskar") == "finalised"
    assert status(tpp, own) == "CANC"


@pytest.mark.berlin_group("payments-funds-available")
def test_the_status_of_a_later_payment_confirms_funds(tpp: Tpp) -> None:
    later = authorised(tpp, {**PAYMENT, "requestedExecutionDate": "2999-01-31"})
    waiting, executed = (tpp.get(f"{path}/status").json() for path in (later, authorised(tpp)))
    assert (waiting["transactionStatus"], waiting["fundsAvailable"]) == ("ACTC", True)
    assert executed["transactionStatus"] == "ACSP"
    assert "fundsAvailable" not in executed


@pytest.mark.berlin_group("payments-not-cancelled")
def test_an_executed_payment_cannot_be_cancelled(tpp: Tpp) -> None:
    assert error(tpp.request("DELETE", authorised(tpp))) == (405, "CANCELLATION_INVALID")


# -- pain.001


def pain(*amounts: str) -> str:
    transfers = "".join(
        f"<CdtTrfTxInf><PmtId><EndToEndId>E-{number}</EndToEndId></PmtId>"
        f"<Amt><InstdAmt Ccy='EUR'>{amount}</InstdAmt></Amt>"
        f"<Cdtr><Nm>Berta</Nm></Cdtr><CdtrAcct><Id><IBAN>{CREDITOR}</IBAN></Id></CdtrAcct></CdtTrfTxInf>"
        for number, amount in enumerate(amounts)
    )
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n<Document xmlns='urn:iso:std:iso:20022:tech:xsd:pain.001.001.03'>"
        f"<CstmrCdtTrfInitn><GrpHdr><MsgId>A&amp;B-1</MsgId><NbOfTxs>{len(amounts)}</NbOfTxs></GrpHdr>"
        "<PmtInf><ReqdExctnDt>2999-01-31</ReqdExctnDt><Dbtr><Nm>Oskar</Nm></Dbtr>"
        f"<DbtrAcct><Id><IBAN>{OSKAR}</IBAN></Id></DbtrAcct>{transfers}</PmtInf></CstmrCdtTrfInitn></Document>"
    )


def initiate_xml(tpp: Tpp, text: str, service: str = "payments", media: str = "application/xml") -> httpx.Response:
    path, headers = f"/v1/{service}/pain.001-sepa-credit-transfers", {**EMBEDDED, "Content-Type": media}
    return tpp.request("POST", path, content=text.encode(), headers=headers)


@pytest.mark.parametrize(("service", "amounts"), [("payments", ["12.50"]), ("bulk-payments", ["12.50", "7.25"])])
@pytest.mark.berlin_group("payments-xml")
def test_a_payment_in_xml_is_returned_as_it_was_sent(tpp: Tpp, service: str, amounts: list[str]) -> None:
    text = pain(*amounts)
    made = initiate_xml(tpp, text, service)
    assert made.status_code == 201, made.text
    own = links(made)["self"]

    assert tpp.authorise(links(made)["updatePsuAuthentication"], "oskar") == "finalised"
    answer = tpp.get(own)
    assert (answer.headers["content-type"], answer.text) == ("application/xml", text)
    assert status(tpp, own) == "ACTC"


@pytest.mark.berlin_group("payments-xml-status")
def test_the_status_of_an_xml_payment_is_pain_002_if_xml_is_accepted(tpp: Tpp) -> None:
    own = links(initiate_xml(tpp, pain("1.00")))["self"]
    answer = tpp.get(f"{own}/status", headers={"Accept": "application/xml"})
    namespace = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"}
    report = ElementTree.fromstring(answer.text)
    assert answer.headers["content-type"] == "application/xml"
    assert report.findtext(".//p:OrgnlMsgId", namespaces=namespace) == "A&B-1"
    assert report.findtext(".//p:GrpSts", namespaces=namespace) == "RCVD"
    assert tpp.get(f"{own}/status", headers={"Accept": "application/json, application/xml"}).json() == {
        "transactionStatus": "RCVD"
    }


@pytest.mark.berlin_group("payments-xml-periodic")
def test_a_standing_order_can_be_sent_in_xml(tpp: Tpp) -> None:
    boundary = uuid.uuid4().hex
    order = '{"startDate": "2999-02-05", "frequency": "Monthly", "dayOfExecution": "5"}'
    text = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="xml_sct"\r\nContent-Type: application/xml\r\n\r\n'
        f'{pain("1.00")}\r\n--{boundary}\r\nContent-Disposition: form-data; name="json_standingorderType"\r\n'
        f"Content-Type: application/json\r\n\r\n{order}\r\n--{boundary}--\r\n"
    )
    media = f"multipart/form-data; boundary={boundary}"
    made = initiate_xml(tpp, text, "periodic-payments", media)
    assert made.status_code == 201, made.text
    answer = tpp.get(links(made)["self"])
    assert (answer.headers["content-type"], answer.content) == (media, text.encode())
    assert tpp.authorise(links(made)["updatePsuAuthentication"], "oskar") == "finalised"
    assert status(tpp, links(made)["self"]) == "ACTC"


@pytest.mark.parametrize(
    ("text", "media", "expected"),
    [
        ("<Document>", "application/xml", (400, "FORMAT_ERROR")),
        (re.sub("<Cdtr>.*</Cdtr>", "", pain("1.00")), "application/xml", (400, "FORMAT_ERROR")),
        (pain("1.00").replace(OSKAR, "DE89370400440532013000"), "application/xml", (400, "RESOURCE_UNKNOWN")),
    ],
)
@pytest.mark.berlin_group("payments-xml-refused")
def test_wrong_xml_is_refused(tpp: Tpp, text: str, media: str, expected: tuple[int, str]) -> None:
    assert error(initiate_xml(tpp, text, media=media)) == expected


@pytest.mark.berlin_group("payments-xml-refused")
def test_content_must_match_the_media_type(tpp: Tpp) -> None:
    usual = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.7"}
    for path, media in ((SEPA, "application/xml"), ("/v1/payments/pain.001-sepa-credit-transfers", "application/json")):
        answer = tpp.http.post(
            tpp.prefix + path, content=pain("1.00").encode(), headers={**usual, "Content-Type": media}
        )
        assert answer.status_code == 415
