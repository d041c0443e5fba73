"""The cost of requests at the direct door, as a multiple of a constant answer at the same door.

Both doors are in this process. They get requests in turn, in short bursts that are one write to a connection each. The
CPU time of the fastest burst counts, so other processes do not affect the figures.

`tests/architecture/test_budget.py` compares the multiples with `budgets.json`. After an intended change,
`python bench/budget.py --write` rewrites that file.
"""

import argparse
import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import process_time
from typing import Any

from load import Load
from workloads import OWN, WORKLOADS, Work

from engine import engine
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.serving import new_loop
from xs2a_sandbox.http import Request, Response

FILE = Path(__file__).with_name("budgets.json")
MOST_LOSS = 1.15
NAMES = [
    workload.name for workload in (*WORKLOADS, *OWN) if workload.name[0] != "P" and workload.name not in ("W4", "W5")
]
_REQUESTS = 20
_BURSTS = 40
_LEAST_ROUNDS = 3


def multiples(rounds: int = 10, is_enough: Callable[[dict[str, float]], bool] = lambda _: False) -> dict[str, float]:
    """Return multiples by workload. More rounds are more accurate, so it stops when a result is within its budget."""
    work = Work()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_measured(work, rounds, is_enough))


def budgets() -> dict[str, float]:
    """Return the multiples in the file."""
    kept: dict[str, float] = json.loads(FILE.read_text())
    return kept


def losses(now: dict[str, float]) -> dict[str, float]:
    """Return the multiples that exceed their budget."""
    return {name: now[name] / most for name, most in budgets().items() if now[name] > MOST_LOSS * most}


async def _measured(work: Work, rounds: int, is_enough: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    async def constant(_: Request) -> Response:
        return Response(200, (("Content-Type", "application/json"),), b'{"consentStatus":"valid"}')

    least, reference = (dict.fromkeys(NAMES, float("inf")) for _ in range(2))
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        rules = work.cassette(Path(directory, "rules"), 200)
        with engine(cassettes=[rules]) as bank:
            async with _asking(constant) as ask_constant, _asking(bank.answer_anew, bank.repeat) as ask_sandbox:
                for number in range(rounds):
                    for name in NAMES:
                        load = work.load(name, 0, "", 0.0)
                        for _ in range(_BURSTS):
                            reference[name] = min(reference[name], await ask_constant(load))
                            least[name] = min(least[name], await ask_sandbox(load))
                        bank.store.reset()
                    found = {name: round(least[name] / reference[name], 2) for name in NAMES}
                    if number >= _LEAST_ROUNDS and is_enough(found):
                        break
    return found


@asynccontextmanager
async def _asking(
    answer: Callable[[Request], Any], repeat: Callable[[Request], Response | None] = lambda _: None
) -> AsyncIterator[Callable[[Load], Any]]:
    """Send requests to a door with this answer on one connection, and return its CPU time in seconds."""
    loop = asyncio.get_running_loop()
    connections = Connections(USUAL)
    door = DirectDoor(answer, host="127.0.0.1", port=0, tell=lambda *_: None, connections=connections, repeat=repeat)
    await door.start()
    with socket.create_connection(("127.0.0.1", door.port)) as client:
        client.setblocking(False)

        async def ask(load: Load) -> float:
            request = load.request.encode("latin-1")
            started = process_time()
            await loop.sock_sendall(client, request * _REQUESTS)
            answers, left = b"", _REQUESTS
            while left:
                answers += await loop.sock_recv(client, 1 << 20)
                left = _REQUESTS - answers.count(b"HTTP/1.1 200 OK\r\n")
            # The last answer may still be in transit.
            length = int(
                answers.rpartition(b"HTTP/1.1 ")[2].lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
            )
            while len(answers.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")[2]) < length:
                answers += await loop.sock_recv(client, 1 << 20)
            return process_time() - started

        yield ask
    await door.drain(1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write budgets.json")
    chosen = parser.parse_args()
    now = multiples()
    if chosen.write:
        FILE.write_text(json.dumps(now, indent=2) + "\n")
    print(json.dumps(now, indent=2))


if __name__ == "__main__":
    main()
