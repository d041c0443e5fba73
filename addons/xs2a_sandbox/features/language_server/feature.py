"""Adds the command `lsp`."""

from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

USES = ("authoring",)


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.language_server.commands import lsp

    return [lsp]
