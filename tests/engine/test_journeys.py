"""Journeys of one sandbox: they are separate, compared in turn, and share their lessons."""

import asyncio

from tests.compare.test_comparison import step
from xs2a_sandbox.engine.destinations import journeys
from xs2a_sandbox.engine.destinations.journeys import Journey, Journeys, Lesson
from xs2a_sandbox.http import Response

BANK, OURS = "https://bank.example", "http://127.0.0.1:8081"


def test_a_resource_changed_on_one_side_is_no_longer_compared() -> None:
    lessons: list[Lesson] = []
    journey = Journey((BANK, "a"), OURS, lessons.append)
    journey.counterparts.learn("their-consent", "our-consent")
    read, removed = (step(method, "/v1/consents/our-consent").request for method in ("GET", "DELETE"))

    journey.keep(removed, Response(404), "sandbox")
    assert journey.side_of(read) is None
    journey.keep(removed, Response(204), "sandbox")
    assert journey.side_of(read) == "sandbox"
    assert journey.side_of(step("GET", "/v1/consents/another").request) is None
    assert lessons[1:] == [{"only": "our-consent", "at": "sandbox"}]


def test_comparisons_of_a_journey_run_in_the_order_of_their_places() -> None:
    async def main() -> list[int]:
        ours, journey, done = Journeys(), Journey((BANK, "a"), OURS), []
        places = [await ours.queue(journey) for _ in range(5)]

        async def compare(number: int) -> None:
            async with ours.turn(journey, places[number]):
                assert journey.queue[0] is places[number]
                await asyncio.sleep(0)
                done.append(number)
                if number == 1:
                    raise ValueError("a comparison that fails is over as well")

        await asyncio.gather(*map(compare, (3, 1, 4, 0, 2)), return_exceptions=True)
        assert not journey.queue
        return done

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_the_oldest_journey_is_dropped(monkeypatch) -> None:
    monkeypatch.setattr(journeys, "_MOST", 2)
    ours = Journeys()
    first, second = (ours._journey((BANK, name), OURS) for name in ("a", "b"))
    assert ours._journey((BANK, "a"), OURS) is first
    ours._journey((BANK, "c"), OURS)
    assert ours._journey((BANK, "b"), OURS) is second
    assert ours._journey((BANK, "a"), OURS) is not first
