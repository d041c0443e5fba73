"""The knee of each door: the highest rate of randomly arriving requests that is answered in time.

It is at most the rate of connections that wait for each answer. Requests that queue up are answered together, which is
cheaper, so for two seconds a server can answer more than that. 80 % of such a rate would be almost full load.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from load import Load, Outcome
from served import CORE, GENERATORS_CORE, generator, server
from table import Row
from throughput import load

from engine import engine, requests
from xs2a_sandbox.http import Request

IN_TIME = 20.0
"""Maximum p99 in ms for a rate that is answered in time."""
SHARE = 0.8
"""The fraction of the knee for which the times of `DOORS` are budgeted."""
CONNECTIONS = 64
_STEP, _STEPS = 0.95, 10
"""The factor from one tried rate to the next, and how many are tried."""


@dataclass(frozen=True, slots=True)
class Door:
    what: str
    port: str
    load: str
    most: float
    """Budget of p99 in ms at `SHARE` of the knee."""


DOORS = (
    Door("direct door", "direct", "plain", 2.0),
    Door("proxy door", "proxy", "forward", 5.0),
    Door("proxy door, CONNECT and TLS", "proxy", "tunnel", 5.0),
)


def rows(confdir: Path, rounds: int, seconds: float) -> list[Row]:
    with engine() as bank:
        request = requests(bank)["consent status"]
    with server("sandbox", str(confdir), directory=confdir, core=CORE) as running:
        return [
            row for door in DOORS for row in _door(door, running.ports[door.port], request, confdir, rounds, seconds)
        ]


def _door(door: Door, port: int, request: Request, confdir: Path, rounds: int, seconds: float) -> list[Row]:
    def outcome(rate: float) -> Outcome:
        made = load(request, door.load, port, confdir, seconds=seconds, connections=CONNECTIONS, rate=rate)
        return _outcome_of(made)

    knee = _outcome_of(load(request, door.load, port, confdir, seconds=seconds)).rate
    for _ in range(_STEPS):
        reached = outcome(knee)
        if reached.p99 <= IN_TIME and reached.rate >= 0.98 * knee:
            break
        knee *= _STEP
    times = [outcome(SHARE * knee) for _ in range(rounds)]
    p50, p99 = median(one.p50 for one in times), median(one.p99 for one in times)
    name = f"{door.what}, requests that arrive at random"
    return [
        Row(f"{name}: the knee", f"{knee:,.0f}/s", f"p99 within {IN_TIME:.0f} ms"),
        Row(
            f"{name}: p99 at {SHARE:.0%} of the knee",
            f"{p99:.2f} ms",
            f"{door.most:.0f} ms; p50 {p50:.2f} ms",
            p99 / door.most,
            greatest=1.0,
        ),
    ]


def _outcome_of(load: Load) -> Outcome:
    with generator(load, GENERATORS_CORE) as begin:
        return begin()
