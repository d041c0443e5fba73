"""The interface by which features and plugins take part in a run of `serve`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.engine import Engine
    from xs2a_sandbox.journal.log_line import LogEntry


class RunPart:
    """Called during a run of `serve`. Override the methods that you need.

    With several workers each process has its own parts. In the process that supervises them only `links` and `sum_up`
    are called. A part that raises an exception is logged, and the run continues.
    """

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings

    def begin(self, engine: "Engine", say: Callable[[str], None]) -> None:
        """Called when the engine is built, before it answers. `say` writes a line of text at any time."""

    def open(self, engine: "Engine", base_url: str, run: str) -> None:
        """Called when the ports are open. `run` is a secret that all processes of this run share."""

    def links(self, base_url: str, token: str) -> dict[str, str]:
        """Return lines for the announcement, by name. `token` is the admin token."""
        return {}

    def add(self, exchange: "LogEntry") -> None:
        """Called for every logged exchange, in order and before `end`, but up to 5 ms after it."""

    def progress(self) -> str | None:
        """Return the current line of progress, which a terminal shows."""
        return None

    def end(self) -> Iterable[str]:
        """Called after the last exchange if there is only one process. Return lines of text."""
        return ()

    def result(self) -> Any:
        """Return the data of this process for `sum_up`, as a value that can be pickled. Must not fail."""
        return None

    def sum_up(self, results: Sequence[Any]) -> Iterable[str]:
        """Called at the very end with the results of all processes. Return lines of text."""
        return ()
