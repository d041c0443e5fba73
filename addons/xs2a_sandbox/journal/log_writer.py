"""Writes the lines of the log to a file or a pipe."""

from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from select import PIPE_BUF
from typing import TextIO

_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8."""


class LogWriter:
    """Writes whole lines only, because other workers write to the same pipe."""

    def __init__(self, stream: TextIO) -> None:
        if isinstance(stream, TextIOWrapper):
            # A character that the file's encoding lacks must not lose the other lines.
            stream.reconfigure(errors="backslashreplace")
        self._stream = stream

    def write(self, text: str) -> None:
        """Write lines, each with its line break."""
        # If nobody reads the log any more, the app still needs its answers.
        with suppress(OSError):
            for piece in _pieces(text):
                self._stream.write(piece)
                self._stream.flush()


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines in pieces that a pipe accepts atomically. A longer line is a separate piece."""
    most = PIPE_BUF if text.isascii() else PIPE_BUF // _LONGEST_CHARACTER
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + most) + 1 or text.find("\n", start) + 1
        yield text[start:end]
        start = end
