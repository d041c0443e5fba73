"""What a request costs with two workers, and how they share the work."""

import json
import os
import urllib.request
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from machine import usage
from served import Server, generator, server
from table import Row
from throughput import load

from xs2a_sandbox.http import Request

LEAST = 0.9
"""Of the requests in a second of CPU that one worker answers."""
MOST_SHARE = 0.6
"""Of the requests, at the worker that has more of them."""
_JOURNALED = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """`least`: nothing is promised of writes to a file, which one process makes at a time."""

    what: str
    port: str
    load: str
    least: float | None = LEAST


READS = Way("direct door", "direct", "plain"), Way("proxy door", "proxy", "forward")
WRITES = Way("direct door, payment initiation", "direct", "plain", None)


def rows(confdir: Path, read: Request, write: Request, rounds: int, count: int) -> list[Row]:
    """One worker and two run side by side and are asked in turn; the best round of each."""
    with ExitStack() as stack:
        started = {workers: stack.enter_context(_serve(confdir, workers)) for workers in (1, 2)}
        return [
            row
            for way, request in [*((way, read) for way in READS), (WRITES, write)]
            for row in _measured(started, way, request, confdir, rounds, count)
        ]


def _serve(confdir: Path, workers: int) -> AbstractContextManager[Server]:
    state = confdir / f"{workers}-workers.db"
    arguments = ["--workers", str(workers), "--state", f"sqlite:{state}", "--journal", str(_JOURNALED)]
    ports = ["--port", "0", "--proxy-port", "0", "--tls-port", "off"]
    return server("command", "serve", *ports, *arguments, "--confdir", str(confdir), directory=confdir)


def _measured(
    started: dict[int, Server], way: Way, request: Request, confdir: Path, rounds: int, count: int
) -> list[Row]:
    costs = dict.fromkeys(started, float("inf"))
    of_first = 0
    for _ in range(rounds):
        for workers, running in started.items():
            costs[workers] = min(costs[workers], _cost(running, way, request, confdir, count))
        numbers = _last_numbers(confdir, started[2].ports["direct"])
        of_first += sum(number % 2 for number in numbers)
    share = of_first / (rounds * len(numbers))
    more = max(share, 1 - share)
    return [
        Row(
            f"{way.what}, two workers on SQLite: requests for CPU",
            f"{1e6 / costs[2]:,.0f} a second",
            f"{1e6 / costs[1]:,.0f} of one worker",
            costs[1] / costs[2],
            least=way.least,
        ),
        Row(
            f"{way.what}, two workers: share of the busier one",
            f"{100 * more:.0f} %",
            f"{100 * MOST_SHARE:.0f} % of the requests",
            more / MOST_SHARE,
            greatest=1.0,
        ),
    ]


def _cost(running: Server, way: Way, request: Request, confdir: Path, count: int) -> float:
    """µs of CPU for a request, of all processes together."""
    work = load(request, way.load, running.ports[way.port], confdir, requests=count)
    with generator(work) as begin:
        before = usage(running.number).cpu
        outcome = begin()
        used = usage(running.number).cpu - before
        # A few requests take less than the system counts.
        return max(used, 1 / os.sysconf("SC_CLK_TCK")) / outcome.answers * 1e6


def _last_numbers(confdir: Path, port: int) -> list[int]:
    """The numbers of the last exchanges; the remainder of each tells which worker has answered."""
    token = (confdir / "admin-token").read_text().strip()
    url = f"http://127.0.0.1:{port}/_sandbox/journal?limit={_JOURNALED}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return [exchange["number"] for exchange in json.load(answer)["exchanges"]]
