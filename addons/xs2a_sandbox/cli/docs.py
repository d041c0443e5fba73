"""The command that opens the documentation."""

import sys
import webbrowser
from typing import Any

import click

from xs2a_sandbox.cli.control import client_of
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.errors import UserMistake


@command(section="Inspect", examples=("xs2a-sandbox docs", "xs2a-sandbox docs journeys/consent"))
@click.argument("page", default="index")
@running_sandbox_flags
def docs(page: str, **flags: Any) -> None:
    """Open the documentation, or one PAGE of it.

    If a sandbox is running, the page opens in the browser. Otherwise it is printed to the terminal.
    """
    from xs2a_sandbox.documentation import page_names, read_page
    from xs2a_sandbox.documents.schema_errors import did_you_mean

    name = page.removeprefix("docs/").removesuffix(".md")
    text = read_page(f"{name}.md")
    if text is None:
        names = [known.removesuffix(".md") for known in page_names()]
        hint = did_you_mean(name, names) or f". The pages are: {', '.join(names)}"
        raise click.UsageError(f"there is no page {name!r} in the documentation{hint}")
    settings, client = load_settings(flags), client_of(flags, None)
    try:
        client.status()
    except UserMistake:
        _show_here(text)
    else:
        url = f"{settings.public_url or client.url}/_sandbox/docs/{name}.md"
        click.echo(url)
        webbrowser.open(url)


def _show_here(text: str) -> None:
    """Show the page in a pager, or print its Markdown if the output is not a terminal."""
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))
