"""The progress of work that takes more than two seconds."""

import sys
import time
from typing import TYPE_CHECKING, Any, Self

import click

from xs2a_sandbox.cli.verbosity import Verbosity

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_PATIENCE = 2.0
"""Seconds after which progress is shown."""


class Progress:
    """A bar on the standard error, with the count and the time left; only for a terminal, and not with `--quiet`.

    Create it in the thread that runs the command. It may be called in any thread, but not in two at the same time.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = time.monotonic()
        self._is_shown = sys.stderr.isatty() and Verbosity.current() > Verbosity.QUIET
        self._bar: ProgressBar[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *anything: Any) -> None:
        if self._bar:
            self._bar.render_finish()

    def __call__(self, done: int, count: int, remark: str = "") -> None:
        """Show that `done` of `count` are done."""
        if not self._is_shown:
            return
        if self._bar is None:
            self._bar = click.progressbar(
                length=count,
                label=self._label,
                show_pos=True,
                show_percent=False,
                item_show_func=lambda remark: remark,
                hidden=True,
                file=sys.stderr,
            )
        self._bar.hidden = time.monotonic() - self._began < _PATIENCE
        self._bar.update(done - self._bar.pos, remark)
