"""Schemas: what they accept, what they say of the rest, and how they fill answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.errors import Unreadable

DELETED = object()


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return Schemas([bundled("schemas")])


def changed(body: Any, pointer: str, value: Any) -> Any:
    body = json.loads(json.dumps(body))  # two members of a body may be one object
    *parents, last = [int(t) if t.isdigit() else t for t in pointer.split("/")[1:]]
    inner = body
    for token in parents:
        inner = inner[token]
    if value is DELETED:
        del inner[last]
    else:
        inner[last] = value
    return body


def written(schema: dict[str, Any], tmp_path: Path, **others: Any) -> Schema:
    for name, one in {"main": schema, **others}.items():
        named = {"$id": f"https://x.invalid/schemas/{name}.schema.json", **one}
        (tmp_path / f"{name}.schema.json").write_text(json.dumps(named))
    return Schemas([tmp_path])["main"]


# -- complaints

EVERY_PAYMENT: list[tuple[str, Any, str]] = [
    ("/debtorAccount", DELETED, "is required"),
    ("/debtorAccount", None, "must be an object, not null"),
    ("/debtorAccount", "AT", "must be an object, not a string"),
    ("/debtorAccount/iban", DELETED, "is required"),
    ("/debtorAccount/iban", "AT00", "must be an IBAN with valid check digits"),
    ("/debtorAccount/iban", 7, "must be a string, not a number"),
    ("/debtorAccount/currency", "EURO", "must be an ISO 4217 currency code"),
    ("/requestedExecutionDate", "31.12.2026", "must be a date (YYYY-MM-DD)"),
    ("/requestedExecutionDate", 20261231, "must be a string or null, not a number"),
    ("/endToEndIdentification", [], "must be a string or null, not an array"),
]
WITH_AMOUNT: list[tuple[str, Any, str]] = [
    ("/instructedAmount", DELETED, "is required"),
    ("/instructedAmount", "10", "must be an object, not a string"),
    ("/instructedAmount/amount", DELETED, "is required"),
    ("/instructedAmount/amount", 10, "must be a string, not a number"),
    ("/instructedAmount/amount", "10,00", "amount with a dot, such as 12.34"),
    ("/instructedAmount/amount", "-10", "positive decimal number with a dot, such as 12.34"),
    ("/instructedAmount/amount", "0.00", "positive decimal number with a dot, such as 12.34"),
    ("/instructedAmount/currency", "euro", "must be an ISO 4217 currency code"),
    ("/creditorName", DELETED, "is required"),
    ("/creditorName", "", "must not be empty"),
    ("/creditorName", True, "must be a string, not a boolean"),
]
TO_AN_IBAN: list[tuple[str, Any, str]] = [
    ("/creditorAccount", DELETED, "is required"),
    ("/creditorAccount/iban", "DE00", "must be an IBAN with valid check digits"),
]
OWN: dict[str, list[tuple[str, Any, str]]] = {
    bodies.SEPA: [*TO_AN_IBAN, ("/creditorAgent", "nope", "must be a BIC")],
    bodies.INSTANT: [*TO_AN_IBAN, ("/creditorAgent", "nope", "must be a BIC")],
    bodies.CROSS_BORDER: [
        ("/creditorAccount/iban", "DE00", "must be an IBAN with valid check digits"),
        ("/creditorAddressCountryCode", "Austria", "must be an ISO 3166 country code"),
        ("/chargeBearer", 1, "must be a string or null, not a number"),
    ],
    bodies.BULK: [
        ("/amount", [], "must not be empty"),
        ("/amount/1", "1,5", "amount with a dot, such as 12.34"),
        ("/amount/0", 1.5, "must be a string, not a number"),
        ("/amountCurrency/0", "€", "must be an ISO 4217 currency code"),
        ("/creditorIban/1", "AT00", "must be an IBAN with valid check digits"),
        ("/creditorIban", "AT00", "must be an array, not a string"),
        ("/creditorName", DELETED, "is required"),
        ("/remittanceInformationStructured/0", 1, "must be a string, an object or null, not a number"),
    ],
    bodies.PERIODIC: [
        *TO_AN_IBAN,
        ("/startDate", DELETED, "is required"),
        ("/startDate", "2026-02-30", "must be a date (YYYY-MM-DD)"),
        ("/endDate", "soon", "must be a date (YYYY-MM-DD)"),
        ("/frequency", "", "must not be empty"),
        ("/dayOfExecution", 31, "must be a string or null, not a number"),
    ],
}
TABLE = [
    (product, *mistake)
    for product in bodies.PRODUCTS
    for mistake in [*EVERY_PAYMENT, *(WITH_AMOUNT if product in bodies.WITH_AMOUNT else []), *OWN[product]]
]


@pytest.mark.parametrize(
    ("product", "pointer", "value", "words"),
    TABLE,
    ids=[f"{row[0]}-{row[1]}-{number}" for number, row in enumerate(TABLE)],
)
def test_what_is_wrong_with_a_payment(schemas: Schemas, product: str, pointer: str, value: Any, words: str) -> None:
    body = changed(bodies.payment(product), pointer, value)

    assert not schemas[product].accepts(body)
    complaint = schemas[product].complaint(body)
    assert complaint is not None
    assert pointer_text(complaint.pointer) == pointer
    assert words in complaint.text


@pytest.mark.parametrize("product", bodies.PRODUCTS)
def test_what_is_right(schemas: Schemas, product: str) -> None:
    body = bodies.payment(product)

    assert schemas[product].accepts(body)
    assert schemas[product].complaint(body) is None
    assert schemas[product].unlisted(body) == []


@pytest.mark.parametrize("product", bodies.PRODUCTS)
@pytest.mark.parametrize("body", [None, [], "", 1, True])
def test_a_body_that_is_no_object(schemas: Schemas, product: str, body: Any) -> None:
    assert not schemas[product].accepts(body)
    complaint = schemas[product].complaint(body)
    assert complaint is not None
    assert complaint.pointer == ()
    assert complaint.text.startswith("must be an object, not ")


@pytest.mark.parametrize(
    ("pointer", "value", "words"),
    [
        ("/access", DELETED, "is required"),
        ("/access/balances/0/iban", "x", "must be an IBAN with valid check digits"),
        ("/access/balances", {}, "must be an array or null, not an object"),
        ("/access/availableAccounts", "all", 'must be "allAccounts" or null'),
        ("/recurringIndicator", "true", "must be a boolean, not a string"),
        ("/validUntil", "tomorrow", "must be a date (YYYY-MM-DD)"),
        ("/frequencyPerDay", 0, "must be at least 1"),
        ("/frequencyPerDay", "4", "must be an integer, not a string"),
    ],
)
def test_what_is_wrong_with_a_consent(schemas: Schemas, pointer: str, value: Any, words: str) -> None:
    body = changed(bodies.consent(facts.covered()), pointer, value)

    assert not schemas["consent-request"].accepts(body)
    complaint = schemas["consent-request"].complaint(body)
    assert complaint is not None
    assert (pointer_text(complaint.pointer), complaint.text) == (pointer, words)


# -- members that nobody knows


def test_unlisted_members(schemas: Schemas) -> None:
    body = bodies.payment(bodies.SEPA, extra=1, more={"deep": {"er": 1}})
    body["debtorAccount"]["colour"] = "red"
    consent = bodies.consent(access={"balances": [{"iban": facts.covered()}, {"iban": facts.covered(), "size": 1}]})

    assert sorted(schemas[bodies.SEPA].unlisted(body)) == ["/debtorAccount/colour", "/extra", "/more"]
    assert schemas["consent-request"].unlisted(consent) == ["/access/balances/1/size"]
    assert schemas[bodies.SEPA].unlisted([1]) == []


# -- files


def test_names() -> None:
    names = Schemas([bundled("schemas")]).names()

    assert {*bodies.PRODUCTS, "consent-request", "error"} <= set(names)
    assert names == sorted(names)


def test_earlier_directories_win(tmp_path: Path) -> None:
    (tmp_path / "error.schema.json").write_text('{"$id": "https://x.invalid/schemas/error.schema.json", "const": 1}')
    schemas = Schemas([tmp_path, bundled("schemas")])

    assert schemas["error"].accepts(1)
    assert schemas["consent-request"].accepts(bodies.consent())
    assert "nope" not in schemas
    with pytest.raises(KeyError):
        schemas["nope"]


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "broken.schema.json").write_text("{")

    with pytest.raises(Unreadable, match=r"broken\.schema\.json"):
        Schemas([tmp_path])["broken"]
