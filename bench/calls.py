"""Lists the calls of Python functions while the engine answers one request, and counts the instructions.

`python bench/calls.py` lists the calls of a payment initiation; `--instructions` counts the machine instructions of one
answer under valgrind, which does not depend on what else the machine does.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

import xs2a_sandbox
from engine import answered, engine, requests

_WARM = 200
"""Answers before the measurement, so that everything is compiled and cached."""
_FEW, _MANY = 300, 600
"""Answers in the two runs under valgrind. The difference leaves out the start."""
_PACKAGE = Path(xs2a_sandbox.__file__).parent


async def count_calls(name: str) -> Counter[str]:
    """Return how often each function is called for one answer."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            file = Path(code.co_filename)
            place = file.relative_to(_PACKAGE) if file.is_relative_to(_PACKAGE) else file.name
            calls[f"{place}:{code.co_firstlineno} {code.co_qualname}"] += 1

    with engine() as bank:
        request = requests(bank)[name]
        for _ in range(_WARM):
            await answered(bank, request)
        sys.setprofile(note)
        await bank.answer(request)
        sys.setprofile(None)
    return calls


async def answer_often(name: str, count: int) -> None:
    with engine() as bank:
        request = requests(bank)[name]
        await answered(bank, request)
        for _ in range(count):
            await bank.answer(request)


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
    parser.add_argument("request", nargs="?", default="payment initiation", help="one of the requests of engine.py")
    parser.add_argument("--instructions", action="store_true", help="count instructions, in some minutes")
    parser.add_argument("--answers", type=int, help="only answer that often, for a profiler")
    arguments = parser.parse_args()
    if arguments.answers is not None:
        asyncio.run(answer_often(arguments.request, arguments.answers))
    elif arguments.instructions:
        print(f"{arguments.request}: {count_instructions(arguments.request):,} instructions")
    else:
        calls = asyncio.run(count_calls(arguments.request))
        print(f"{arguments.request}: {calls.total()} calls of {len(calls)} functions")
        for place, count in calls.most_common():
            print(f"{count:4} {place}")


if __name__ == "__main__":
    main()
