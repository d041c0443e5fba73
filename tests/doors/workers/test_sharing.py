"""Two workers share the work, and do not block each other. What they cost is measured by `make bench`."""

import json
import os
from pathlib import Path

import pytest

from tests.contract import bodies, facts
from tests.doors.workers.test_supervisor import workers
from tests.support.serving import Serving, served
from tests.wide.soak import send, text

_REQUESTS = 12_000
_TICK = os.sysconf("SC_CLK_TCK")


def cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def used_by_each(serving: Serving, door: str) -> list[float]:
    """Send requests and return the CPU seconds that each worker has used for them."""
    status = f"/v1/consents/{facts.consent()}/status"
    port = int((serving.proxy if door == "proxy" else serving.direct).rpartition(":")[2])
    target = f"http://bank.example{status}" if door == "proxy" else status
    processes = workers(serving)
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
def test_two_workers_share_the_work(tmp_path: Path, door: str) -> None:
    with served(tmp_path, "--state", f"sqlite:{tmp_path / 'state.db'}", "--workers", "2") as serving:
        used = used_by_each(serving, door)

    assert len(used) == 2
    assert 0.2 < used[0] / sum(used) < 0.8, used
