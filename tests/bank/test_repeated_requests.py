"""The check of repeated requests: one payment for each X-Request-ID."""

import uuid
from collections.abc import Callable

import pytest

from tests.contract import bodies
from tests.support.engine_client import Answer, Client, an_engine
from xs2a_sandbox.config import RealBank

SEPA = "/v1/payments/sepa-credit-transfers"


def a_bank(*checks: str) -> Client:
    return Client(an_engine(real=RealBank(checks=checks)))


@pytest.fixture
def initiate() -> Callable[..., Answer]:
    body, id = bodies.payment(bodies.SEPA), str(uuid.uuid4())

    def initiate(bank: Client, id: str = id, target: str = SEPA, **changes: str) -> Answer:
        return bank.post(target, json={**body, **changes}, headers={"X-Request-ID": id})

    initiate.id = id  # type: ignore[attr-defined]
    return initiate


def test_a_repeated_request_gets_the_first_answer(initiate: Callable[..., Answer]) -> None:
    bank = a_bank("idempotency")
    first = initiate(bank)
    again = initiate(bank)
    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers.get("location") == first.headers.get("location")
    shouted = initiate(bank, initiate.id.upper())  # type: ignore[attr-defined]
    assert shouted.body == first.body, "uppercase and lowercase UUIDs are equal"


@pytest.mark.parametrize("change", ["another body", "another product"])
def test_another_payment_with_the_same_id(initiate: Callable[..., Answer], change: str) -> None:
    bank = a_bank("idempotency")
    first = initiate(bank)
    if change == "another body":
        other = initiate(bank, creditorName="Somebody else")
    else:
        other = initiate(bank, target="/v1/payments/instant-sepa-credit-transfers")
    assert (other.status, other.error["code"]) == (400, "FORMAT_ERROR")
    assert "X-Request-ID was used for a different payment" in other.error["text"]
    assert initiate(bank).body == first.body, "the first one still exists"


def test_sessions_are_independent(initiate: Callable[..., Answer]) -> None:
    bank = a_bank("idempotency")
    payments = [initiate(bank.named(name)).json()["paymentId"] for name in ("one", "two")]
    assert len(set(payments)) == 2


def test_a_refused_payment_is_not_stored(initiate: Callable[..., Answer]) -> None:
    bank = a_bank("idempotency")
    assert initiate(bank, creditorName="").status == 400
    assert initiate(bank).status == 200


def test_in_mode_warn_a_second_payment_is_created(initiate: Callable[..., Answer]) -> None:
    bank = a_bank("warn")
    first, again = initiate(bank), initiate(bank)
    assert again.json()["paymentId"] != first.json()["paymentId"]
    other = initiate(bank, creditorName="Somebody else")
    assert other.status == 200
    assert "FORMAT_ERROR" in other.headers["x-sandbox-strict"]
