"""The wait of a client for an answer that a breakpoint holds."""

import asyncio

import httpx
import pytest

from tests.support.admin import STATUS, TOKEN, governed
from tests.support.doors import DEADLINE, limits, opened
from tests.support.roads import direct_door
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.http.patience import PATIENCE, Patience


@pytest.mark.parametrize("places", [["request"], ["response"], ["request", "response"]], ids="-".join)
def test_the_time_limit_of_an_answer_does_not_run_while_it_is_held(places: list[str]) -> None:
    engine = governed()
    with opened(lambda: direct_door(engine.answer, connections=Connections(limits(answer_time=0.1)))) as (door, _):
        url = f"http://127.0.0.1:{door.port}"
        for place in places:
            order = {"on": place, "timeout": "200ms"}
            headers = {"Authorization": f"Bearer {TOKEN}"}
            assert httpx.post(f"{url}/_sandbox/breaks", headers=headers, json=order, trust_env=False).is_success
        headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.7"}
        answer = httpx.get(url + STATUS, headers=headers, trust_env=False, timeout=DEADLINE)
    assert answer.status_code == 200


def test_a_client_that_has_left_before_is_reported_at_once() -> None:
    async def main() -> list[str]:
        reports: list[str] = []
        patience = Patience()
        patience.begin(asyncio.timeout(1), 1)
        assert PATIENCE.get() is patience
        patience.leave()
        with patience.held(lambda: reports.append("before")):
            patience.leave()
        patience.leave()
        return reports

    assert asyncio.run(main()) == ["before", "before"]


def test_the_time_limit_runs_again_after_a_hold() -> None:
    async def main() -> tuple[float | None, float | None]:
        patience = Patience()
        async with asyncio.timeout(1) as limit:
            patience.begin(limit, 5)
            patience.start_limit()
            with patience.held(lambda: None):
                during = limit.when()
            after = limit.when()
            await asyncio.sleep(0)
            return during, after and after - asyncio.get_running_loop().time()

    during, left = asyncio.run(main())
    assert during is None
    assert left == pytest.approx(5, abs=0.5)
