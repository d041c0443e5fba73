"""Whoever has to act at a bank is told where, and waited for."""

import asyncio
import json

from tests.compare.test_comparison import compare, with_differences
from tests.compare.test_states import MOVES, moves
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import TestBank, recorded_journey
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.compare.comparison import Comparison, Result
from xs2a_sandbox.compare.payment_user import PaymentUser, links, visits


def test_they_have_acted_where_the_state_is_another_for_the_first_time() -> None:
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

    assert with_differences(result.compared) == []
    assert moves(result)[:2] == MOVES
    assert [one.bank.status for one in result.compared if one.bank] == [200] * len(result.compared)
    assert [text.partition(" at the bank")[0] for text in links] == [
        "the payment user decides about the consent",
        "the payment user decides about the payment",
    ]
    assert all("/sca/" in text for text in links)


def test_a_payment_user_who_declines_is_followed_too() -> None:
    result, _, _ = batch(60, "decline")

    assert with_differences(result.compared) == []
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
