"""The lines of the log, written to a file or a pipe."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from select import PIPE_BUF
from typing import TextIO

_PAUSE = 0.02
"""Seconds for which lines are gathered: a call of the system takes longer than to make a line."""


class LogWriter:
    """Writes lines a moment later, with those that have come meanwhile; `close` writes the last."""

    def __init__(self, stream: TextIO) -> None:
        if isinstance(stream, TextIOWrapper):
            # A character that the file's encoding has not must not cost the lines beside it.
            stream.reconfigure(errors="backslashreplace")
        self._stream = stream
        self._waiting: list[str] = []

    def write(self, line: str) -> None:
        """Raises RuntimeError where no loop runs."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_PAUSE, self.close)
        self._waiting.append(f"{line}\n")

    def close(self) -> None:
        """Writes what waits; more may come all the same."""
        lines, self._waiting = self._waiting, []
        # Nobody may read them any more; the app still wants its answers.
        with suppress(OSError):
            for text in _pieces(lines):
                self._stream.write(text)
                self._stream.flush()


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """The lines, as many at a time as a pipe takes whole: other workers write into the same one."""
    piece: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode(errors="replace"))
        if piece and size + length > PIPE_BUF:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += length
    if piece:
        yield "".join(piece)
