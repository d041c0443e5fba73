"""`xs2a-sandbox journal`: the last exchanges of a running sandbox, or one of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import click
import msgspec

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.http import to_json
from xs2a_sandbox.journal.assertions import FILTERS

_OPTIONS = [one for one in FILTERS if one.help]


def _status(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isdecimal() or not 200 <= int(value) <= 599:
        raise click.BadParameter(f"{value!r} is not a number from 200 to 599")
    return int(value)


def _filters[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """An option for each filter of the journal."""
    for one in reversed(_OPTIONS):
        number: dict[str, Any] = {"callback": _status} if one.name == "status" else {"type": click.IntRange(0)}
        kind = number if one.kind == "number" else {}
        command = click.option(f"--{one.name}", metavar=one.metavar, help=one.help, **kind)(command)
    return command


@click.command()
@click.argument("number", required=False, type=click.IntRange(1))
@_filters
@click.option("--limit", metavar="N", type=click.IntRange(0), help="The last N. [50]")
@click.option("--no-redact", "plain", is_flag=True, help="Everything as it was sent, tokens and personal data too.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@session_option("Only of this session; all when none is named.")
@setting_flags("host", "port", "confdir")
def journal(number: int | None, session: str | None, plain: bool, as_json: bool, **flags: Any) -> None:
    """Show the last exchanges of a running sandbox, or all of the one with NUMBER."""
    names = (*(one.name for one in _OPTIONS), "limit")
    options = {"session": session, **{name: flags.pop(name) for name in names}}
    filters = {name: value for name, value in options.items() if value is not None}
    if number is not None and filters:
        raise click.UsageError(f"NUMBER and --{min(filters)} exclude each other")
    client = Client.of(load_settings(flags), number=Decimal)
    if number is not None:
        value: Mapping[str, Any] = client.exchange(number, plain=plain)
        lines = _whole(value)
    else:
        value = client.journal(plain=plain, **filters)
        lines = _listed(value)
    if as_json:
        click.echo(_indented(value))
        return
    for line in lines:
        click.echo("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))


def _listed(value: Mapping[str, Any]) -> Iterator[str]:
    for one in value["exchanges"]:
        yield _line(one)
        yield from (f"    {text}" for text in (*one["warnings"], *one["nearest"]))
    if not value["exchanges"]:
        yield "nothing in the journal" if not value["kept"] else f"none of the {value['kept']} exchanges is like that"


def _whole(one: Mapping[str, Any]) -> Iterator[str]:
    yield _line(one)
    yield from (f"    {text}" for text in (*one["warnings"], *one["nearest"]))
    yield ""
    yield f"{one['method']} {one['origin']}{one['target']}"
    yield from _message(one["request"])
    yield ""
    yield f"{one['status']}{' and the fault ' + one['fault'] if one['fault'] else ''}"
    yield from _message(one["answer"])
    if one["cut"]:
        yield ""
        yield "(a body is longer than what the journal keeps)"


def _indented(value: Any) -> str:
    return msgspec.json.format(to_json(value), indent=2).decode()


def _line(one: Mapping[str, Any]) -> str:
    time = one["time"].replace("T", " ")
    words = (one["method"], one["target"], one["status"], f"{one['milliseconds']}ms", one["source"], one["rule"] or "-")
    reason = [f"reason={json.dumps(one['reason'], ensure_ascii=False)}"] if one["reason"] else []
    return " ".join([f"#{one['number']}", time, one["session"], *map(str, words), *reason])


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{name}: {value}" for name, value in message["headers"])
    if "body" in message:
        yield ""
        yield from _indented(message["body"]).split("\n")
    elif "text" in message:
        yield ""
        yield from message["text"].splitlines()
    elif "base64" in message:
        yield ""
        yield f"base64: {message['base64']}"
