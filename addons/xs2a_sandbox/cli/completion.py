"""The completion of commands and options in a shell."""

from typing import Literal

import click
from click.shell_completion import get_completion_class

from xs2a_sandbox.cli.help import command

PROGRAM = "xs2a-sandbox"
_VARIABLE = "_XS2A_SANDBOX_COMPLETE"
"""The variable that click's scripts use. Click derives it from the name of the program."""


@command(
    section="Set up",
    examples=(
        'eval "$(xs2a-sandbox completion bash)"',
        "xs2a-sandbox completion fish > ~/.config/fish/completions/xs2a-sandbox.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(context: click.Context, shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script for a shell.

    The script completes commands, options, and values of options.
    """
    complete = get_completion_class(shell)(context.find_root().command, {}, PROGRAM, _VARIABLE)
    click.echo(complete.source(), nl=False)
