"""`make wide`: journeys through HAProxy to two sandboxes on one Redis, all of which are killed; checked at the end.

python -m tests.wide.run [--journeys 20000] [--seed N] [--minutes 90]
"""

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic

from tests.wide import page
from tests.wide.checker import complaints
from tests.wide.cluster import Cluster, cluster
from tests.wide.journeys import SHARED_BY, App, GaveUp, kept
from tests.wide.operation import Log, read
from xs2a_sandbox.doors.serving import new_loop

CLIENTS = 8
_KILLS = (3.0, 8.0)
"""Seconds between two kills of a replica."""
_AWAY = (0.2, 1.5)
"""Seconds for which Redis is down."""
_REDIS_KILLS = 2
_TOLD = 20


@dataclass
class Run:
    """The results of a run, and everything that is wrong."""

    wanted: int
    begun: int = 0
    journeys: int = 0
    operations: int = 0
    unknown: int = 0
    races: int = 0
    made: int = 0
    killed: int = 0
    restarts: int = 0
    cut: int = 0
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)


async def run(journeys: int, seed: int, directory: Path, minutes: float) -> Run:
    """Run until the journeys are done, or for this number of minutes."""
    chance, result = Random(seed), Run(journeys)
    log = Log(directory / "operations.jsonl")
    async with cluster(directory, chance) as made:
        apps = [App(made.port, log) for _ in range(CLIENTS)]
        begun = monotonic()
        # Do not stop in the middle: the log must contain the last requests too.
        numbers = takewhile(lambda number: monotonic() < begun + minutes * 60, range(journeys))

        async def ask(app: App) -> None:
            for number in numbers:
                result.begun = number + 1
                try:
                    await app.journey(number)
                    result.journeys += 1
                except GaveUp as reason:
                    result.complaints.append(f"journey {number} was given up: {reason}")

        def share() -> float:
            """Return the completed share of the journeys, or of the time if that is less."""
            return max(result.journeys / journeys, (monotonic() - begun) / (minutes * 60))

        harming = asyncio.create_task(harm(made, chance, share))
        await asyncio.gather(*map(ask, apps))
        harming.cancel()
        (end,) = await asyncio.gather(harming, return_exceptions=True)
        if not isinstance(end, asyncio.CancelledError):
            result.complaints.append(f"nothing was killed any more: {end!r}")
        result.seconds = monotonic() - begun
        for app in apps:
            result.times += app.times
            app.close()
        log.close()
        await made.until_ready()
        documents = await kept(made.port, made.token, -(-result.begun // SHARED_BY))
        result.killed, result.restarts, result.cut = made.killed, made.restarts, made.between.lost
    operations = list(read(directory / "operations.jsonl"))
    result.operations, result.made = len(operations), len(documents)
    result.unknown = sum(one.is_unknown for one in operations)
    result.races = len({one.race for one in operations if one.race})
    result.statuses.update(str(one.status or "no answer") for one in operations)
    result.complaints += complaints(operations, documents)
    return result


async def harm(made: Cluster, chance: Random, share: Callable[[], float]) -> None:
    """Kill sandboxes and Redis until cancelled. `share` returns the completed share of the run."""
    while True:
        until = monotonic() + chance.uniform(*_KILLS)
        while monotonic() < until:
            await asyncio.sleep(0.1)
            if made.restarts < _REDIS_KILLS and share() * (_REDIS_KILLS + 1) >= made.restarts + 1:
                # A replica that starts without Redis exits, and nothing starts it again here.
                await made.until_ready()
                await made.restart_redis(chance.uniform(*_AWAY))
        # Killing a replica that is still starting would only cost time, and test nothing new.
        await made.until_ready()
        made.kill_one(chance)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wide.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--journeys", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--minutes", type=float, default=90, help="after which it ends, whatever is left")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="wide-") as directory:
        result = asyncio.run(
            run(options.journeys, options.seed, Path(directory), options.minutes), loop_factory=new_loop
        )
        for complaint in result.complaints[:_TOLD]:
            print(complaint)
        print(f"{len(result.complaints)} complaints, seed {options.seed}")
        if result.complaints:
            return 1
    page.write("journeys", table(result))
    return 0


def table(result: Run) -> str:
    """Return the figures as lines of a table."""
    times = sorted(result.times)
    p50, p99 = (times[len(times) * percent // 100] * 1000 for percent in (50, 99))
    statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(result.statuses.items()))
    rows = {
        "journeys to their end": f"{result.journeys:,} of {result.wanted:,}, by {CLIENTS} clients",
        "requests": f"{result.operations:,} in {result.seconds:,.0f} s",
        "answers": statuses,
        "nobody knows what became of": f"{result.unknown:,} requests (no answer, or 503)",
        "answered within": f"{p50:.0f} ms half of them, {p99:.0f} ms 99 of 100",
        "consents and payments in the end": f"{result.made:,}",
        "pairs of requests that raced": f"{result.races:,}",
        "`kill -9` of a sandbox": f"{result.killed:,}",
        "`kill -9` of Redis": f"{result.restarts:,}",
        "connections to Redis cut after a commit, before its answer": f"{result.cut:,}",
        "lost, made twice, won twice, or in a state that cannot follow": f"{len(result.complaints)}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


if __name__ == "__main__":
    sys.exit(main())
