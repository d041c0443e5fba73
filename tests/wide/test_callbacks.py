"""Callbacks of two sandboxes on one Redis, all of which are killed in the meantime."""

import asyncio
from pathlib import Path

import pytest

from tests.support.redis_server import needs_redis
from tests.wide.callbacks import Run, find_disordered, find_lost, run
from tests.wide.cluster import HAPROXY
from xs2a_sandbox.doors.serving import new_loop


@pytest.mark.slow
@needs_redis
@pytest.mark.skipif(HAPROXY is None, reason="there is no haproxy here: apt-get install haproxy, or make redis")
def test_no_callback_is_lost_and_none_is_out_of_order(tmp_path: Path) -> None:
    result = asyncio.run(run(1500, 20, tmp_path, 20), loop_factory=new_loop)
    assert result.complaints == []
    assert result.journeys == 1500
    assert result.killed > 2, result


def test_the_checker_finds_lost_and_disordered_callbacks() -> None:
    result = Run(4, consents=["a", "b", "c", "d"])
    result.received |= {
        "a": ["valid", "valid", "terminatedByTpp", "terminatedByTpp"],
        "b": ["valid"],
        "c": ["terminatedByTpp", "valid"],
    }
    assert [text.split()[-1] for text in find_lost(result)] == ["terminatedByTpp", "valid"]
    assert list(find_disordered(result.received)) == ["the app was told in this order about c: terminatedByTpp, valid"]
    assert (result.arrived, result.repeated) == (7, 2)
