"""`explain`: asks a running sandbox, or works from the configured files where none runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from xs2a_sandbox import described_request
from xs2a_sandbox.control_commands import remote_of, session_option, where
from xs2a_sandbox.errors import NotRunning, Refused
from xs2a_sandbox.explanation_text import text
from xs2a_sandbox.remote import Remote


@click.command()
@click.argument("method")
@click.argument("url")
@click.option("-H", "--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="As the app sends it.")
@click.option("-d", "--data", "body", metavar="BODY", help="The body, as the app sends it.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--offline", is_flag=True, help="With the configured files, whether a sandbox runs or not.")
@session_option("The session; `default` when it is not named.")
@where
def explain(
    method: str,
    url: str,
    headers: tuple[str, ...],
    body: str | None,
    as_json: bool,
    offline: bool,
    session: str | None,
    **flags: Any,
) -> None:
    """Say why a request is answered as it is, without sending it.

    A running sandbox is asked; where none runs, the configured cassettes and fresh test data say it.
    """
    request: dict[str, Any] = {"method": method.upper(), "url": url, "headers": _read(headers), "body": body}
    if session is not None:
        request["session"] = session
    try:
        described_request.read(request)
    except Refused as error:
        raise click.UsageError(str(error)) from None
    remote = remote_of(flags, session)
    found, note = (_offline(remote, request), "") if offline else _asked(remote, request)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        click.echo(f"{note}{text(found)}", nl=False)


def _asked(remote: Remote, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    try:
        return {"asked": remote.url, **remote.ask("POST", ("explain",), request)}, ""
    except NotRunning:
        note = f"No sandbox answers at {remote.url}:\nthis is by the configured files, with fresh test data.\n\n"
        return _offline(remote, request), note


def _offline(remote: Remote, request: Mapping[str, Any]) -> dict[str, Any]:
    from xs2a_sandbox.assembly import build
    from xs2a_sandbox.explanation import described

    # Kept state is neither read nor made.
    engine = build(replace(remote.settings, state="memory:", reset=False))
    return {"asked": "offline", **described(engine.explain(described_request.read(request)))}


def _read(headers: tuple[str, ...]) -> dict[str, list[str]]:
    """Lists of values by name."""
    found: dict[str, list[str]] = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter(f"{header!r} is not 'NAME: VALUE'", param_hint="-H")
        found.setdefault(name.strip(), []).append(value.strip())
    return found
