"""What the feature adds: the commands `compare` and `watch`."""

from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

USES = ("authoring", "derive")


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.compare.commands import compare, watch

    return [compare, watch]
