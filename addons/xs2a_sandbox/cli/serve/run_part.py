"""How features and plugins take part in a run of `serve`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.engine import Engine
    from xs2a_sandbox.journal.log_line import LogEntry


class RunPart:
    """Is told of a run of `serve` as it goes; override what you need.

    With several workers each process has its own parts. In the process that supervises them only `links` and `sum_up`
    are called. A part that raises an exception is logged, and the run goes on.
    """

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings

    def begin(self, engine: "Engine", say: Callable[[str], None]) -> None:
        """Called once the engine is built, before it answers; `say` writes a line of text at any time."""

    def open(self, engine: "Engine", base_url: str, run: str) -> None:
        """Called once the ports are open; `run` is a secret of this run, which all its processes share."""

    def links(self, base_url: str, token: str) -> dict[str, str]:
        """Lines of the announcement by their names; `token` is the admin token."""
        return {}

    def add(self, exchange: "LogEntry") -> None:
        """Called for every exchange that the log has a line for."""

    def progress(self) -> str | None:
        """A line of text that a terminal shows, as it is now."""
        return None

    def end(self) -> Iterable[str]:
        """Called in the one process after the last exchange; gives lines of text."""
        return ()

    def result(self) -> Any:
        """What `sum_up` needs of this process, as a value that pickle can write; must not fail."""
        return None

    def sum_up(self, results: Sequence[Any]) -> Iterable[str]:
        """Called at the very end, with the result of each process; gives lines of text."""
        return ()
