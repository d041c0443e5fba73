"""Recordings of tests: the first run records a bank, and later runs are answered from the recording."""

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal
from uuid import uuid4

from xs2a_sandbox.engine.build import RECORDINGS
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.derive.derive import CASSETTES, derive
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import Blueprint
from xs2a_sandbox.journal.log_line import LogEntry

type RecordMode = Literal["once", "none", "all"]
"""When to record: if there is no recording, never, or in every run."""

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """`folder` is that of the recording of one test."""

    folder: Path

    @classmethod
    def of(cls, file: Path, name: str) -> "RecordedTest":
        """Return the recording of a test in a file. `name` includes class and parameters."""
        plain = re.sub("[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_LONGEST]
        # Names that differ only in characters not allowed in folders are different tests.
        more = "" if plain == name else f"-{sha256(name.encode()).hexdigest()[:8]}"
        return cls(file.parent / RECORDINGS / file.stem / f"{plain}{more}")

    @property
    def cassettes(self) -> Path:
        return self.folder / CASSETTES

    def asks_bank(self, mode: RecordMode) -> bool:
        """Return whether the bank is asked in this run. Raises UserMistake if nothing could answer."""
        if mode == "all":
            return True
        is_there = self.folder.exists()
        if mode == "none" and not is_there:
            text = "run the test with --xs2a-record=once on a machine that can reach the bank, and keep the folder"
            raise UserMistake(f"there is no recording {self.folder}: {text}")
        if is_there and not any(self.cassettes.glob("*.yaml")):
            text = f"run xs2a-sandbox derive {self.folder}, or delete the folder to record again"
            raise UserMistake(f"the recording {self.folder} has no cassettes: {text}")
        return not is_there


class RecordingRun:
    """A run of a test with a bank: `keep` the recording, or `discard` it.

    Until it is kept, the recording of an earlier run stays.
    """

    def __init__(self, test: RecordedTest, blueprint: Blueprint, loop: LoopThread) -> None:
        self._folder = test.folder
        self._fresh = _beside(test.folder)
        self._blueprint = blueprint
        self._loop = loop
        self._is_over = False
        self.egress = blueprint.egress(self._fresh)

    def keep(self, exchanges: Iterable[LogEntry]) -> tuple[str, ...]:
        """Replace the earlier recording, and return what has no rule, with the reasons.

        `exchanges` are those of the test. Raises UserMistake if the bank has not answered all of them.
        """
        self._close()
        recording = self.egress.recording
        for exchange in exchanges:
            if exchange.source != "bank":
                reason = exchange.reason or f"answered {exchange.status} by the sandbox"
                request = f"{exchange.method} {exchange.path}"
                raise UserMistake(f"nothing is recorded, because the bank did not answer {request}: {reason}")
        if recording is None or recording.lost or not recording.exchanges:
            lost = recording.lost if recording else 0
            why = f"{lost} exchanges could not be written" if lost else "the test sent no request to the bank"
            raise UserMistake(f"nothing is recorded, because {why}")
        derived = derive(self._fresh, self._blueprint.interface, self._blueprint.schemas)
        if not derived.rules:
            raise UserMistake(f"nothing in the recording can be replayed: {'; '.join(derived.left_out)}")
        _replace(self._folder, self._fresh)
        return derived.left_out

    def discard(self) -> None:
        """Delete the new recording, unless it was kept."""
        self._close()
        shutil.rmtree(self._fresh, ignore_errors=True)
        for folder in (self._folder.parent, self._folder.parent.parent):
            with suppress(OSError):  # not empty
                folder.rmdir()

    def _close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._loop.run(self.egress.close())


def _beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-{uuid4().hex[:8]}")


def _replace(folder: Path, fresh: Path) -> None:
    """Replace a folder with another one, and restore it if that fails. Raises UserMistake."""
    earlier = _beside(folder)
    try:
        if folder.exists():
            os.rename(folder, earlier)
        try:
            os.rename(fresh, folder)
        except OSError:
            if earlier.exists():
                os.rename(earlier, folder)
            raise
    except OSError as error:
        raise UserMistake(f"the recording cannot be moved to {folder}: {error.strerror}") from None
    shutil.rmtree(earlier, ignore_errors=True)
