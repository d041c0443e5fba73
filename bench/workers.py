"""The cost of a request with two workers, and how they share the work."""

import json
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from load import Load
from machine import usage
from msgspec import structs
from served import Server, generator, server
from table import Row
from throughput import load

from xs2a_sandbox.http import Headers, Request

LEAST = 0.9
"""Minimum ratio to the requests per CPU second that one worker answers."""
LEAST_WRITES = 0.8
"""The same for writes to Redis. Two free cores then write 1.6 times as much as one."""
MOST_SHARE = 0.6
"""Maximum share of the requests at the busier worker."""
_JOURNALED = 1000
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Way:
    """`least` is not set for writes to a file, because only one process writes at a time.

    With `in_sessions` each request has a session of its own, because the requests of one session wait for each other.
    """

    what: str
    port: str
    load: str
    least: float | None = LEAST
    in_sessions: bool = False


READS = Way("direct door", "direct", "plain"), Way("proxy door", "proxy", "forward")
WRITES = Way("direct door, payment initiation", "direct", "plain", None)
REDIS_WRITES = Way(
    "direct door, payment initiation in its own session", "direct", "plain", LEAST_WRITES, in_sessions=True
)


def rows(confdir: Path, read: Request, write: Request, rounds: int, count: int) -> list[Row]:
    """Measure one worker and two in turn while both are running. Return the best round of each."""
    work = [*((way, read) for way in READS), (WRITES, write)]
    found = _rows("SQLite", lambda workers: f"sqlite:{confdir}/{workers}-workers.db", work, confdir, rounds, count)
    if program := shutil.which("redis-server"):
        with _redis(program, confdir) as url:
            found += _rows("Redis", lambda _: url, [(REDIS_WRITES, write)], confdir, rounds, count)
    return found


def _rows(
    store: str,
    state: Callable[[int], str],
    work: list[tuple[Way, Request]],
    confdir: Path,
    rounds: int,
    count: int,
) -> list[Row]:
    with ExitStack() as stack:
        started = {n: stack.enter_context(_serve(confdir, n, state(n))) for n in (1, 2)}
        return [row for way, request in work for row in _measured(store, started, way, request, confdir, rounds, count)]


@contextmanager
def _redis(program: str, directory: Path) -> Iterator[str]:
    """Run a Redis server, and return its URL when it listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(500):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                sleep(0.02)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()


def _serve(confdir: Path, workers: int, state: str) -> AbstractContextManager[Server]:
    arguments = ["--workers", str(workers), "--state", state, "--journal", str(_JOURNALED)]
    ports = ["--port", "0", "--proxy-port", "0", "--tls-port", "off"]
    return server("command", "serve", *ports, *arguments, "--confdir", str(confdir), directory=confdir)


def _measured(
    store: str, started: dict[int, Server], way: Way, request: Request, confdir: Path, rounds: int, count: int
) -> list[Row]:
    if way.in_sessions:
        request = structs.replace(request, headers=Headers((*request.headers, ("X-Sandbox-Session", "{journey}"))))
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
            f"{way.what}, two workers on {store}: requests for CPU",
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
    """Return µs of CPU time for a request, of all processes together.

    Measured again if a request failed: on a busy machine, Redis can take longer than the sandbox waits for it.
    """
    work = load(request, way.load, running.ports[way.port], confdir, requests=count)
    for _ in range(_ATTEMPTS - 1):
        with suppress(ChildProcessError):
            return _measured_cost(running, work)
    return _measured_cost(running, work)


def _measured_cost(running: Server, work: Load) -> float:
    with generator(work) as begin:
        before = usage(running.number).cpu
        outcome = begin()
        used = usage(running.number).cpu - before
        # A few requests take less than the system's resolution.
        return max(used, 1 / os.sysconf("SC_CLK_TCK")) / outcome.answers * 1e6


def _last_numbers(confdir: Path, port: int) -> list[int]:
    """Return the numbers of the last exchanges. The remainder of each shows which worker has answered."""
    token = (confdir / "admin-token").read_text().strip()
    url = f"http://127.0.0.1:{port}/_sandbox/journal?limit={_JOURNALED}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return [exchange["number"] for exchange in json.load(answer)["exchanges"]]
