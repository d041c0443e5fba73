"""The journeys of the foreign banks pass at their own banks, and repeat."""

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import httpx
import pytest

from tests.foreign_banks.journeys import BANKS, Foreign, Journey
from tests.foreign_banks.server import Clock, serving
from tests.foreign_banks.walk import Step

NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)
LEAP_DAY = datetime(2028, 2, 29, 21, 30, tzinfo=UTC)


def walk(foreign: Foreign, *journeys: Journey, seed: int = 7, clock: Clock | None = None) -> list[Step]:
    bank = foreign.bank(seed, clock or Clock(NOON))
    with serving(bank) as url, httpx.Client(base_url=url, trust_env=False) as client:
        return [step for journey in journeys for step in journey(client, bank.clock.wait)]


@cache
def walk_first(foreign: Foreign) -> list[Step]:
    return walk(foreign, foreign.first)


@pytest.fixture(params=BANKS)
def foreign(request: pytest.FixtureRequest) -> Foreign:
    return BANKS[request.param]


@pytest.fixture(params=["first", "second"])
def journey(foreign: Foreign, request: pytest.FixtureRequest) -> Journey:
    journey: Journey = getattr(foreign, request.param)
    return journey


def wrong(steps: list[Step]) -> list[tuple[str, str, list[str], str]]:
    return [(step.name, step.request, found, step.answer.text) for step in steps if (found := step.differences)]


def test_a_journey_passes_at_its_own_bank_on_loopback(
    foreign: Foreign, journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect: Callable[..., None] = socket.socket.connect
    hosts = set()

    def note(self: socket.socket, address: Any) -> None:
        hosts.add(address[0])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", note)
    steps = walk(foreign, journey)
    assert hosts == {"127.0.0.1"}
    assert wrong(steps) == []
    assert 30 <= len(steps) <= 60
    assert len({step.name for step in steps}) == len(steps)


def test_a_journey_passes_with_another_seed_at_another_time(foreign: Foreign, journey: Journey) -> None:
    assert wrong(walk(foreign, journey, seed=11, clock=Clock(LEAP_DAY))) == []


def test_the_second_journey_passes_after_the_first(foreign: Foreign) -> None:
    assert wrong(walk(foreign, foreign.first, foreign.second)) == []


def test_the_same_seed_gives_the_same_answers_and_another_gives_others(foreign: Foreign) -> None:
    def told(steps: list[Step]) -> list[tuple[int, Any]]:
        # Javor's links contain the port.
        return [(step.answer.status, step.answer.text.partition("http://")[0]) for step in steps]

    walks = walk_first(foreign), walk(foreign, foreign.first), walk(foreign, foreign.first, seed=4)
    one, same, other = map(told, walks)
    assert one == same
    assert [status for status, _ in one] == [status for status, _ in other]
    assert one != other


def test_a_journey_at_another_bank_shows_what_differs_and_goes_on_to_its_end(foreign: Foreign) -> None:
    own = walk_first(foreign)
    elsewhere = next(other for other in BANKS.values() if other is not foreign)
    steps = walk(replace(foreign, bank=elsewhere.bank), foreign.first)
    assert [step.name for step in steps] == [step.name for step in own]
    assert len(wrong(steps)) > len(own) / 2
