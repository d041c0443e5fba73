"""Each door with the engine, compared with an equivalent server without an engine."""

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from load import Load
from served import Measured, server
from table import Row
from workloads import BANK, text

from engine import answered, engine, requests
from xs2a_sandbox.doors import door
from xs2a_sandbox.http import Request, Response

LEAST_RATE = 1.0
"""Minimum ratio to the rate of plain mitmproxy."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A way to the server. `ours` is compared with `theirs`."""

    what: str
    ours: str
    theirs: str
    port: str
    load: str
    least: float | None = None


MEASURES = (
    Measure("proxy door", "sandbox", "constant", "proxy", "forward"),
    Measure("proxy door with the log on", "command", "constant", "proxy", "forward"),
    Measure("proxy door, CONNECT and TLS", "sandbox", "constant", "proxy", "tunnel"),
    Measure("TLS door", "sandbox", "constant", "tls", "tls"),
    Measure("proxy door", "sandbox", "bare", "proxy", "forward", LEAST_RATE),
    Measure("direct door", "sandbox", "httptools", "direct", "plain"),
)
NAMES = {
    "constant": "our doors, constant answer",
    "bare": "mitmproxy's own smallest master",
    "httptools": "the smallest protocol on httptools, constant answer",
}


def rows(confdir: Path, rounds: int, count: int) -> list[Row]:
    """The servers run at the same time and get requests in turn, compared servers one after the other."""
    request, response = asyncio.run(_exchange())
    constant = json.dumps({"headers": door.frame_headers(response, "GET")[:-1], "body": response.body.decode()})
    with ExitStack() as stack:
        started = {
            kind: stack.enter_context(server(kind, *_arguments(kind, confdir), constant=constant, directory=confdir))
            for kind in ("bare", "constant", "httptools", "sandbox", "command")
        }
        for running in started.values():
            # Figures do not include waiting for a port.
            _ = running.ports
        results: dict[tuple[str, str, str], list[Measured]] = {}
        for _ in range(rounds):
            for way in dict.fromkeys((kind, m.port, m.load) for m in MEASURES for kind in (m.ours, m.theirs)):
                kind, port, how = way
                results.setdefault(way, []).append(
                    started[kind].under(load(request, how, started[kind].ports[port], confdir, requests=count))
                )
    return [
        row for m in MEASURES for row in _table(m, results[m.ours, m.port, m.load], results[m.theirs, m.port, m.load])
    ]


def load(request: Request, how: str, port: int, confdir: Path, **scale: Any) -> Load:
    """`scale` is the amount of work, see `Load`."""
    encrypted = how in ("tunnel", "tls")
    return Load(
        port=port,
        request=text(request, f"http://{BANK}" if how == "forward" else ""),
        connect=BANK if how == "tunnel" else None,
        ca_file=str(confdir / "mitmproxy-ca-cert.pem") if encrypted else None,
        **scale,
    )


async def _exchange() -> tuple[Request, Response]:
    """Return a read of a consent's status, and the engine's answer."""
    with engine() as bank:
        request = requests(bank)["consent status"]
        return request, await answered(bank, request)


def _arguments(kind: str, confdir: Path) -> list[str]:
    if kind == "command":
        ports = ["--port", "0", "--proxy-port", "0", "--tls-port", "off"]
        return ["serve", *ports, "--state", "memory:", "--confdir", str(confdir)]
    return [str(confdir)]


def _table(measure: Measure, ours: list[Measured], theirs: list[Measured]) -> list[Row]:
    """Return the best round of each by rate and by cost. The ratio is the median over the rounds.

    The speed of a machine changes, so only measurements from the same moment can be compared.
    """
    rate, their_rate = max(m.rate for m in ours), max(m.rate for m in theirs)
    cpu, their_cpu = min(m.cpu for m in ours), min(m.cpu for m in theirs)
    rates = median(m.rate / other.rate for m, other in zip(ours, theirs, strict=True))
    costs = median(m.cpu / other.cpu for m, other in zip(ours, theirs, strict=True))
    against = NAMES[measure.theirs]
    return [
        Row(measure.what, f"{rate:,.0f}/s", f"{their_rate:,.0f}/s {against}", rates, least=measure.least),
        Row(f"{measure.what}, CPU", f"{cpu:.0f} µs", f"{their_cpu:.0f} µs {against}", costs),
    ]
