"""Measure speed, start-up time and memory against the budgets: `make bench`.

Every figure is relative to another one of the same run, so the machine does not matter. `--quick` checks in seconds
that everything works; its figures mean nothing.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import arriving
import comparing
import connected
import growth
import matching
import plot
import process
import shaping
import throughput
import workers
from table import Row, as_markdown, as_text

import engine
from xs2a_sandbox.doors.proxy import ensure_ca
from xs2a_sandbox.http import Request


@dataclass(frozen=True, slots=True)
class Scale:
    """The amount of work: `calls` in process, `requests` through a door, and the best of `rounds`."""

    rounds: int = 5
    calls: int = 500
    requests: int = 2000
    starts: int = 5
    early: int = 20_000
    late: int = 200_000
    rules: tuple[int, ...] = (20, 200, 2000, 10_000)
    exchanges: int = 1000
    seconds: float = 2.0
    transactions: tuple[int, ...] = (20, 1000, 100_000)
    shaped: tuple[int, ...] = (20_000, 100_000)
    kept: tuple[int, ...] = (1, 1000, 100_000)
    authorised: tuple[int, ...] = (1, 1000, 10_000)
    connections: tuple[int, ...] = connected.COUNTS


QUICK = Scale(
    rounds=1,
    calls=5,
    requests=32,
    starts=1,
    early=32,
    late=64,
    exchanges=10,
    rules=(20, 200, 2000),
    seconds=0.2,
    transactions=(20, 30),
    shaped=(20, 30),
    kept=(1, 20),
    authorised=(1, 5),
    connections=(2, 10),
)


def rows(scale: Scale, confdir: Path) -> tuple[list[Row], float]:
    request = asyncio.run(_request("consent status"))
    _say("engine")
    table, reference = engine.rows(2 * scale.rounds, scale.calls)
    _say("matching")
    table += matching.rows(scale.rules, scale.rounds, scale.calls)
    _say("comparing")
    table += comparing.rows(scale.rounds, scale.exchanges)
    _say("start-up")
    starting = process.start_up(confdir, request, scale.starts)
    starting += process.resident(confdir, request)
    _say("doors")
    at_the_doors = throughput.rows(confdir, 2 * scale.rounds, scale.requests)
    _say("requests that arrive at random")
    at_the_doors += arriving.rows(confdir, min(3, scale.rounds), scale.seconds)
    _say("open connections")
    at_the_doors += connected.rows(confdir, request, scale.connections, scale.rounds, scale.requests)
    _say("workers")
    at_the_doors += workers.rows(
        confdir, request, asyncio.run(_request("payment initiation")), scale.rounds, scale.requests
    )
    _say("transactions of an account")
    table += growth.transactions(scale.transactions, scale.rounds, scale.calls)
    _say("shapes")
    table += shaping.rows(scale.shaped, scale.rounds)
    _say("payments and sessions that are kept")
    table += growth.kept(scale.kept, scale.authorised)
    _say("memory")
    remembering = process.memory(confdir, request, scale.early, scale.late)
    return [*at_the_doors, *table, *starting, *remembering], reference


async def _request(name: str) -> Request:
    with engine.engine() as bank:
        return engine.requests(bank)[name]


def _say(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="check that everything works")
    parser.add_argument("--memory-requests", type=int, metavar="N", help="instead of 200,000")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.md"), help="the file to write")
    chosen = parser.parse_args()
    scale = QUICK if chosen.quick else Scale()
    if chosen.memory_requests:
        late = max(10, chosen.memory_requests)
        scale = Scale(early=late // 10, late=late)
    started = perf_counter()
    with tempfile.TemporaryDirectory() as confdir:
        ensure_ca(Path(confdir))
        table, reference = rows(scale, Path(confdir))
    note = f"{perf_counter() - started:.0f} s" + (", --quick: the figures mean nothing" if chosen.quick else "")
    chosen.out.write_text(as_markdown(table, reference, note))
    drawing = chosen.out.with_name("growth.svg")
    drawing.write_text(plot.growth(table))
    print(as_text(table))
    print(f"\njson.loads of 12 kB: {reference:.0f} µs. Written to {chosen.out} and {drawing}")


if __name__ == "__main__":
    main()
