"""Adds the command `campaign`."""

from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

USES = ("pytest",)


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.campaign.commands import campaign

    return [campaign]
