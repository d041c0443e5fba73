"""Adds the commands `tpp`, `sign` and `verify`."""

from typing import TYPE_CHECKING

from xs2a_sandbox.plugins import hookimpl

if TYPE_CHECKING:
    import click

USES: tuple[str, ...] = ()


@hookimpl
def commands() -> "list[click.Command]":
    from xs2a_sandbox.features.certificates.commands import tpp
    from xs2a_sandbox.features.certificates.signature_commands import sign, verify

    return [tpp, sign, verify]
