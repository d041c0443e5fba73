"""The entry point with all commands."""

import os
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any

import click

from xs2a_sandbox import __version__
from xs2a_sandbox.cli.help import SectionedGroup
from xs2a_sandbox.errors import StoreUnavailable, Unreadable, UserMistake, check_system
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.upstream import tls

COMMANDS = {
    "serve": "serve.commands:serve",
    "record": "serve.commands:record",
    "export": "recordings:export_",
    "vault": "recordings:vault",
    "reset": "control:reset",
    "state": "control:state",
    "clock": "control:clock",
    "break": "breaks:break_",
    "held": "breaks:held",
    "docs": "docs:docs",
    "testdata": "testdata:testdata",
    "explain": "explain:explain",
    "journal": "journal:journal",
    "plugins": "plugin_list:plugins",
    "completion": "completion:completion",
}
"""The places of the commands in this folder. A module is imported only for its commands or for the list of all."""


class _Mistake(click.ClickException):
    exit_code = 2


class _Commands(SectionedGroup):
    """All commands, including those of features and plugins. A user's mistake becomes a message; ^C ends silently."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*COMMANDS, *_added_commands()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return _added_commands().get(name)
        command: click.Command = resolve_name(f"xs2a_sandbox.cli.{COMMANDS[name]}")
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not (name.startswith("-") or context.resilient_parsing or self.get_command(context, name)):
            near = get_close_matches(name, self.list_commands(context), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "xs2a-sandbox --help lists all commands."
            raise click.UsageError(f"unknown command {name!r}; {hint}", context)
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Unreadable as unreadable:
            # Each line starts with its place, so that editors and terminals recognise it.
            click.echo(str(unreadable), err=True)
            context.exit(2)
        except (UserMistake, StoreUnavailable) as mistake:
            raise _Mistake(str(mistake)) from None
        except KeyboardInterrupt:
            context.exit(130)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    subcommand_metavar="COMMAND [OPTIONS]",
    options_metavar="",
    examples=("xs2a-sandbox serve", "xs2a-sandbox explain GET /v1/accounts", "xs2a-sandbox serve --help"),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A sandbox that answers like a bank's PSD2 XS2A interface."""
    check_system()
    tls.leave_out(os.environ)


def _added_commands() -> dict[str, click.Command]:
    """Return the added commands by name. Plugins cannot replace commands of features."""
    return {str(command.name): command for command in reversed(plugins().collect("commands"))}


def main() -> None:
    cli(prog_name="xs2a-sandbox")
