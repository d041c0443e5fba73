"""The common part of `make wide` and `make wide-callbacks`: journeys, while sandboxes and Redis are killed."""

import argparse
import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Protocol

from tests.wide import page
from tests.wide.cluster import Cluster
from xs2a_sandbox.doors.serving import new_loop

CLIENTS = 8
SHARED_BY = 10
"""The number of journeys of concurrent clients in one session."""
_KILLS = (3.0, 8.0)
"""Seconds between two kills of a replica."""
_AWAY = (0.2, 1.5)
"""Seconds for which Redis is down."""
_REDIS_KILLS = 2
_TOLD = 20


class GaveUp(Exception):
    """There was no result for too long."""


class JourneyingApp(Protocol):
    """One client."""

    async def journey(self, number: int) -> None:
        """Raises GaveUp."""

    def close(self) -> None: ...


@dataclass
class Run:
    """The results of a run, and everything that is wrong."""

    wanted: int
    begun: int = 0
    journeys: int = 0
    killed: int = 0
    restarts: int = 0
    cut: int = 0
    seconds: float = 0.0
    complaints: list[str] = field(default_factory=list)


async def make_journeys(
    result: Run, apps: Sequence[JourneyingApp], made: Cluster, chance: Random, minutes: float
) -> None:
    """Make the journeys and kill sandboxes and Redis, for this number of minutes at most; return when all are ready."""
    begun = monotonic()
    # Do not stop in the middle: the last requests count too.
    numbers = takewhile(lambda number: monotonic() < begun + minutes * 60, range(result.wanted))

    async def ask(app: JourneyingApp) -> None:
        for number in numbers:
            result.begun = number + 1
            try:
                await app.journey(number)
                result.journeys += 1
            except GaveUp as reason:
                result.complaints.append(f"journey {number} was given up: {reason}")

    def share() -> float:
        """Return the completed share of the journeys, or of the time if that is more."""
        return max(result.journeys / result.wanted, (monotonic() - begun) / (minutes * 60))

    harming = asyncio.create_task(_harm(made, chance, share))
    await asyncio.gather(*map(ask, apps))
    harming.cancel()
    (end,) = await asyncio.gather(harming, return_exceptions=True)
    if not isinstance(end, asyncio.CancelledError):
        result.complaints.append(f"nothing was killed any more: {end!r}")
    result.seconds = monotonic() - begun
    for app in apps:
        app.close()
    await made.until_ready()
    result.killed, result.restarts, result.cut = made.killed, made.restarts, made.between.lost


async def _harm(made: Cluster, chance: Random, share: Callable[[], float]) -> None:
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


def main[R: Run](
    part: str, run: Callable[[int, int, Path, float], Awaitable[R]], rows: Callable[[R], dict[str, str]], about: str
) -> int:
    """Run as the command line says, and write the figures into this part of the page unless something is wrong."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--journeys", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--minutes", type=float, default=90, help="after which it ends, whatever is left")
    options = parser.parse_args()

    async def result_in(directory: Path) -> R:
        return await run(options.journeys, options.seed, directory, options.minutes)

    with TemporaryDirectory(prefix="wide-") as directory:
        result = asyncio.run(result_in(Path(directory)), loop_factory=new_loop)
    for complaint in result.complaints[:_TOLD]:
        print(complaint)
    print(f"{len(result.complaints)} complaints, seed {options.seed}")
    if result.complaints:
        return 1
    lines = (f"| {name} | {value} |" for name, value in rows(result).items())
    page.write(part, "\n".join(["| | |", "|---|---|", *lines]))
    return 0
