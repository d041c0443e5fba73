"""The JSON Schemas of the interface, and of the bank's test data."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import schwifty
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_pointer import pointer_text

FOLDER = bundled("schemas")
SCHEMAS = Schemas([FOLDER])
REQUESTS = [
    "consent-request",
    "payments/sepa-credit-transfers",
    "payments/instant-sepa-credit-transfers",
    "payments/cross-border-credit-transfers",
    "bulk-payments/sepa-credit-transfers",
    "periodic-payments/sepa-credit-transfers",
    "funds-confirmation-request",
]
ANSWERS = [
    "consent-creation",
    "consent-status",
    "consent-content",
    "account-list",
    "account",
    "balances",
    "transactions",
    "transactions-both",
    "transaction-details",
    "card-account-list",
    "card-account",
    "card-account-balances",
    "card-account-transactions",
    "funds-confirmation",
    "payment-initiation",
    "payment-record",
    "payment-status",
    "payment-cancellation",
    "token",
    "token-error",
    "error",
]
NAMES = [*REQUESTS, *ANSWERS, "definitions", "testdata"]
ANNA, FELIX = "AT459880000010204711", "AT149880000040190006"
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


def load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))


def subschemas(schema: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in a schema with its place."""
    if isinstance(schema, dict):
        yield place, schema
    for key, inner in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if isinstance(inner, dict | list):
            yield from subschemas(inner, f"{place}/{key}")


def has(body: Any, changes: dict[str, Any]) -> Any:
    """Return a copy of `body` with changed members at JSON Pointers; `...` removes one."""
    body = copy.deepcopy(body)
    for pointer, value in changes.items():
        *way, last = pointer.split("/")[1:]
        parent = body
        for step in way:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        key = int(last) if isinstance(parent, list) else last
        if value is ...:
            del parent[key]
        else:
            parent[key] = value
    return body


# -- the files


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_a_schema_with_its_own_id(name):
    schema = load(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://xs2a-sandbox.invalid/schemas/{name}.schema.json"
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_can_be_resolved_in_the_registry_and_on_disk(name):
    registry = Registry().with_resources((load(n)["$id"], Resource.from_contents(load(n))) for n in NAMES)
    resolver = registry.resolver(load(name)["$id"])
    for place, schema in subschemas(load(name)):
        if isinstance(schema.get("$ref"), str):
            assert resolver.lookup(schema["$ref"]).contents, place
            file, _, _ = schema["$ref"].partition("#")
            assert not file or (FOLDER / f"{name}.schema.json").parent.joinpath(file).is_file(), place


def test_every_definition_is_used():
    used = {s["$ref"].partition("#/$defs/")[2] for n in NAMES for _, s in subschemas(load(n)) if "$ref" in s}
    assert set(load("definitions")["$defs"]) | set(load("testdata")["$defs"]) == used


@pytest.mark.parametrize("name", NAMES)
def test_every_property_and_definition_has_a_description(name):
    for place, schema in subschemas(load(name)):
        described = {**schema.get("$defs", {}), **schema.get("properties", {})}
        for key, inner in described.items():
            assert isinstance(inner, dict), f"{place}/{key}"
            assert len(inner.get("description", "")) > 4, f"{place}/{key}"


@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_one_that_is_checked(name):
    for place, schema in subschemas(load(name)):
        if isinstance(schema.get("format"), str):
            assert schema["format"] in FORMATS, place


@pytest.mark.parametrize("name", [*ANSWERS, "definitions", "testdata"])
def test_answers_and_test_data_accept_no_unlisted_members(name):
    open_by_intent = {
        "/$defs/requestedAccount",
        "/$defs/requestedCounterparty",
        "/$defs/instructedAmount",
        "/$defs/requestedReference",
        "/properties/sandbox",
        # Test data may contain custom members, but a name similar to a known one is still refused.
        *(f"/$defs/{one}" for one in "psuEntry accountEntry cardEntry payeeEntry consentEntry paymentEntry".split()),
        *("/$defs/entry", "/$defs/cardUse"),
        *(f"/$defs/paymentEntry/properties/parts/items{below}" for below in ("", "/properties/creditor")),
    }
    for place, schema in subschemas(load(name)):
        conditional = place.rpartition("/")[2] in ("if", "then", "else", "contains")
        if "properties" in schema and not conditional and place not in open_by_intent and "/then/" not in place:
            assert schema.get("additionalProperties") is False, place


# -- requests

CONSENT_REQUEST = {
    "access": {"balances": [{"iban": ANNA}], "transactions": []},
    "recurringIndicator": True,
    "validUntil": "9999-12-31",
    "frequencyPerDay": 4,
}
SEPA = {
    "debtorAccount": {"iban": ANNA, "currency": "EUR"},
    "instructedAmount": {"amount": "12.34", "currency": "EUR"},
    "creditorName": "Bäckerei Morgenrot",
    "creditorAgent": "SANDATWWXXX",
    "creditorAccount": {"iban": FELIX},
    "requestedExecutionDate": "2031-05-01",
    "endToEndIdentification": "",
    "remittanceInformationStructured": {"reference": "4711"},
}
CROSS_BORDER = {
    "debtorAccount": {"iban": ANNA, "currency": "EUR"},
    "instructedAmount": {"amount": "250", "currency": "USD"},
    "creditorAccount": {"iban": FELIX},
    "creditorAgent": "some bank",
    "creditorAccountBban": "000123456",
    "creditorAgentOtherId": "021000000",
    "creditorAgentIdType": "USABA",
    "creditorAgentName": "Some Bank",
    "creditorName": "Blue Heron Press",
    "creditorAddressStreet": "Heron Road",
    "creditorAddressBuildingNumber": "1",
    "creditorAddressCity": "Lakeville",
    "creditorAddressPostalCode": "00001",
    "creditorAddressCountryCode": "US",
    "remittanceInformationUnstructured": "Two books",
    "chargeBearer": "DEBT",
    "requestedExecutionDate": "",
    "endToEndIdentification": "BOOKS",
    "remittanceInformationStructured": {"reference": ""},
}
BULK = {
    "debtorAccount": {"iban": ANNA, "currency": "EUR"},
    "requestedExecutionDate": None,
    "creditorIban": [FELIX, ANNA],
    "creditorName": ["Felix", "Anna"],
    "amount": ["1.00", "0.01"],
    "amountCurrency": ["EUR", "EUR"],
    "e2eIdentification": ["", "2"],
    "remittanceInformationUnstructured": ["one", ""],
    "remittanceInformationStructured": [{"reference": "1"}, None],
}
PERIODIC = {
    "debtorAccount": {"iban": ANNA, "currency": "EUR"},
    "instructedAmount": {"amount": "55.00", "currency": "EUR"},
    "creditorAccount": {"iban": FELIX},
    "creditorName": "Felix Strobl",
    "creditorAdress": "AT;Klangenfurth;9099;Notengasse;8",
    "e2eIdentification": "POCKET",
    "remittanceInformationUnstructured": "",
    "startDate": "2031-01-15",
    "endDate": "2032-01-15",
    "frequency": "Monthly",
    "dayOfExecution": None,
    "requestedExecutionDate": None,
}
FUNDS = {
    "account": {"iban": ANNA, "currency": "EUR"},
    "instructedAmount": {"amount": "12.34", "currency": "EUR"},
    "cardNumber": "499999******4711",
    "payee": "Bäckerei Morgenrot",
}
BODIES = {
    "funds-confirmation-request": FUNDS,
    "consent-request": CONSENT_REQUEST,
    "payments/sepa-credit-transfers": SEPA,
    "payments/instant-sepa-credit-transfers": SEPA,
    "payments/cross-border-credit-transfers": CROSS_BORDER,
    "bulk-payments/sepa-credit-transfers": BULK,
    "periodic-payments/sepa-credit-transfers": PERIODIC,
}
WITH_AN_AMOUNT = [name for name in REQUESTS if "instructedAmount" in BODIES[name]]


@pytest.mark.parametrize("name", REQUESTS)
def test_documented_members_are_accepted(name):
    assert SCHEMAS[name].accepts(BODIES[name])
    assert SCHEMAS[name].complaint(BODIES[name]) is None


@pytest.mark.parametrize("name", REQUESTS)
def test_unlisted_members_are_accepted(name):
    assert SCHEMAS[name].accepts({**BODIES[name], "somethingElse": {"of": ["ours"]}})


@pytest.mark.parametrize("name", REQUESTS)
def test_optional_members_may_be_null_or_empty_and_required_ones_may_not(name):
    body = BODIES[name]
    for member in load(name)["properties"]:
        optional = member not in load(name)["required"]
        assert SCHEMAS[name].accepts({**body, member: ""}) is optional, member
        assert SCHEMAS[name].accepts({**body, member: None}) is optional, member
        assert SCHEMAS[name].accepts({key: body[key] for key in body if key != member}) is optional, member


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("consent-request", {"/access": {"availableAccounts": "allAccounts"}}),
        ("consent-request", {"/access": {"balances": None, "transactions": None, "availableAccounts": None}}),
        ("consent-request", {"/access/balances/0": {"iban": ANNA, "bban": None, "pan": None, "currency": "EUR"}}),
        ("consent-request", {"/access/restrictedTo": ["CACC"], "/combinedServiceIndicator": False}),
        *(
            ("payments/sepa-credit-transfers", {"/requestedExecutionDate": day})
            for day in (..., None, "", "2031-05-01")
        ),
        ("payments/sepa-credit-transfers", {"/debtorAccount/currency": ...}),
        ("payments/sepa-credit-transfers", {"/remittanceInformationUnstructured": "Invoice 12"}),
        ("payments/cross-border-credit-transfers", {"/creditorAccountBban": ...}),
        ("payments/cross-border-credit-transfers", {"/creditorAccount": ...}),
        ("payments/cross-border-credit-transfers", {"/creditorAccount/iban": ""}),
        ("payments/cross-border-credit-transfers", {"/creditorAccountBban": ""}),
        ("bulk-payments/sepa-credit-transfers", {"/remittanceInformationStructured": ["RF18", None]}),
        ("bulk-payments/sepa-credit-transfers", {"/requestedExecutionDate": "2031-05-01"}),
        ("periodic-payments/sepa-credit-transfers", {"/dayOfExecution": "31"}),
    ],
)
def test_values_that_the_interface_leaves_open_are_accepted(name, changes):
    assert SCHEMAS[name].complaint(has(BODIES[name], changes)) is None
    assert SCHEMAS[name].accepts(has(BODIES[name], changes))


AMOUNTS = ["1", "12.3", "12.34", "0.01", "1.005", "0.001", "10", "99999999999999.99", "100.00"]
NO_AMOUNTS = ["0", "0.00", "0.000", "-1", "+1", "1,50", "1e3", "1.2345", "", " 1", "1.", ".5", "NaN", "1\n", "½", "١"]


@pytest.mark.parametrize("name", WITH_AN_AMOUNT)
@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_amount_is_a_positive_decimal(name, amount):
    assert SCHEMAS[name].accepts(has(BODIES[name], {"/instructedAmount/amount": amount}))


@pytest.mark.parametrize("name", WITH_AN_AMOUNT)
@pytest.mark.parametrize("amount", [*NO_AMOUNTS, 12, 12.5, None, True])
def test_other_amounts_are_refused_with_their_place(name, amount):
    body = has(BODIES[name], {"/instructedAmount/amount": amount})
    assert not SCHEMAS[name].accepts(body)
    pointer = pointer_text(SCHEMAS[name].complaint(body).pointer)
    assert pointer == "/instructedAmount/amount"


@pytest.mark.parametrize(
    ("name", "changes", "pointer"),
    [
        ("consent-request", {"/access": ...}, "/access"),
        ("consent-request", {"/access": []}, "/access"),
        ("consent-request", {"/access/balances/0": ANNA}, "/access/balances/0"),
        ("consent-request", {"/access/balances/0/iban": ...}, "/access/balances/0/iban"),
        ("consent-request", {"/access/balances/0/iban": "AT00" + ANNA[4:]}, "/access/balances/0/iban"),
        ("consent-request", {"/access/balances/0/currency": "EURO"}, "/access/balances/0/currency"),
        ("consent-request", {"/access/transactions": {}}, "/access/transactions"),
        ("consent-request", {"/access/availableAccounts": "some"}, "/access/availableAccounts"),
        ("consent-request", {"/recurringIndicator": "true"}, "/recurringIndicator"),
        ("consent-request", {"/recurringIndicator": ...}, "/recurringIndicator"),
        ("consent-request", {"/validUntil": "2026-02-30"}, "/validUntil"),
        ("consent-request", {"/validUntil": "31.12.2030"}, "/validUntil"),
        ("consent-request", {"/validUntil": ...}, "/validUntil"),
        ("consent-request", {"/frequencyPerDay": 0}, "/frequencyPerDay"),
        ("consent-request", {"/frequencyPerDay": "4"}, "/frequencyPerDay"),
        ("consent-request", {"/frequencyPerDay": 1.5}, "/frequencyPerDay"),
        ("consent-request", {"/frequencyPerDay": ...}, "/frequencyPerDay"),
        ("payments/sepa-credit-transfers", {"/debtorAccount": ...}, "/debtorAccount"),
        ("payments/sepa-credit-transfers", {"/debtorAccount/iban": "XX"}, "/debtorAccount/iban"),
        ("payments/sepa-credit-transfers", {"/instructedAmount": "12.34"}, "/instructedAmount"),
        ("payments/sepa-credit-transfers", {"/instructedAmount/currency": "eur"}, "/instructedAmount/currency"),
        ("payments/sepa-credit-transfers", {"/instructedAmount/currency": ...}, "/instructedAmount/currency"),
        ("payments/sepa-credit-transfers", {"/creditorAccount": ...}, "/creditorAccount"),
        ("payments/sepa-credit-transfers", {"/creditorAccount/iban": FELIX.lower()}, "/creditorAccount/iban"),
        ("payments/sepa-credit-transfers", {"/creditorName": ...}, "/creditorName"),
        ("payments/sepa-credit-transfers", {"/creditorName": ""}, "/creditorName"),
        ("payments/sepa-credit-transfers", {"/creditorAgent": "Sandbank"}, "/creditorAgent"),
        ("payments/sepa-credit-transfers", {"/requestedExecutionDate": "tomorrow"}, "/requestedExecutionDate"),
        ("payments/sepa-credit-transfers", {"/requestedExecutionDate": "2026-02-30"}, "/requestedExecutionDate"),
        ("payments/sepa-credit-transfers", {"/endToEndIdentification": 7}, "/endToEndIdentification"),
        (
            "payments/sepa-credit-transfers",
            {"/remittanceInformationStructured": "4711"},
            "/remittanceInformationStructured",
        ),
        ("payments/instant-sepa-credit-transfers", {"/creditorAccount/iban": ...}, "/creditorAccount/iban"),
        (
            "payments/cross-border-credit-transfers",
            {"/creditorAccount": ..., "/creditorAccountBban": ...},
            "/creditorAccount",
        ),
        (
            "payments/cross-border-credit-transfers",
            {"/creditorAccount/iban": "", "/creditorAccountBban": None},
            "/creditorAccount/iban",
        ),
        ("payments/cross-border-credit-transfers", {"/creditorAccount/iban": "AT12"}, "/creditorAccount/iban"),
        ("payments/cross-border-credit-transfers", {"/creditorName": ...}, "/creditorName"),
        (
            "payments/cross-border-credit-transfers",
            {"/creditorAddressCountryCode": "Austria"},
            "/creditorAddressCountryCode",
        ),
        ("bulk-payments/sepa-credit-transfers", {"/creditorIban": []}, "/creditorIban"),
        ("bulk-payments/sepa-credit-transfers", {"/creditorIban/1": "AT12"}, "/creditorIban/1"),
        ("bulk-payments/sepa-credit-transfers", {"/amount/1": "-1"}, "/amount/1"),
        ("bulk-payments/sepa-credit-transfers", {"/amount/0": 1}, "/amount/0"),
        ("bulk-payments/sepa-credit-transfers", {"/amountCurrency/0": "EU"}, "/amountCurrency/0"),
        ("bulk-payments/sepa-credit-transfers", {"/amount": "1.00"}, "/amount"),
        ("bulk-payments/sepa-credit-transfers", {"/creditorName/0": None}, "/creditorName/0"),
        (
            "bulk-payments/sepa-credit-transfers",
            {"/remittanceInformationStructured/0": 1},
            "/remittanceInformationStructured/0",
        ),
        ("periodic-payments/sepa-credit-transfers", {"/startDate": ...}, "/startDate"),
        ("periodic-payments/sepa-credit-transfers", {"/startDate": None}, "/startDate"),
        ("periodic-payments/sepa-credit-transfers", {"/endDate": "2032-13-01"}, "/endDate"),
        ("periodic-payments/sepa-credit-transfers", {"/frequency": ...}, "/frequency"),
        ("periodic-payments/sepa-credit-transfers", {"/dayOfExecution": 15}, "/dayOfExecution"),
        ("periodic-payments/sepa-credit-transfers", {"/creditorAdress": {"country": "AT"}}, "/creditorAdress"),
    ],
)
def test_an_invalid_body_is_refused_with_the_invalid_member(name, changes, pointer):
    body = has(BODIES[name], changes)
    assert not SCHEMAS[name].accepts(body)
    assert pointer_text(SCHEMAS[name].complaint(body).pointer) == pointer


# -- answers

UNUSED = {"bban": None, "pan": None, "maskedPan": None, "msisdn": None}
HREF = {"href": "/v1/somewhere"}
REFERENCE = {"iban": ANNA, **UNUSED, "currency": None}
BALANCE = {
    "balanceAmount": {"currency": "EUR", "amount": "-12.50"},
    "balanceType": "interimAvailable",
    "lastChangeDateTime": None,
    "referenceDate": "2026-11-21",
    "lastCommittedTransaction": None,
}
ACCOUNT = {
    "resourceId": ANNA,
    "iban": ANNA,
    "currency": "EUR",
    "name": "Anna Grünwald",
    "product": "Girokonto",
    "cashAccountType": None,
    "status": None,
    "linkedAccounts": None,
    "usage": None,
    "details": None,
    "bic": "SANDATWWXXX",
    "_links": {"balances": HREF, "transactions": HREF},
}
STANDING_ORDER = {
    "startDate": "2026-01-01",
    "frequency": "Monthly",
    "endDate": "2028-01-01",
    "executionRule": "preceding",
    "withinAMonthFlag": None,
    "monthsOfExecution": ["1", "12"],
    "multiplicator": None,
    "dayOfExecution": "31",
    "limitAmount": None,
}
TRANSACTION = {
    "transactionId": "1",
    "entryReference": None,
    "endToEndId": None,
    "mandateId": None,
    "checkId": None,
    "creditorId": "",
    "bookingDate": "2026-11-20",
    "valueDate": None,
    "transactionAmount": {"currency": "EUR", "amount": "-4.20"},
    "currencyExchange": None,
    "creditorName": "",
    "debtorName": "Anna Grünwald",
    "creditorAccount": {"iban": None, **UNUSED, "bban": "4711", "currency": None},
    "debtorAccount": REFERENCE,
    "creditorAgent": None,
    "debtorAgent": None,
    "ultimateCreditor": None,
    "ultimateDebtor": None,
    "remittanceInformationUnstructured": "Semmeln",
    "remittanceInformationUnstructuredArray": None,
    "remittanceInformationStructured": None,
    "remittanceInformationStructuredArray": None,
    "additionalInformation": None,
    "additionalInformationStructured": None,
    "purposeCode": None,
    "proprietaryBankTransactionCode": None,
    "balanceAfterTransaction": None,
    "bankTransactionCode": "PMNT-CCRD-POSD",
    "_links": None,
}
CARD_REFERENCE = {"iban": None, **UNUSED, "maskedPan": "499999******4711", "currency": "EUR"}
CARD_BALANCE = {
    "balanceAmount": {"currency": "EUR", "amount": "-12.50"},
    "balanceType": "expected",
    "creditLimitIncluded": False,
    "lastChangeDateTime": None,
    "referenceDate": "2026-11-21",
    "lastCommittedTransaction": None,
}
CARD_ACCOUNT = {
    "resourceId": CONSENT,
    "maskedPan": "499999******4711",
    "currency": "EUR",
    "ownerName": None,
    "name": "Anna Grünwald",
    "displayName": None,
    "product": "Kreditkarte",
    "debitAccounting": False,
    "status": None,
    "usage": None,
    "details": None,
    "creditLimit": {"currency": "EUR", "amount": "3000.00"},
    "_links": {"balances": HREF, "transactions": HREF},
}
CARD_TRANSACTION = {
    "cardTransactionId": "1",
    "terminalId": None,
    "transactionDate": "2026-11-19",
    "acceptorTransactionDateTime": None,
    "bookingDate": "2026-11-20",
    "valueDate": None,
    "transactionAmount": {"currency": "EUR", "amount": "-48.60"},
    "grandTotalAmount": None,
    "currencyExchange": [
        {
            "sourceCurrency": "CHF",
            "exchangeRate": "1.0640",
            "unitCurrency": "CHF",
            "targetCurrency": "EUR",
            "quotationDate": "2026-11-19",
            "contractIdentification": None,
        }
    ],
    "originalAmount": {"currency": "CHF", "amount": "-45.00"},
    "markupFee": {"currency": "EUR", "amount": "-0.72"},
    "markupFeePercentage": "1.5",
    "cardAcceptorId": "ENZIAN",
    "cardAcceptorAddress": {
        "streetName": None,
        "buildingNumber": None,
        "townName": "Bergün",
        "postCode": "7482",
        "country": "CH",
    },
    "cardAcceptorPhone": None,
    "merchantCategoryCode": "5999",
    "maskedPAN": "499999******4711",
    "transactionDetails": "Rahmenbau Enzian",
    "invoiced": False,
    "proprietaryBankTransactionCode": None,
}
ANSWERED: dict[str, dict[str, Any]] = {
    "transaction-details": {"transactionsDetails": TRANSACTION},
    "card-account-list": {"cardAccounts": [CARD_ACCOUNT]},
    "card-account": {"cardAccount": CARD_ACCOUNT},
    "card-account-balances": {
        "cardAccount": CARD_REFERENCE,
        "debitAccounting": None,
        "balances": [CARD_BALANCE],
    },
    "card-account-transactions": {
        "cardAccount": CARD_REFERENCE,
        "debitAccounting": False,
        "cardTransactions": {"booked": [CARD_TRANSACTION], "pending": None, "_links": {"cardAccount": HREF}},
        "balances": None,
        "_links": None,
    },
    "funds-confirmation": {"fundsAvailable": False},
    "token": {"access_token": "abc", "token_type": "Bearer", "expires_in": 599},
    "token-error": {"error": "invalid_client", "error_description": "the client is unknown"},
    "consent-creation": {
        "consentStatus": "received",
        "consentId": CONSENT,
        "scaMethods": None,
        "chosenScaMethod": None,
        "challengeData": None,
        "psuMessage": None,
        "_links": {"scaRedirect": HREF, "self": HREF, "status": HREF},
    },
    "consent-status": {"consentStatus": "expired"},
    "consent-content": {
        "access": {
            "accounts": [REFERENCE],
            "balances": [],
            "transactions": [REFERENCE],
            "additionalInformation": None,
            "availableAccounts": None,
            "availableAccountsWithBalance": None,
            "allPsd2": None,
            "restrictedTo": None,
        },
        "recurringIndicator": True,
        "validUntil": "2027-01-01",
        "frequencyPerDay": 4,
        "lastActionDate": "2026-11-01",
        "consentStatus": "valid",
        "_links": None,
    },
    "account-list": {"accounts": [ACCOUNT]},
    "account": ACCOUNT,
    "balances": {"account": None, "balances": [BALANCE]},
    "transactions": {
        "account": REFERENCE,
        "transactions": {"booked": [TRANSACTION], "pending": None, "information": None, "_links": {"account": HREF}},
        "balances": None,
        "_links": None,
    },
    "transactions-both": {
        "account": {"iban": ANNA},
        "transactions": {"booked": [TRANSACTION], "pending": None, "_links": {"account": {"href": None}}},
        "balances": None,
        "_links": None,
    },
    "payment-initiation": {
        "transactionStatus": "RCVD",
        "paymentId": CONSENT,
        "transactionFees": None,
        "currencyConversionFee": None,
        "estimatedTotalAmount": None,
        "estimatedInterbankSettlementAmount": None,
        "transactionFeeIndicator": None,
        "scaMethods": None,
        "chosenScaMethod": None,
        "challengeData": None,
        "psuMessage": None,
        "tppMessages": None,
        "_Left": {"scaStatus": HREF, "scaRedirect": HREF, "self": HREF, "status": HREF},
    },
    "payment-record": {
        "endToEndIdentification": "",
        "debtorAccount": REFERENCE,
        "creditorAccount": REFERENCE,
        "instructedAmount": {"currency": "EUR", "amount": "12.3"},
        "creditorAgent": None,
        "creditorName": "Felix Strobl",
        "creditorAddress": {
            "streetName": "Notengasse",
            "buildingNumber": None,
            "townName": "Klangenfurth",
            "postCode": "9099",
            "country": "AT",
        },
        "remittanceInformationUnstructured": None,
        "remittanceInformationStructured": {"reference": "4711", "referenceType": None, "referenceIssuer": None},
        "transactionStatus": "ACSP",
        "creditorAgentIdType": None,
        "creditorAgentOtherId": None,
    },
    "payment-status": {"transactionStatus": "PDNG", "fundsAvailable": None, "psuMessage": None},
    "payment-cancellation": {
        "transactionStatus": "PDNG",
        "scaMethods": [],
        "_links": {"startAuthorisation": {"href": "no link"}},
    },
    "error": {
        "tppMessages": [{"category": "ERROR", "code": "CONSENT_UNKNOWN", "path": None, "text": "{sensitive} …"}],
        "_links": None,
    },
}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def members(value: Any, pointer: str = "") -> Iterator[str]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if isinstance(value, dict):
            yield f"{pointer}/{key}"
        yield from members(inner, f"{pointer}/{key}")


@pytest.mark.parametrize("name", ANSWERS)
def test_the_documented_answer_matches_its_schema(name):
    assert SCHEMAS[name].complaint(ANSWERED[name]) is None
    assert SCHEMAS[name].accepts(ANSWERED[name])


@pytest.mark.parametrize("name", ANSWERS)
def test_every_member_of_an_answer_is_required(name):
    for pointer in members(ANSWERED[name]):
        assert not SCHEMAS[name].accepts(has(ANSWERED[name], {pointer: ...})), pointer


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_has_no_undocumented_member(name):
    answer = ANSWERED[name]
    assert not SCHEMAS[name].accepts({**answer, "more": None})
    for pointer in members(answer):
        assert not SCHEMAS[name].accepts(has(answer, {pointer: {"more": None}})) or _open(name, pointer), pointer


def _open(name: str, pointer: str) -> bool:
    """Members that the specification leaves open: any value, or an object without a description."""
    schema = load(name)
    resolver = Registry(retrieve=lambda uri: Resource.from_contents(load(uri.split("/schemas/")[1][:-12]))).resolver(
        schema["$id"]
    )
    for step in pointer.split("/")[1:]:
        while "$ref" in schema:
            found = resolver.lookup(schema["$ref"])
            schema, resolver = found.contents, found.resolver
        schema = schema["items"] if step.isdigit() else schema["properties"][step]
    return "$ref" not in schema and "properties" not in schema and "object" in schema.get("type", "object")


@pytest.mark.parametrize("name", ANSWERS)
def test_filling_restores_every_null_in_the_documented_order(name):
    filled = SCHEMAS[name].fill(without_nulls(ANSWERED[name]))
    assert json.dumps(filled) == json.dumps(ANSWERED[name])


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("account", {"/balances": [BALANCE]}),
        ("account-list", {"/accounts/0/balances": []}),
        ("account", {"/status": "enabled"}),
        (
            "transactions",
            {
                "/transactions/information": [
                    {**TRANSACTION, "additionalInformationStructured": {"standingOrderDetails": STANDING_ORDER}}
                ]
            },
        ),
        ("transactions", {"/transactions/_links/next": HREF}),
        ("transactions-both", {"/transactions/_links/next": HREF}),
        ("card-account", {"/cardAccount/balances": [CARD_BALANCE], "/cardAccount/creditLimit": None}),
        ("payment-record", {"/instructedAmount": {"currency": None, "amount": None}, "/creditorName": ""}),
        ("payment-record", {"/creditorAddress": None}),
        ("error", {"/sandbox": {"nearest": []}, "/tppMessages/0/path": "/access"}),
    ],
)
def test_optional_content_of_answers(name, changes):
    assert SCHEMAS[name].complaint(has(ANSWERED[name], changes)) is None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("account", {"/balances": None}),
        ("account-list", {"/accounts": None}),
        ("balances", {"/account": REFERENCE}),
        ("balances", {"/balances/0/balanceType": "someDay"}),
        ("balances", {"/balances/0/balanceAmount/amount": -12.5}),
        ("transactions", {"/transactions/_links": None}),
        ("transactions", {"/account": {"iban": ANNA}}),
        ("transactions-both", {"/transactions/pending": []}),
        ("transactions-both", {"/transactions/information": None}),
        ("transactions-both", {"/transactions/_links": None}),
        ("transactions-both", {"/transactions/_links/account": HREF}),
        ("transactions-both", {"/account": REFERENCE}),
        ("transactions", {"/transactions/_links/next": None}),
        ("card-account", {"/cardAccount/resourceId": ANNA}),
        ("card-account-balances", {"/cardAccount": REFERENCE}),
        ("card-account-transactions", {"/cardTransactions/information": None}),
        ("funds-confirmation", {"/fundsAvailable": None}),
        ("token", {"/token_type": "MAC"}),
        ("payment-status", {"/transactionStatus": "DONE"}),
        ("payment-initiation", {"/_links": {"self": HREF}}),
        ("payment-initiation", {"/_Left/self": "/v1/somewhere"}),
        ("payment-cancellation", {"/scaMethods": None}),
        ("payment-record", {"/remittanceInformationStructured": None}),
        ("payment-record", {"/creditorAccount": None}),
        ("payment-record", {"/creditorName": None}),
        ("payment-record", {"/instructedAmount": None}),
        ("consent-creation", {"/consentId": "1"}),
        ("error", {"/tppMessages": []}),
        ("error", {"/tppMessages/0/category": "WARNING"}),
        ("error", {"/sandbox": None}),
    ],
)
def test_invalid_content_of_answers(name, changes):
    assert not SCHEMAS[name].accepts(has(ANSWERED[name], changes))


# -- the test data

TESTDATA = bundled("cassettes") / "testdata.yaml"
EXPRESSION = re.compile(r"\{\{ today\((-?\d+)\) \}\}")
TODAY = date(2026, 11, 21)


def on_a_day(value: Any) -> Any:
    """Return the test data on TODAY."""
    if isinstance(value, dict):
        return {key: on_a_day(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [on_a_day(inner) for inner in value]
    match = EXPRESSION.fullmatch(value) if isinstance(value, str) else None
    return (TODAY + timedelta(days=int(match[1]))).isoformat() if match else value


@pytest.fixture(scope="module")
def written() -> Document:
    return yaml_reader.read(TESTDATA)


@pytest.fixture(scope="module")
def bank(written) -> Any:
    return on_a_day(written.value)


def entries(account: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    lists = account.get("entries", {})
    return [entry for kind in kinds or ("booked", "pending", "information") for entry in lists.get(kind, [])]


def balance(account: dict[str, Any], kind: str) -> Decimal:
    (found,) = (b["amount"] for b in account["balances"] if b["type"] == kind)
    assert found["currency"] == account["currency"]
    return Decimal(found["amount"])


def test_the_test_data_matches_its_schema_as_a_file_and_on_a_day(written, bank):
    assert yaml_reader.complaints(written, SCHEMAS["testdata"]) == []
    assert SCHEMAS["testdata"].complaint(bank) is None
    assert SCHEMAS["testdata"].accepts(bank)


def test_editors_find_the_schema_of_the_test_data():
    first = TESTDATA.read_text(encoding="utf-8").splitlines()[0]
    assert (TESTDATA.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve() == (
        FOLDER / "testdata.schema.json"
    ).resolve()


def test_the_test_data_contains_no_fixed_dates():
    assert not re.findall(r"\b(?:19|20)\d\d-\d\d-\d\d", TESTDATA.read_text(encoding="utf-8"))


def test_every_iban_is_valid_and_all_accounts_are_at_the_same_bank(bank):
    ibans = set(re.findall(r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b", json.dumps(bank)))
    assert set(bank["accounts"]) < ibans
    for iban in ibans:
        if not re.fullmatch(r"[A-Z]{2}\d{2}ZZZ.*", iban):  # a creditor identifier
            assert schwifty.IBAN(iban).validate(), iban
    assert {(iban[:2], schwifty.IBAN(iban).bank_code) for iban in bank["accounts"]} == {("AT", "98800")}
    assert {account["bic"] for account in bank["accounts"].values()} == {"SANDATWWXXX"}


def test_creditor_identifiers_have_valid_check_digits(bank):
    found = {e.get("creditor_id", "") for a in bank["accounts"].values() for e in entries(a)} - {""}
    assert found
    for identifier in found:
        digits = "".join(str(int(c, 36)) for c in identifier[7:] + identifier[:4])
        assert int(digits) % 97 == 1, identifier


def test_ids_are_unique(bank):
    for iban, account in bank["accounts"].items():
        ids = [entry["id"] for entry in entries(account)]
        assert len(ids) == len(set(ids)), iban
    methods = [m["id"] for psu in bank["psus"].values() for m in psu["methods"]]
    assert len(methods) == len(set(methods))
    assert not bank["consents"].keys() & bank["payments"].keys()


def test_customers_have_none_one_or_several_methods(bank):
    counts = {len(psu["methods"]) for psu in bank["psus"].values()}
    assert {0, 1} < counts
    kinds = {m["type"] for psu in bank["psus"].values() for m in psu["methods"]}
    assert {"SMS_OTP", "PUSH_OTP", "CHIP_OTP"} <= kinds
    assert len({psu["password"] for psu in bank["psus"].values()}) == len(bank["psus"])


def test_the_bank_has_every_kind_of_account(bank):
    accounts = bank["accounts"].values()
    assert len({account["psuId"] for account in accounts}) >= 4
    assert {account["psuId"] for account in accounts} <= bank["psus"].keys()
    assert max(len(entries(account, "booked")) for account in accounts) > 300
    assert any(not entries(account) for account in accounts)
    assert any(balance(account, "FWAV") < 0 for account in accounts)
    assert any(0 <= balance(account, "FWAV") < 50 for account in accounts)
    assert any(account["currency"] != "EUR" for account in accounts)
    assert {account["currency"] for account in accounts} - {"EUR"} <= bank["rates"].keys()
    assert sum(bool(entries(account, "pending")) for account in accounts) >= 3
    assert sum(bool(entries(account, "information")) for account in accounts) >= 3
    signs = Counter(e["amount"]["amount"][0] == "-" for a in accounts for e in entries(a, "booked"))
    assert min(signs[True], signs[False]) > 10


def test_entries_match_their_account(bank):
    for iban, account in bank["accounts"].items():
        for entry in entries(account):
            amount = entry["amount"]
            own = "debtor_account" if amount["amount"].startswith("-") else "creditor_account"
            assert entry[own]["iban"] == iban, entry
            assert entry["creditor_account"] != entry["debtor_account"], entry
            assert amount["currency"] == account["currency"], entry
        for kind in ("booked", "pending"):
            days = [entry["booked_on"] for entry in entries(account, kind)]
            assert days == sorted(days, reverse=True), iban
            assert all(day <= TODAY.isoformat() for day in days), iban
        assert all("value_on" not in entry for entry in entries(account, "pending", "information"))
        assert all("booked_on" not in entry for entry in entries(account, "information"))


def test_pending_entries_are_the_difference_between_the_balances(bank):
    for iban, account in bank["accounts"].items():
        pending = sum(Decimal(entry["amount"]["amount"]) for entry in entries(account, "pending"))
        assert balance(account, "ITAV") + pending == balance(account, "FWAV"), iban


def test_preconfigured_consents_of_the_test_data(bank):
    consents = bank["consents"].values()
    assert Counter(consent["role"] for consent in consents) == {"authorised": 4, "expired": 1, "unknown": 1}
    for consent in consents:
        assert consent["accounts"] or consent["role"] == "unknown"
        assert set(consent["accounts"]) <= bank["accounts"].keys()
        if consent["role"] != "unknown":
            assert (consent["valid_until"] < TODAY.isoformat()) is (consent["role"] == "expired")
            assert consent["last_action_on"] <= TODAY.isoformat()
    tied = [consent["accounts"] for consent in consents if consent["role"] == "authorised"]
    assert all(len(accounts) == 1 for accounts in tied)
    assert len({bank["accounts"][iban]["psuId"] for (iban,) in tied}) == 4


def test_preconfigured_payments_of_the_test_data(bank):
    payments = bank["payments"].values()
    seen = {(p["service"], p["product"], p["status"]) for p in payments}
    assert {("payments", "sepa-credit-transfers", status) for status in ("ACSP", "PDNG", "RJCT")} <= seen
    assert ("payments", "cross-border-credit-transfers", "ACSP") in seen
    assert ("periodic-payments", "sepa-credit-transfers", "ACTC") in seen
    assert any(
        "address" in p["parts"][0]["creditor"] for p in payments if p["product"] == "cross-border-credit-transfers"
    )
    rates = {"EUR": Decimal(1)} | {currency: Decimal(rate) for currency, rate in bank["rates"].items()}
    for payment in payments:
        debtor = bank["accounts"][payment["debtor"]["account"]]
        amount = Decimal(payment["amount"]["amount"]) * rates[payment["amount"]["currency"]]
        covered = amount <= balance(debtor, "FWAV") * rates[debtor["currency"]]
        assert covered is (payment["status"] != "RJCT"), payment
        if payment["status"] == "ACTC":
            assert payment["schedule"]["start"] > TODAY.isoformat()


def test_rates_cover_the_usual_currencies(bank):
    assert {"CHF", "USD", "GBP", "CZK", "HUF"} <= bank["rates"].keys()


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("testdata: 3", (1, 11), "wrong-value"),
        ("testdata: 2\nacounts: {}", (2, 1), "unknown-key"),
        ("testdata: 2\naccounts: {'': null}", (2, 12), "wrong-value"),
        ("testdata: 2\nconsents: {one: null}", (2, 12), "wrong-value"),
        ("testdata: 2\nrates: {CHF: 1.06}", (2, 14), "wrong-type"),
        (f"testdata: 2\nconsents:\n  {CONSENT}: {{role: authorised, accounts: [{ANNA}]}}", (3, 41), "missing-key"),
        ("testdata: 2\npsus: {otto: {name: Otto, password: x, otp: 1234, methods: []}}", (2, 45), "wrong-type"),
    ],
)
def test_a_mistake_in_test_data_is_reported_at_its_place(text, place, code):
    problems = yaml_reader.complaints(yaml_reader.parse(text, Path("mine.yaml")), SCHEMAS["testdata"])
    assert {(p.line, p.column, p.code) for p in problems} == {(*place, code)}


def test_null_removes_an_entry():
    mine = yaml_reader.parse(
        f"testdata: 2\nreplace: true\naccounts: {{{ANNA}: null}}\nconsents: {{{CONSENT}: null}}", Path("mine.yaml")
    )
    assert yaml_reader.complaints(mine, SCHEMAS["testdata"]) == []


@pytest.mark.parametrize(("day", "fits"), [("{{ today(-3) }}", True), ("2026-02-28", True), ("2026-02-30", False)])
def test_a_date_can_be_an_expression(day, fits):
    mine = on_a_day(yaml_reader.read(TESTDATA).value)
    mine["accounts"][ANNA]["balances"][0]["reference_date"] = day
    assert SCHEMAS["testdata"].accepts(mine) is fits


def undescribed(schema: object, at: str = "") -> list[str]:
    """Yield keys without a description that an editor could show."""
    if isinstance(schema, list):
        return [place for n, inner in enumerate(schema) for place in undescribed(inner, f"{at}/{n}")]
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    found = [f"{at}/{name}" for name, one in named.items() if len(one.get("description", "")) < 5]
    return found + [
        place for key, inner in schema.items() if key != "if" for place in undescribed(inner, f"{at}/{key}")
    ]


@pytest.mark.parametrize("name", ["cassette", "testdata", "config"])
def test_every_key_for_users_has_a_description(name):
    schema = json.loads((bundled("schemas") / f"{name}.schema.json").read_text())
    assert undescribed(schema) == []
    assert undescribed({"properties": {"a": {"type": "string"}}}) == ["/a"]
