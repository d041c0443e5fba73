"""Runs commands of this package in the background: keeps their output and state in a folder, and stops them."""

import asyncio
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.kinds import PROGRESS
from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.errors import Refused

_NAME = re.compile(r"\d{8}T\d{6}(-\d+)?", re.ASCII)
_LOCK, _ABOUT, _WORDS, _PID, _OUTPUT, _PROGRESS, _STOP, _END = (
    *("running", "about.json", "words.txt", "pid", "output.txt", "progress.json", "stop", "end"),
)
_SHOWN = 30
"""The number of last runs that are listed."""
_TAIL = 16_000
"""The number of last bytes of the output that are shown."""
_GRACE = 5.0
"""Seconds that a command has to end when the sandbox ends."""
_LOOKS, _PAUSE = 100, 0.01
"""How often to try the lock, and the seconds in between. A process that only looks holds it for a moment."""


@dataclass(frozen=True, slots=True)
class BackgroundProgress:
    """`left` is an estimate in seconds."""

    done: int
    of: int
    left: float


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """A run, as its folder describes it. `about` is the user's order.

    `status` is the exit status. It is None during the run, and if the process that waited for it was killed.
    """

    folder: Path
    about: Mapping[str, Any]
    began: datetime
    is_running: bool
    is_stopped: bool
    status: int | None
    output: str
    progress: BackgroundProgress | None

    @property
    def name(self) -> str:
        return self.folder.name


class BackgroundCommands:
    """Runs commands of this package, one at a time, each with its own folder below `folder`.

    The folder has everything about a run, so every process of a sandbox can show it and stop it. While a command runs,
    a file is locked. The command and the process that waits for it hold the lock, so it is released when they end, even
    if they are killed.
    """

    def __init__(self, folder: Path, noun: str) -> None:
        self.folder = folder
        self._noun = noun
        self._watching: set[asyncio.Task[None]] = set()

    def list_runs(self) -> list[BackgroundRun]:
        """Return the last runs, the newest first."""
        names = [one.name for one in self.folder.iterdir()] if self.folder.is_dir() else []
        newest = sorted(filter(_NAME.fullmatch, names), reverse=True)[:_SHOWN]
        return [run for name in newest if (run := self.read(name))]

    @property
    def is_active(self) -> bool:
        """Whether a command is running."""
        return self._running() is not None

    def find(self, name: str) -> BackgroundRun:
        """Return the run. Raises Refused if no run has this name."""
        run = self.read(name) if _NAME.fullmatch(name) else None
        if run is None:
            raise Refused(404, "run-unknown", f"No {self._noun} has this name.")
        return run

    def read(self, place: str) -> BackgroundRun | None:
        """Return the run in this folder, or None if there is none. `place` is relative to the folder of all runs."""
        folder = self.folder / place
        try:
            about = json.loads((folder / _ABOUT).read_text())
        except (OSError, ValueError):
            return None
        progress, end = _read(folder / _PROGRESS), _read(folder / _END)
        return BackgroundRun(
            folder,
            about["about"],
            datetime.fromisoformat(about["began"]),
            self._running() == place,
            (folder / _STOP).exists(),
            int(end) if end else None,
            _tail(folder / _OUTPUT),
            BackgroundProgress(**json.loads(progress)) if progress else None,
        )

    async def start(
        self, compose: Callable[[Path], Sequence[str]], about: Mapping[str, Any], place: str | None = None
    ) -> BackgroundRun:
        """Start a command. `compose` returns its words for the folder of the run.

        The folder is `place`, where the run replaces an earlier one, or a new folder.

        Raises Refused if another command runs, and ConfigError if the folder cannot be written.
        """
        began = Clock().now()
        with writing(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = await self._take_lock()
        try:
            place = place or self._new_name(began)
            folder = self.folder / place
            with writing(folder):
                os.truncate(lock, 0)
                os.pwrite(lock, place.encode(), 0)
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(mode=0o700, parents=True)
                (folder / _ABOUT).write_text(json.dumps({"about": about, "began": began.isoformat()}))
                words = compose(folder)
                (folder / _WORDS).write_text(f"{shlex.join(['xs2a-sandbox', *words])}\n")
                with (folder / _OUTPUT).open("wb") as output:
                    process = await asyncio.create_subprocess_exec(
                        # -P, because modules of the app in the current folder may have the same names as those of the
                        # sandbox.
                        *(sys.executable, "-u", "-P", "-m", "xs2a_sandbox", *words),
                        stdin=asyncio.subprocess.DEVNULL,
                        stdout=output,
                        stderr=asyncio.subprocess.STDOUT,
                        env={**os.environ, PROGRESS: str(folder / _PROGRESS)},
                        start_new_session=True,
                        pass_fds=(lock,),
                    )
                (folder / _PID).write_text(str(process.pid))
        except BaseException:
            os.close(lock)
            raise
        task = asyncio.create_task(_watch(process, folder, lock))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return BackgroundRun(folder, about, began, True, False, None, "", None)

    def stop(self, run: BackgroundRun) -> None:
        """Ask the command to end, and kill it if it was asked before."""
        if not run.is_running:
            return
        number = signal.SIGKILL if run.is_stopped else signal.SIGTERM
        with suppress(OSError, ValueError):
            (run.folder / _STOP).touch()
            os.killpg(int((run.folder / _PID).read_text()), number)

    def _new_name(self, began: datetime) -> str:
        name, number = f"{began:%Y%m%dT%H%M%S}", 1
        made = name
        while (self.folder / made).exists():
            number += 1
            made = f"{name}-{number}"
        return made

    async def _take_lock(self) -> int:
        """Return the descriptor of the locked file. Raises Refused, and OSError."""
        lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(_LOOKS):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._running() is not None:
                    break
                await asyncio.sleep(_PAUSE)
            else:
                return lock
        os.close(lock)
        raise Refused(409, "run-active", f"A {self._noun} is already running. Wait until it ends, or stop it.")

    def _running(self) -> str | None:
        """Return the place of the running command, or None."""
        try:
            lock = os.open(self.folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.read(lock, 4096).decode()
        finally:
            os.close(lock)
        return None


async def _watch(process: asyncio.subprocess.Process, folder: Path, lock: int) -> None:
    """Write the command's exit status to its folder. If this task is cancelled, end the command first."""
    try:
        await process.wait()
    except asyncio.CancelledError:
        (folder / _STOP).touch()
        await _end(process)
        raise
    finally:
        (folder / _END).write_text(str(process.returncode))
        os.close(lock)


async def _end(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
            return


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as content:
            content.seek(max(0, file.stat().st_size - _TAIL))
            return content.read().decode(errors="replace")
    except OSError:
        return ""
