"""Adds the commands `compare` and `watch`, and the reports of a run of `serve` in mode compare."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES = ("authoring", "derive")


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.compare.commands import compare, watch

    return [compare, watch]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.compare.run_comparison import RunComparison

    return [RunComparison]
