"""The payment user's decision through the control interface: its effects, and when it is refused."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.admin import CONSENT, DATA, Admin, governed, refused
from tests.support.engine_client import Client


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def received(admin: Admin, approach: str = "redirect", psu: str | None = None, **more: Any) -> tuple[str, str]:
    """Create a consent that awaits a decision, and its authorisation."""
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
def test_a_decision_changes_the_authorisation_and_the_resource(
    admin: Admin, approach: str, psu: str | None, decision: str, sca: str, consent: str
) -> None:
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


@pytest.mark.parametrize(
    ("approach", "more", "decisions", "closed"),
    [
        ("redirect", {}, ["approve", "decline", "timeout", "error"], ""),
        ("redirect", {"status": "unconfirmed"}, ["decline", "timeout", "error"], ""),
        ("embedded", {}, [], "is embedded"),
        ("redirect", {"status": "failed"}, [], "cannot change any more"),
    ],
)
def test_an_authorisation_lists_the_possible_decisions(
    admin: Admin, approach: str, more: dict[str, str], decisions: list[str], closed: str
) -> None:
    id, _ = received(admin, approach, **more)
    shown = admin.get(f"sca/{id}")
    assert shown["decisions"] == decisions
    assert closed in (shown["closed"] or "")
    assert (shown["closed"] is None) == bool(decisions)


def test_all_signatories_of_an_account_must_decide(admin: Admin) -> None:
    """Nobody logs in on the bank's own interface, so each approval counts as that of the next customer."""
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


def test_an_expired_authorisation_cannot_be_decided(admin: Admin) -> None:
    id, _ = received(admin)
    admin.ask("POST", "clock", {"move": "2d"})

    assert admin.get(f"sca/{id}")["status"] == "failed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "decided")


@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_a_decision_is_final(admin: Admin, decision: str) -> None:
    id, _ = received(admin)
    first = admin.ask("POST", f"sca/{id}", {"decide": decision}).json()["status"]

    for again in ("approve", "decline"):
        assert first in refused(admin.ask("POST", f"sca/{id}", {"decide": again}), 409, "decided")

    assert admin.get(f"sca/{id}")["status"] == first


@pytest.mark.parametrize("decision", ["approve", "decline"])
@pytest.mark.parametrize("status", ["authorised", "rejected", "expired"])
def test_a_resource_that_is_already_decided_cannot_be_decided_again(admin: Admin, status: str, decision: str) -> None:
    id, resource = received(admin)
    consent = {**admin.get(f"state/consents/{resource}"), "status": status, "authorisations_signed_by": ["anna"]}
    admin.ask("PUT", f"state/consents/{resource}", consent)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": decision}), 409, "status-invalid")

    assert message == f"the consent {resource} is {status}, so it can no longer be approved or declined"
    assert admin.get(f"sca/{id}")["status"] == "begun"
    assert admin.get(f"state/consents/{resource}") == consent


def test_a_deleted_resource_cannot_be_decided(admin: Admin) -> None:
    id, resource = received(admin)
    admin.ask("DELETE", f"state/consents/{resource}")

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-gone")

    assert message == f"the consent {resource} does not exist any more"
    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_a_cancelled_payment_cannot_be_cancelled_again(admin: Admin) -> None:
    payment = next(iter(DATA["payments"]))
    id, _ = received(admin, family="cancellation", resource=payment)
    known = {**DATA["payments"][payment], "status": "CANC", "cancellation_authorisations": [id]}
    admin.ask("PUT", f"state/payments/{payment}", known)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")

    assert message == f"the payment {payment} is CANC, so it can no longer be approved or declined"


def test_a_member_of_a_basket_is_decided_together_with_it(admin: Admin) -> None:
    id, resource = received(admin)
    basket = "5d3a4c1e-0000-4000-8000-000000000003"
    admin.ask("PUT", f"state/baskets/{basket}", {"status": "RCVD", "consents": [resource]})
    admin.ask("PUT", f"state/consents/{resource}", {**admin.get(f"state/consents/{resource}"), "basket": basket})

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-blocked")

    assert message == f"the consent {resource} is in a signing basket and is decided with it"


def test_a_decision_about_a_consent_without_signatures_has_no_effect(admin: Admin) -> None:
    """The same as on its page: the customer of a preconfigured consent can complete all steps."""
    id, _ = received(admin, resource=CONSENT)
    admin.ask("PUT", f"state/consents/{CONSENT}", {**admin.get(f"state/consents/{CONSENT}"), "authorisations": [id]})

    answer = admin.ask("POST", f"sca/{id}", {"decide": "approve"})

    assert (answer.status, answer.json()["status"], admin.status()) == (200, "done", "valid")


def test_embedded_authorisations_are_left_to_the_app(admin: Admin) -> None:
    id, _ = received(admin, "embedded")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "embedded")

    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_an_authorisation_that_needs_a_confirmation_code_stays_unconfirmed(admin: Admin) -> None:
    id, _ = received(admin, code="abc")

    assert admin.ask("POST", f"sca/{id}", {"decide": "approve"}).json()["status"] == "unconfirmed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "unconfirmed")
    assert admin.ask("POST", f"sca/{id}", {"decide": "decline"}).json()["status"] == "failed"


@pytest.mark.parametrize("body", [{}, {"decide": "yes"}, {"decide": None}, {"decide": ["approve"]}, {"approve": True}])
def test_wrong_decisions_are_refused(admin: Admin, body: Any) -> None:
    id, _ = received(admin)

    refused(admin.ask("POST", f"sca/{id}", body), 400, "body-invalid")

    assert admin.get(f"sca/{id}")["status"] == "begun"


def test_an_unknown_authorisation_is_not_found(admin: Admin) -> None:
    id, _ = received(admin)

    refused(admin.ask("GET", "sca/other"), 404, "authorisation-unknown")
    message = refused(admin.named("ci").ask("POST", f"sca/{id}", {"decide": "approve"}), 404, "authorisation-unknown")
    assert "session ci" in message


def test_an_authorisation_with_an_invalid_status_is_refused(admin: Admin) -> None:
    id, _ = received(admin, status="half")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")


@pytest.mark.parametrize("approach", ["redirect", "decoupled"])
def test_a_fault_overrides_the_decision_of_the_customer(admin: Admin, approach: str) -> None:
    id, _ = received(admin, approach)
    admin.ask("POST", "faults", {"sca": "decline", "next": 1})

    value = admin.ask("POST", f"sca/{id}", {"decide": "approve"}).json()

    assert (value["status"], value["resourceStatus"], value["ending"]) == ("failed", "rejected", "decline")
    assert [(one["seen"], one["hits"]) for one in admin.get("faults")["faults"]] == [(1, 1)]
