"""The sandbox keeps step with a bank whose payment user decides on a page of the bank."""

import asyncio
from dataclasses import replace

from tests.compare.test_comparison import compare, with_differences
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import TestBank, recorded_journey
from xs2a_sandbox.compare.comparison import Result
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

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == MOVES


def test_without_following_the_same_journey_differs_from_the_approval_on() -> None:
    result = offline(TestBank("R"), follow=False)

    assert len(with_differences(result.compared)) > 4
    assert moves(result) == []


def test_what_the_payment_user_declines_is_declined_in_the_sandbox() -> None:
    result = offline(TestBank("R"), decision="decline")

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == ["consent received → rejected", "payment RCVD → RJCT"]


def half_authorised(request: Request, response: Response) -> Response:
    return replace(response, body=response.body.replace(b'"valid"', b'"partiallyAuthorised"'))


def test_a_change_that_the_state_machine_does_not_allow_is_a_severe_difference() -> None:
    result = offline(TestBank("R", half_authorised))
    states = [(d.kind, d.severity, d.where) for one in result.compared for d in one.differences if d.kind == "state"]

    assert states == [("state", "high", "/consentStatus")] * 2, "once for the status, once for the whole consent"
    assert moves(result)[0] == "consent received → partiallyAuthorised, which the sandbox's states do not allow"
