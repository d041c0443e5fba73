"""Lists the calls and bytecodes of Python functions while the engine answers one request, and counts the instructions.

`python bench/calls.py` lists the functions of a payment initiation; `--instructions` counts the machine instructions of
one answer under valgrind. None of this depends on what else the machine does.

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
from pathlib import Path
from types import CodeType

from msgspec import structs

import xs2a_sandbox
from engine import HEADERS, engine, requests
from xs2a_sandbox.clock import Clock
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


async def answer(bank: Engine, request: Request, number: int) -> None:
    """Answer the request. No read is a repetition, and nothing is cancelled twice. Raises ValueError for an error."""
    if request.method == "GET":
        request = structs.replace(request, headers=Headers((*request.headers.pairs, ("X-Number", str(number)))))
    elif request.method == "DELETE":
        bank.store.reset()
    response = await bank.answer(request)
    if response.status >= 400:
        raise ValueError(f"{request.method} {request.target} was answered {response.status}: {response.body[:500]!r}")


async def count_work(name: str) -> tuple[Counter[str], Counter[str]]:
    """Return for each function how often it is called for one answer, and how many bytecodes it runs."""
    calls: Counter[CodeType] = Counter()
    bytecodes: Counter[CodeType] = Counter()
    monitoring = sys.monitoring
    tool, started, ran = monitoring.PROFILER_ID, monitoring.events.PY_START, monitoring.events.INSTRUCTION

    def note_call(code: CodeType, _: int) -> None:
        calls[code] += 1

    def note_bytecode(code: CodeType, _: int) -> None:
        bytecodes[code] += 1

    with engine() as bank:
        request = all_requests(bank)[name]
        for number in range(_WARM):
            await answer(bank, request, number)
        monitoring.use_tool_id(tool, "calls")
        monitoring.register_callback(tool, started, note_call)
        monitoring.register_callback(tool, ran, note_bytecode)
        monitoring.set_events(tool, started | ran)
        await answer(bank, request, _WARM)
        monitoring.set_events(tool, 0)
    return _by_place(calls), _by_place(bytecodes)


def _by_place(counts: Counter[CodeType]) -> Counter[str]:
    by_place: Counter[str] = Counter()
    for code, count in counts.items():
        file = Path(code.co_filename)
        place = file.relative_to(_PACKAGE) if file.is_relative_to(_PACKAGE) else file.name
        by_place[f"{place}:{code.co_firstlineno} {code.co_qualname}"] += count
    return by_place


async def answer_often(name: str, count: int) -> None:
    with engine() as bank:
        request = all_requests(bank)[name]
        for number in range(count + 1):
            await answer(bank, request, number)


def count_instructions(name: str) -> int:
    """Return the instructions of one answer. Raises CalledProcessError, OSError if valgrind does not run."""
    few, many = (_run_counted(name, count) for count in (_FEW, _MANY))
    return (many - few) // (_MANY - _FEW)


def _run_counted(name: str, count: int) -> int:
    with tempfile.NamedTemporaryFile() as file:
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={file.name}"]
        program = [sys.executable, __file__, name, "--answers", str(count)]
        subprocess.run(
            [*valgrind, *program], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        summary = next(line for line in Path(file.name).read_text().splitlines() if line.startswith("summary:"))
    return int(summary.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("request", nargs="?", default="payment initiation", help="one of the requests of all_requests")
    parser.add_argument("--instructions", action="store_true", help="count instructions, in some minutes")
    parser.add_argument("--answers", type=int, help="only answer that often, for a profiler")
    arguments = parser.parse_args()
    if arguments.answers is not None:
        asyncio.run(answer_often(arguments.request, arguments.answers))
    elif arguments.instructions:
        print(f"{arguments.request}: {count_instructions(arguments.request):,} instructions")
    else:
        calls, bytecodes = asyncio.run(count_work(arguments.request))
        print(f"{arguments.request}: {calls.total()} calls of {len(calls)} functions, {bytecodes.total():,} bytecodes")
        print("bytecodes calls")
        for place, count in bytecodes.most_common():
            print(f"{count:9} {calls[place]:5} {place}")


if __name__ == "__main__":
    main()
