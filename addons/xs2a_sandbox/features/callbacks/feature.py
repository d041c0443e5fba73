"""Adds the command `callbacks`, and the delivery of callbacks to a run of `serve`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES = ()


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.callbacks.commands import callbacks

    return [callbacks]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.callbacks.run import RunCallbacks

    return [RunCallbacks]
