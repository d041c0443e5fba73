"""Runs the command with an app's tests, in an environment of its own, with a time limit."""

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.errors import UserMistake

_LAST = 4000
"""The number of last bytes of a command's output that are kept."""
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

    def __str__(self) -> str:
        return shlex.join(self.words)

    def run(self, addresses: Mapping[str, str], scratch: Path, seconds: float, stop: threading.Event) -> "Ended":
        """Run the command until it ends, for at most `seconds`, or until `stop` is set.

        Raises UserMistake, and Stopped if the run was stopped.
        """
        environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        # Makes the order of sets the same in each run.
        environ = {"PYTHONHASHSEED": "0", **environ, **addresses}
        for name, text in self.variables.items():
            environ[name] = _fill(name, text, addresses)
        output, started = scratch / "output.txt", time.monotonic()
        with output.open("wb") as file:
            try:
                process = subprocess.Popen(
                    self.words,
                    cwd=self.directory,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise UserMistake(f"cannot run {self.words[0]}: {error.strerror or error}") from None
            try:
                hung = not _wait(process, started + seconds, stop)
            finally:
                _end(process)
        if stop.is_set():
            raise Stopped
        return Ended(process.returncode, time.monotonic() - started, hung, _tail(output))


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: its exit status, negative for a signal, and the last output."""

    status: int
    seconds: float
    hung: bool
    output: str

    @property
    def signal(self) -> str | None:
        """The signal by which the process died on its own."""
        if self.status >= 0 or self.hung:
            return None
        with suppress(ValueError):
            return signal.Signals(-self.status).name
        return f"signal {-self.status}"


class Stopped(Exception):
    """A run was stopped, so nothing is known about it."""


def _wait(process: subprocess.Popen[bytes], until: float, stop: threading.Event) -> bool:
    """Return whether the process ends by itself before the monotonic time `until`."""
    while (left := until - time.monotonic()) > 0 and not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _PAUSE))
            return True
    return False


def _fill(name: str, text: str, variables: Mapping[str, str]) -> str:
    """Insert the variables that a text names, such as {url}. Raises UserMistake."""
    by_name = {variable.removeprefix(PREFIX).lower(): value for variable, value in variables.items()}
    try:
        return text.format_map(by_name)
    except (KeyError, ValueError, IndexError, AttributeError):
        names = ", ".join(
            f"{{{variable}}}" for variable in ("url", "tls_url", "proxy", "ca_file", "session", "run_dir")
        )
        raise UserMistake(f"--env {name}: {text!r} uses an unknown placeholder; use one of {names}") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: Path) -> str:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - _LAST))
        return content.read().decode(errors="replace")
