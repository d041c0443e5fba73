"""The commands. Each imports what it needs itself: `--help` waits for no proxy."""

import os
from typing import Any

import click

from xs2a_sandbox import __version__
from xs2a_sandbox.cli import control, docs, explain, journal, plugin_list, recordings, serve, testdata
from xs2a_sandbox.errors import StoreUnavailable, Unreadable, UserMistake, check_system
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.upstream import tls


class _Mistake(click.ClickException):
    exit_code = 2


class _Commands(click.Group):
    """Says a user's mistake in words, and takes ^C for an answer. Features and plugins have further commands."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *_added_commands()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return super().get_command(context, name) or _added_commands().get(name)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Unreadable as unreadable:
            # Each line begins with its place, where editors and terminals look for one.
            click.echo(str(unreadable), err=True)
            context.exit(2)
        except (UserMistake, StoreUnavailable) as mistake:
            raise _Mistake(str(mistake)) from None
        except KeyboardInterrupt:
            context.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A sandbox that answers like a bank's PSD2 XS2A interface.

    Every flag can also stand in xs2a-sandbox.yaml (proxy_port: 8080) or in the environment (XS2A_SANDBOX_PROXY_PORT).
    """
    check_system()
    tls.leave_out(os.environ)


for _command in (
    serve.serve,
    serve.record,
    recordings.export_,
    recordings.vault,
    control.reset,
    control.state,
    control.clock,
    docs.docs,
    testdata.testdata,
    explain.explain,
    journal.journal,
    plugin_list.plugins,
):
    cli.add_command(_command)


def _added_commands() -> dict[str, click.Command]:
    """By their names; what a feature has, no plugin replaces."""
    return {str(command.name): command for command in reversed(plugins().collect("commands"))}


def main() -> None:
    cli(prog_name="xs2a-sandbox")
