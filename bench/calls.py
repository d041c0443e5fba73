"""Lists the calls and bytecodes of Python functions while the engine answers one request, and counts the instructions.

`python bench/calls.py` lists the functions of a payment initiation; `--instructions` counts the machine instructions of
one answer under valgrind. None of this depends on what else the machine does. With `--door` the request arrives there
as bytes, without a socket; with `--repeated` its answer comes from the cache.

A request runs thousands of bytecodes, most of them once. Each part of it, repeated in a loop, takes less than half the
time that it takes in the request: there, code and data must be fetched again, and the processor predicts few branches.
So what counts is how many bytecodes a request runs, unless they are those of a loop.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from msgspec import structs
from workloads import BANK, text

import xs2a_sandbox
from engine import HEADERS, engine, requests
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, to_json

_WARM = 200
"""Answers before the measurement, so that everything is compiled and cached."""
_FEW, _MANY = 300, 600
"""Answers in the two runs under valgrind. The difference leaves out the start."""
_PACKAGE = Path(xs2a_sandbox.__file__).parent
_KINDS, _PRODUCT = ("single", "standing"), "sepa-credit-transfers"


def all_requests(bank: Engine) -> dict[str, Request]:
    """Return the requests of engine.py, and those that complete a journey."""
    data, known = bank.parts.testdata.at(Clock().today()), requests(bank)
    consent = next(id for id, consent in data["consents"].items() if consent["role"] == "authorised")
    payment, order = (next(id for id, one in data["payments"].items() if one["kind"] == kind) for kind in _KINDS)
    access = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True, "validUntil": "9999-12-31"}
    wish = to_json({**access, "frequencyPerDay": 4})
    typed, with_consent = (*HEADERS, ("Content-Type", "application/json")), (*HEADERS, ("Consent-ID", consent))
    return known | {
        "consent creation": Request("POST", "/v1/consents", Headers(typed), wish),
        "accounts": Request("GET", "/v1/accounts", Headers(with_consent)),
        "payment status": Request("GET", f"/v1/payments/{_PRODUCT}/{payment}/status", Headers(HEADERS)),
        "cancellation": Request("DELETE", f"/v1/periodic-payments/{_PRODUCT}/{order}", Headers(HEADERS)),
    }


class _Client(asyncio.Transport):
    """Keeps the last answer of a door instead of sending it."""

    answer = b""

    def write(self, data: bytes) -> None:
        self.answer = bytes(data)

    def is_closing(self) -> bool:
        return False


type Ask = Callable[[Request], Awaitable[int]]
"""Returns the status of the answer."""


def through(door: str | None, bank: Engine, confdir: Path) -> Ask:
    """Return the way to the engine: through this door, or directly."""
    if door is None:

        async def ask(request: Request) -> int:
            return (await bank.answer(request)).status

        return ask
    at = {"host": "127.0.0.1", "tell": bank.report_refusal, "connections": Connections(USUAL), "repeat": bank.repeat}
    if door == "direct":
        protocol = DirectDoor(bank.answer_anew, port=0, **at).protocol_factory()
    else:
        proxy = ProxyDoors(bank.answer, proxy_port=0, tls_port=None, confdir=confdir, proxy_auth=None, **at)
        proxy.prepare()
        protocol = proxy.proxy_protocol_factory()
    client = _Client()
    protocol.connection_made(client)
    origin = f"http://{BANK}" if door == "proxy" else ""

    async def send(request: Request) -> int:
        protocol.data_received(text(request, origin).encode("latin-1"))
        return int(client.answer.split()[1])

    return send


@dataclass(frozen=True, slots=True)
class Question:
    """What is measured: a request by its name, at a `door`. If it `is_repeated`, its answer comes from the cache."""

    name: str
    door: str | None
    is_repeated: bool

    async def ask(self, count: int, measurement: AbstractContextManager[None] | None = None) -> None:
        """Ask this many times, and once more inside the `measurement`. Nothing is cancelled twice."""
        with tempfile.TemporaryDirectory() as confdir, engine() as bank:
            request, ask = all_requests(bank)[self.name], through(self.door, bank, Path(confdir))
            for number in range(count + 1):
                asked = request
                if request.method == "GET" and not self.is_repeated:
                    headers = Headers((*request.headers.pairs, ("X-Number", str(number))))
                    asked = structs.replace(request, headers=headers)
                elif request.method == "DELETE":
                    bank.store.reset()
                with measurement if measurement and number == count else nullcontext():
                    status = await ask(asked)
                if status >= 400:
                    raise ValueError(f"{request.method} {request.target} was answered {status}")


def count_work(question: Question) -> tuple[Counter[str], Counter[str]]:
    """Return for each function how often it is called for one answer, and how many bytecodes it runs."""
    calls: Counter[CodeType] = Counter()
    bytecodes: Counter[CodeType] = Counter()
    asyncio.run(question.ask(_WARM, _counted(calls, bytecodes)))
    return _by_place(calls), _by_place(bytecodes)


@contextmanager
def _counted(calls: Counter[CodeType], bytecodes: Counter[CodeType]) -> Iterator[None]:
    monitoring = sys.monitoring
    tool, started, ran = monitoring.PROFILER_ID, monitoring.events.PY_START, monitoring.events.INSTRUCTION

    def note_call(code: CodeType, _: int) -> None:
        calls[code] += 1

    def note_bytecode(code: CodeType, _: int) -> None:
        bytecodes[code] += 1

    monitoring.use_tool_id(tool, "calls")
    monitoring.register_callback(tool, started, note_call)
    monitoring.register_callback(tool, ran, note_bytecode)
    monitoring.set_events(tool, started | ran)
    yield
    monitoring.set_events(tool, 0)


def _by_place(counts: Counter[CodeType]) -> Counter[str]:
    by_place: Counter[str] = Counter()
    for code, count in counts.items():
        file = Path(code.co_filename)
        place = file.relative_to(_PACKAGE) if file.is_relative_to(_PACKAGE) else file.name
        by_place[f"{place}:{code.co_firstlineno} {code.co_qualname}"] += count
    return by_place


def count_instructions(arguments: list[str]) -> int:
    """Return the instructions of one answer. Raises CalledProcessError, OSError if valgrind does not run."""
    few, many = (_run_counted([*arguments, "--answers", str(count)]) for count in (_FEW, _MANY))
    return (many - few) // (_MANY - _FEW)


def _run_counted(arguments: list[str]) -> int:
    with tempfile.NamedTemporaryFile() as file:
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={file.name}"]
        program = [sys.executable, __file__, *arguments]
        subprocess.run(
            [*valgrind, *program], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        summary = next(line for line in Path(file.name).read_text().splitlines() if line.startswith("summary:"))
    return int(summary.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("request", nargs="?", default="payment initiation", help="one of the requests of all_requests")
    parser.add_argument("--door", choices=("direct", "proxy"), help="where the request arrives")
    parser.add_argument("--repeated", action="store_true", help="send the same request again and again")
    parser.add_argument("--instructions", action="store_true", help="count instructions, in some minutes")
    parser.add_argument("--answers", type=int, help="only answer that often, for a profiler")
    arguments = parser.parse_args()
    question = Question(arguments.request, arguments.door, arguments.repeated)
    if arguments.answers is not None:
        asyncio.run(question.ask(arguments.answers))
    elif arguments.instructions:
        count = count_instructions([argument for argument in sys.argv[1:] if argument != "--instructions"])
        print(f"{arguments.request}: {count:,} instructions")
    else:
        calls, bytecodes = count_work(question)
        print(f"{arguments.request}: {calls.total()} calls of {len(calls)} functions, {bytecodes.total():,} bytecodes")
        print("bytecodes calls")
        for title, of in (("by folder", _by_folder), ("by function", Counter)):
            ran, called = of(bytecodes), of(calls)
            print(title, *(f"{count:9} {called[place]:5} {place}" for place, count in ran.most_common()), sep="\n")


def _by_folder(counts: Counter[str]) -> Counter[str]:
    by_folder: Counter[str] = Counter()
    for place, count in counts.items():
        folder, slash, _ = place.partition("/")
        by_folder[folder if slash else "compiled when files are loaded, or Python's own"] += count
    return by_folder


if __name__ == "__main__":
    main()
