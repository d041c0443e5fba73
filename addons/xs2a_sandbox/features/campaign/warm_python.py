"""Starts runs of a Python command quickly: as forks of a process that has imported the libraries before.

The app's own modules are imported in each run, because they may read the environment.
"""

import json
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign import fork_server

_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_FLAGS = frozenset({"-B", "-u", "-O", "-OO", "-q", "-b", "-d"})
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """A command of Python: a script, or a module with `-m`."""

    interpreter: tuple[str, ...]
    program: str
    arguments: tuple[str, ...]
    is_module: bool = False


def find_program(words: Sequence[str]) -> PythonProgram | None:
    """Return the program, or None if the command is no simple call of Python or of a script for it."""
    if not _PYTHON.fullmatch(words[0]):
        script = shutil.which(words[0])
        interpreter = _interpreter_of(script) if script else None
        return PythonProgram(interpreter, script, tuple(words[1:])) if script and interpreter else None
    flags = [words[0]]
    rest = list(words[1:])
    while rest and rest[0] in _FLAGS:
        flags.append(rest.pop(0))
    if rest[:1] == ["-m"] and len(rest) > 1:
        return PythonProgram(tuple(flags), rest[1], tuple(rest[2:]), is_module=True)
    if not rest or rest[0].startswith("-"):
        return None
    return PythonProgram(tuple(flags), rest[0], tuple(rest[1:]))


def _interpreter_of(script: str) -> tuple[str, ...] | None:
    """Return the interpreter in the first line of a script, if it is Python."""
    with open(script, "rb") as file:
        line = file.readline(500)
    words = tuple(line[2:].decode(errors="replace").split()) if line.startswith(b"#!") else ()
    return words if words and _PYTHON.fullmatch(words[0]) and _FLAGS.issuperset(words[1:]) else None


class WarmPython:
    """The process that is forked for each run, until `stop`. It has the environment of the app without a bank."""

    def __init__(self, program: PythonProgram, directory: Path, environment: Mapping[str, str]) -> None:
        self._program = program
        # The address of a Unix socket must be short, so it is not in the folder of the campaign.
        self._folder = Path(tempfile.mkdtemp(prefix="xs2a-"))
        self._address = self._folder / "fork"
        self._report = self._folder / "modules.json"
        self._process = subprocess.Popen(
            [*program.interpreter, str(fork_server.__file__), str(self._address)],
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._is_loaded = False

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def load(self) -> bool:
        """Import the libraries that the first run has used. Returns whether forks are possible after that."""
        try:
            names = json.loads(self._report.read_text())
            with self._connect() as connection:
                _send(connection, {"import": names})
                self._is_loaded = True
                return connection.makefile().readline() == "done\n"
        except (OSError, ValueError):
            return False

    def launch(self, directory: Path, environment: Mapping[str, str], output: Path) -> "ForkedRun":
        """Start a run. Raises OSError and UserMistake."""
        connection = self._connect()
        order = {
            "program": self._program.program,
            "arguments": self._program.arguments,
            "is_module": self._program.is_module,
            "directory": str(directory),
            "environment": dict(environment),
            "output": str(output),
            "report": "" if self._is_loaded else str(self._report),
        }
        _send(connection, order)
        return ForkedRun(connection)

    def _connect(self) -> socket.socket:
        """Connect, as soon as the process listens. Raises OSError."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_SECONDS)
        while True:
            try:
                connection.connect(str(self._address))
            except (FileNotFoundError, ConnectionRefusedError):
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.02)
                    raise
            else:
                return connection


def _send(connection: socket.socket, order: Mapping[str, object]) -> None:
    connection.sendall(json.dumps(order).encode() + b"\n")


class ForkedRun:
    """A run, with the part of the interface of `subprocess.Popen` that is needed to wait for it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""
        self.pid = int(self._line(_SECONDS))
        self.returncode = 0
        self.processor_seconds = 0.0
        self._has_ended = False

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises subprocess.TimeoutExpired and UserMistake."""
        if not self._has_ended:
            code, seconds = self._line(timeout).split()
            self.returncode, self.processor_seconds = int(code), float(seconds)
            self._has_ended = True
            self._connection.close()
        return self.returncode

    def _line(self, timeout: float | None) -> bytes:
        self._connection.settimeout(timeout)
        while b"\n" not in self._received:
            try:
                received = self._connection.recv(100)
            except TimeoutError:
                raise subprocess.TimeoutExpired("a forked run", timeout or 0.0) from None
            if not received:
                raise UserMistake("the process that starts the runs of the command has ended: run the campaign again")
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        return line
