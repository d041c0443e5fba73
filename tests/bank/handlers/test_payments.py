"""Payments, in process: interpretations of the documentation, and unusual bodies."""

import json as jsonlib
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine, cassette
from tests.support.rehearsal import APART, ONE, OWN, Stage, Thing, a_stage
from xs2a_sandbox.bank.domain.bookings import movements
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import split_target


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


def record(client: Client, product: str, **changes: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/{product}", json=bodies.payment(product, **changes))
    assert answer.status == 200, answer.body
    response = client.get(answer.json()["_Left"]["self"]["href"])
    assert response.status == 200
    schema = client.engine.schemas["payment-record"]
    assert schema.complaint(response.json()) is None
    return response.json()


@pytest.mark.parametrize(
    ("common", "own", "shown"),
    [("a", "b", "a"), ("", "b", "b"), (None, "b", "b"), ("a", None, "a"), (None, None, ""), ("", "", "")],
)
def test_a_periodic_payment_accepts_two_names_for_its_identification(
    client: Client, common: str | None, own: str | None, shown: str
) -> None:
    payment = record(client, bodies.PERIODIC, endToEndIdentification=common, e2eIdentification=own)

    assert payment["endToEndIdentification"] == shown


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
def test_an_address_in_one_line(client: Client, text: str, address: list[str | None]) -> None:
    payment = record(client, bodies.PERIODIC, creditorAdress=text)["creditorAddress"]

    assert [payment[name] for name in ("country", "townName", "postCode", "streetName", "buildingNumber")] == address


# -- other dialects


SEVERAL = {
    "service": "bulk-payments",
    "kind": "bulk",
    "parts": {
        "each": "{{ body.payments }}",
        "give": {"amount": "{{ entry.instructedAmount }}", "creditor": {"account": "{{ entry.creditorAccount }}"}},
    },
}
"""Return the inputs of a bulk that is a list of payments."""


def own(directory: Path, input: Any = None, operation: str = "initiate-payment", **options: Any) -> Stage:
    """Return a bank whose payments have no schema, and whose answers contain the whole payment."""
    text = f"""
        rules:
          - {{id: ours, match: {{operation: {operation}}}, require: none,
              handler: payments.initiate, input: {jsonlib.dumps(input or {})}, with: {jsonlib.dumps(options)}}}
          - {{id: read, match: {{operation: payment-record}}, handler: payments.read, with: {{}}, answers: {{}},
              respond: {{body: "{{{{ result.payment }}}}"}}}}
    """
    return a_stage(layers=cassette(directory, text))


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"remittanceInformationStructured": "RF18"}, "remittanceInformationStructured"),
        ({"creditorAddress": {"townName": "Wien", "country": "AT"}}, "creditorAddress"),
        ({"ultimateDebtor": "Carla"}, "ultimateDebtor"),
    ],
)
def test_all_members_are_returned_as_they_were_sent(tmp_path: Path, changes: dict[str, Any], member: str) -> None:
    stage = own(tmp_path)
    thing = stage.payment(**changes)
    assert stage.client.get(thing.path).json()["sent"][member] == changes[member]


def test_a_preconfigured_payment_is_returned_without_internal_members(tmp_path: Path) -> None:
    stage = own(tmp_path)
    ((id, payment),) = facts.payments("PDNG")
    thing = Thing("payment", f"/v1/{payment['service']}/{payment['product']}/{id}")
    stage.begin(Thing("cancellation", thing.path), None)
    assert not stage.client.get(thing.path).json().keys() & {"sequence", "cancellationAuthorisations"}


@pytest.mark.parametrize("executed", ["ACSP", "ACSC", "ACCC"])
@pytest.mark.parametrize("later", [False, True])
def test_the_dialect_determines_the_final_state_of_a_payment(tmp_path: Path, executed: str, later: bool) -> None:
    stage = own(tmp_path, executed=executed)
    thing = stage.payment(**({"requestedExecutionDate": stage.day(3)} if later else {}))
    stage.sign(thing)
    if later:
        assert stage.status(thing) == "ACTC"
        stage.move(days=3)
    assert stage.status(thing) == executed


@pytest.mark.parametrize(("apart", "begun"), [(True, 0), (False, 1)])
def test_banks_can_ignore_the_preference_for_an_explicit_start(tmp_path: Path, apart: bool, begun: int) -> None:
    stage = own(tmp_path, apart=apart)
    assert len(stage.client.get(stage.payment(headers=APART).starts).json()["authorisationIds"]) == begun


def test_without_a_debtor_the_customers_first_account_pays(tmp_path: Path) -> None:
    stage = own(tmp_path)
    body = {**bodies.payment(bodies.SEPA), "debtorAccount": None}
    answer = stage.client.post(f"/v1/{bodies.SEPA}", json=body, headers={"PSU-ID": ONE})
    assert answer.status == 200, answer.body
    (payment,) = stage.kept("payments").values()
    assert payment["debtor"]["account"] == next(iban for iban, a in facts.accounts().items() if a["psuId"] == ONE)

    answer = stage.client.post(f"/v1/{bodies.SEPA}", json=body)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", "/debtorAccount")


def test_payments_in_two_currencies_are_not_added_up(tmp_path: Path) -> None:
    stage = own(tmp_path, SEVERAL)
    entries = [
        {
            "instructedAmount": {"currency": currency, "amount": "1.00"},
            "creditorAccount": {"bban": "1"},
            "creditorName": "A",
        }
        for currency in ("EUR", "CHF", "CHF")
    ]
    body = {"debtorAccount": {"iban": OWN[ONE][0]}, "payments": entries, "batchBookingPreferred": True}
    id = stage.client.post(f"/v1/{bodies.SEPA}", json=body).json()["paymentId"]
    assert stage.kept("payments")[id]["amount"] is None

    call = Call(Request("GET", "/"), split_target("/"), Session("default", ""), Clock(), stage.transaction())
    stage.change("payments", id, authorised_on=stage.day(0))
    stage.change("_moving", id)
    call.state = stage.transaction()
    account = {"id": OWN[ONE][0], "iban": OWN[ONE][0], "currency": "EUR"}
    moved = {m.record["id"].rpartition("-")[2]: m.record for m in movements(call, account)}
    assert {name: record["batch_size"] for name, record in moved.items()} == {"EUR": 1, "CHF": 2}


@pytest.mark.parametrize("payments", [None, [], {}])
def test_a_bulk_without_a_list_of_payments_is_refused(tmp_path: Path, payments: Any) -> None:
    stage = own(tmp_path, SEVERAL)
    body = {"debtorAccount": {"iban": OWN[ONE][0]}, "payments": payments}
    answer = stage.client.post(f"/v1/{bodies.SEPA}", json=body)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", "/payments")


@pytest.mark.parametrize(
    ("product", "input", "changes", "path"),
    [
        (bodies.SEPA, None, {"instructedAmount": None}, "/instructedAmount"),
        (bodies.SEPA, None, {"instructedAmount": {"currency": "EUR"}}, "/instructedAmount"),
        (bodies.SEPA, None, {"instructedAmount": {"currency": "EUR", "amount": "12,50"}}, "/instructedAmount/amount"),
        (bodies.BULK, SEVERAL, {"payments": [{}]}, "/payments/0/instructedAmount"),
        (bodies.BULK, SEVERAL, {"payments": ["x"]}, "/payments/0/instructedAmount"),
        (bodies.BULK, None, {}, "/amount"),
        (bodies.BULK, None, {"amount": ["1.00", "1.00"], "amountCurrency": ["EUR", "XXX"]}, "/amountCurrency/1"),
        (bodies.BULK, None, {"amount": ["NaN"], "amountCurrency": ["EUR"]}, "/amount/0"),
    ],
)
def test_invalid_amounts_are_refused_without_a_schema(
    tmp_path: Path, product: str, input: Any, changes: dict[str, Any], path: str
) -> None:
    stage = own(tmp_path, input, f"initiate-{'bulk-' if product == bodies.BULK else ''}payment")
    answer = stage.client.post(f"/v1/{product}", json={"debtorAccount": {"iban": OWN[ONE][0]}, **changes})
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "FORMAT_ERROR", path)
