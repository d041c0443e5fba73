"""Signatories, and the effect of signatures on resources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import bodies, facts
from tests.support.counting_store import CountingStore
from tests.support.rehearsal import (
    APP_ONLY,
    DECOUPLED,
    EMBEDDED,
    FAMILIES,
    JOINT,
    NONE,
    ONE,
    OWN,
    PSUS,
    SEVERAL,
    SIGNATORIES,
    TOKEN,
    Stage,
    Thing,
    a_stage,
    with_options,
)
from xs2a_sandbox.state import MemoryStore

FIRST, SECOND = SIGNATORIES
SOME = {"consent": "partiallyAuthorised", "payment": "PATC", "cancellation": "ACTC", "basket": "PATC"}
DONE = {"consent": "valid", "payment": "ACSP", "cancellation": "CANC", "basket": "ACTC"}
FAILED = {"consent": "rejected", "payment": "RJCT", "cancellation": "ACTC", "basket": "RJCT"}


@pytest.fixture
def stage() -> Stage:
    return a_stage()


# -- effects


@pytest.mark.parametrize(
    ("product", "changes", "status"),
    [
        (bodies.SEPA, {}, "ACSP"),
        (bodies.SEPA, {"requestedExecutionDate": 0}, "ACSP"),
        (bodies.SEPA, {"requestedExecutionDate": 1}, "ACTC"),
        (bodies.CROSS_BORDER, {}, "ACSP"),
        (bodies.CROSS_BORDER, {"requestedExecutionDate": 1}, "ACTC"),
        (bodies.INSTANT, {"requestedExecutionDate": 1}, "ACSP"),
        (bodies.BULK, {}, "ACSP"),
        (bodies.BULK, {"requestedExecutionDate": 1}, "ACTC"),
        (bodies.PERIODIC, {"startDate": 1}, "ACTC"),
    ],
)
def test_a_payment_is_executed_at_once_or_on_its_date(
    stage: Stage, product: str, changes: dict[str, Any], status: str
) -> None:
    thing = stage.payment(product, **facts.dated(changes))
    stage.sign(thing)
    assert stage.status(thing) == status


def test_the_last_action_date_is_the_date_of_the_signature(stage: Stage) -> None:
    thing = stage.make("consent")
    stage.move(days=3)
    stage.sign(thing)
    content = stage.client.get(thing.path).json()
    assert content["lastActionDate"] == stage.today.isoformat()


# -- several signatories


@pytest.mark.parametrize("family", FAMILIES)
def test_one_signatory_cannot_sign_twice(stage: Stage, family: str) -> None:
    thing = stage.make(family, joint=True)
    stage.sign(thing, FIRST)
    stage.sign(thing, FIRST)
    assert stage.status(thing) == SOME[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_second_signatory_rejects(stage: Stage, family: str) -> None:
    thing = stage.make(family, joint=True)
    stage.sign(thing, FIRST)
    stage.decide(stage.begin(thing, SECOND), "decline")
    assert stage.status(thing) == FAILED[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_both_signatories_sign_at_the_same_time(stage: Stage, family: str) -> None:
    thing = stage.make(family, joint=True)
    own = {psu: stage.awaiting_otp(thing, psu) for psu in SIGNATORIES}
    for psu in SIGNATORIES:
        assert stage.put(own[psu], scaAuthenticationData=PSUS[psu]["otp"]).status == 200
    assert stage.status(thing) == DONE[family]


def test_signatories_can_use_different_approaches(stage: Stage) -> None:
    thing = stage.make("payment", joint=True)
    stage.sign(thing, FIRST)
    stage.begin(thing, SECOND, DECOUPLED)
    stage.move(seconds=30)
    assert stage.status(thing) == "ACSP"


def test_a_partially_authorised_consent_gives_no_access(stage: Stage) -> None:
    thing = stage.make("consent", joint=True)
    stage.sign(thing, FIRST)
    answer = stage.client.get("/v1/accounts", consent=thing.id)
    assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")


def test_a_consent_for_a_joint_account_and_another_one_needs_both_holders(stage: Stage) -> None:
    """Only the joint account determines the signatories."""
    thing = stage.consent(JOINT, OWN[FIRST][0])
    stage.sign(thing, FIRST)
    assert stage.status(thing) == "partiallyAuthorised"
    stage.sign(thing, SECOND)
    assert stage.status(thing) == "valid"


# -- recurring consents


def recurring(stage: Stage, psu: str = ONE, **changes: Any) -> Thing:
    return stage.consent(*OWN[psu], **changes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"recurringIndicator": False}, {}),
        ({}, {"recurringIndicator": False}),
        ({"recurringIndicator": False}, {"recurringIndicator": False}),
    ],
)
def test_one_off_consents_end_no_others_and_are_not_ended(
    stage: Stage, first: Mapping[str, Any], second: Mapping[str, Any]
) -> None:
    consents = recurring(stage, **first), recurring(stage, **second)
    for one in consents:
        stage.sign(one)
    assert [stage.status(one) for one in consents] == ["valid", "valid"]


def test_the_consent_of_another_customer_is_not_ended(stage: Stage) -> None:
    consents = recurring(stage), recurring(stage, SEVERAL), recurring(stage, APP_ONLY), recurring(stage, NONE)
    for one in consents:
        stage.sign(one)
    assert [stage.status(one) for one in consents] == ["valid"] * 4


def test_a_newer_consent_reads_no_ended_ones_and_none_of_others() -> None:
    store = CountingStore()
    stage = a_stage(store)
    reads = []
    for ended in (2, 30):
        for psu in (ONE, SEVERAL) * ended:
            stage.sign(recurring(stage, psu))
        newer = recurring(stage)
        own = stage.awaiting_otp(newer)
        store.reads, store.lists = 0, set()
        assert stage.put(own, scaAuthenticationData=PSUS[ONE]["otp"]).json()["scaStatus"] == "finalised"
        reads.append(store.reads)
        assert "consents" not in store.lists
    assert reads[0] == reads[1]


@pytest.mark.parametrize("count", [1, 40])
def test_a_newer_consent_ends_all_older_ones_that_did_not_end_each_other(tmp_path: Path, count: int) -> None:
    stays = {"create-consent": {"ends_older": False}}
    stage = a_stage(store := MemoryStore(), layers=with_options(tmp_path, stays))
    older, others = [recurring(stage) for _ in range(count)], recurring(stage, SEVERAL)
    for one in (*older, others):
        stage.sign(one)
    assert {stage.status(one) for one in older} == {"valid"}

    newer = recurring(usual := a_stage(store))
    usual.sign(newer)
    assert {usual.status(one) for one in older} == {"expired"}
    assert [usual.status(one) for one in (newer, others)] == ["valid", "valid"]


def test_a_consent_that_a_tester_has_written_is_ended(stage: Stage) -> None:
    stage.sign(older := recurring(stage))
    document = {**stage.kept("consents")[older.id]}
    path = f"/_sandbox/state/consents/{uuid4()}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for written in (document, {**document, "recurring": False}, document, {"recurring": True}, document):
        assert stage.client.request("PUT", path, json=written, headers=headers).status in (200, 201)

    stage.sign(recurring(stage))

    assert stage.client.get(path, headers=headers).json()["status"] == "expired"


def test_consents_in_one_basket_end_each_other(stage: Stage) -> None:
    consents = [recurring(stage) for _ in range(3)]
    stage.sign(consents[0])
    stage.decide(stage.begin(stage.basket(*consents[1:]), ONE), "approve")
    assert [stage.status(one) for one in consents] == ["expired", "expired", "valid"]
    stage.sign(newest := recurring(stage))
    assert [stage.status(one) for one in (*consents, newest)] == ["expired"] * 3 + ["valid"]


SOON = 3600
"""Seconds after which the customer's app has answered."""


def pushed(stage: Stage) -> Thing:
    """Return a recurring consent that the customer's app will approve soon."""
    thing = recurring(stage)
    stage.begin(thing, ONE, DECOUPLED)
    return thing


@pytest.mark.parametrize("basket", [False, True])
def test_a_decision_ends_the_older_consent_even_before_it_is_read(stage: Stage, basket: bool) -> None:
    older, newer = recurring(stage), recurring(stage)
    stage.sign(older)
    stage.begin(stage.basket(newer) if basket else newer, ONE, DECOUPLED)
    assert stage.status(older) == "valid"

    stage.move(seconds=SOON)

    assert stage.client.get("/v1/accounts", consent=older.id).error["code"] == "CONSENT_EXPIRED"
    assert [stage.status(one) for one in (older, newer)] == ["expired", "valid"]


@pytest.mark.parametrize("read_first", [0, 1, 2])
def test_the_latest_decision_counts_regardless_of_the_order_of_reads(stage: Stage, read_first: int) -> None:
    consents = []
    for _ in range(3):
        consents.append(pushed(stage))
        stage.move(seconds=1)
    stage.move(seconds=SOON)

    stage.status(consents[read_first])

    assert [stage.status(one) for one in consents] == ["expired", "expired", "valid"]


def test_an_unread_decision_is_older_than_a_signature_made_now(stage: Stage) -> None:
    unread, signed = pushed(stage), recurring(stage)
    stage.move(seconds=SOON)
    stage.sign(signed)

    assert [stage.status(one) for one in (unread, signed)] == ["expired", "valid"]


def test_a_decision_that_was_declined_before_ends_nothing(stage: Stage) -> None:
    older, newer = recurring(stage), recurring(stage)
    stage.sign(older)
    own = stage.begin(newer, ONE, DECOUPLED)
    assert stage.status(older) == "valid"
    stage.decide(own, "decline")
    stage.move(seconds=SOON)

    assert [stage.status(one) for one in (older, newer)] == ["valid", "rejected"]


def test_a_consent_for_all_accounts_ends_no_other(stage: Stage) -> None:
    older = recurring(stage)
    stage.sign(older)
    stage.consent()
    assert stage.status(older) == "valid"


# -- preconfigured consents


def test_a_preconfigured_consent_stays_valid_if_its_authorisation_expires(stage: Stage) -> None:
    thing = stage.consent(facts.covered())
    own = stage.begin(thing, ONE, EMBEDDED)
    stage.move(days=1)
    assert (stage.sca(own), stage.status(thing)) == ("failed", "valid")


def test_an_expired_preconfigured_consent_cannot_be_authorised(stage: Stage) -> None:
    ((id, _),) = facts.consents("expired")
    answer = stage.start(Thing("consent", f"/v1/consents/{id}"), NONE)
    assert (answer.status, answer.error["code"]) == (409, "STATUS_INVALID")


def test_a_consent_for_all_accounts_needs_no_authorisation(stage: Stage) -> None:
    answer = stage.start(stage.consent())
    assert (answer.status, answer.error["code"]) == (409, "STATUS_INVALID")
