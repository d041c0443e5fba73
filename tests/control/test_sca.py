"""The payment user's decision, made over the control interface: what it does, and where it can do nothing."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.admin import CONSENT, DATA, Admin, governed, refused
from tests.support.engine_client import Client


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def received(admin: Admin, approach: str = "redirect", psu: str | None = None, **more: Any) -> tuple[str, str]:
    """A consent that waits, and its authorisation."""
    iban, account = next(item for item in DATA["accounts"].items() if not item[1].get("signatories"))
    resource, id = "5d3a4c1e-0000-4000-8000-000000000001", "5d3a4c1e-0000-4000-8000-000000000002"
    consent = {
        "status": "awaiting",
        "accounts": [iban],
        "recurringIndicator": True,
        "validUntil": "2099-01-01",
        "frequencyPerDay": 4,
        "lastActionDate": "2026-11-21",
        "authorisations": [id],
    }
    authorisation = {
        "family": "consent",
        "resource": resource,
        "approach": approach,
        "status": "begun",
        "psuId": psu and account["psuId"],
        "attempts": 0,
        "implicit": True,
        "expires": (datetime.now().astimezone() + timedelta(days=1)).isoformat(),
        "ok": None,
        "nok": None,
        "code": None,
        "nonce": "n",
        **more,
    }
    assert admin.ask("PUT", f"state/consents/{resource}", consent).status == 201
    assert admin.ask("PUT", f"state/authorisations/{id}", authorisation).status == 201
    return id, resource


@pytest.mark.parametrize("approach", ["redirect", "decoupled"])
@pytest.mark.parametrize("psu", [None, "identified"])
@pytest.mark.parametrize(
    ("decision", "sca", "consent"),
    [("approve", "done", "authorised")] + [(d, "failed", "rejected") for d in ("decline", "timeout", "error")],
)
def test_decisions(admin: Admin, approach: str, psu: str | None, decision: str, sca: str, consent: str) -> None:
    id, resource = received(admin, approach, psu)

    answer = admin.ask("POST", f"sca/{id.upper()}", {"decide": decision})

    value = answer.json()
    assert (answer.status, value["status"], value["resourceStatus"]) == (200, sca, consent)
    assert admin.get(f"sca/{id}") == value
    assert admin.client.get(f"/v1/consents/{resource}/status").json()["consentStatus"] == {"authorised": "valid"}.get(
        consent, consent
    )
    if decision == "approve":
        assert value["psuId"] in DATA["psus"]
        assert admin.get(f"state/consents/{resource}")["authorisations_signed_by"] == [value["psuId"]]


def test_all_signatories_of_an_account_decide(admin: Admin) -> None:
    """Over the bank's own interface, where nobody has identified themselves: each approval is the next customer's."""
    (iban, account), *_ = DATA["accounts"].items()
    first, second, *_ = DATA["psus"]
    other = next(i for i, a in DATA["accounts"].items() if a["psuId"] == account["psuId"] and i != iban)
    admin.ask("PUT", f"state/accounts/{iban}", {**admin.get(f"state/accounts/{iban}"), "signatories": [first, second]})
    body = {
        "access": {"balances": [{"iban": iban}, {"iban": other}]},
        "recurringIndicator": True,
        "validUntil": "2099-01-01",
        "frequencyPerDay": 4,
        "combinedServiceIndicator": False,
    }
    consent = admin.client.post("/v1/consents", json=body, headers={"TPP-Redirect-URI": "https://tpp.example/ok"})
    consents = f"/v1/consents/{consent.json()['consentId']}"
    seen = []
    for _ in range(2):
        started = admin.client.post(f"{consents}/authorisations")
        decided = admin.ask("POST", f"sca/{started.json()['authorisationId']}", {"decide": "approve"}).json()
        seen.append((decided["psuId"], admin.client.get(f"{consents}/status").json()["consentStatus"]))

    assert seen == [(first, "partiallyAuthorised"), (second, "valid")]


def test_an_authorisation_is_shown(admin: Admin) -> None:
    id, resource = received(admin)

    answer = admin.get(f"sca/{id}")

    assert answer["id"] == id
    assert (answer["approach"], answer["family"], answer["resource"]) == ("redirect", "consent", resource)
    assert (answer["status"], answer["resourceStatus"]) == ("begun", "awaiting")


def test_one_that_has_run_out_is_decided(admin: Admin) -> None:
    id, _ = received(admin)
    admin.ask("POST", "clock", {"move": "2d"})

    assert admin.get(f"sca/{id}")["status"] == "failed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "decided")


@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_decided_is_decided(admin: Admin, decision: str) -> None:
    id, _ = received(admin)
    first = admin.ask("POST", f"sca/{id}", {"decide": decision}).json()["status"]

    for again in ("approve", "decline"):
        assert first in refused(admin.ask("POST", f"sca/{id}", {"decide": again}), 409, "decided")

    assert admin.get(f"sca/{id}")["status"] == first


@pytest.mark.parametrize("decision", ["approve", "decline"])
@pytest.mark.parametrize("status", ["authorised", "rejected", "expired"])
def test_what_is_settled_already_is_not_decided_again(admin: Admin, status: str, decision: str) -> None:
    id, resource = received(admin)
    consent = {**admin.get(f"state/consents/{resource}"), "status": status, "authorisations_signed_by": ["anna"]}
    admin.ask("PUT", f"state/consents/{resource}", consent)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": decision}), 409, "status-invalid")

    assert message == f"the consent {resource} is {status}: nothing is left to decide about it"
    assert admin.get(f"sca/{id}")["status"] == "begun"
    assert admin.get(f"state/consents/{resource}") == consent


def test_what_is_not_there_any_more_is_not_decided(admin: Admin) -> None:
    id, resource = received(admin)
    admin.ask("DELETE", f"state/consents/{resource}")

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-gone")

    assert message == f"the consent {resource} is not there any more"
    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_a_payment_that_is_cancelled_is_not_cancelled_again(admin: Admin) -> None:
    payment = next(iter(DATA["payments"]))
    id, _ = received(admin, family="cancellation", resource=payment)
    known = {**DATA["payments"][payment], "status": "CANC", "cancellation_authorisations": [id]}
    admin.ask("PUT", f"state/payments/{payment}", known)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")

    assert message == f"the payment {payment} is CANC: nothing is left to decide about it"


def test_a_member_of_a_basket_is_decided_with_it(admin: Admin) -> None:
    id, resource = received(admin)
    basket = "5d3a4c1e-0000-4000-8000-000000000003"
    admin.ask("PUT", f"state/baskets/{basket}", {"status": "RCVD", "consents": [resource]})
    admin.ask("PUT", f"state/consents/{resource}", {**admin.get(f"state/consents/{resource}"), "basket": basket})

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-blocked")

    assert message == f"the consent {resource} is in a signing basket and is decided with it"


def test_a_consent_that_is_valid_without_a_signature_is_decided_to_no_effect(admin: Admin) -> None:
    """As on its page: a preconfigured one lets its customer through the whole way."""
    id, _ = received(admin, resource=CONSENT)
    admin.ask("PUT", f"state/consents/{CONSENT}", {**admin.get(f"state/consents/{CONSENT}"), "authorisations": [id]})

    answer = admin.ask("POST", f"sca/{id}", {"decide": "approve"})

    assert (answer.status, answer.json()["status"], admin.status()) == (200, "done", "valid")


def test_embedded_ones_are_the_apps(admin: Admin) -> None:
    id, _ = received(admin, "embedded")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "embedded")

    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_one_that_is_to_be_confirmed_by_a_code(admin: Admin) -> None:
    id, _ = received(admin, code="abc")

    assert admin.ask("POST", f"sca/{id}", {"decide": "approve"}).json()["status"] == "unconfirmed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "unconfirmed")
    assert admin.ask("POST", f"sca/{id}", {"decide": "decline"}).json()["status"] == "failed"


@pytest.mark.parametrize("body", [{}, {"decide": "yes"}, {"decide": None}, {"decide": ["approve"]}, {"approve": True}])
def test_wrong_decisions(admin: Admin, body: Any) -> None:
    id, _ = received(admin)

    refused(admin.ask("POST", f"sca/{id}", body), 400, "body-invalid")

    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_an_unknown_authorisation(admin: Admin) -> None:
    id, _ = received(admin)

    refused(admin.ask("GET", "sca/other"), 404, "authorisation-unknown")
    message = refused(admin.named("ci").ask("POST", f"sca/{id}", {"decide": "approve"}), 404, "authorisation-unknown")
    assert "session ci" in message


def test_one_that_somebody_wrote_wrongly(admin: Admin) -> None:
    id, _ = received(admin, status="half")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")


@pytest.mark.parametrize("approach", ["redirect", "decoupled"])
def test_a_fault_ends_it_otherwise_than_the_customer_wants(admin: Admin, approach: str) -> None:
    id, _ = received(admin, approach)
    admin.ask("POST", "faults", {"sca": "decline", "next": 1})

    value = admin.ask("POST", f"sca/{id}", {"decide": "approve"}).json()

    assert (value["status"], value["resourceStatus"], value["ending"]) == ("failed", "rejected", "decline")
    assert [(one["seen"], one["hits"]) for one in admin.get("faults")["faults"]] == [(1, 1)]
