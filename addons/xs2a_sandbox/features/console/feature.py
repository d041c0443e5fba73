"""Adds the console to a run of `serve`, and the command that prints a link to it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES = ("authoring", "campaign", "compare")


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.console.commands import console

    return [console]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.console.console import RunConsole

    return [RunConsole]
