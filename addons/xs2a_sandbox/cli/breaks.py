"""`xs2a-sandbox break` and `held`: the breakpoints of a running sandbox, and the exchanges that they hold."""

import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import click

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.journal import format_message
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import BreakOrder, HeldOrder
from xs2a_sandbox.errors import UserMistake

_ORDER = ("operation", "does", "method", "on", "next", "timeout")


@command(
    "break",
    section="Run",
    examples=(
        "xs2a-sandbox break --operation initiate-payment",
        "xs2a-sandbox break --does 'list entry' --on response --next 3 --timeout 2m",
        "xs2a-sandbox break --delete all",
    ),
)
@option("--operation", metavar="ID", help="Only requests for this operation; * is a wildcard.")
@option("--does", metavar="TEXT", help="Only requests whose operation has this effect, such as 'create payment'.")
@option("--method", metavar="METHOD", help="Only requests with this method.")
@option("--on", type=click.Choice(["request", "response"]), unset="request", help="Hold the request or the response.")
@option("--next", metavar="N", type=click.IntRange(1), unset="1", help="Hold the next N requests or responses.")
@option(
    "--timeout",
    metavar="SPAN",
    help="Release each exchange unchanged after this time: 30s, 2m, at most 300s.",
    unset="60s",
)
@option("--list", "lists", is_flag=True, help="List the breakpoints of the session.")
@option("--delete", metavar="ID", help="Delete one breakpoint, or all with `all`.")
@session_option("The session (default: `default`).")
@running_sandbox_flags
def break_(session: str | None, lists: bool, delete: str | None, **flags: Any) -> None:
    """Set a breakpoint in a running sandbox.

    It holds the next requests, or their responses.
    """
    options = {name: flags.pop(name) for name in _ORDER}
    order = {name: value for name, value in options.items() if value is not None}
    if lists + (delete is not None) + bool(order) > 1:
        raise click.UsageError("use either --list, --delete or the options of a new breakpoint")
    client = Client.of(load_settings(flags), session)
    if delete == "all":
        click.echo(f"deleted {client.clear_breaks()['deleted']}")
    elif delete is not None:
        client.delete_break(delete)
        click.echo(f"deleted {delete}")
    elif lists:
        there = client.breaks()["breaks"]
        for one in there:
            click.echo(_line(one))
        if not there:
            click.echo("no breakpoints")
    else:
        click.echo(_line(client.add_break(cast(BreakOrder, order))))


@command(
    section="Run",
    examples=("xs2a-sandbox held", "xs2a-sandbox held held-1 --continue", "xs2a-sandbox held held-1 --status 503"),
)
@click.argument("id", required=False)
@option("--continue", "goes_on", is_flag=True, help="Release it unchanged.")
@option("--drop", is_flag=True, help="Close the connection without an answer.")
@option("--status", metavar="N", type=click.IntRange(200, 599), help="Release it with this status.")
@option(
    "--header",
    "headers",
    metavar="'NAME: VALUE'",
    multiple=True,
    help="Release it with this header; 'NAME:' removes the header.",
)
@option("--body", metavar="FILE", type=click.Path(path_type=Path), help="Release it with this body; - reads stdin.")
@session_option("Only of this session (default: all sessions).")
@running_sandbox_flags
def held(
    id: str | None,
    goes_on: bool,
    drop: bool,
    status: int | None,
    headers: tuple[str, ...],
    body: Path | None,
    session: str | None,
    **flags: Any,
) -> None:
    """List, show or release held exchanges."""
    edits: dict[str, Any] = {} if status is None else {"status": status}
    if headers:
        edits["headers"] = _read_headers(headers)
    if body is not None:
        edits["body"] = _read_body(body)
    wishes = [
        *([{"continue": True}] if goes_on else []),
        *([{"drop": True}] if drop else []),
        *([edits] if edits else []),
    ]
    if len(wishes) > 1:
        raise click.UsageError("use only one of --continue, --drop and edits")
    if wishes and id is None:
        raise click.UsageError("give the ID of the held exchange; `xs2a-sandbox held` lists them")
    client = Client.of(load_settings(flags), session, number=Decimal)
    if wishes and id is not None:
        client.release(id, cast(HeldOrder, wishes[0]))
        click.echo(f"{'dropped' if drop else 'released'} {id}")
        return
    there = client.held()["held"]
    if id is None:
        lines = [_outline(one) for one in there] or ["nothing is held"]
    else:
        one = next((one for one in there if one["id"] == id), None)
        if one is None:
            raise UserMistake(f"no exchange with the id {id} is held; `xs2a-sandbox held` lists those that are")
        lines = list(_whole(one))
    for line in lines:
        click.echo("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))


def _line(one: Mapping[str, Any]) -> str:
    which = " ".join(one[name] for name in ("method", "operation", "does") if name in one) or "every request"
    return f"{one['id']}  {one['on']}  {which}  {one['hits']} of {one['next']}  {one['timeout']}"


def _outline(one: Mapping[str, Any]) -> str:
    words = (one["id"], one["on"], one["session"], one["method"], one["url"])
    return f"{'  '.join(words)}  until {one['until'][11:19]}  {one['breakpoint']}"


def _whole(one: Mapping[str, Any]) -> Iterator[str]:
    yield _outline(one)
    yield ""
    yield f"{one['method']} {one['url']}"
    yield from format_message(one["request"])
    if one["response"]:
        yield ""
        yield str(one["response"]["status"])
        yield from format_message(one["response"])
    if one["cut"]:
        yield ""
        yield "(more of the body will follow)"


def _read_headers(texts: tuple[str, ...]) -> dict[str, list[str] | None]:
    headers: dict[str, list[str] | None] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon:
            raise click.BadParameter(f"{text!r} is not a header such as 'Retry-After: 7'", param_hint="--header")
        values = headers.get(name.strip()) or []
        headers[name.strip()] = [*values, value.strip()] if value.strip() else None
    return headers


def _read_body(file: Path) -> str:
    """Read the body in the file, as JSON if it is JSON. Raises UserMistake."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text()
    except OSError as error:
        raise UserMistake(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserMistake(f"{file} is not text in UTF-8") from None
