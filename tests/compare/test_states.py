"""The sandbox follows the states of a bank whose payment user decides on the bank's page."""

import asyncio

from msgspec import structs

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


def test_a_recorded_redirect_flow_has_no_differences() -> None:
    result = offline(TestBank("R"))

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == MOVES


def test_without_following_the_same_flow_differs_after_the_approval() -> None:
    result = offline(TestBank("R"), follow=False)

    assert len(with_differences(result.compared)) > 4
    assert moves(result) == []


def test_a_resource_that_the_payment_user_rejects_is_rejected_in_the_sandbox() -> None:
    result = offline(TestBank("R"), decision="decline")

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == ["consent received → rejected", "payment RCVD → RJCT"]


def half_authorised(request: Request, response: Response) -> Response:
    return structs.replace(response, body=response.body.replace(b'"valid"', b'"partiallyAuthorised"'))


def test_a_transition_that_the_state_machine_lacks_is_a_severe_difference() -> None:
    result = offline(TestBank("R", half_authorised))
    states = [(d.kind, d.severity, d.where) for one in result.compared for d in one.differences if d.kind == "state"]

    assert states == [("state", "high", "/consentStatus")] * 2, "once for the status, once for the whole consent"
    assert moves(result)[0] == "consent received → partiallyAuthorised, which is not allowed by the sandbox's states"
