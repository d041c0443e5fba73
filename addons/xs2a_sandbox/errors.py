"""The exceptions of the package, as one tree.

SandboxError
├── UserMistake             a flag, file or setting: shown as it is, exit status 2
│   ├── ConfigError         the config file, the environment or the command line
│   ├── NotRunning          no sandbox answers where one should
│   └── Unreadable          cassettes, test data or schemas with problems, all of them at once
├── BankError               an answer from the dialect's table of errors, by name
├── InvalidResponse         an answer that would not be valid HTTP
├── WrongSignature          the signature of an answer is missing, or wrong
├── Refused                 an error of the control interface, or a request that must not go to a bank
├── ExpressionError         an expression that cannot be compiled
├── Misspelled              a value of a setting that is probably a typo; also a ValueError
├── StoreUnavailable        the state cannot be read or written right now
│   └── StoreBusy           another process is writing it
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
    """An error that the user can fix. Its text says what is wrong, where, and what to do."""


class Misspelled(SandboxError, ValueError):
    """The text is a hint to append to the error about the value."""


class ConfigError(UserMistake):
    """A setting is unknown, or its value is wrong."""


def check_system() -> None:
    """Raise ConfigError on Windows."""
    if sys.platform == "win32":
        raise ConfigError(
            "xs2a-sandbox runs on Linux and macOS: on Windows, file modes cannot protect its secrets and recordings "
            "from other users. Run it in WSL 2 or in a container"
        )


class NotRunning(UserMistake):
    """No sandbox listens at the address."""


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
    """Files have problems. `problems` contains all of them, ordered by place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (str(p.file), p.line, p.column)))
        super().__init__("\n".join(map(str, self.problems)))


class BankError(SandboxError):
    """Answer with the error `name` of the dialect's table.

    `path` is the JSON Pointer of the wrong member; `values` are inserted into the error's text. With `keep`, state
    changes are committed although the request fails, so that a wrong password is counted.
    """

    def __init__(self, name: str, /, *, path: str | None = None, keep: bool = False, **values: Any) -> None:
        super().__init__(name)
        self.name = name
        self.path = path
        self.keep = keep
        self.values = values


class Refused(SandboxError):
    """Answered by the control interface as `{"error": …, "message": …}` with this status and the members in `more`.

    If the request was meant for a bank, the answer has the form of the bank's errors, with only the message.
    """

    def __init__(self, status: int, error: str, message: str, *headers: tuple[str, str], **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.headers = headers
        self.more = more


def body_invalid(text: str) -> Refused:
    """Return the error for an invalid body sent to the control interface."""
    return Refused(400, "body-invalid", text)


class WrongSignature(SandboxError):
    """The text describes the mistake, with the expected signing string and the text that was probably signed."""


class InvalidResponse(SandboxError):
    """The response would desynchronise a connection or split an answer."""


class ExpressionError(SandboxError):
    """The text describes the mistake in the expression."""


class StoreUnavailable(SandboxError):
    """The disk is full, the file is read-only or locked for too long."""


class StoreBusy(StoreUnavailable):
    """Another process is writing the file. `Store.turn` waits until it has finished."""


class RecordingFailed(SandboxError):
    """The recording cannot be written. The message names the file and the system's error, and says what to do."""
