"""Shows every warning, error and traceback on standard error while the sandbox serves.

This is the only place that sets up logging of a serving process. Without it nothing would be shown: mitmproxy adds a
handler of its own to the root logger, and Python shows messages by default only if there is none.
"""

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, Protocol

from xs2a_sandbox.clock import REAL, at
from xs2a_sandbox.http import Request
from xs2a_sandbox.journal import reason
from xs2a_sandbox.journal.log_line import make_printable

Level = Literal["info", "warning", "error"]


class Say(Protocol):
    """Shows a message to the user."""

    def __call__(self, text: str, level: Level = "info") -> None: ...


class ServingLog(logging.Handler):
    """Writes a line for each warning from any source, followed by its traceback, if it has one.

    In JSON both are members of one line. `say` is called for each record. If a record has the failed `request`, its
    secrets are removed; otherwise `redact` redacts the text of exceptions. It gets whether data of real people may
    be in it (`personal` of the record), or None.
    """

    def __init__(self, form: Literal["text", "json"], say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._form = form
        self._say = say
        self.redact: Callable[[str, bool | None], str] = lambda text, personal: text

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._say(self.format(record))
        except Exception:
            self.handleError(record)

    def note(self, text: str, level: Level = "info") -> None:
        """Show a message that is not a log record.

        In text form it is unchanged, so that a mistake starts with its place.
        """
        if self._form == "json":
            self._say(_line(REAL.now(), level, text))
        else:
            self._say(f"warning: {text}" if level == "warning" else text)

    def format(self, record: logging.LogRecord) -> str:
        time, level = at(record.created), record.levelname.lower()
        message = make_printable(" ".join(record.getMessage().split("\n")))
        traced = self._traceback(record)
        if self._form == "json":
            return _line(time, level, message, **({"traceback": traced} if traced else {}))
        line = f"{time.isoformat(sep=' ', timespec='milliseconds')} {level} {message}"
        return f"{line}\n{traced}" if traced else line

    def _traceback(self, record: logging.LogRecord) -> str | None:
        """Return the traceback with the texts of its exceptions redacted."""
        error = record.exc_info and record.exc_info[1]
        if not error:
            return None
        request: Request | None = getattr(record, "request", None)
        personal: bool | None = getattr(record, "personal", None)
        trace = traceback.TracebackException.from_exception(error)
        own_lines, waiting = set[str](), [trace]
        while waiting:
            cause = waiting.pop()
            own_lines.update(line.strip() for text in cause.format_exception_only() for line in text.splitlines())
            waiting += [inner for inner in (cause.__cause__, cause.__context__, *(cause.exceptions or ())) if inner]
        lines = "".join(trace.format()).splitlines()
        return "\n".join(self._redact(line, request, personal) if _text(line) in own_lines else line for line in lines)

    def _redact(self, line: str, request: Request | None, personal: bool | None) -> str:
        text = _text(line)
        indent = line[: len(line) - len(text)] if line.endswith(text) else ""
        return indent + reason.without_secrets(text, request, lambda text: self.redact(text, personal))


def _line(time: datetime, level: str, message: str, **more: Any) -> str:
    return json.dumps({"time": time.isoformat(timespec="milliseconds"), "level": level, "message": message, **more})


def _text(line: str) -> str:
    """Return the text without the characters that draw the tree of an exception group."""
    return line.lstrip(" |").rstrip()


@contextmanager
def standing(log: ServingLog) -> Iterator[None]:
    """Add the handler to the root logger for the duration of the context."""
    root = logging.getLogger()
    root.addHandler(log)
    try:
        yield
    finally:
        root.removeHandler(log)
