"""500 journeys through HAProxy to two sandboxes on one Redis, all of which are killed in the meantime."""

import asyncio
from pathlib import Path

import pytest

from tests.support.redis_server import needs_redis
from tests.wide.cluster import HAPROXY
from tests.wide.run import run
from xs2a_sandbox.doors.serving import new_loop


@pytest.mark.slow
@needs_redis
@pytest.mark.skipif(HAPROXY is None, reason="there is no haproxy here: apt-get install haproxy, or make redis")
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    result = asyncio.run(run(500, 20, tmp_path, 20), loop_factory=new_loop)
    assert result.complaints == []
    assert result.journeys == 500
    assert result.restarts == 2
    assert result.killed > 2
