"""The command that runs an app's tests: once, in an environment of its own, with an end."""

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
"""Bytes of what a command has said that are kept: its last ones."""
_PAUSE = 0.5
"""Seconds between two looks whether somebody wants to stop."""


@dataclass(frozen=True, slots=True)
class Command:
    """`variables` are the app's own, as `NAME=TEXT`, in which `{url}`, `{proxy}` and the like stand for an address."""

    words: Sequence[str]
    variables: Mapping[str, str]
    directory: Path

    def __str__(self) -> str:
        return shlex.join(self.words)

    def run(self, addresses: Mapping[str, str], scratch: Path, seconds: float, stop: threading.Event) -> "Ended":
        """Runs it until it ends, for `seconds` at most, or until `stop` is set.

        Raises UserMistake, and Stopped for a run that was cut short.
        """
        environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        # What hangs on the order of sets is the same again.
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
    """How a run of the command ended: its exit status, negative for a signal, and the last that it said."""

    status: int
    seconds: float
    hung: bool
    output: str

    @property
    def signal(self) -> str | None:
        """The signal that it died of by itself."""
        if self.status >= 0 or self.hung:
            return None
        with suppress(ValueError):
            return signal.Signals(-self.status).name
        return f"signal {-self.status}"


class Stopped(Exception):
    """A run was cut short, so that nothing can be said about it."""


def _wait(process: subprocess.Popen[bytes], until: float, stop: threading.Event) -> bool:
    """Whether the process ends by itself before the time `until`, which is monotonic."""
    while (left := until - time.monotonic()) > 0 and not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _PAUSE))
            return True
    return False


def _fill(name: str, text: str, variables: Mapping[str, str]) -> str:
    """Fills the variables into a text that names them, such as {url}. Raises UserMistake."""
    by_name = {variable.removeprefix(PREFIX).lower(): value for variable, value in variables.items()}
    try:
        return text.format_map(by_name)
    except (KeyError, ValueError, IndexError, AttributeError):
        names = ", ".join(
            f"{{{variable}}}" for variable in ("url", "tls_url", "proxy", "ca_file", "session", "run_dir")
        )
        raise UserMistake(f"--env {name}: {text!r} uses an unknown placeholder; use one of {names}") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it with all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: Path) -> str:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - _LAST))
        return content.read().decode(errors="replace")
