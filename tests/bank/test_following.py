"""The session adopts the states that a real bank reports, through the state machine and with all consequences."""

import asyncio
import itertools
from typing import Any

import pytest

from tests.compare.test_comparison import step
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import ACCOUNTS, BACK, IBAN
from xs2a_sandbox.bank.domain.lifecycle import MACHINES, REMOVED
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.states import Move, ReportedState
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Request
from xs2a_sandbox.http import body as content

CONSENT = {
    "access": {"balances": ACCOUNTS},
    "recurringIndicator": False,
    "validUntil": "9999-12-31",
    "frequencyPerDay": 4,
}
ORDER = {
    "instructedAmount": {"currency": "EUR", "amount": "10.00"},
    "debtorAccount": {"iban": IBAN},
    "creditorAccount": {"iban": "DE40100100103307118608"},
    "creditorName": "X",
}
PAYMENTS = "/v1/payments/sepa-credit-transfers"


def send(engine: Engine, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
    answer = asyncio.run(engine.answer(step(method, target, body, *headers).request))
    return content.read(answer.body).value


def follow(engine: Engine, told: ReportedState) -> Move | None:
    return asyncio.run(engine.follow(Request("GET", "/v1/x"), told))


def consent(engine: Engine) -> str:
    return str(send(engine, "POST", "/v1/consents", CONSENT, *BACK)["consentId"])


def payment(engine: Engine, **more: Any) -> str:
    return str(send(engine, "POST", PAYMENTS, {**ORDER, **more}, *BACK)["paymentId"])


@pytest.mark.parametrize("state", ["valid", "rejected", "expired"])
def test_a_consent_adopts_the_state_of_the_bank(state: str) -> None:
    engine = an_engine()
    id = consent(engine)

    assert follow(engine, ReportedState("consent", id, state)) == Move("consent", "received", state, "", True)
    assert send(engine, "GET", f"/v1/consents/{id}/status") == {"consentStatus": state}
    assert follow(engine, ReportedState("consent", id, state)) is None, "it has this state already"


def test_the_resource_follows_its_authorisation() -> None:
    engine = an_engine()
    id = payment(engine)
    (sca,) = send(engine, "GET", f"{PAYMENTS}/{id}/authorisations")["authorisationIds"]

    assert str(follow(engine, ReportedState("authorisation", sca, "started"))) == "authorisation received → started"
    assert str(follow(engine, ReportedState("authorisation", sca, "finalised"))) == "authorisation started → finalised"
    assert send(engine, "GET", f"{PAYMENTS}/{id}/status")["transactionStatus"] == "ACSP"


def test_a_later_payment_that_the_bank_executes_today_is_executed() -> None:
    engine = an_engine()
    later = (REAL.today().replace(year=REAL.today().year + 1)).isoformat()
    id = payment(engine, requestedExecutionDate=later)

    assert str(follow(engine, ReportedState("payment", id, "ACSP"))) == "payment RCVD → ACSP"


@pytest.mark.parametrize("state", ["ACSC", "ACCC"])
def test_a_payment_adopts_the_final_state_of_the_bank(state: str) -> None:
    engine = an_engine()
    id = payment(engine)

    assert str(follow(engine, ReportedState("payment", id, state))) == f"payment RCVD → {state}"
    assert send(engine, "GET", f"{PAYMENTS}/{id}/status")["transactionStatus"] == state


@pytest.mark.parametrize(("thing", "state"), [("payment", "PDNG"), ("payment", "ACCP"), ("payment", "PATC")])
def test_without_a_path_of_transitions_nothing_changes(thing: Any, state: str) -> None:
    engine = an_engine()
    id = payment(engine)

    move = follow(engine, ReportedState(thing, id, state))
    assert str(move) == f"payment RCVD → {state}, which is not allowed by the sandbox's states"
    assert send(engine, "GET", f"{PAYMENTS}/{id}/status")["transactionStatus"] == "RCVD"
    assert follow(engine, ReportedState("payment", id, "ACSP")), "it can still be authorised"


def test_unknown_resources_are_ignored() -> None:
    assert follow(an_engine(), ReportedState("consent", "nobody", "valid")) is None


def test_members_follow_their_basket() -> None:
    engine = an_engine()
    ids = [payment(engine), payment(engine)]
    basket = send(engine, "POST", "/v1/signing-baskets", {"paymentIds": ids}, *BACK)["basketId"]

    assert follow(engine, ReportedState("payment", ids[0], "ACSP")) == Move("payment", "RCVD", "ACSP", "", False)
    assert str(follow(engine, ReportedState("basket", basket, "ACTC"))) == "basket RCVD → ACTC"
    assert send(engine, "GET", f"{PAYMENTS}/{ids[0]}/status")["transactionStatus"] == "ACSP"


def test_paths_consist_of_defined_transitions() -> None:
    for machine in MACHINES:
        states = {state for arrow in machine.arrows for state in arrow} - {REMOVED}
        for before, to in itertools.permutations(states, 2):
            way = machine.way(before, to)
            assert set(itertools.pairwise(way)) <= machine.arrows
            assert not way or (way[0], way[-1]) == (before, to)
