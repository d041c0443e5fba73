"""`plugins`: lists the features, the installed plugins, and what these add."""

import json

import click

from xs2a_sandbox import plugins as hooks
from xs2a_sandbox.cli.help import command, json_option


@command(section="Inspect", examples=("xs2a-sandbox plugins", "xs2a-sandbox plugins --json"))
@json_option
@click.pass_context
def plugins(context: click.Context, as_json: bool) -> None:
    """List the features, the installed plugins and what they add.

    The exit status is 1 if one of them cannot be used.
    """
    found = hooks.plugins()
    added = {hook: names for hook in _hooks() if (names := _name_added(found, hook))}
    failures = found.describe_failures()
    if as_json:
        value = {"features": found.features, "loaded": list(found.loaded.values()), "failed": found.failed}
        click.echo(json.dumps({**value, "added": added}, indent=2))
    else:
        click.echo(f"features: {', '.join(found.features) or 'none'}")
        for text in found.loaded.values() or ["no plugin is installed"]:
            click.echo(text)
        for hook, names in added.items():
            click.echo(f"  {hook.replace('_', ' ')}: {', '.join(names)}")
        for text in failures:
            click.echo(text, err=True)
    context.exit(1 if found.failed else 0)


def _hooks() -> list[str]:
    """Return the names of the hooks that add something."""
    return [name for name in vars(hooks.Hooks) if not name.startswith("_") and name != "configure"]


def _name_added(found: hooks.Plugins, hook: str) -> list[str]:
    """Return the names of everything that plugins add through the hook, without the additions of features."""
    by_plugin = found.collect_by_plugin(hook).items()
    added = (one for name, added in by_plugin if not name.startswith(hooks.FEATURE) for one in added)
    return [str(getattr(one, hooks.NAMES.get(hook, "__name__"), one)) for one in added]
