"""Runs the command with an app's tests, in a separate environment, with a time limit."""

import os
import resource
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.warm_python import ForkedRun, WarmPython, find_program

_LAST = 4000
"""The number of last bytes of a command's output that are kept."""
OUTPUT = "output.txt"
"""The name of the file with the output of a run."""
_PAUSE = 0.5
"""Seconds between two checks whether the run should stop."""


@dataclass(frozen=True, slots=True)
class Command:
    """`variables` are the app's own, as `NAME=TEXT`.

    `{url}`, `{proxy}` and the like in them are replaced with addresses.
    """

    words: Sequence[str]
    variables: Mapping[str, str]
    directory: Path
    warm: WarmPython | None = None
    """Starts the command without its start-up time."""

    def __str__(self) -> str:
        return shlex.join(self.words)

    def warm_up(self) -> WarmPython | None:
        """Return a process that can start runs of this command, if it is a command of Python. Stop it at the end."""
        if any(name.startswith("PYTHON") for name in self.variables):
            return None  # a fork would not notice them
        program = find_program(self.words)
        return WarmPython(program, self.directory, _environment({})) if program else None

    def run(
        self,
        addresses: Mapping[str, str],
        scratch: Path,
        seconds: float,
        stop: threading.Event,
        is_decided: Callable[[], bool] = lambda: False,
    ) -> "Ended":
        """Run the command until it ends, for at most `seconds`, or until it `is_decided` what the run shows.

        Raises UserMistake, and Stopped if the run ended because `stop` was set.
        """
        environ = _environment(addresses)
        for name, text in self.variables.items():
            environ[name] = _fill(name, text, addresses)
        output, started, used = scratch / OUTPUT, time.monotonic(), _processor_seconds()
        output.touch()
        try:
            process = self._launch(environ, output)
        except OSError as error:
            raise UserMistake(f"cannot run {self.words[0]}: {error.strerror or error}") from None
        try:
            how = _wait(process, started + seconds, stop, is_decided)
        finally:
            _end(process)
        if stop.is_set():
            raise Stopped
        used = process.processor_seconds if isinstance(process, ForkedRun) else _processor_seconds() - used
        return Ended(
            process.returncode, time.monotonic() - started, how == "hung", _tail(output), used, how == "decided"
        )

    def _launch(self, environ: Mapping[str, str], output: Path) -> "subprocess.Popen[bytes] | ForkedRun":
        if self.warm:
            return self.warm.launch(self.directory, environ, output)
        with output.open("wb") as file:
            return subprocess.Popen(
                self.words,
                cwd=self.directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _environment(addresses: Mapping[str, str]) -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    # Makes the order of sets the same in each run.
    return {"PYTHONHASHSEED": "0", **environ, **addresses}


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: its exit status, negative for a signal, and the last output.

    `processor_seconds` are those of the run and its children. Next to other runs they are only known of a forked run.
    If it `was_decided`, it was ended early.
    """

    status: int
    seconds: float
    hung: bool
    output: str
    processor_seconds: float = 0.0
    was_decided: bool = False

    @property
    def signal(self) -> str | None:
        """The signal by which the process died on its own."""
        if self.status >= 0 or self.hung or self.was_decided:
            return None
        with suppress(ValueError):
            return signal.Signals(-self.status).name
        return f"signal {-self.status}"


class Stopped(Exception):
    """A run was stopped, so nothing is known about it."""


def _processor_seconds() -> float:
    """Return the processor time of all processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait(
    process: subprocess.Popen[bytes] | ForkedRun, until: float, stop: threading.Event, is_decided: Callable[[], bool]
) -> Literal["ended", "decided", "hung"]:
    """Wait until the process ends, the monotonic time `until`, or the stop. Returns what happened."""
    while (left := until - time.monotonic()) > 0 and not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _PAUSE))
            return "ended"
        if is_decided():
            return "decided"
    return "hung"


def _fill(name: str, text: str, variables: Mapping[str, str]) -> str:
    """Insert the variables in a string, such as {url}. Raises UserMistake."""
    by_name = {variable.removeprefix(PREFIX).lower(): value for variable, value in variables.items()}
    try:
        return text.format_map(by_name)
    except (KeyError, ValueError, IndexError, AttributeError):
        names = ", ".join(
            f"{{{variable}}}" for variable in ("url", "tls_url", "proxy", "ca_file", "session", "run_dir")
        )
        raise UserMistake(f"--env {name}: {text!r} uses an unknown placeholder; use one of {names}") from None


def _end(process: subprocess.Popen[bytes] | ForkedRun) -> None:
    """Kill the process and everything that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: Path) -> str:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - _LAST))
        return content.read().decode(errors="replace")
