"""What a request costs when many connections are open, all of which ask."""

from pathlib import Path

from served import server
from table import Point, Row
from throughput import load

from xs2a_sandbox.http import Request

COUNTS = (10, 100, 900)
"""The last is near the most that the sandbox lets in: 1,000, all doors together."""


def rows(confdir: Path, request: Request, counts: tuple[int, ...], rounds: int, count: int) -> list[Row]:
    """CPU of the server, the best round of each."""
    costs = dict.fromkeys(counts, float("inf"))
    with server("sandbox", str(confdir), directory=confdir) as running:
        port = running.ports["direct"]
        for _ in range(rounds):
            for connections in counts:
                asked = load(request, "plain", port, confdir, requests=count, connections=connections)
                costs[connections] = min(costs[connections], running.under(asked).cpu)
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
