"""`xs2a-sandbox journal`: shows the last exchanges of a running sandbox, or one of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import click
import msgspec

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.http import to_json
from xs2a_sandbox.journal.assertions import FILTERS

_OPTIONS = [journal_filter for journal_filter in FILTERS if journal_filter.help]


def _status(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isdecimal() or not 200 <= int(value) <= 599:
        raise click.BadParameter(f"{value!r} is not a status from 200 to 599")
    return int(value)


def _filters[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """Add an option for each filter of the journal."""
    for journal_filter in reversed(_OPTIONS):
        number: dict[str, Any] = (
            {"callback": _status} if journal_filter.name == "status" else {"type": click.IntRange(0)}
        )
        kind = number if journal_filter.kind == "number" else {}
        command = option(f"--{journal_filter.name}", metavar=journal_filter.metavar, help=journal_filter.help, **kind)(
            command
        )
    return command


@command(section="Inspect", examples=("xs2a-sandbox journal --status 400", "xs2a-sandbox journal 12"))
@click.argument("number", required=False, type=click.IntRange(1))
@_filters
@option(
    "--search",
    metavar="QUERY",
    help="Only exchanges that match a search, such as 'status:4xx method:post op:initiate-payment'.",
)
@option("--limit", metavar="N", type=click.IntRange(0), unset="50", help="Show the last N exchanges.")
@option(
    "--no-redact", "plain", is_flag=True, help="Show everything as it was sent, including tokens and personal data."
)
@json_option
@session_option("Only of this session (default: all sessions).")
@running_sandbox_flags
def journal(number: int | None, session: str | None, plain: bool, as_json: bool, **flags: Any) -> None:
    """Show the last requests and responses of a running sandbox.

    With NUMBER, shows everything about one exchange.
    """
    names = (*(journal_filter.name for journal_filter in _OPTIONS), "search", "limit")
    options = {"session": session, **{name: flags.pop(name) for name in names}}
    filters = {name: value for name, value in options.items() if value is not None}
    if number is not None and filters:
        raise click.UsageError(f"use either NUMBER or --{min(filters)}, not both")
    client = Client.of(load_settings(flags), number=Decimal)
    if number is not None:
        value: Mapping[str, Any] = client.exchange(number, plain=plain)
        lines = format_exchange(value)
    else:
        value = client.journal(plain=plain, **filters)
        lines = list_exchanges(value)
    if as_json:
        click.echo(_indent(value))
        return
    for line in lines:
        click.echo("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))


def list_exchanges(value: Mapping[str, Any]) -> Iterator[str]:
    for exchange in value["exchanges"]:
        yield _line(exchange)
        yield from (f"    {text}" for text in (*exchange["warnings"], *exchange["nearest"]))
    if not value["exchanges"]:
        yield "the journal is empty" if not value["kept"] else f"none of the {value['kept']} exchanges matches"


def format_exchange(exchange: Mapping[str, Any]) -> Iterator[str]:
    yield _line(exchange)
    yield from (f"    {text}" for text in (*exchange["warnings"], *exchange["nearest"]))
    yield ""
    yield f"{exchange['method']} {exchange['origin']}{exchange['target']}"
    yield from format_message(exchange["request"])
    yield ""
    yield f"{exchange['status']}{' and the fault ' + exchange['fault'] if exchange['fault'] else ''}"
    yield from format_message(exchange["answer"])
    if exchange["cut"]:
        yield ""
        yield "(a body is too long for the journal and was cut)"


def _indent(value: Any) -> str:
    return msgspec.json.format(to_json(value), indent=2).decode()


def _line(exchange: Mapping[str, Any]) -> str:
    time = exchange["time"].replace("T", " ")
    words = (
        exchange["method"],
        exchange["target"],
        exchange["status"],
        f"{exchange['milliseconds']}ms",
        exchange["source"],
        exchange["rule"] or "-",
    )
    fault = [f"fault={exchange['fault']}"] if exchange["fault"] else []
    reason = [f"reason={json.dumps(exchange['reason'], ensure_ascii=False)}"] if exchange["reason"] else []
    return " ".join([f"#{exchange['number']}", time, exchange["session"], *map(str, words), *fault, *reason])


def format_message(message: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{name}: {value}" for name, value in message["headers"])
    if "body" in message:
        yield ""
        yield from _indent(message["body"]).split("\n")
    elif "text" in message:
        yield ""
        yield from message["text"].splitlines()
    elif "base64" in message:
        yield ""
        yield f"base64: {message['base64']}"
