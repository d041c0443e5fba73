"""Resource usage of processes and of the machine, and whether other processes are busy."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter, sleep

QUIET = 0.05
"""Maximum share of all cores that other processes may use for a figure to count as quiet."""

_TICK = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time in seconds, memory in bytes."""

    cpu: float
    memory: int


def usage(process: int) -> Usage:
    """Return the usage of a process and its children."""
    cpu = memory = 0
    for number in _family(process):
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        cpu += int(fields[11]) + int(fields[12])
        memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return Usage(cpu / _TICK, memory)


def busy() -> float:
    """Return the CPU time of all cores and all processes in seconds."""
    times = [int(part) for part in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return sum(time for place, time in enumerate(times) if place not in _IDLE) / _TICK


def wait_until_quiet(seconds: float) -> bool:
    """Wait until the machine is quiet, or until the timeout."""
    end = monotonic() + seconds
    told = False
    while True:
        started, before = perf_counter(), busy()
        sleep(0.3)
        share = (busy() - before) / (perf_counter() - started) / (os.cpu_count() or 1)
        if share <= QUIET:
            return True
        if monotonic() > end:
            return False
        if not told:
            told = True
            print(f"waiting for a quiet machine: other processes use {share:.0%} of it", file=sys.stderr, flush=True)


def _family(process: int) -> Iterable[int]:
    yield process
    try:
        children = Path(f"/proc/{process}/task").glob("*/children")
        for child in {int(number) for path in children for number in path.read_text().split()}:
            yield from _family(child)
    except OSError:
        return
