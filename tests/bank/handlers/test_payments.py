"""Payments, in process: what the readings say, and what bodies can hide."""

from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


def record(client: Client, product: str, **changes: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/{product}", json=bodies.payment(product, **changes))
    assert answer.status == 200, answer.body
    found = client.get(answer.json()["_Left"]["self"]["href"])
    assert found.status == 200
    schema = client.engine.schemas["payment-record"]
    assert schema.complaint(found.json()) is None
    return found.json()


@pytest.mark.parametrize("product", bodies.PRODUCTS)
def test_the_debtor_comes_back_as_a_reference(client: Client, product: str) -> None:
    debtor = {"iban": facts.debtor(), "currency": None, "colour": "red", "pan": ""}

    assert record(client, product, debtorAccount=debtor)["debtorAccount"] == {
        "iban": facts.debtor(),
        "bban": None,
        "pan": None,
        "maskedPan": None,
        "msisdn": None,
        "currency": None,
    }


@pytest.mark.parametrize(
    ("common", "own", "shown"),
    [("a", "b", "a"), ("", "b", "b"), (None, "b", "b"), ("a", None, "a"), (None, None, ""), ("", "", "")],
)
def test_a_periodic_payment_has_two_names_for_its_identification(
    client: Client, common: str | None, own: str | None, shown: str
) -> None:
    found = record(client, bodies.PERIODIC, endToEndIdentification=common, e2eIdentification=own)

    assert found["endToEndIdentification"] == shown


def test_an_account_without_an_iban(client: Client) -> None:
    creditor = record(client, bodies.CROSS_BORDER, creditorAccount={"iban": ""})["creditorAccount"]

    assert (creditor["iban"], creditor["bban"]) == (None, "8876512")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("AT;Wien;1010;Graben;21", ["AT", "Wien", "1010", "Graben", "21"]),
        (" AT ; Wien", ["AT", "Wien", None, None, None]),
        ("AT;;1010;;", ["AT", None, "1010", None, None]),
        ("AT;Wien;1010;Graben;21;Stiege 2", ["AT", "Wien", "1010", "Graben", "21"]),
    ],
)
def test_an_address_in_one_text(client: Client, text: str, address: list[str | None]) -> None:
    found = record(client, bodies.PERIODIC, creditorAdress=text)["creditorAddress"]

    assert [found[name] for name in ("country", "townName", "postCode", "streetName", "buildingNumber")] == address


def test_members_that_are_not_listed_are_ignored(client: Client) -> None:
    assert "extra" not in record(client, bodies.SEPA, extra={"a": [1]})


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"debtor": facts.foreign_iban()}, "RESOURCE_UNKNOWN", "/debtorAccount/iban"),
        ({"requestedExecutionDate": -1}, "EXECUTION_DATE_INVALID", "/requestedExecutionDate"),
        ({"amount": "1.001"}, "FORMAT_ERROR", "/instructedAmount/amount"),
        ({"amount": "1.5", "currency": "JPY"}, "FORMAT_ERROR", "/instructedAmount/amount"),
        ({"currency": "THB"}, "FORMAT_ERROR", "/instructedAmount/currency"),
    ],
)
def test_refusals(client: Client, changes: dict[str, Any], code: str, pointer: str) -> None:
    answer = client.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA, **facts.dated(changes)))

    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, code, pointer)
    assert client.engine.store.counts() == {}


@pytest.mark.parametrize(
    ("state", "status", "then"),
    [("PDNG", 202, "PDNG"), ("ACTC", 202, "ACTC"), ("ACSP", 405, "ACSP"), ("RJCT", 405, "RJCT")],
)
def test_cancelling_what_is_preconfigured(client: Client, state: str, status: int, then: str) -> None:
    id, payment = facts.payments(state)[0]
    path = f"/v1/{payment['service']}/{payment['product']}/{id}"

    for _ in range(3):
        answer = client.delete(path)
        assert answer.status == status
        if status == 202:
            assert answer.json()["_links"]["startAuthorisation"]["href"]
        else:
            assert answer.error["code"] == "CANCELLATION_INVALID"
    assert (
        client.get(f"{path.upper().replace(path[:-36].upper(), path[:-36])}/status").json()["transactionStatus"] == then
    )
    assert client.engine.store.counts() == {}


def test_only_the_first_read_of_a_payment_without_funds_changes_it(client: Client) -> None:
    low = facts.low()
    body = bodies.payment(bodies.SEPA, debtor=low, amount=str(facts.available(low) + 1))
    answer = client.post(f"/v1/{bodies.SEPA}", json=body)
    assert answer.json()["transactionStatus"] == "RCVD"
    path = answer.json()["_Left"]["self"]["href"]

    def kept() -> tuple[int, Any]:
        return client.engine.store.read("default", "payments", answer.json()["paymentId"])

    assert kept()[1]["transactionStatus"] == "RCVD"
    assert client.get(f"{path}/status").json()["transactionStatus"] == "RJCT"
    first = kept()
    assert first[1]["transactionStatus"] == "RJCT"
    assert client.get(f"{path}/status").json()["transactionStatus"] == "RJCT"
    assert client.get(path).json()["transactionStatus"] == "RJCT"
    assert kept() == first


@pytest.mark.parametrize("product", bodies.PRODUCTS)
def test_reads_of_all_other_payments_change_nothing(client: Client, product: str) -> None:
    answer = client.post(f"/v1/{product}", json=bodies.payment(product))
    path, before = answer.json()["_Left"]["self"]["href"], client.engine.store.counts()
    held = client.engine.store.read("default", "payments", answer.json()["paymentId"])

    assert client.get(f"{path}/status").json()["transactionStatus"] == "RCVD"
    assert client.get(path).json()["transactionStatus"] == "RCVD"
    assert client.engine.store.read("default", "payments", answer.json()["paymentId"]) == held
    assert client.engine.store.counts() == before
