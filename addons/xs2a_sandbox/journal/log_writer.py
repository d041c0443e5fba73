"""Writes the lines of the log to a file or a pipe."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from select import PIPE_BUF
from typing import TextIO

_PAUSE = 0.02
"""Seconds for which lines are collected, because a system call takes longer than formatting a line."""


class LogWriter:
    """Writes lines in batches after a short delay. `close` writes the last ones."""

    def __init__(self, stream: TextIO) -> None:
        if isinstance(stream, TextIOWrapper):
            # A character that the file's encoding lacks must not lose the other lines.
            stream.reconfigure(errors="backslashreplace")
        self._stream = stream
        self._waiting: list[str] = []

    def write(self, line: str) -> None:
        """Write a line soon. Raises RuntimeError if no loop is running."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_PAUSE, self.close)
        self._waiting.append(f"{line}\n")

    def close(self) -> None:
        """Write the collected lines. Further lines may follow."""
        lines, self._waiting = self._waiting, []
        # If nobody reads the log any more, the app still needs its answers.
        with suppress(OSError):
            for text in _pieces(lines):
                self._stream.write(text)
                self._stream.flush()


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines in pieces that a pipe takes atomically, because other workers write to the same pipe."""
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
