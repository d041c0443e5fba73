"""Controlling the clock, the state and the payment user's decisions in tests."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.testing.sandboxes import a_sandbox, consent, payment
from xs2a_sandbox.clock import BANK_ZONE, Clock
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.sandbox import Sandbox

ANNA, TWO, LUKAS = "AT459880000010204711", "AT669880000010263115", "AT699880000020411880"


@pytest.fixture
def xs2a() -> Sandbox:
    return a_sandbox()


# Clock


def test_time_passes_and_a_consent_expires(xs2a: Sandbox) -> None:
    id = consent(xs2a, *list(xs2a.testdata.accounts)[:2])

    def status() -> str:
        return str(xs2a.request("GET", f"/v1/consents/{id}/status").json()["consentStatus"])

    assert status() == "received"
    moved = xs2a.clock.move(days=365, hours=1, minutes=1, seconds=1)
    assert abs(moved - Clock().now() - timedelta(days=365, hours=1, minutes=1, seconds=1)) < timedelta(seconds=60)
    assert status() == "expired"
    xs2a.clock.real()
    assert status() == "expired"


@pytest.mark.parametrize(
    "at",
    ["2027-01-02T09:00", "2027-01-02T08:00:00Z", datetime(2027, 1, 2, 9, tzinfo=BANK_ZONE), datetime(2027, 1, 2, 9)],
)
def test_the_clock_can_be_frozen_at_a_time(xs2a: Sandbox, at: str | datetime) -> None:
    assert xs2a.clock.freeze(at).isoformat() == "2027-01-02T09:00:00+01:00"
    assert (xs2a.clock.now.isoformat(), xs2a.clock.today.isoformat()) == ("2027-01-02T09:00:00+01:00", "2027-01-02")
    assert xs2a.clock.move(days=-1).isoformat() == "2027-01-01T09:00:00+01:00"


def test_the_clock_can_be_frozen_at_the_current_time(xs2a: Sandbox) -> None:
    assert xs2a.clock.freeze() == xs2a.clock.now


def test_an_invalid_time_is_refused(xs2a: Sandbox) -> None:
    with pytest.raises(UserMistake, match="ISO 8601"):
        xs2a.clock.freeze("tomorrow")
    with pytest.raises(UserMistake, match="from 1970 to 2999"):
        xs2a.clock.move(days=999_999)


# State


def test_the_state_can_be_read_and_written(xs2a: Sandbox) -> None:
    id = xs2a.testdata.consent()
    assert xs2a.state["consents"][id]["role"] == "authorised"
    xs2a.state.put("notes", "n/1", {"colour": "blue"})
    assert xs2a.state["notes"] == {"n/1": {"colour": "blue"}}
    xs2a.state.delete("notes", "n/1")
    xs2a.state.delete("consents", id)
    assert (xs2a.state["notes"], id in xs2a.state["consents"]) == ({}, False)
    assert xs2a.request("GET", f"/v1/consents/{id}/status").status != 200


def test_the_sandboxs_own_state_cannot_be_written(xs2a: Sandbox) -> None:
    with pytest.raises(UserMistake, match="is internal"):
        xs2a.state.put("_session", "time", {})


# Decisions


def test_a_consent_is_approved(xs2a: Sandbox) -> None:
    id = consent(xs2a, ANNA, LUKAS)
    assert xs2a.request("GET", f"/v1/consents/{id}/status").json() == {"consentStatus": "received"}
    assert xs2a.approve(id) == "authorised"
    assert xs2a.request("GET", f"/v1/consents/{id}/status").json() == {"consentStatus": "valid"}


def test_several_signatories_approve_in_turn(xs2a: Sandbox) -> None:
    assert [xs2a.approve(id) for id in [payment(xs2a, TWO)] * 2] == ["PATC", "ACSP"]


@pytest.mark.parametrize(("decide", "status"), [("approve", "ACSP"), ("decline", "RJCT")])
def test_a_payment_is_decided(xs2a: Sandbox, decide: str, status: str) -> None:
    id = payment(xs2a, ANNA)
    decided: Callable[[str], str] = getattr(xs2a, decide)
    assert decided(id.upper()) == status
    path = f"/v1/payments/sepa-credit-transfers/{id}/status"
    assert xs2a.request("GET", path).json()["transactionStatus"] == status


def test_an_authorisation_is_decided_by_its_own_id(xs2a: Sandbox) -> None:
    id = payment(xs2a, ANNA, **{"TPP-Explicit-Authorisation-Preferred": "true"})
    path = f"/v1/payments/sepa-credit-transfers/{id}/authorisations"
    authorisation = xs2a.request("POST", path).json()["authorisationId"]
    assert xs2a.approve(authorisation) == "done"
    with pytest.raises(UserMistake, match="is done: it cannot change any more"):
        xs2a.decline(authorisation)


@pytest.mark.parametrize(("decide", "status"), [("approve", "CANC"), ("decline", "ACTC")])
def test_a_pending_cancellation_is_decided(xs2a: Sandbox, decide: str, status: str) -> None:
    id = xs2a.testdata.payment("ACTC")
    document = xs2a.testdata.payments[id]
    path = f"/v1/{document['service']}/{document['product']}/{id}/cancellation-authorisations"
    assert xs2a.request("POST", path).status == 201
    decided: Callable[[str], str] = getattr(xs2a, decide)
    assert decided(id) == status


def test_a_basket_is_approved(xs2a: Sandbox) -> None:
    payments = [payment(xs2a, ANNA), payment(xs2a, ANNA)]
    made = xs2a.request("POST", "/v1/signing-baskets", json={"paymentIds": payments})
    assert made.status < 300, made.text
    xs2a.approve(made.json()["basketId"])
    assert {xs2a.state["payments"][id]["status"] for id in payments} <= {"ACSP", "ACSC", "ACTC"}


def test_approving_a_consent_that_is_valid_at_once_has_no_effect(xs2a: Sandbox) -> None:
    assert xs2a.approve(consent(xs2a, ANNA)) == "authorised"


def test_decisions_are_not_in_the_journal(xs2a: Sandbox) -> None:
    id = payment(xs2a, TWO)
    xs2a.journal.clear()
    xs2a.approve(id)
    xs2a.journal.assert_not_called()


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda xs2a: "nobody-knows", "there is no consent, payment, basket or authorisation nobody-knows"),
        (
            lambda xs2a: xs2a.testdata.payment("RJCT"),
            "the bank does not start an authorisation of .*: XS2A921E: .* is RJCT",
        ),
        (lambda xs2a: payment(xs2a, ANNA, **{"TPP-Redirect-Preferred": "false"}), "embedded: the app sends"),
    ],
)
def test_an_impossible_approval_is_a_mistake(xs2a: Sandbox, prepare: Callable[[Sandbox], str], message: str) -> None:
    with pytest.raises(UserMistake, match=message):
        xs2a.approve(prepare(xs2a))


def test_a_frozen_clock_can_have_a_seed() -> None:
    def made(seed: int) -> str:
        sandbox = a_sandbox()
        sandbox.clock.freeze("2027-01-02T09:00", seed=seed)
        return consent(sandbox, "AT449880000010204729")

    assert made(7) == made(7) != made(8)
