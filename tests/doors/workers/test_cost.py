"""Two workers need about as much CPU time per request as one, share the work evenly, and do not block each other."""

import json
import os
from pathlib import Path

import pytest

from tests.contract import bodies, facts
from tests.doors.workers.test_supervisor import workers
from tests.support.serving import Serving, served
from tests.wide.soak import send, text

_REQUESTS = 6000
_ROUNDS = 4
_TICK = os.sysconf("SC_CLK_TCK")


def cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def used_by_each(serving: Serving, door: str) -> list[float]:
    """Return the CPU seconds of each process that answers."""
    status = f"/v1/consents/{facts.consent()}/status"
    port = int((serving.proxy if door == "proxy" else serving.direct).rpartition(":")[2])
    target = f"http://bank.example{status}" if door == "proxy" else status
    processes = workers(serving) or [serving.pid]
    before = [cpu(process) for process in processes]
    send({"port": port, "request": text("GET", target), "requests": _REQUESTS, "connections": 16})
    return [cpu(process) - start for process, start in zip(processes, before, strict=True)]


@pytest.mark.slow
def test_concurrent_writes_are_not_refused(tmp_path: Path) -> None:
    body = json.dumps(bodies.payment("sepa-credit-transfers"))
    with served(tmp_path, "--state", f"sqlite:{tmp_path / 'state.db'}", "--workers", "2") as serving:
        port = int(serving.direct.rpartition(":")[2])
        request = text("POST", "/v1/payments/sepa-credit-transfers", body)
        send({"port": port, "request": request, "requests": 3000, "connections": 16})
    assert "the state cannot be used" not in serving.output


@pytest.mark.slow
@pytest.mark.parametrize("door", ["direct", "proxy"])
def test_two_workers_need_as_much_cpu_time_as_one(tmp_path: Path, door: str) -> None:
    with (
        served(tmp_path / "one", "--state", f"sqlite:{tmp_path / 'one.db'}") as one,
        served(tmp_path / "two", "--state", f"sqlite:{tmp_path / 'two.db'}", "--workers", "2") as two,
    ):
        # The measurements alternate, because the machine changes. The cheapest is least affected by others.
        rounds = [(used_by_each(one, door), used_by_each(two, door)) for _ in range(_ROUNDS)]
    (single,) = min((alone for alone, _ in rounds), key=sum)
    both = min((several for _, several in rounds), key=sum)
    totals = [sum(column) for column in zip(*(several for _, several in rounds), strict=True)]

    assert len(both) == 2
    # On a quiet machine it is 0.9.
    assert single / sum(both) > 0.7, (single, both)
    assert 0.3 < totals[0] / sum(totals) < 0.7, totals
