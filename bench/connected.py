"""The cost of a request while many open connections send requests."""

import resource
from pathlib import Path

from served import server
from table import Point, Row
from throughput import load

from xs2a_sandbox.http import Request

COUNTS = (10, 100, 1000, 5000)
_OTHER_FILES = 300


def rows(confdir: Path, request: Request, counts: tuple[int, ...], rounds: int, count: int) -> list[Row]:
    """Measure the server's CPU time, the best round of each count. The system limits the number of connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    counts = tuple(count for count in counts if most == resource.RLIM_INFINITY or count + _OTHER_FILES <= most)
    costs = dict.fromkeys(counts, float("inf"))
    with server("sandbox", str(confdir), directory=confdir) as running:
        port = running.ports["direct"]
        for _ in range(rounds):
            for connections in counts:
                work = load(
                    request, "plain", port, confdir, requests=max(count, 2 * connections), connections=connections
                )
                costs[connections] = min(costs[connections], running.under(work).cpu)
    least = counts[0]
    return [
        Row(
            f"direct door, {connections:,} connections open",
            f"{cost:.0f} µs",
            "" if connections == least else f"{least:,} connections",
            None if connections == least else cost / costs[least],
            point=Point("connections open, consent status", connections, cost),
        )
        for connections, cost in costs.items()
    ]
