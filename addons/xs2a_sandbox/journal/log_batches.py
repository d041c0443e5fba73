"""Collects exchanges for a moment, because handling many at once takes a third of the time of handling each."""

import asyncio
from collections.abc import Callable, Sequence

from xs2a_sandbox.clock import instant
from xs2a_sandbox.journal.log_line import LogEntry

_PAUSE = 0.005
"""Seconds for which exchanges are collected.

With a longer pause lines would not be cheaper, but requests would wait while more of them are written.
"""

type Batch = Sequence[tuple[LogEntry, float]]
"""Exchanges in their order, each with the instant of its answer."""


class LogBatches:
    """Calls `take` with the exchanges of the last moment, in the running loop."""

    def __init__(self, take: Callable[[Batch], None]) -> None:
        self._take = take
        self._waiting: list[tuple[LogEntry, float]] = []

    def add(self, exchange: LogEntry) -> None:
        """Pass the exchange on soon. Raises RuntimeError if no loop is running."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_PAUSE, self.flush)
        self._waiting.append((exchange, instant()))

    def flush(self) -> None:
        """Pass on the waiting exchanges. More may follow."""
        batch, self._waiting = self._waiting, []
        if batch:
            self._take(batch)
