"""`plugins`: the features, the plugins that are installed, and what these add."""

import json

import click

from xs2a_sandbox import plugins as hooks


@click.command
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the list.")
@click.pass_context
def plugins(context: click.Context, form: str) -> None:
    """List the features, the plugins that are installed, and what these add.

    Exit status 1 when one cannot be used.
    """
    found = hooks.plugins()
    added = {hook: names for hook in _hooks() if (names := _names(found, hook))}
    failures = found.failures()
    if form == "json":
        value = {"features": found.features, "loaded": list(found.loaded.values()), "failed": found.failed}
        click.echo(json.dumps({**value, "added": added}, indent=2))
    else:
        click.echo(f"features: {', '.join(found.features)}")
        for text in found.loaded.values() or ["no plugin is installed"]:
            click.echo(text)
        for hook, names in added.items():
            click.echo(f"  {hook.replace('_', ' ')}: {', '.join(names)}")
        for text in failures:
            click.echo(text, err=True)
    context.exit(1 if found.failed else 0)


def _hooks() -> list[str]:
    return [name for name in vars(hooks.Hooks) if not name.startswith("_")]


def _names(found: hooks.Plugins, hook: str) -> list[str]:
    """Of all that plugins add by the hook."""
    added = (one for name, by in found.collect_by_plugin(hook).items() if name not in found.features for one in by)
    return [str(getattr(one, hooks.NAMES.get(hook, "__name__"), one)) for one in added]
