"""The exceptions of the package, as one tree.

SandboxError
├── UserMistake             a flag, file or setting: shown as it is, exit status 2
│   ├── ConfigError         the config file, the environment or the command line
│   ├── NotRunning          no sandbox answers where one should
│   └── Unreadable          cassettes, test data or schemas with problems, all of them at once
├── BankError               an answer from the dialect's table of errors, by name
├── InvalidResponse         an answer that would not be valid HTTP
├── WrongSignature          the signature of an answer is missing, or wrong
├── Refused                 an answer of the control interface that is an error, or what must not go to a bank
├── ExpressionError         an expression that cannot be compiled
├── Misspelled              a value of a setting that is near another one; also a ValueError
├── StoreUnavailable        the state cannot be read or written right now
│   └── StoreBusy           another process writes it at this moment
└── RecordingFailed         an exchange with a real bank cannot be written down
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class SandboxError(Exception):
    """The root of the tree."""


class UserMistake(SandboxError):
    """Something the user can fix; its text says what, where and how."""


class Misspelled(SandboxError, ValueError):
    """Its text is a hint that follows what is said of the value."""


class ConfigError(UserMistake):
    """A setting that is unknown or has no such value."""


def check_system() -> None:
    """Raises ConfigError on Windows."""
    if sys.platform == "win32":
        raise ConfigError(
            "xs2a-sandbox runs on Linux and macOS: Windows cannot keep its secrets and recordings to their owner by "
            "file modes. Run it in WSL 2 or in a container"
        )


class NotRunning(UserMistake):
    """Nothing listens there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file: `line` and `column` count from 1, `code` is stable (docs/lint.md)."""

    file: Path
    line: int
    column: int
    code: str
    text: str
    source: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        head = f"{self.place}: error {self.code}: {self.text}"
        if not self.source:
            return head
        return f"{head}\n    {self.source}\n    {' ' * (self.column - 1)}^"


class Unreadable(UserMistake):
    """Files with problems; every problem is in `problems`, in the order of place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (str(p.file), p.line, p.column)))
        super().__init__("\n".join(map(str, self.problems)))


class BankError(SandboxError):
    """Answer with the error `name` of the dialect's table.

    `path` is the JSON Pointer of the offending member; `values` fill the error's text. With `keep` what was written
    up to now is committed all the same: a wrong password counts.
    """

    def __init__(self, name: str, /, *, path: str | None = None, keep: bool = False, **values: Any) -> None:
        super().__init__(name)
        self.name = name
        self.path = path
        self.keep = keep
        self.values = values


class Refused(SandboxError):
    """The control interface's `{"error": …, "message": …}` with this status, and further members `more`.

    Where it is about the way to a bank, the message alone, in an error of the bank's shape.
    """

    def __init__(self, status: int, error: str, message: str, *headers: tuple[str, str], **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.headers = headers
        self.more = more


def body_invalid(text: str) -> Refused:
    """The refusal of a body that the control interface was sent."""
    return Refused(400, "body-invalid", text)


class WrongSignature(SandboxError):
    """The text says what is wrong, with the signing string beside what was signed in its place."""


class InvalidResponse(SandboxError):
    """Refused before it could desynchronise a connection or split an answer."""


class ExpressionError(SandboxError):
    """The text says what is wrong with the expression."""


class StoreUnavailable(SandboxError):
    """The disk is full, the file is read-only or locked for too long."""


class StoreBusy(StoreUnavailable):
    """The file is locked by who writes at this moment; the wait for its end is `Store.turn`."""


class RecordingFailed(SandboxError):
    """The text names the file, what the operating system says, and what to do."""
