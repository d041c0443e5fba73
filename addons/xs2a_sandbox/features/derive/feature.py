"""Adds the command `derive`, and the rules that a run of `serve` in mode record derives at its end."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings

USES: tuple[str, ...] = ()


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.derive.commands import derive_

    return [derive_]


@hookimpl
def run_parts() -> "list[Callable[[Settings], RunPart]]":
    from xs2a_sandbox.features.derive.run_recording import RunRecording

    return [RunRecording]
