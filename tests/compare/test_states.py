"""The sandbox keeps step with a bank whose payment user decides on a page of the bank."""

import asyncio
import json
from dataclasses import replace

from tests.compare.test_comparison import compare, told
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import TestBank, recorded_journey
from xs2a_sandbox.compare.comparison import Comparison, Result
from xs2a_sandbox.compare.payment_user import PaymentUser
from xs2a_sandbox.http import Request, Response

MOVES = ["consent received → valid", "payment RCVD → ACSP"]


def offline(bank: TestBank, follow: bool = True, decision: str = "approve") -> Result:
    async def play() -> Result:
        steps = await recorded_journey(bank, decision)
        twin = an_engine()
        return await compare(twin.answer, None, follow=twin.follow if follow else None).play(steps)

    return asyncio.run(play())


def moves(result: Result) -> list[str]:
    return [str(one.moved) for one in result.compared if one.moved]


def test_a_recorded_redirect_journey_shows_no_difference() -> None:
    result = offline(TestBank("R"))

    assert told(result.compared) == []
    assert moves(result)[:2] == MOVES


def test_without_following_the_same_journey_differs_from_the_approval_on() -> None:
    result = offline(TestBank("R"), follow=False)

    assert len(told(result.compared)) > 4
    assert moves(result) == []


def test_what_the_payment_user_declines_is_declined_in_the_sandbox() -> None:
    result = offline(TestBank("R"), decision="decline")

    assert told(result.compared) == []
    assert moves(result)[:2] == ["consent received → rejected", "payment RCVD → RJCT"]


def revoked(request: Request, response: Response) -> Response:
    return replace(response, body=response.body.replace(b'"valid"', b'"revokedByPsu"'))


def test_a_change_that_the_state_machine_does_not_allow_is_a_severe_difference() -> None:
    result = offline(TestBank("R", revoked))
    states = [(d.kind, d.severity, d.where) for one in result.compared for d in one.differences if d.kind == "state"]

    assert states == [("state", "high", "/consentStatus")] * 2, "once for the status, once for the whole consent"
    assert moves(result)[0] == "consent received → revokedByPsu, which the sandbox's states do not allow"


def batch(seconds: float, decision: str | None = "approve") -> tuple[Result, list[str], TestBank]:
    """What was recorded at one bank is asked of another, whose payment user decides when they are told the link."""

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


def test_a_recorded_journey_waits_for_the_payment_user_of_a_bank() -> None:
    result, links, _ = batch(60)

    assert told(result.compared) == []
    assert moves(result)[:2] == MOVES
    assert [one.bank.status for one in result.compared if one.bank] == [200] * len(result.compared)
    assert [text.partition(" at the bank")[0] for text in links] == [
        "the payment user decides about the consent",
        "the payment user decides about the payment",
    ]
    assert all("/sca/" in text for text in links)


def test_a_payment_user_who_declines_is_followed_too() -> None:
    result, _, _ = batch(60, "decline")

    assert told(result.compared) == []
    assert moves(result)[:2] == ["consent received → rejected", "payment RCVD → RJCT"]
    assert json.loads(result.compared[-1].sandbox.answer_body)["scaStatus"] == "failed"  # type: ignore[union-attr]


def test_nobody_is_waited_for_longer_than_asked() -> None:
    result, links, _ = batch(0.05, None)

    remarks = [one.remark for one in result.compared if one.remark]
    assert remarks[0] == "the payment user has not decided about the consent at the bank within 0.05 s"
    assert len(links) == 2
    assert moves(result) == []


def test_with_a_timeout_of_nothing_nobody_is_waited_for() -> None:
    result, links, bank = batch(0, None)

    assert links == []
    assert "is not waited for" in str([one.remark for one in result.compared])
    assert len(bank.asked) == len(result.compared), "the bank is asked for no state"
