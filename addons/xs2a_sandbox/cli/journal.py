"""`xs2a-sandbox journal`: the last exchanges of a running sandbox, or one of them."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import click
import msgspec

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Remote
from xs2a_sandbox.http import to_json


def _status(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isdecimal() or not 200 <= int(value) <= 599:
        raise click.BadParameter(f"{value!r} is not a number from 200 to 599")
    return int(value)


@click.command()
@click.argument("number", required=False, type=click.IntRange(1))
@click.option("--method", metavar="METHOD", help="Only of this method.")
@click.option("--path", metavar="PATH", help="Only of this path; * stands for anything.")
@click.option("--status", metavar="N", callback=_status, help="Only with this status.")
@click.option("--source", metavar="NAME", help="Only answered by this: handler, rule, bank or sandbox.")
@click.option("--rule", metavar="ID", help="Only answered by this rule or operation.")
@click.option("--since", metavar="N", type=click.IntRange(0), help="Only those after number N.")
@click.option("--limit", metavar="N", type=click.IntRange(0), help="The last N. [50]")
@click.option("--no-redact", "plain", is_flag=True, help="Everything as it was sent, tokens and personal data too.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@session_option("Only of this session; all when none is named.")
@setting_flags("host", "port", "confdir")
def journal(number: int | None, session: str | None, plain: bool, as_json: bool, **flags: Any) -> None:
    """Show the last exchanges of a running sandbox, or all of the one with NUMBER."""
    options = {"session": session, **{name: flags.pop(name) for name in _FILTERS}}
    filters = {name: str(value) for name, value in options.items() if value is not None}
    if number is not None and filters:
        raise click.UsageError(f"NUMBER and --{min(filters)} exclude each other")
    if plain:
        filters["plain"] = "true"
    remote = Remote(load_settings(flags), number=Decimal)
    if number is not None:
        value = remote.get("journal", str(number), **filters)
        lines = _whole(value)
    else:
        value = remote.get("journal", **filters)
        lines = _listed(value)
    if as_json:
        click.echo(_indented(value))
        return
    for line in lines:
        click.echo("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))


_FILTERS = ("method", "path", "status", "source", "rule", "since", "limit")


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
