"""The comparison shows the bank's page to the payment user, and waits."""

import asyncio
import json

import pytest

from tests.compare.test_comparison import compare, with_differences
from tests.compare.test_states import MOVES, moves
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import TestBank, recorded_journey
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.comparison import Comparison, Result
from xs2a_sandbox.compare.payment_user import PaymentUser, links, visits
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange


def test_the_first_exchange_with_a_new_state_marks_the_users_action() -> None:
    recorded = [step.recorded for step in asyncio.run(recorded_journey(TestBank("R")))]
    acted = visits(recorded, Index(an_engine().interface))

    assert acted
    for later, begun in acted.items():
        made, seen = recorded[begun], recorded[later]
        assert begun < later
        assert made is not None
        assert seen is not None
        assert made.method == "POST"
        assert any(links(made))
        assert not any(links(seen))


def exchanged(method: str, target: str, body: dict[str, object], **headers: str) -> Exchange:
    return Exchange(
        REAL.now(), 1.0, "", method, target, Headers(tuple(headers.items())), b"", 200, Headers(), to_json(body)
    )


LINKS = {"_links": {"scaRedirect": {"href": "https://bank.example/sca/1"}}}
USE = exchanged("GET", "/v1/accounts", {"accounts": []}, **{"Consent-ID": "c"})


@pytest.mark.parametrize(
    ("status", "told", "expected"),
    [
        ("received", None, {1: 0}),
        ("valid", None, {}),
        (None, None, {1: 0}),
        (None, "received", {2: 0}),
        ("valid", "expired", {}),
        ("received", "valid", {1: 0}),
    ],
)
def test_only_a_consent_that_was_unauthorised_at_first_was_authorised_by_the_user(
    status: str | None, told: str | None, expected: dict[int, int]
) -> None:
    made: dict[str, object] = {"consentId": "c", **LINKS, **({"consentStatus": status} if status else {})}
    recorded = [exchanged("POST", "/v1/consents", made), USE]
    if told:
        recorded.insert(1, exchanged("GET", "/v1/consents/c/status", {"consentStatus": told}))

    assert visits(recorded, Index(an_engine().interface)) == expected


def test_a_resource_that_the_bank_has_decided_at_once_causes_no_wait() -> None:
    made = exchanged("POST", "/v1/consents", {"consentId": "c", "consentStatus": "valid", **LINKS})
    told: list[str] = []

    async def bank(request: Request) -> Response:
        raise AssertionError("no request is sent to the bank")

    user = PaymentUser(told.append, 60)
    assert asyncio.run(user.act(bank, made, Index(an_engine().interface))) is None
    assert told == []


def test_the_wait_counts_down_until_the_payment_user_decides() -> None:
    made = exchanged("POST", "/v1/consents", {"consentId": "c", "consentStatus": "received", **LINKS})
    states = ["received", "received", "rejected"]
    left: list[float] = []

    async def bank(request: Request) -> Response:
        return Response(200, (("Content-Type", "application/json"),), to_json({"consentStatus": states.pop(0)}))

    user = PaymentUser(lambda text: None, 60, 0.001, left.append)
    assert asyncio.run(user.act(bank, made, Index(an_engine().interface))) is None
    assert states == []
    assert 60 >= left[0] > left[1] > left[2] == 0


def batch(seconds: float, decision: str | None = "approve") -> tuple[Result, list[str], TestBank]:
    """Replay a recording at another bank, whose payment user decides when the link is shown."""

    async def play() -> tuple[Result, list[str], TestBank]:
        steps = await recorded_journey(TestBank("R"))
        bank, twin, links, acts = TestBank("b"), an_engine(), [], []

        def tell(text: str) -> None:
            links.append(text)
            if decision:
                acts.append(asyncio.ensure_future(bank.decide(text.split()[-1], decision)))

        user = PaymentUser(tell, seconds, pause=0.01)
        comparison: Comparison = compare(
            twin.answer, bank.answer, follow=twin.follow, payment_user=user, noise_reads=0, allow_writes=True
        )
        result = await comparison.play(steps)
        await asyncio.gather(*acts)
        return result, links, bank

    return asyncio.run(play())


def test_a_replayed_flow_waits_for_the_payment_user() -> None:
    result, links, _ = batch(60)

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == MOVES
    assert [one.bank.status for one in result.compared if one.bank] == [200] * len(result.compared)
    assert [text.partition(" at the bank")[0] for text in links] == [
        "the payment user must decide about the consent",
        "the payment user must decide about the payment",
    ]
    assert all("/sca/" in text for text in links)


def test_a_rejection_by_the_payment_user_is_followed_too() -> None:
    result, _, _ = batch(60, "decline")

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == ["consent received → rejected", "payment RCVD → RJCT"]
    assert json.loads(result.compared[-1].sandbox.answer_body)["scaStatus"] == "failed"  # type: ignore[union-attr]


def test_the_wait_ends_at_the_timeout() -> None:
    result, links, _ = batch(0.05, None)

    remarks = [one.remark for one in result.compared if one.remark]
    assert remarks[0] == "the payment user has not decided about the consent at the bank within 0.05 s (--sca-timeout)"
    assert len(links) == 2
    assert moves(result) == []


def test_with_a_timeout_of_zero_there_is_no_wait() -> None:
    result, links, bank = batch(0, None)

    assert links == []
    assert "does not wait for the decision" in str([one.remark for one in result.compared])
    assert len(bank.asked) == len(result.compared), "the bank is not polled"
