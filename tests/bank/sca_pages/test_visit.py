"""Links to the page: their owner, how often and how long they work, and forms that do not come from the page."""

import re
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client
from tests.support.visitor import (
    ANNAS,
    BACK,
    FAMILIES,
    NOK,
    OK,
    OTPS,
    Visitor,
    a_consent,
    a_payment,
    authorisations,
    change,
    freeze,
    path,
)

# -- links


def test_a_link_works_once(client: Client, family: str) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    form = visit.page
    visit.send(end="decline")
    before = visit.status, visit.sca_status

    visit.open()
    assert (visit.answer.status, visit.title) == (409, "This link has been used")
    assert visit.open(decide="approve").status == 409
    visit.page = form
    assert visit.send(customer="anna").status == 409
    assert (visit.status, visit.sca_status) == before


def test_a_link_expires(client: Client, family: str) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    form = visit.page
    freeze(client, hours=25)

    visit.page = form
    visit.send(customer="anna")
    assert (visit.answer.status, visit.title) == (409, "This link has expired")
    assert f'href="{NOK}"' in visit.page
    visit.open()
    assert visit.title == "This link has expired"
    assert visit.sca_status[-1] == "failed"


def test_an_approval_on_the_day_before_is_in_time(client: Client) -> None:
    visit = a_payment(client)
    freeze(client, hours=23)

    assert visit.open(decide="approve").headers["location"] == OK


@pytest.mark.parametrize(
    ("link", "status"),
    [
        ("/sca/consents?consent_id=00000000-0000-4000-8000-000000000000", 403),
        ("/sca/consents?consent_id=%3Cb%3E", 403),
        ("/sca/payments?payment_id=x&service=payments&product=sepa-credit-transfers", 404),
        ("/sca/baskets?basket_id=x", 403),
        ("/sca/consents", 400),
        ("/sca/payments?payment_id=x&service=payments", 400),
        ("/sca/nothing", 404),
        ("/sca", 404),
        ("/sca/consents/x?consent_id=1", 404),
    ],
)
def test_invalid_links(client: Client, link: str, status: int) -> None:
    visit = Visitor(client, link)

    assert visit.open().status == status
    assert "Nothing has been approved" in visit.page
    assert "<b>" not in visit.page


def test_other_methods_are_refused(client: Client) -> None:
    answer = client.request("DELETE", a_consent(client).link)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_head_changes_nothing(client: Client) -> None:
    visit = a_payment(client)

    assert client.request("HEAD", f"{visit.link}&decide=approve").status == 303
    assert (visit.status, visit.sca_status) == ("RCVD", ["received"])


def test_a_preconfigured_consent_keeps_its_status(client: Client) -> None:
    for decision, back in (("approve", OK), ("decline", NOK)):
        visit = a_consent(client, facts.covered())
        assert visit.resource.endswith(facts.consent())
        assert visit.open(decide=decision).headers["location"] == back
        assert visit.status == "valid"


def test_a_preconfigured_consent_can_be_opened_by_its_plain_link(client: Client) -> None:
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent().upper()}")

    visit.log_in()
    assert visit.step == "approve"
    visit.send(otp=OTPS["anna"])

    assert (visit.answer.status, visit.title) == (200, "Approved")


def test_a_consent_for_all_accounts(client: Client) -> None:
    made = client.post("/v1/consents", json=bodies.consent(), headers=BACK).json()
    visit = Visitor(client, path(made["_links"]["scaRedirect"]["href"]), f"/v1/consents/{made['consentId']}")

    assert visit.open(decide="approve").headers["location"] == OK
    assert visit.status == "valid"


def test_a_member_is_signed_with_its_basket(client: Client) -> None:
    member = a_payment(client)
    client.post("/v1/signing-baskets", json={"paymentIds": [member.resource.rpartition("/")[2]]})

    assert member.open().status == 400
    assert member.title == "This is signed with its basket"


def test_an_expired_preconfigured_consent_has_nothing_to_approve(client: Client) -> None:
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent('expired')}")

    assert visit.open(decide="approve").status == 409
    assert visit.title == "There is nothing to approve here"
    assert authorisations(client) == {}


def test_a_consent_that_was_signed_in_the_meantime(client: Client) -> None:
    visit = a_consent(client)
    visit.open()
    form = visit.page
    change(
        client, "consents", visit.resource.rpartition("/")[2], status="authorised", authorisations_signed_by=["anna"]
    )

    visit.page = form
    assert visit.send(customer="anna").status == 409
    assert visit.title == "There is nothing to approve here"
    assert visit.sca_status == ["started"]


def test_a_payment_that_was_cancelled_in_the_meantime(client: Client) -> None:
    visit = a_payment(client)
    visit.open()
    form = visit.page
    client.delete(visit.resource)
    assert visit.status == "CANC"

    visit.page = form
    assert visit.send(customer="anna").status == 409
    assert visit.title == "There is nothing to approve here"


def test_an_embedded_authorisation_in_progress_is_not_disturbed(client: Client) -> None:
    visit = a_payment(client, headers=BACK | {"TPP-Explicit-Authorisation-Preferred": "true"})
    password = {"psuData": {"password": facts.testdata()["psus"]["anna"]["password"]}}
    wishes = {"TPP-Redirect-Preferred": "false", "PSU-ID": "anna"}
    assert client.post(f"{visit.resource}/authorisations", json=password, headers=wishes).status == 201

    assert visit.open().status == 409
    assert len(visit.sca_status) == 1


def test_both_signatories_use_the_page(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)

    visit.open()
    assert 'value="anna"' in visit.page
    assert 'value="lukas"' in visit.page
    visit.send(customer="lukas")
    visit.send(method="sms-lukas")
    visit.send(otp=OTPS["lukas"])
    assert visit.answer.headers["location"] == OK
    assert visit.status == "PATC"

    visit.open()
    assert visit.step == "login"
    assert "Signed already by Lukas Höllrigl" in visit.page
    assert 'value="lukas"' not in visit.page
    visit.send(psuId="lukas", password=facts.testdata()["psus"]["lukas"]["password"])
    assert "signed already" in visit.page
    visit.send(customer="anna")
    visit.send(otp=OTPS["anna"])
    assert visit.status == "ACSP"
    assert visit.open().status == 409


def test_the_customer_named_by_the_app_comes_first(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)
    client.post(f"{visit.resource}/authorisations", headers={"PSU-ID": "lukas"})

    visit.open()

    assert re.findall(r'name="customer" value="(\w+)"', visit.page) == ["lukas", "anna"]
    assert 'id="psuId" name="psuId" value="lukas"' in visit.page


# -- forged forms


@pytest.mark.parametrize(
    "fields",
    [
        {"nonce": None},
        {"nonce": "wrong"},
        {"nonce": "ü"},
        {"authorisation": None},
        {"authorisation": "00000000-0000-4000-8000-000000000000"},
    ],
)
def test_forged_forms_are_refused(client: Client, family: str, fields: dict[str, Any]) -> None:
    visit = FAMILIES[family][0](client)
    visit.open()
    before = visit.status, visit.sca_status

    visit.send(**fields, end="decline")

    assert visit.answer.status == 400
    assert (visit.status, visit.sca_status) == before


def test_a_form_of_another_payment(client: Client) -> None:
    mine, other = a_payment(client), a_payment(client)
    mine.open()
    other.page = mine.page

    other.send(end="decline")

    assert other.answer.status == 400
    assert {mine.status, other.status} == {"RCVD"}


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"=" * 10, b"a=1&" * 5000, b'{"end": "decline"}'])
def test_bodies_that_are_not_forms(client: Client, body: bytes) -> None:
    answer = client.post(a_payment(client).link, body=body)

    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/html")
