"""The flags `--quiet` and `--verbose`, with the same meaning for all commands."""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import click

from xs2a_sandbox.cli.help import GLOBAL, option


class Verbosity(IntEnum):
    """`QUIET` prints results, warnings and errors only; `VERBOSE` prints details, too."""

    QUIET = -1
    NORMAL = 0
    VERBOSE = 1

    @classmethod
    def current(cls) -> "Verbosity":
        """Return the verbosity of the command that runs in this thread."""
        context = click.get_current_context(silent=True)
        return cls.NORMAL if context is None else context.meta.get(__name__, cls.NORMAL)


def _set(verbosity: Verbosity, context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if not is_given:
        return
    if context.meta.setdefault(__name__, verbosity) is not verbosity:
        raise click.UsageError("use either --quiet or --verbose, not both")


def _flag(*names: str, verbosity: Verbosity, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    callback = partial(_set, verbosity)
    return option(*names, is_flag=True, expose_value=False, callback=callback, section=GLOBAL, help=text)


quiet_option = _flag(
    "-q", "--quiet", verbosity=Verbosity.QUIET, text="Print only results, warnings and errors; show no progress."
)
_verbose_option = _flag("-v", "--verbose", verbosity=Verbosity.VERBOSE, text="Print more details.")


def verbosity_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--quiet` and `--verbose`."""
    return quiet_option(_verbose_option(command))


def note(text: str) -> None:
    """Print a remark on the standard error, except with `--quiet`."""
    if Verbosity.current() > Verbosity.QUIET:
        click.echo(text, err=True)


def detail(text: str) -> None:
    """Print a detail on the standard error, only with `--verbose`."""
    if Verbosity.current() is Verbosity.VERBOSE:
        click.echo(text, err=True)
