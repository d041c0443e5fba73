"""Signing baskets in NextGenPSD2 1.3: payments and consents with one authorisation."""

import uuid
from typing import Any

import httpx
import pytest

from tests.contract.berlin_group.conftest import OSKAR, Tpp, error
from tests.contract.berlin_group.test_authorisations import APART, EMBEDDED, REDIRECT, begin, done, links, payment

BASKETS = "/v1/signing-baskets"


def consent(tpp: Tpp) -> str:
    return str(tpp.consents({"balances": [{"iban": OSKAR}]}, headers=APART).json()["consentId"])


def create(tpp: Tpp, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
    return tpp.request("POST", BASKETS, json=body, headers=headers)


def id_of(path: str) -> str:
    return path.rpartition("/")[2]


@pytest.mark.parametrize(
    ("headers", "approach", "link"),
    [
        ({}, "EMBEDDED", "startAuthorisationWithPsuIdentification"),
        ({**EMBEDDED, "PSU-ID": "oskar"}, "EMBEDDED", "startAuthorisationWithPsuAuthentication"),
        (REDIRECT, "REDIRECT", "startAuthorisation"),
    ],
)
def test_a_basket_is_created_with_its_location_and_links(
    tpp: Tpp, headers: dict[str, str], approach: str, link: str
) -> None:
    made = create(tpp, headers, paymentIds=[id_of(payment(tpp))])
    own = f"{BASKETS}/{made.json()['basketId']}"
    assert (made.status_code, made.headers["location"], made.headers["aspsp-sca-approach"]) == (201, own, approach)
    assert made.json()["transactionStatus"] == "RCVD"
    assert links(made) == {"self": own, "status": f"{own}/status", link: f"{own}/authorisations"}


def test_a_basket_is_read_with_its_members(tpp: Tpp) -> None:
    id = id_of(payment(tpp))
    own = create(tpp, paymentIds=[id]).headers["location"]
    assert tpp.get(own).json() == {
        "payments": [id],
        "transactionStatus": "RCVD",
        "_links": {"self": {"href": own}, "status": {"href": f"{own}/status"}},
    }
    assert tpp.get(f"{own}/status").json() == {"transactionStatus": "RCVD"}


def test_the_members_are_authorised_with_the_basket(tpp: Tpp) -> None:
    pay, agree = payment(tpp), consent(tpp)
    own = create(tpp, paymentIds=[id_of(pay)], consentIds=[agree]).headers["location"]

    alone = tpp.request("POST", f"{pay}/authorisations", headers={**EMBEDDED, "PSU-ID": "oskar"})
    assert error(alone) == (400, "RESOURCE_BLOCKED")
    assert done(tpp, f"{own}/authorisations", "oskar") == "finalised"

    assert tpp.get(f"{own}/status").json() == {"transactionStatus": "ACTC"}
    assert tpp.get(f"{pay}/status").json()["transactionStatus"] == "ACSP"
    assert tpp.get(f"/v1/consents/{agree}/status").json() == {"consentStatus": "valid"}


def test_an_unauthorised_basket_can_be_deleted(tpp: Tpp) -> None:
    pay = payment(tpp)
    own = create(tpp, paymentIds=[id_of(pay)]).headers["location"]
    assert tpp.request("DELETE", own).status_code == 204
    assert tpp.get(f"{own}/status").json() == {"transactionStatus": "CANC"}
    assert error(tpp.request("DELETE", own)) == (409, "STATUS_INVALID")
    assert begin(tpp, f"{pay}/authorisations").status_code == 201


def test_resources_that_cannot_be_in_a_basket(tpp: Tpp) -> None:
    assert error(create(tpp)) == (400, "FORMAT_ERROR")
    assert error(create(tpp, paymentIds=[])) == (400, "FORMAT_ERROR")
    assert error(create(tpp, paymentIds=[str(uuid.uuid4())])) == (400, "RESOURCE_UNKNOWN")
    pay = payment(tpp)
    assert create(tpp, paymentIds=[id_of(pay)]).status_code == 201
    assert error(create(tpp, paymentIds=[id_of(pay)])) == (409, "REFERENCE_STATUS_INVALID")


@pytest.mark.parametrize("below", ["", "/status", "/authorisations"])
def test_an_unknown_basket(tpp: Tpp, below: str) -> None:
    assert error(tpp.get(f"{BASKETS}/{uuid.uuid4()}{below}")) == (403, "RESOURCE_UNKNOWN")
