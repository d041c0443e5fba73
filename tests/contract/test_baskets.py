"""Signing baskets: creation, reading, deletion, and the effects on their members."""

import uuid
from typing import Any

import pytest

from tests.contract import facts, resources
from tests.contract.doors import Answer, Bank
from tests.contract.resources import ONE, SEVERAL, Resource

spec = pytest.mark.spec

BASKETS = "/v1/signing-baskets"


def create(bank: Bank, *payments: str, consents: tuple[str, ...] = (), **headers: str) -> Answer:
    body: dict[str, Any] = {}
    if payments:
        body["paymentIds"] = list(payments)
    if consents:
        body["consentIds"] = list(consents)
    return bank.post(BASKETS, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def fails(answer: Answer, status: int, code: str, number: str, path: str | None = None) -> None:
    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, path), answer.body
    assert answer.error["text"].startswith(f"{{sensitive}} {number}: ")


def payment(bank: Bank, psu: str = SEVERAL) -> Resource:
    return resources.payment(bank, psu)


@spec("4.3-create-basket")
@spec("reading-sca-habits")
@pytest.mark.parametrize(("payments", "consents"), [(1, 0), (0, 1), (2, 1)])
def test_a_basket_is_created(bank: Bank, payments: int, consents: int) -> None:
    of = [payment(bank).id for _ in range(payments)]
    answer = create(bank, *of, consents=tuple(resources.consent(bank, SEVERAL).id for _ in range(consents)))

    body = answer.json()
    own = f"{BASKETS}/{body['basketId']}"
    assert (answer.status, answer.headers["Location"]) == (201, own)
    assert uuid.UUID(body["basketId"])
    assert body["transactionStatus"] == "RCVD"
    assert body["_links"] == {
        "self": {"href": own},
        "status": {"href": f"{own}/status"},
        "startAuthorisation": {"href": f"{own}/authorisations"},
    }


@spec("4.3-basket")
@spec("4.3-basket-status")
def test_a_basket_is_read(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)
    paid, agreed = made.members

    answer = bank.get(made.own)
    body = answer.json()
    assert (answer.status, body["transactionStatus"]) == (200, "RCVD")
    assert (body["payments"], body["consents"]) == ([paid.id], [agreed.id])
    status = bank.get(f"{made.own}/status")
    assert (status.status, status.json()) == (200, {"transactionStatus": "RCVD"})
    assert bank.get(f"{BASKETS}/{made.id.upper()}").json() == body


@spec("reading-basket-lists")
@pytest.mark.parametrize(("family", "listed"), [("payment", "payments"), ("consent", "consents")])
def test_a_basket_is_returned_without_the_list_that_it_lacks(bank: Bank, family: str, listed: str) -> None:
    member = resources.make(bank, family)
    made = resources.basket_of(bank, member)

    assert bank.get(made.own).json() == {listed: [member.id], "transactionStatus": "RCVD", "_links": None}


@spec("reading-basket-left-empty")
@spec("reading-deleted-sca")
@pytest.mark.parametrize("family", ["payment", "consent"])
def test_a_basket_whose_members_were_deleted_is_rejected(bank: Bank, family: str) -> None:
    members = [resources.make(bank, family), resources.make(bank, family)]
    made = resources.basket_of(bank, *members)
    own = resources.awaiting_otp(bank, made, SEVERAL)

    assert bank.delete(members[0].own).status == 204
    assert made.status(bank) == "RCVD"
    assert bank.delete(members[1].own).status == 204

    assert (made.status(bank), bank.get(own).json()["scaStatus"]) == ("RJCT", "failed")
    fails(bank.put(own, json=resources.otp(SEVERAL)), 409, "STATUS_INVALID", "XS2A921E")
    fails(resources.begin(bank, made), 409, "STATUS_INVALID", "XS2A921E")


@spec("4.3-delete-basket")
@spec("reading-basket-deleted")
def test_deleting_a_basket_releases_its_members(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)

    answer = bank.delete(made.own)

    assert (answer.status, answer.body) == (204, b"")
    assert made.status(bank) == "CANC"
    assert [member.status(bank) for member in made.members] == ["RCVD", "received"]
    for member in made.members:
        resources.sign(bank, member, SEVERAL)
    assert [member.status(bank) for member in made.members] == ["ACSP", "valid"]
    fails(bank.delete(made.own), 409, "STATUS_INVALID", "XS2A921E")


@spec("reading-basket-deleted")
def test_an_authorised_basket_cannot_be_deleted(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)
    resources.sign(bank, made, SEVERAL)

    fails(bank.delete(made.own), 409, "STATUS_INVALID", "XS2A921E")
    assert made.status(bank) == "ACTC"


@spec("reading-basket-members")
def test_an_authorised_basket_authorises_its_members(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)

    resources.sign(bank, made, SEVERAL)

    assert [member.status(bank) for member in made.members] == ["ACSP", "valid"]
    assert bank.get("/v1/accounts", consent=made.members[1].id).status == 200


@spec("reading-basket-blocked")
def test_a_member_of_an_active_basket_cannot_be_authorised_alone(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)

    for member in made.members:
        fails(resources.begin(bank, member), 400, "RESOURCE_BLOCKED", "XS2A924E")
        assert member.redirect
        assert bank.page(member.redirect, decide="approve").status == 400
    assert [member.status(bank) for member in made.members] == ["RCVD", "received"]


@spec("reading-basket-blocked")
def test_a_rejected_basket_releases_its_members(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)
    link = resources.begin(bank, made).json()["_links"]["scaRedirect"]["href"]
    bank.page(link, decide="decline")

    assert made.status(bank) == "RJCT"
    resources.sign(bank, made.members[0], SEVERAL)
    assert made.members[0].status(bank) == "ACSP"


@spec("reading-basket-errors")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, ""),
        ({"paymentIds": []}, "/paymentIds"),
        ({"consentIds": []}, "/consentIds"),
        ({"paymentIds": None, "consentIds": None}, ""),
        ({"paymentIds": "x"}, "/paymentIds"),
        ({"paymentIds": [1]}, "/paymentIds/0"),
        ({"paymentIds": [""]}, "/paymentIds/0"),
    ],
)
def test_a_basket_without_members_is_refused(bank: Bank, body: Any, path: str) -> None:
    fails(bank.post(BASKETS, json=body), 400, "FORMAT_ERROR", "XS2A901E", path)


@spec("reading-basket-errors")
def test_unknown_members_are_refused(bank: Bank) -> None:
    known, unknown = payment(bank).id, str(uuid.UUID(int=7))

    fails(create(bank, known, unknown), 400, "RESOURCE_UNKNOWN", "XS2A926E", "/paymentIds/1")
    fails(create(bank, consents=(unknown,)), 400, "RESOURCE_UNKNOWN", "XS2A926E", "/consentIds/0")
    fails(create(bank, resources.consent(bank, SEVERAL).id), 400, "RESOURCE_UNKNOWN", "XS2A926E", "/paymentIds/0")
    assert create(bank, known).status == 201, "a refused basket does not affect its members"


@spec("reading-basket-errors")
def test_authorised_or_final_members_are_refused(bank: Bank) -> None:
    done, over = payment(bank), payment(bank)
    resources.sign(bank, done, SEVERAL)
    assert bank.delete(over.own).status == 204
    valid = facts.consent()

    for id in (done.id, over.id):
        fails(create(bank, id), 409, "REFERENCE_STATUS_INVALID", "XS2A927E", "/paymentIds/0")
    fails(create(bank, consents=(valid,)), 409, "REFERENCE_STATUS_INVALID", "XS2A927E", "/consentIds/0")


@spec("reading-basket-errors")
def test_a_member_of_another_active_basket_is_refused(bank: Bank) -> None:
    made = resources.basket(bank, SEVERAL)
    paid, agreed = made.members

    fails(create(bank, paid.id), 409, "REFERENCE_STATUS_INVALID", "XS2A927E", "/paymentIds/0")
    fails(create(bank, consents=(agreed.id,)), 409, "REFERENCE_STATUS_INVALID", "XS2A927E", "/consentIds/0")
    assert bank.delete(made.own).status == 204
    assert create(bank, paid.id, consents=(agreed.id,)).status == 201


@spec("reading-basket-errors")
def test_a_duplicate_member_is_refused(bank: Bank) -> None:
    id = payment(bank).id

    fails(create(bank, id, id.upper()), 400, "FORMAT_ERROR", "XS2A901E", "/paymentIds/1")


@spec("reading-basket-errors")
def test_a_basket_has_at_most_ten_members(bank: Bank) -> None:
    ids = [payment(bank).id for _ in range(11)]

    fails(create(bank, *ids), 400, "FORMAT_ERROR", "XS2A901E", "/paymentIds/10")
    assert create(bank, *ids[:10]).status == 201


@spec("reading-basket-errors")
def test_baskets_are_authorised_explicitly(bank: Bank) -> None:
    id = payment(bank).id

    fails(create(bank, id, TPP_Explicit_Authorisation_Preferred="false"), 400, "FORMAT_ERROR", "XS2A901E")
    assert create(bank, id, TPP_Explicit_Authorisation_Preferred="true").status == 201


@spec("reading-sca-unknown")
@pytest.mark.parametrize("id", [str(uuid.UUID(int=7)), "nonsense"])
def test_an_unknown_basket(bank: Bank, id: str) -> None:
    path = f"{BASKETS}/{id}"
    for answer in (bank.get(path), bank.get(f"{path}/status"), bank.delete(path)):
        fails(answer, 403, "RESOURCE_UNKNOWN", "XS2A925E")


@spec("reading-basket-members")
def test_members_of_two_customers_need_both_signatures(bank: Bank) -> None:
    """Nobody can sign for accounts of another customer, so each of them must sign."""
    members = payment(bank), payment(bank, ONE)
    made = resources.basket_of(bank, *members)

    resources.sign(bank, made, ONE)
    assert made.status(bank) == "PATC"
    assert [member.status(bank) for member in members] == ["RCVD", "RCVD"]
    fails(bank.delete(made.own), 409, "STATUS_INVALID", "XS2A921E")

    resources.sign(bank, made, SEVERAL)
    assert made.status(bank) == "ACTC"
    assert [member.status(bank) for member in members] == ["ACSP", "ACSP"]


@spec("reading-basket-blocked")
def test_the_authorisation_of_a_member_pauses_while_it_is_in_a_basket(bank: Bank) -> None:
    paid = payment(bank)
    own = resources.awaiting_otp(bank, paid, SEVERAL)
    made = resources.basket_of(bank, paid)

    fails(bank.put(own, json=resources.otp(SEVERAL)), 400, "RESOURCE_BLOCKED", "XS2A924E")
    assert paid.status(bank) == "RCVD"

    assert bank.delete(made.own).status == 204
    assert bank.put(own, json=resources.otp(SEVERAL)).status == 200
    assert paid.status(bank) == "ACSP"
