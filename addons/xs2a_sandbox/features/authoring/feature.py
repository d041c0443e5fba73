"""Adds the commands for authors of cassettes, and the coverage of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES = ("derive",)


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.authoring import commands

    return [commands.new_case, commands.coverage, commands.lint, commands.init]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.authoring.run_coverage import RunCoverage

    return [RunCoverage]
