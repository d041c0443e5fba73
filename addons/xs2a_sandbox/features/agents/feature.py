"""Adds the commands for coding agents, and the endpoint of the Model Context Protocol to a run of `serve`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES = ("authoring", "campaign", "console", "pytest")


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.agents import commands

    return [commands.mcp, commands.skill]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.agents.endpoint import RunEndpoint

    return [RunEndpoint]
