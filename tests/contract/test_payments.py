"""Payments: initiation, record, status, cancellation."""

import uuid
from copy import deepcopy
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.contract import bodies, facts
from tests.contract.answers import is_iban, is_uuid
from tests.contract.control import Control
from tests.contract.doors import Answer, Bank

spec = pytest.mark.spec

INITIATION = {
    "transactionStatus",
    "paymentId",
    "transactionFees",
    "currencyConversionFee",
    "estimatedTotalAmount",
    "estimatedInterbankSettlementAmount",
    "transactionFeeIndicator",
    "scaMethods",
    "chosenScaMethod",
    "challengeData",
    "psuMessage",
    "tppMessages",
    "_Left",
}
PLACEHOLDER = "authorization_not_yet_available"
REQUEST_ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}

BODY = {
    bodies.SEPA: "2.9-sepa",
    bodies.INSTANT: "2.9-instant",
    bodies.CROSS_BORDER: "2.9-cross-border",
    bodies.BULK: "2.9-bulk",
    bodies.PERIODIC: "2.9-periodic",
}
"""Return the statement about the members of each product."""


def of_product(product: str, *values: Any) -> Any:
    """Return a case that proves a statement about the product's body."""
    return pytest.param(product, *values, marks=spec(BODY[product]))


every_product = pytest.mark.parametrize("product", bodies.PRODUCTS)
every_amount = pytest.mark.parametrize("product", bodies.WITH_AMOUNT)


def initiate(bank: Bank, product: str, **changes: Any) -> str:
    """Return the path of a new payment."""
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product, **changes))
    assert answer.status == 200, answer.body
    assert answer.json()["transactionStatus"] == "RCVD"
    return answer.json()["_Left"]["self"]["href"]


def read(bank: Bank, path: str) -> Any:
    """Return the payment, and check that its status endpoint returns the same status."""
    record, status = bank.get(path), bank.get(f"{path}/status")
    assert record.status == status.status == 200
    assert status.json() == {
        "transactionStatus": record.json()["transactionStatus"],
        "fundsAvailable": None,
        "psuMessage": None,
    }
    return record.json()


def refused(answer: Answer, status: int, code: str, path: str | None = None) -> None:
    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, path)


def reference(iban: str | None, currency: str | None) -> dict[str, str | None]:
    return {"iban": iban, "bban": None, "pan": None, "maskedPan": None, "msisdn": None, "currency": currency}


# -- initiation


@spec("1-payments")
@spec("2-nulls")
@spec("2.10-transaction-status")
@spec("2.10-payment-id")
@spec("2.10-fees")
@spec("2.10-sca")
@spec("2.10-left")
@spec("2.10-left-members")
@spec("2.10-sca-status")
@spec("2.10-self")
@spec("2.10-status")
@spec("3.2-initiated")
@spec("4.2-path-values")
@pytest.mark.parametrize(
    "product",
    [
        pytest.param(bodies.SEPA, marks=[spec("4.2-sepa"), spec("2.9-sepa")]),
        pytest.param(bodies.INSTANT, marks=[spec("4.2-instant"), spec("2.9-instant")]),
        pytest.param(bodies.CROSS_BORDER, marks=[spec("4.2-cross-border"), spec("2.9-cross-border")]),
        pytest.param(bodies.BULK, marks=[spec("4.2-bulk"), spec("2.9-bulk"), spec("2.9-bulk-nulls")]),
        pytest.param(bodies.PERIODIC, marks=[spec("4.2-periodic"), spec("2.9-periodic")]),
    ],
)
def test_a_new_payment_has_exactly_the_documented_members(bank: Bank, product: str) -> None:
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product), headers={"TPP-Redirect-URI": bodies.REDIRECT})

    assert answer.status == 200
    body = answer.json()
    own = f"/v1/{product}/{body['paymentId']}"
    redirect = body["_Left"]["scaRedirect"]["href"]
    assert is_uuid(body["paymentId"])
    assert body.keys() == INITIATION
    assert body == {
        **dict.fromkeys(INITIATION),
        "transactionStatus": "RCVD",
        "paymentId": body["paymentId"],
        "_Left": {
            "scaStatus": {"href": f"{own}/authorisations/{PLACEHOLDER}"},
            "scaRedirect": {"href": redirect},
            "self": {"href": own},
            "status": {"href": f"{own}/status"},
        },
    }
    assert bank.get(own).status == 200
    assert bank.get(f"{own}/").status == 200
    assert bank.get(f"{own}/status/").status == 200


@spec("2.10-sca-redirect")
@spec("4.2-rule-1")
@spec("5-tpp-redirect-uri")
@spec("1-sca-redirect")
@spec("reading-session-links")
@every_product
@pytest.mark.parametrize("back", ["https://tpp.example/b?a=1&b=2#x", None])
def test_redirect_link_of_a_payment(bank: Bank, product: str, back: str | None) -> None:
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product), headers={"TPP-Redirect-URI": back})

    assert answer.status == 200
    href = answer.json()["_Left"]["scaRedirect"]["href"]
    service, name = product.split("/")
    expected = {"payment_id": [answer.json()["paymentId"]], "service": [service], "product": [name]}
    if back:
        expected["redirectBackUrl"] = [back]
        assert quote(back, safe="") in href
    assert parse_qs(urlsplit(href).query, keep_blank_values=True, strict_parsing=True) == expected
    assert href.startswith(f"{bank.addresses.direct}/")
    assert f"/s/{bank.session}/" in urlsplit(href).path


@spec("5-sca-page")
def test_the_redirect_link_opens_a_page(bank: Bank) -> None:
    body = bank.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA)).json()

    page = bank.page(body["_Left"]["scaRedirect"]["href"])

    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")


@spec("2.10-left")
def test_only_the_answer_to_an_initiation_has_the_member_left(bank: Bank) -> None:
    own = initiate(bank, bodies.SEPA)
    pending, payment = facts.payments("PDNG")[0]
    answers = [
        bank.get(own),
        bank.get(f"{own}/status"),
        bank.delete(f"/v1/{payment['service']}/{payment['product']}/{pending}"),
        bank.post("/v1/consents", json=bodies.consent(facts.covered())),
        bank.get(f"/v1/consents/{facts.consent()}"),
        bank.get("/v1/accounts/", consent=facts.consent()),
        bank.get(f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=booked", consent=facts.consent()),
    ]

    assert all(b"_Left" not in answer.body for answer in answers)


@spec("2.9-requested-execution-date")
@spec("4.2-rule-2")
@spec("3.2-future-date")
@spec("reading-instant-date")
@every_product
@pytest.mark.parametrize("date", [0, 30, "", None, "absent"])
def test_a_future_execution_date_is_accepted(bank: Bank, product: str, date: str | int | None) -> None:
    body = bodies.payment(product, **facts.dated({"requestedExecutionDate": date}))
    if date == "absent":
        del body["requestedExecutionDate"]

    answer = bank.post(f"/v1/{product}", json=body)

    assert answer.status == 200
    assert answer.json()["transactionStatus"] == "RCVD"
    assert read(bank, answer.json()["_Left"]["self"]["href"])["transactionStatus"] == "RCVD"


@spec("reading-execution-date")
@every_product
@pytest.mark.parametrize("days", [-1, -365])
def test_an_execution_date_in_the_past_is_refused(bank: Bank, product: str, days: int) -> None:
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product, requestedExecutionDate=facts.today(days)))

    assert (answer.status, answer.error["code"]) == (400, "EXECUTION_DATE_INVALID")


@spec("reading-end-date")
def test_an_end_before_the_start_is_refused(bank: Bank) -> None:
    body = bodies.payment(bodies.PERIODIC, startDate=facts.today(20), endDate=facts.today(19))

    answer = bank.post(f"/v1/{bodies.PERIODIC}", json=body)

    assert (answer.status, answer.error["code"]) == (400, "PERIOD_INVALID")


@spec("2.9-periodic")
@pytest.mark.parametrize("day", [None, "1", "31"])
def test_values_of_the_day_of_execution(bank: Bank, day: str | None) -> None:
    assert initiate(bank, bodies.PERIODIC, dayOfExecution=day)


REQUIRED = {
    bodies.SEPA: ["debtorAccount", "instructedAmount", "creditorAccount", "creditorName"],
    bodies.INSTANT: ["debtorAccount", "instructedAmount", "creditorAccount", "creditorName"],
    bodies.CROSS_BORDER: ["debtorAccount", "instructedAmount", "creditorName"],
    bodies.BULK: ["debtorAccount", "creditorIban", "amount", "amountCurrency"],
    bodies.PERIODIC: ["debtorAccount", "instructedAmount", "creditorAccount", "startDate", "frequency"],
}


@spec("2.9-debtor-account")
@spec("2.9-instructed-amount")
@spec("reading-body")
@spec("reading-body-path")
@pytest.mark.parametrize(
    ("product", "member"), [of_product(product, member) for product in REQUIRED for member in REQUIRED[product]]
)
def test_required_members_of_a_payment(bank: Bank, product: str, member: str) -> None:
    body = bodies.payment(product)
    del body[member]

    refused(bank.post(f"/v1/{product}", json=body), 400, "FORMAT_ERROR", f"/{member}")


COMMON = [
    ("/debtorAccount", {"debtorAccount": facts.debtor()}),
    ("/debtorAccount/iban", {"debtorAccount": {"currency": "EUR"}}),
    ("/debtorAccount/iban", {"debtorAccount": {"iban": 1, "currency": "EUR"}}),
    ("/debtorAccount/iban", {"debtorAccount": {"iban": facts.wrong_iban(), "currency": "EUR"}}),
    ("/debtorAccount/currency", {"debtorAccount": {"iban": facts.debtor(), "currency": "euro"}}),
    ("/endToEndIdentification", {"endToEndIdentification": 4711}),
    ("/requestedExecutionDate", {"requestedExecutionDate": "tomorrow"}),
    ("/requestedExecutionDate", {"requestedExecutionDate": "2099-02-30"}),
    ("/requestedExecutionDate", {"requestedExecutionDate": 20990101}),
]
"""Members of every product with the wrong type."""
OF_ONE_AMOUNT = [
    ("/instructedAmount", {"instructedAmount": "10.00"}),
    ("/instructedAmount/amount", {"instructedAmount": {"currency": "EUR"}}),
    ("/instructedAmount/amount", {"instructedAmount": {"amount": 10.5, "currency": "EUR"}}),
    ("/instructedAmount/currency", {"instructedAmount": {"amount": "10.50"}}),
    ("/instructedAmount/currency", {"instructedAmount": {"amount": "10.50", "currency": "EURO"}}),
    ("/creditorAccount", {"creditorAccount": facts.foreign_iban()}),
    ("/creditorAccount/iban", {"creditorAccount": {"iban": facts.wrong_iban()}}),
    ("/creditorName", {"creditorName": ["Berta"]}),
    ("/remittanceInformationStructured", {"remittanceInformationStructured": "RF-2210"}),
    ("/remittanceInformationStructured/reference", {"remittanceInformationStructured": {"reference": 7}}),
]


@spec("2.9-debtor-account")
@spec("2.9-instructed-amount")
@spec("2.9-end-to-end-identification")
@spec("2.9-remittance-structured")
@spec("2.9-requested-execution-date")
@spec("reading-body")
@spec("reading-body-path")
@pytest.mark.parametrize(
    ("product", "path", "changes"),
    [
        *(of_product(product, *case) for product in bodies.PRODUCTS for case in COMMON),
        *(of_product(product, *case) for product in bodies.WITH_AMOUNT for case in OF_ONE_AMOUNT),
    ],
)
def test_a_member_with_the_wrong_type_is_named(bank: Bank, product: str, path: str, changes: dict[str, Any]) -> None:
    refused(bank.post(f"/v1/{product}", json=bodies.payment(product) | changes), 400, "FORMAT_ERROR", path)


@spec("reading-body-path")
@pytest.mark.parametrize(
    ("product", "path", "changes"),
    [
        of_product(bodies.SEPA, "/creditorAgent", {"creditorAgent": "NOT A BIC"}),
        of_product(bodies.INSTANT, "/creditorAgent", {"creditorAgent": 7}),
        of_product(bodies.CROSS_BORDER, "/creditorAddressCountryCode", {"creditorAddressCountryCode": "Austria"}),
        *(
            of_product(bodies.CROSS_BORDER, f"/{member}", {member: wrong})
            for member in (
                "creditorAccountBban",
                "creditorAgent",
                "creditorAgentOtherId",
                "creditorAgentIdType",
                "creditorAgentName",
                "creditorAddressStreet",
                "creditorAddressBuildingNumber",
                "creditorAddressCity",
                "creditorAddressPostalCode",
                "remittanceInformationUnstructured",
                "chargeBearer",
            )
            for wrong in (1, ["x"])
        ),
        of_product(bodies.BULK, "/creditorIban", {"creditorIban": facts.foreign_iban()}),
        of_product(bodies.BULK, "/creditorIban/1", {"creditorIban": [facts.foreign_iban(), facts.wrong_iban()]}),
        of_product(bodies.BULK, "/amount/0", {"amount": ["1,00", "1.00"]}),
        of_product(bodies.BULK, "/amount/1", {"amount": ["1.00", 1]}),
        of_product(bodies.BULK, "/amountCurrency/0", {"amountCurrency": ["Euro", "EUR"]}),
        *(
            of_product(bodies.BULK, path, {member: wrong})
            for member in ("creditorName", "e2eIdentification", "remittanceInformationUnstructured")
            for path, wrong in ((f"/{member}", "x"), (f"/{member}/1", ["x", 7]))
        ),
        of_product(bodies.PERIODIC, "/startDate", {"startDate": "2026-02-30"}),
        of_product(bodies.PERIODIC, "/endDate", {"endDate": "never"}),
        of_product(bodies.PERIODIC, "/frequency", {"frequency": 12}),
        of_product(bodies.PERIODIC, "/creditorAdress", {"creditorAdress": {"townName": "Wien"}}),
        of_product(bodies.PERIODIC, "/dayOfExecution", {"dayOfExecution": 31}),
        of_product(bodies.PERIODIC, "/e2eIdentification", {"e2eIdentification": 7}),
    ],
)
def test_members_of_single_products(bank: Bank, product: str, path: str, changes: dict[str, Any]) -> None:
    refused(bank.post(f"/v1/{product}", json=bodies.payment(product) | changes), 400, "FORMAT_ERROR", path)


@spec("2.9-end-to-end-identification")
@spec("2.9-remittance-structured")
@every_product
def test_optional_members(bank: Bank, product: str) -> None:
    empty = read(bank, initiate(bank, product, endToEndIdentification=""))
    # A periodic payment has another member with this meaning.
    assert empty["endToEndIdentification"] == ("e2e-monthly" if product == bodies.PERIODIC else "")

    body = bodies.payment(product)
    del body["endToEndIdentification"], body["remittanceInformationStructured"]
    assert bank.post(f"/v1/{product}", json=body).status == 200


_REFERENCE = ("bban", "pan", "maskedPan", "msisdn", "currency")
_COMMON = (
    *(f"/debtorAccount/{name}" for name in _REFERENCE),
    "/endToEndIdentification",
    "/remittanceInformationStructured",
    "/requestedExecutionDate",
)
_CREDITOR = ("/creditorAgent", *(f"/creditorAccount/{name}" for name in _REFERENCE))
_LISTS = ("e2eIdentification", "remittanceInformationStructured", "remittanceInformationUnstructured")
OPTIONAL = {
    bodies.SEPA: (*_COMMON, *_CREDITOR, "/remittanceInformationStructured/reference"),
    bodies.INSTANT: (*_COMMON, *_CREDITOR, "/remittanceInformationStructured/reference"),
    bodies.CROSS_BORDER: (
        *_COMMON,
        *_CREDITOR,
        "/creditorAccount",
        "/creditorAccount/iban",
        "/creditorAccountBban",
        "/creditorAgentOtherId",
        "/creditorAgentIdType",
        "/creditorAgentName",
        "/creditorAddressStreet",
        "/creditorAddressBuildingNumber",
        "/creditorAddressCity",
        "/creditorAddressPostalCode",
        "/creditorAddressCountryCode",
        "/remittanceInformationUnstructured",
        "/chargeBearer",
    ),
    bodies.BULK: (*_COMMON, *(f"/{name}" for name in _LISTS)),
    bodies.PERIODIC: (
        *_COMMON,
        *_CREDITOR,
        "/creditorAdress",
        "/e2eIdentification",
        "/remittanceInformationUnstructured",
        "/endDate",
        "/dayOfExecution",
    ),
}


@spec("reading-empty")
@spec("2.9-requested-execution-date")
@spec("2.9-end-to-end-identification")
@every_product
def test_an_empty_string_counts_as_a_missing_member(bank: Bank, product: str) -> None:
    for pointer in OPTIONAL[product]:
        *above, name = pointer.split("/")[1:]
        records = []
        for empty in (True, False):
            body = deepcopy(bodies.payment(product))
            parent = body[above[0]] if above else body
            parent[name] = ""
            if not empty:
                del parent[name]
            answer = bank.post(f"/v1/{product}", json=body)
            assert answer.status == 200, (pointer, answer.body)
            records.append(read(bank, answer.json()["_Left"]["self"]["href"]))
        assert records[0] == records[1], pointer


@spec("reading-empty")
@every_product
def test_a_payment_with_empty_optional_members_can_be_approved(bank: Bank, product: str) -> None:
    body = deepcopy(bodies.payment(product))
    for pointer in OPTIONAL[product]:
        *above, name = pointer.split("/")[1:]
        if pointer not in ("/creditorAccount", "/creditorAccountBban", "/remittanceInformationStructured/reference"):
            (body[above[0]] if above else body)[name] = ""
    links = bank.post(f"/v1/{product}", json=body).json()["_Left"]

    assert bank.page(links["scaRedirect"]["href"]).status == 200
    assert bank.page(links["scaRedirect"]["href"], decide="approve").status == 200
    accepted = "ACTC" if product == bodies.PERIODIC else "ACSP"
    assert read(bank, links["self"]["href"])["transactionStatus"] == accepted
    listed = bank.get(f"/v1/accounts/{facts.debtor()}/transactions?bookingStatus=booked", consent=facts.consent())
    assert listed.status == 200


@spec("reading-account-currency")
@every_product
@pytest.mark.parametrize("currency", ["USD", "CHF"])
def test_a_debtor_in_another_currency(bank: Bank, product: str, currency: str) -> None:
    debtor = {"iban": facts.debtor(), "currency": currency}

    answer = bank.post(f"/v1/{product}", json=bodies.payment(product) | {"debtorAccount": debtor})

    refused(answer, 400, "FORMAT_ERROR", "/debtorAccount/currency")
    assert answer.error["text"].endswith(
        f"currency must be EUR, that of the account {facts.debtor()}, or left out, not {currency}"
    )


@spec("reading-account-currency")
@every_amount
def test_a_creditor_of_the_bank_in_another_currency(bank: Bank, product: str) -> None:
    creditor = {"iban": facts.uncovered(), "currency": "USD"}

    answer = bank.post(f"/v1/{product}", json=bodies.payment(product) | {"creditorAccount": creditor})

    refused(answer, 400, "FORMAT_ERROR", "/creditorAccount/currency")
    foreign = creditor | {"iban": facts.foreign_iban()}
    assert bank.post(f"/v1/{product}", json=bodies.payment(product) | {"creditorAccount": foreign}).status == 200


@spec("reading-debtor-unknown")
@every_product
def test_an_unknown_debtor_is_refused(bank: Bank, product: str) -> None:
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product, debtor=facts.foreign_iban()))

    assert (answer.status, answer.error["code"]) == (400, "RESOURCE_UNKNOWN")


@spec("reading-bulk-lengths")
@pytest.mark.parametrize("member", ["creditorIban", "creditorName", "amount", "amountCurrency"])
@pytest.mark.parametrize("change", ["one too many", "one too few"])
def test_bulk_lists_must_have_the_same_length(bank: Bank, member: str, change: str) -> None:
    body = bodies.payment(bodies.BULK)
    body[member] = body[member] + body[member][:1] if change == "one too many" else body[member][:1]

    answer = bank.post(f"/v1/{bodies.BULK}", json=body)

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


@spec("reading-bulk-lengths")
@pytest.mark.parametrize(
    "member", ["e2eIdentification", "remittanceInformationUnstructured", "remittanceInformationStructured"]
)
def test_optional_bulk_lists_must_have_the_same_length_if_present(bank: Bank, member: str) -> None:
    body = bodies.payment(bodies.BULK)
    body[member] = body[member][:1]
    answer = bank.post(f"/v1/{bodies.BULK}", json=body)
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")

    del body[member]
    assert bank.post(f"/v1/{bodies.BULK}", json=body).status == 200


@spec("reading-bulk-lengths")
def test_an_empty_bulk_is_refused(bank: Bank) -> None:
    body = bodies.payment(bodies.BULK)
    body |= {member: [] for member, value in body.items() if isinstance(value, list)}

    answer = bank.post(f"/v1/{bodies.BULK}", json=body)

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


@spec("2.9-bulk-nulls")
def test_bulk_entries_with_structured_remittance(bank: Bank) -> None:
    assert initiate(bank, bodies.BULK, remittanceInformationStructured=[{"reference": "RF-1"}, None])


# -- headers


@spec("5-psu-ip-address")
@spec("reading-psu-ip-address")
@every_product
@pytest.mark.parametrize("address", [None, "", "localhost", "300.1.1.1", "192.0.2"])
def test_psu_ip_address_is_required_for_an_initiation(bank: Bank, product: str, address: str | None) -> None:
    answer = bank.post(f"/v1/{product}", json=bodies.payment(product), headers={"PSU-IP-Address": address})

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


@spec("5-psu-ip-address")
@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7"])
def test_ipv4_and_ipv6_addresses_are_accepted(bank: Bank, address: str) -> None:
    answer = bank.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA), headers={"PSU-IP-Address": address})

    assert answer.status == 200


@spec("5-no-authorization")
@spec("5-authorization")
@spec("reading-authorization")
@every_product
@pytest.mark.parametrize("token", [None, "Bearer abc", "Basic abc", "nonsense"])
def test_authorization_is_optional(bank: Bank, product: str, token: str | None) -> None:
    headers = {"Authorization": token}

    made = bank.post(f"/v1/{product}", json=bodies.payment(product), headers=headers)

    assert made.status == 200
    own = made.json()["_Left"]["self"]["href"]
    assert bank.get(own, headers=headers).status == 200
    assert bank.get(f"{own}/status", headers=headers).status == 200
    assert bank.delete(own, headers=headers).status == 204
    assert bank.post("/v1/consents", json=bodies.consent(facts.covered()), headers=headers).status == 200
    assert bank.get(f"/v1/consents/{facts.consent()}", headers=headers).status == 200
    assert bank.get("/v1/accounts/", consent=facts.consent(), headers=headers).status == 200


# -- records


def documented(product: str) -> dict[str, Any]:
    """Return the record of the payment that `bodies` creates."""
    record: dict[str, Any] = {
        "endToEndIdentification": "e2e-4711",
        "debtorAccount": reference(facts.debtor(), "EUR"),
        "creditorAccount": reference(facts.foreign_iban(), None),
        "instructedAmount": {"currency": "EUR", "amount": "10.50"},
        "creditorAgent": None,
        "creditorName": "Berta Bauer",
        "creditorAddress": None,
        "remittanceInformationUnstructured": None,
        "remittanceInformationStructured": {"reference": "RF-2210", "referenceType": None, "referenceIssuer": None},
        "transactionStatus": "RCVD",
        "creditorAgentIdType": None,
        "creditorAgentOtherId": None,
    }
    match product:
        case bodies.SEPA | bodies.INSTANT:
            record |= {"creditorAgent": "GIBAATWWXXX"}
        case bodies.CROSS_BORDER:
            record |= {
                "creditorAccount": {**reference(facts.foreign_iban(), None), "bban": "8876512"},
                "creditorAgent": "CHASUS33XXX",
                "creditorAddress": {
                    "streetName": "Main Street",
                    "buildingNumber": "12a",
                    "townName": "Springfield",
                    "postCode": "01101",
                    "country": "US",
                },
                "remittanceInformationUnstructured": "invoice 7",
                "creditorAgentIdType": "USABA",
                "creditorAgentOtherId": "021000021",
            }
        case bodies.BULK:
            record |= {
                "creditorAccount": reference(None, None),
                "instructedAmount": {"currency": "EUR", "amount": "11.75"},
                "creditorName": "",
                "remittanceInformationStructured": {"reference": None, "referenceType": None, "referenceIssuer": None},
            }
        case bodies.PERIODIC:
            record |= {
                "creditorAddress": {
                    "country": "AT",
                    "townName": "Wien",
                    "postCode": "1010",
                    "streetName": "Graben",
                    "buildingNumber": "21",
                }
            }
    return record


@spec("2-amounts")
@spec("2-nulls")
@spec("2.11-end-to-end")
@spec("2.11-accounts")
@spec("2.11-instructed-amount")
@spec("2.11-creditor-agent")
@spec("2.11-creditor-name")
@spec("2.11-creditor-address")
@spec("2.11-remittance-unstructured")
@spec("2.11-remittance-structured")
@spec("2.11-transaction-status")
@spec("2.11-agent-other-id")
@spec("2.12-transaction-status")
@spec("2.12-nulls")
@spec("4.2-read")
@spec("4.2-status")
@spec("reading-payment-stays")
@pytest.mark.parametrize(
    "product",
    [
        bodies.SEPA,
        bodies.INSTANT,
        pytest.param(bodies.CROSS_BORDER, marks=spec("2.9-cross-border")),
        pytest.param(bodies.BULK, marks=spec("reading-bulk-record")),
        pytest.param(bodies.PERIODIC, marks=[spec("2.9-periodic"), spec("reading-periodic-address")]),
    ],
)
def test_record_of_a_payment(bank: Bank, product: str) -> None:
    assert read(bank, initiate(bank, product)) == documented(product)


@spec("2.9-cross-border-currency")
@spec("2.11-instructed-amount")
def test_record_of_a_transfer_in_another_currency(bank: Bank) -> None:
    record = read(bank, initiate(bank, bodies.CROSS_BORDER, currency="USD"))

    assert record == {**documented(bodies.CROSS_BORDER), "instructedAmount": {"currency": "USD", "amount": "10.50"}}


@spec("2.11-accounts")
@spec("2.11-instructed-amount")
@spec("2.11-creditor-name")
@spec("reading-bulk-record")
@pytest.mark.parametrize(
    ("amounts", "currencies", "total"),
    [
        (["10.50", "1.25"], ["EUR", "EUR"], {"currency": "EUR", "amount": "11.75"}),
        (["0.10", "0.20"], ["EUR", "EUR"], {"currency": "EUR", "amount": "0.30"}),
        (["10.50", "1.25"], ["EUR", "USD"], {"currency": None, "amount": None}),
    ],
)
def test_record_of_a_bulk_payment(bank: Bank, amounts: list[str], currencies: list[str], total: Any) -> None:
    assert read(bank, _bulk(bank, amounts, currencies)) == {**documented(bodies.BULK), "instructedAmount": total}


def _bulk(bank: Bank, amounts: list[str], currencies: list[str]) -> str:
    body = bodies.payment(bodies.BULK) | {"amount": amounts, "amountCurrency": currencies}
    answer = bank.post(f"/v1/{bodies.BULK}", json=body)
    assert answer.status == 200
    assert answer.json()["transactionStatus"] == "RCVD"
    return answer.json()["_Left"]["self"]["href"]


@spec("2.11-accounts")
@pytest.mark.parametrize("product", [bodies.SEPA, bodies.INSTANT, bodies.PERIODIC])
def test_a_creditor_is_returned_as_it_was_sent(bank: Bank, product: str) -> None:
    creditor = {"iban": facts.foreign_iban(), "currency": "EUR", "bban": "8876512", "pan": ""}

    record = read(bank, initiate(bank, product, creditorAccount=creditor))

    assert record["creditorAccount"] == reference(facts.foreign_iban(), "EUR") | {"bban": "8876512"}


@spec("reading-money")
@spec("2-amounts")
@every_amount
@pytest.mark.parametrize("amount", ["1", "1.0", "10.5", "10.50", "0.01", "100"])
def test_an_amount_is_returned_as_it_was_sent(bank: Bank, product: str, amount: str) -> None:
    record = read(bank, initiate(bank, product, amount=amount))

    assert record["instructedAmount"] == {"amount": amount, "currency": "EUR"}


# -- funds


@spec("3.2-rjct")
@spec("4.2-rule-3")
@spec("1-preconfigured")
@spec("reading-funds")
@every_amount
def test_a_large_amount_is_rejected_later(bank: Bank, product: str) -> None:
    own = initiate(bank, product, debtor=facts.low(), amount="999999.00")

    assert read(bank, own)["transactionStatus"] == "RJCT"
    assert read(bank, own)["transactionStatus"] == "RJCT"


UNFUNDED = {"debtor": facts.low(), "amount": "999999.00"}


def unfunded(bank: Bank, product: str = bodies.SEPA, **headers: str) -> tuple[str, str]:
    """Return the path of a payment that its account cannot cover, and the link to its page."""
    links = bank.post(f"/v1/{product}", json=bodies.payment(product, **UNFUNDED), headers=headers).json()["_Left"]
    return links["self"]["href"], links["scaRedirect"]["href"]


@spec("1-payments")
@spec("3.2-cancelled")
@spec("4.2-delete-received")
@spec("reading-funds-read")
@every_product
def test_a_payment_without_funds_is_received_until_it_is_read(bank: Bank, product: str) -> None:
    own, _ = unfunded(bank, product)

    answer = bank.delete(own)

    assert (answer.status, answer.body) == (204, b"")
    assert read(bank, own)["transactionStatus"] == "CANC"


@spec("3.2-rjct")
@spec("reading-funds-read")
@spec("reading-cancellation-invalid")
@every_product
@pytest.mark.parametrize("tail", ["", "/", "/status"])
def test_the_first_read_rejects_a_payment_without_funds(bank: Bank, product: str, tail: str) -> None:
    own, _ = unfunded(bank, product)

    assert bank.get(own + tail).json()["transactionStatus"] == "RJCT"

    refused(bank.delete(own), 405, "CANCELLATION_INVALID")
    assert read(bank, own)["transactionStatus"] == "RJCT"


@spec("reading-funds-read")
def test_failed_requests_do_not_count_as_a_read(bank: Bank, control: Control) -> None:
    own, link = unfunded(bank)
    id = own.rpartition("/")[2]

    refused(bank.get(own, headers={"X-Request-ID": None}), 400, "FORMAT_ERROR")
    refused(bank.get(f"{own}/status", headers={"X-Request-ID": "no UUID"}), 400, "FORMAT_ERROR")
    refused(bank.get(f"/v1/payments/instant-sepa-credit-transfers/{id}"), 404, "RESOURCE_UNKNOWN")
    assert bank.request("HEAD", own, check=False).status == 405
    refused(bank.post(own), 405, "SERVICE_INVALID")
    assert bank.get(f"{own}/authorisations").json() == {"authorisationIds": []}
    refused(bank.get(f"{own}/authorisations/{PLACEHOLDER}"), 404, "RESOURCE_UNKNOWN")
    refused(bank.post(f"{own}/authorisations"), 409, "STATUS_INVALID")
    refused(
        bank.post("/v1/signing-baskets", json={"paymentIds": [id]}), 409, "REFERENCE_STATUS_INVALID", "/paymentIds/0"
    )
    assert bank.page(link).status == 200
    assert control.ask("GET", f"state/payments/{id}").json()["status"] == "RCVD"
    control.ask("POST", "explain", {"method": "GET", "url": f"{own}/status", "headers": REQUEST_ID})
    control.ask("GET", "journal")

    assert bank.delete(own).status == 204
    assert read(bank, own)["transactionStatus"] == "CANC"


@spec("reading-funds-page")
@pytest.mark.parametrize("was_read", [False, True])
def test_the_page_of_a_payment_without_funds_redirects_to_the_app(bank: Bank, was_read: bool) -> None:
    own, link = unfunded(
        bank, **{"TPP-Redirect-URI": bodies.REDIRECT, "TPP-Nok-Redirect-URI": "https://tpp.example/nok"}
    )
    if was_read:
        read(bank, own)

    for _ in range(2):
        page = bank.page(link)
        assert page.status == 200
        text = page.body.decode()
        assert "does not have enough money" in text
        assert '<a class="button primary" href="https://tpp.example/nok">Back to the app</a>' in text
        assert "<form" not in text
    decided = bank.page(link, decide="approve")
    assert (decided.status, decided.headers["Location"]) == (303, "https://tpp.example/nok")
    assert bank.delete(own).status == (405 if was_read else 204)


@spec("reading-funds-page")
def test_the_page_of_a_payment_without_funds_and_return_address(bank: Bank) -> None:
    own, link = unfunded(bank)

    for query in ({}, {"decide": "approve"}):
        page = bank.page(link, **query)
        assert page.status == 200
        assert "does not have enough money" in page.body.decode()
    assert read(bank, own)["transactionStatus"] == "RJCT"


@spec("reading-funds")
@pytest.mark.parametrize(("cents", "status"), [("-0.01", "RCVD"), ("0", "RCVD"), ("0.01", "RJCT")])
def test_the_balance_can_be_spent_to_the_last_cent(bank: Bank, cents: str, status: str) -> None:
    amount = facts.available(facts.low()) + Decimal(cents)

    own = initiate(bank, bodies.SEPA, debtor=facts.low(), amount=str(amount))

    assert read(bank, own)["transactionStatus"] == status


@spec("reading-funds-rates")
@pytest.mark.parametrize(("share", "status"), [("0.95", "RCVD"), ("1.05", "RJCT")])
@pytest.mark.parametrize("currency", [name for name in facts.testdata()["rates"] if name != "EUR"])
def test_other_currencies_are_converted(bank: Bank, currency: str, share: str, status: str) -> None:
    worth = facts.available(facts.low()) * Decimal(share) / facts.rate(currency)
    amount = worth.quantize(Decimal(1) if currency in ("JPY", "HUF") else Decimal("0.01"))

    own = initiate(bank, bodies.CROSS_BORDER, debtor=facts.low(), amount=str(amount), currency=currency)

    assert read(bank, own)["transactionStatus"] == status


@spec("reading-funds-rates")
@pytest.mark.parametrize(("share", "status"), [("0.95", "RCVD"), ("1.05", "RJCT")])
def test_currencies_are_converted_from_an_account_in_another_currency(bank: Bank, share: str, status: str) -> None:
    iban = next(iban for iban, account in facts.accounts().items() if account["currency"] != "EUR")
    worth = facts.available(iban) * facts.rate(facts.accounts()[iban]["currency"]) * Decimal(share)

    own = initiate(bank, bodies.CROSS_BORDER, debtor=iban, amount=str(worth.quantize(Decimal("0.01"))))

    assert read(bank, own)["transactionStatus"] == status


@spec("reading-funds-bulk")
@pytest.mark.parametrize(("more", "status"), [("0", "RCVD"), ("0.01", "RJCT")])
def test_the_sum_of_a_bulk_must_be_covered(bank: Bank, more: str, status: str) -> None:
    first = (facts.available(facts.low()) / 2).quantize(Decimal("0.01"))
    second = facts.available(facts.low()) - first + Decimal(more)
    body = bodies.payment(bodies.BULK, debtor=facts.low()) | {
        "amount": [str(first), str(second)],
        "amountCurrency": ["EUR", "EUR"],
    }

    answer = bank.post(f"/v1/{bodies.BULK}", json=body)

    assert answer.status == 200
    assert read(bank, answer.json()["_Left"]["self"]["href"])["transactionStatus"] == status


# -- preconfigured payments


@spec("3.2-acsp")
@spec("reading-preconfigured-payments")
@pytest.mark.parametrize("status", ["ACSP", "PDNG", "RJCT"])
def test_preconfigured_payments(bank: Bank, status: str) -> None:
    assert facts.payments(status)
    for payment_id, payment in facts.payments(status):
        record = read(bank, f"/v1/{payment['service']}/{payment['product']}/{payment_id}")
        assert record["transactionStatus"] == status
        assert record["debtorAccount"]["iban"] == payment["debtor"]["account"]
        assert is_iban(record["debtorAccount"]["iban"])
        assert record["instructedAmount"] == payment["amount"]
        assert record["creditorName"] == (payment["parts"][0]["creditor"]["name"] if "parts" in payment else "")
        assert record["creditorAccount"].keys() == reference(None, None).keys()


@spec("reading-payment-unknown")
@pytest.mark.parametrize("payment_id", [str(uuid.uuid4()), "no-uuid"], ids=["uuid", "other"])
def test_an_unknown_payment_is_refused(bank: Bank, payment_id: str) -> None:
    for product in bodies.PRODUCTS:
        for method, tail in (("GET", ""), ("GET", "/"), ("GET", "/status"), ("DELETE", ""), ("DELETE", "/")):
            refused(bank.request(method, f"/v1/{product}/{payment_id}{tail}"), 404, "RESOURCE_UNKNOWN")


@spec("reading-payment-unknown")
@every_product
def test_a_payment_is_unknown_under_another_product(bank: Bank, product: str) -> None:
    payment_id = initiate(bank, product).rpartition("/")[2]

    for other in bodies.PRODUCTS:
        expected = 200 if other == product else 404
        assert bank.get(f"/v1/{other}/{payment_id}").status == expected
        assert bank.get(f"/v1/{other}/{payment_id}/status").status == expected
        if other != product:
            refused(bank.delete(f"/v1/{other}/{payment_id}"), 404, "RESOURCE_UNKNOWN")
    assert bank.get(f"/v1/{product}/{payment_id}").json()["transactionStatus"] == "RCVD"


@spec("reading-placeholder")
@every_product
def test_the_placeholder_is_not_an_authorisation(bank: Bank, product: str) -> None:
    answer = bank.get(f"{initiate(bank, product)}/authorisations/{PLACEHOLDER}")

    refused(answer, 404, "RESOURCE_UNKNOWN")


# -- cancellation


@spec("3.2-cancelled")
@spec("4.2-delete-received")
@spec("reading-cancelled")
@spec("5-psu-ip-address")
@every_product
@pytest.mark.parametrize("address", ["192.0.2.7", None])
def test_a_received_payment_is_cancelled(bank: Bank, product: str, address: str | None) -> None:
    own = initiate(bank, product)
    before = read(bank, own)

    answer = bank.delete(own, headers={"PSU-IP-Address": address})

    assert answer.status == 204
    assert answer.body == b""
    assert read(bank, own) == {**before, "transactionStatus": "CANC"}


@spec("3.2-pending-stays")
@spec("4.2-delete-pending")
@spec("reading-pending-delete")
def test_a_pending_payment_remains_pending(bank: Bank) -> None:
    for payment_id, payment in facts.payments("PDNG"):
        own = f"/v1/{payment['service']}/{payment['product']}/{payment_id}"
        for _ in range(3):
            answer = bank.delete(own)
            assert answer.status == 202
            assert answer.json() == {
                "transactionStatus": "PDNG",
                "scaMethods": [],
                "_links": {"startAuthorisation": {"href": "start_authorisation_not_yet_available"}},
            }
        assert read(bank, own)["transactionStatus"] == "PDNG"


@spec("reading-cancellation-sca")
def test_an_accepted_payment_is_not_cancelled_at_once(bank: Bank) -> None:
    payment_id, payment = facts.payments("ACTC")[0]
    own = f"/v1/{payment['service']}/{payment['product']}/{payment_id}"

    answer = bank.delete(own)

    assert answer.status == 202
    assert answer.json()["transactionStatus"] == "ACTC"
    assert answer.json()["_links"]["startAuthorisation"]["href"]
    assert read(bank, own)["transactionStatus"] == "ACTC"


@spec("reading-cancellation-invalid")
@pytest.mark.parametrize("status", ["ACSP", "RJCT", "CANC", "rejected"])
def test_payments_that_cannot_be_cancelled(bank: Bank, status: str) -> None:
    if status == "CANC":
        own = initiate(bank, bodies.SEPA)
        assert bank.delete(own).status == 204
    elif status == "rejected":
        own = initiate(bank, bodies.SEPA, debtor=facts.low(), amount="999999.00")
    else:
        payment_id, payment = facts.payments(status)[0]
        own = f"/v1/{payment['service']}/{payment['product']}/{payment_id}"
    before = read(bank, own)

    answer = bank.delete(own)

    refused(answer, 405, "CANCELLATION_INVALID")
    assert answer.headers["Allow"] == "GET"
    assert read(bank, own) == before
