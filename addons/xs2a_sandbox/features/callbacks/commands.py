"""`xs2a-sandbox callbacks`: the callbacks of a running sandbox, and sending one again."""

import json
from typing import Any

import click

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import CallbackShape


@command(
    section="Inspect",
    examples=(
        "xs2a-sandbox callbacks",
        "xs2a-sandbox callbacks --resend consents.9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911.1",
    ),
)
@option("--resend", metavar="ID", help="Send this callback again, whatever has become of it.")
@session_option("The session (default: `default`).")
@json_option
@running_sandbox_flags
def callbacks(resend: str | None, session: str | None, as_json: bool, **flags: Any) -> None:
    """List the callbacks of a session, or send one again.

    A callback is a request of the bank to an app.
    """
    client = Client.of(load_settings(flags), session)
    if resend is not None:
        one = client.resend_callback(resend)
        click.echo(json.dumps(one, ensure_ascii=False, indent=2) if as_json else f"waits again: {resend}")
        return
    there = client.callbacks()
    if as_json:
        click.echo(json.dumps(there, ensure_ascii=False, indent=2))
        return
    for one in there["callbacks"]:
        click.echo(_line(one))
    if not there["callbacks"]:
        click.echo("no callbacks")


def _line(one: CallbackShape) -> str:
    words = [one["id"], one["callback"], one["state"], f"{one['tries']} tries", one["method"], one["to"]]
    words += [f"answer: {one['answer']}"] if one["answer"] else []
    words += [f"next: {one['next']}"] if one["next"] else []
    return "  ".join(words)
