"""The progress of work that takes more than two seconds."""

import json
import os
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from xs2a_sandbox.cli.verbosity import Verbosity
from xs2a_sandbox.config.kinds import PROGRESS

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_PATIENCE = 2.0
"""Seconds after which progress is shown."""


class Progress:
    """A bar on the standard error, with the count, the share, and the times elapsed and left.

    It is only for a terminal, and not shown with `--quiet`.

    If the environment names a file, the progress is also written to this file, as JSON.

    Create it in the thread that runs the command. It may be called in any thread, but not in two at the same time.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = time.monotonic()
        self._is_shown = sys.stderr.isatty() and Verbosity.current() > Verbosity.QUIET
        self._file = Path(os.environ[PROGRESS]) if PROGRESS in os.environ else None
        self._bar: ProgressBar[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *anything: Any) -> None:
        if self._bar:
            self._bar.render_finish()

    def __call__(self, done: int, count: int, remark: str = "", left: float | None = None) -> None:
        """Show that `done` of `count` are done. `left` is an estimate in seconds, if there is a better one."""
        self.record(done, count, left)
        if not self._is_shown:
            return
        if self._bar is None:
            self._bar = click.progressbar(
                length=count,
                label=self._label,
                show_pos=True,
                show_percent=True,
                item_show_func=self._describe,
                hidden=True,
                file=sys.stderr,
            )
        self._bar.hidden = time.monotonic() - self._began < _PATIENCE
        self._bar.update(done - self._bar.pos, remark)

    def _describe(self, remark: str | None) -> str:
        elapsed = timedelta(seconds=int(time.monotonic() - self._began))
        return f"{elapsed} elapsed{f', {remark}' if remark else ''}"

    def record(self, done: int, count: int, left: float | None = None) -> None:
        """Write the progress into the file, if one was given."""
        if self._file is None:
            return
        if left is None:
            left = (time.monotonic() - self._began) / max(done, 1) * (count - done)
        new = self._file.with_suffix(".new")
        # An error here must not stop the work itself.
        with suppress(OSError):
            new.write_text(json.dumps({"done": done, "of": count, "left": left}))
            new.replace(self._file)
