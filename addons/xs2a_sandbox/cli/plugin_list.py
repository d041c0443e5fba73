"""`plugins`: the plugins that are installed, and what they add."""

import json
from typing import Any

import click

from xs2a_sandbox import plugins as hooks


@click.command
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the list.")
@click.pass_context
def plugins(context: click.Context, form: str) -> None:
    """List the plugins that are installed, and what they add.

    Exit status 1 when one cannot be used.
    """
    found = hooks.plugins()
    added = {hook: names for hook in _hooks() if (names := [_name(hook, one) for one in found.added(hook)])}
    if form == "json":
        value = {"loaded": list(found.loaded.values()), "failed": found.failed, "added": added}
        click.echo(json.dumps(value, indent=2))
    elif not found.loaded and not found.failed:
        click.echo("no plugin is installed")
    else:
        for text in found.loaded.values():
            click.echo(text)
        for hook, names in added.items():
            click.echo(f"  {hook.replace('_', ' ')}: {', '.join(names)}")
    if form == "text":
        for name, reason in found.failed.items():
            click.echo(f"{name} cannot be used: {reason}", err=True)
    context.exit(1 if found.failed else 0)


def _hooks() -> list[str]:
    return [name for name in vars(hooks.Hooks) if not name.startswith("_")]


def _name(hook: str, added: Any) -> str:
    return str(getattr(added, hooks.NAMES.get(hook, "__name__"), added))
