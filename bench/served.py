"""A server process for measurements, and the load on it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

from load import Load, Outcome

HERE = Path(__file__).parent
PATIENCE = 60.0
"""Seconds within which a server must listen."""
CORE, GENERATORS_CORE = 0, 1
"""The cores of the measured server and of the load generator."""


@dataclass(frozen=True, slots=True)
class Measured:
    rate: float
    """Answers per second."""
    cpu: float
    """CPU time of the server for one answer in µs."""
    outcome: Outcome


class Server:
    """A started process, which may not be listening yet."""

    def __init__(self, process: "subprocess.Popen[str]", reports: int, output: Path | None) -> None:
        self._process = process
        self._reports = os.fdopen(reports)
        self._output = output

    @cached_property
    def ports(self) -> dict[str, int]:
        """Wait until it is listening. Return the ports by door: proxy, tls, direct."""
        return _announced(self._output, self._process) if self._output else self.next_report()

    @property
    def number(self) -> int:
        """The id of the process."""
        return self._process.pid

    def close(self) -> None:
        self._reports.close()

    def next_report(self) -> dict[str, Any]:
        line = self._reports.readline()
        if not line:
            raise ChildProcessError("the measured server has ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def usage(self) -> dict[str, Any]:
        """Return CPU time in seconds and resident memory in bytes so far."""
        if self._process.stdin:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        return self.next_report()

    def under(self, load: Load) -> Measured:
        with generator(load) as begin:
            before = self.usage()["cpu"]
            outcome = begin()
            used = self.usage()["cpu"] - before
        return Measured(outcome.rate, used / outcome.answers * 1e6, outcome)


@contextmanager
def generator(load: Load, core: int | None = None) -> Iterator[Callable[[], Outcome]]:
    """Yield a function that starts the load when the generator is connected.

    Its connections stay open until the end of the block.
    """
    with subprocess.Popen(
        [sys.executable, str(HERE / "load.py"), json.dumps(asdict(load))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        preexec_fn=on_core(core),
    ) as process:
        told, heard = process.stdin, process.stdout
        if told is None or heard is None or not heard.readline():
            raise ChildProcessError("the load generator could not connect")

        def begin() -> Outcome:
            told.write("\n")
            if not (line := heard.readline()):
                raise ChildProcessError("the load generator failed; the reason is above")
            return Outcome(**json.loads(line))

        yield begin


def on_core(core: int | None) -> Callable[[], None] | None:
    """Pin a started process to one core. None allows all cores."""
    return None if core is None else lambda: os.sched_setaffinity(0, {core})


@contextmanager
def server(
    kind: str, *arguments: str, constant: str = "", directory: Path, core: int | None = None
) -> Iterator[Server]:
    """Run one of `servers.KINDS`, or `command` with arguments of xs2a-sandbox, in `directory` until the end of
    the block.
    """
    mine, theirs = os.pipe()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XS2A_SANDBOX_")}
    environment |= {"REPORTS": str(theirs)} | ({"CONSTANT": constant} if constant else {})
    output = directory / f"{kind}-{time_ns()}.log"
    with (
        output.open("w") as log,
        subprocess.Popen(
            [sys.executable, str(HERE / "servers.py"), kind, *arguments],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=None if core is None else log,
            env=environment,
            cwd=directory,
            pass_fds=[theirs],
            text=True,
            start_new_session=True,
            preexec_fn=on_core(core),
        ) as process,
    ):
        os.close(theirs)
        running = Server(process, mine, output if kind == "command" else None)
        try:
            yield running
        finally:
            process.kill()
            running.close()


def _announced(output: Path, process: "subprocess.Popen[str]") -> dict[str, int]:
    """Return the ports that `serve` prints."""
    end = monotonic() + PATIENCE
    while not (found := re.search(r"^proxy +\S+:(\d+)\nbase URL +\S+:(\d+)\n", output.read_text(), re.MULTILINE)):
        if process.poll() is not None or monotonic() > end:
            raise ChildProcessError(f"the command does not serve: {output.read_text()}")
        sleep(0.01)
    return {"proxy": int(found[1]), "direct": int(found[2])}
