"""Signing baskets: possible members, the effects on them, and who must sign."""

from collections.abc import Callable

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer
from tests.support.rehearsal import (
    DECOUPLED,
    EMBEDDED,
    NONE,
    ONE,
    OWN,
    PSUS,
    SEVERAL,
    SIGNATORIES,
    Stage,
    Thing,
    a_stage,
)

BASKETS = "/v1/signing-baskets"


@pytest.fixture
def stage() -> Stage:
    return a_stage()


def refused(answer: Answer, status: int, code: str, path: str | None = None) -> None:
    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, path), answer.body


# -- creation


def test_a_member_of_another_session(stage: Stage) -> None:
    payment = stage.make("payment")
    answer = stage.client.named("elsewhere").post(BASKETS, json={"paymentIds": [payment.id]})
    refused(answer, 400, "RESOURCE_UNKNOWN", "/paymentIds/0")


def rejected(stage: Stage) -> Thing:
    thing = stage.make("payment")
    stage.decide(stage.begin(thing), "decline")
    return thing


def signed(family: str, joint: bool = False) -> Callable[[Stage], Thing]:
    def make(stage: Stage) -> Thing:
        thing = stage.make(family, joint=joint)
        stage.sign(thing, SIGNATORIES[0] if joint else None)
        return thing

    return make


def cancelled(stage: Stage) -> Thing:
    thing = stage.make("payment")
    stage.client.delete(thing.path)
    return thing


def passed(stage: Stage) -> Thing:
    thing = stage.consent(*OWN[ONE], validUntil=stage.day(1))
    stage.move(days=2)
    return thing


def preconfigured(status: str) -> Callable[[Stage], Thing]:
    (id, payment), *_ = facts.payments(status)
    return lambda stage: Thing("payment", f"/v1/{payment['service']}/{payment['product']}/{id}")


@pytest.mark.parametrize(
    "member",
    [
        signed("payment"),
        signed("consent"),
        signed("payment", joint=True),
        signed("consent", joint=True),
        rejected,
        cancelled,
        passed,
        lambda stage: stage.consent(),
        lambda stage: stage.consent(facts.covered()),
        preconfigured("ACSP"),
        preconfigured("PDNG"),
    ],
)
def test_a_member_that_no_longer_waits(stage: Stage, member: Callable[[Stage], Thing]) -> None:
    thing = member(stage)
    waiting = stage.make(thing.family)
    path = "/paymentIds/1" if thing.family == "payment" else "/consentIds/1"
    refused(stage.create_basket(waiting, thing), 409, "REFERENCE_STATUS_INVALID", path)
    assert stage.kept("baskets") == {}


def test_the_maximum_number_of_members(stage: Stage) -> None:
    members = [stage.make("payment") for _ in range(11)]
    refused(stage.create_basket(*members), 400, "FORMAT_ERROR", "/paymentIds/10")
    refused(stage.create_basket(*members[:10], stage.make("consent")), 400, "FORMAT_ERROR", "/consentIds/0")
    assert stage.create_basket(*members[:10]).status == 201


# -- reading and deleting


@pytest.mark.parametrize("state", ["PATC", "ACTC", "RJCT", "CANC"])
def test_only_an_untouched_basket_can_be_deleted(stage: Stage, state: str) -> None:
    basket = stage.make("basket", joint=state == "PATC")
    if state == "PATC":
        stage.sign(basket, SIGNATORIES[0])
    elif state == "ACTC":
        stage.sign(basket)
    elif state == "RJCT":
        stage.decide(stage.begin(basket), "decline")
    else:
        stage.client.delete(basket.path)

    refused(stage.client.delete(basket.path), 409, "STATUS_INVALID")

    assert stage.status(basket) == state


def test_a_deleted_basket_cannot_be_authorised(stage: Stage) -> None:
    basket = stage.make("basket")
    own = stage.awaiting_otp(basket)
    stage.client.delete(basket.path)

    refused(stage.start(basket, ONE), 409, "STATUS_INVALID")
    refused(stage.put(own, scaAuthenticationData=PSUS[ONE]["otp"]), 409, "STATUS_INVALID")

    assert stage.status(basket) == "CANC"


# -- the members


@pytest.mark.parametrize("psu", [NONE, ONE, SEVERAL])
def test_one_signature_authorises_all_members(stage: Stage, psu: str) -> None:
    later = stage.payment(debtor=OWN[psu][0], requestedExecutionDate=stage.day(3))
    now, consent = stage.payment(debtor=OWN[psu][0]), stage.consent(*OWN[psu])
    basket = stage.basket(later, now, consent)

    stage.sign(basket)

    assert [stage.status(one) for one in (basket, later, now, consent)] == ["ACTC", "ACTC", "ACSP", "valid"]
    assert stage.client.get("/v1/accounts", consent=consent.id).status == 200


@pytest.mark.parametrize("member", ["payment", "consent"])
def test_a_decision_applies_even_if_the_basket_is_not_read(stage: Stage, member: str) -> None:
    """A due decision takes effect regardless of which resource is read first."""
    thing = stage.make(member)
    stage.begin(stage.basket(thing), ONE, DECOUPLED)
    stage.move(seconds=30)
    assert stage.status(thing) == {"payment": "ACSP", "consent": "valid"}[member]


def test_a_cancelled_member_stays_cancelled(stage: Stage) -> None:
    payment, other = stage.make("payment"), stage.make("payment")
    basket = stage.basket(payment, other)
    assert stage.client.delete(payment.path).status == 204
    stage.begin(basket, ONE, DECOUPLED)
    stage.move(seconds=30)
    assert [stage.status(one) for one in (basket, payment, other)] == ["ACTC", "CANC", "ACSP"]


def test_a_deleted_member_is_skipped(stage: Stage) -> None:
    payment, consent = stage.make("payment"), stage.make("consent")
    basket = stage.basket(payment, consent)
    assert stage.client.delete(consent.path).status == 204
    stage.sign(basket, ONE)
    assert [stage.status(one) for one in (basket, payment)] == ["ACTC", "ACSP"]


@pytest.mark.parametrize("family", ["payment", "consent"])
def test_a_basket_whose_only_member_was_deleted_is_rejected(stage: Stage, family: str) -> None:
    member = stage.make(family)
    basket = stage.basket(member)
    own = stage.begin(basket, ONE, EMBEDDED)
    assert stage.client.delete(member.path).status == 204
    assert (stage.status(basket), stage.sca(own)) == ("RJCT", "failed")
    assert stage.start(basket, ONE, EMBEDDED).status == 409


# -- who signs


def test_a_basket_with_a_joint_account_and_another_one(stage: Stage) -> None:
    members = stage.make("payment", joint=True), stage.make("payment", ONE)
    basket = stage.basket(*members)
    for psu in (*SIGNATORIES, ONE):
        assert stage.status(basket) in ("RCVD", "PATC")
        stage.sign(basket, psu)
    assert [stage.status(one) for one in (basket, *members)] == ["ACTC", "ACSP", "ACSP"]
