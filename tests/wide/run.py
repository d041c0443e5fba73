"""`make wide`: journeys through HAProxy to two sandboxes on one Redis, all of which are killed; checked at the end.

python -m tests.wide.run [--journeys 20000] [--seed N] [--minutes 90]
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.wide import killing
from tests.wide.checker import complaints
from tests.wide.cluster import cluster
from tests.wide.journeys import App, kept
from tests.wide.killing import CLIENTS, SHARED_BY
from tests.wide.operation import Log, read


@dataclass
class Run(killing.Run):
    """`made` counts the consents and payments of the journeys, `times` are the seconds of each answer."""

    operations: int = 0
    unknown: int = 0
    races: int = 0
    made: int = 0
    times: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)


async def run(journeys: int, seed: int, directory: Path, minutes: float) -> Run:
    """Run until the journeys are done, or for this number of minutes."""
    chance, result = Random(seed), Run(journeys)
    log = Log(directory / "operations.jsonl")
    async with cluster(directory, chance) as made:
        apps = [App(made.port, log) for _ in range(CLIENTS)]
        await killing.make_journeys(result, apps, made, chance, minutes)
        log.close()
        documents = await kept(made.port, made.token, -(-result.begun // SHARED_BY))
    result.times += [time for app in apps for time in app.times]
    operations = list(read(directory / "operations.jsonl"))
    result.operations, result.made = len(operations), len(documents)
    result.unknown = sum(one.is_unknown for one in operations)
    result.races = len({one.race for one in operations if one.race})
    result.statuses.update(str(one.status or "no answer") for one in operations)
    result.complaints += complaints(operations, documents)
    return result


def figures(result: Run) -> dict[str, str]:
    times = sorted(result.times)
    p50, p99 = (times[len(times) * percent // 100] * 1000 for percent in (50, 99))
    statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(result.statuses.items()))
    return {
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


if __name__ == "__main__":
    sys.exit(killing.main("journeys", run, figures, __doc__ or ""))
