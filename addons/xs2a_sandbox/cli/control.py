"""The commands that control a running sandbox, through its control interface."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import click

from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import ClockShape
from xs2a_sandbox.state.session import is_session_name


def session_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--session", metavar="NAME", help=text, callback=_session_name)


def _session_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not is_session_name(value):
        raise click.BadParameter("session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -")
    return value


_session_option = session_option("The session; `default` when it is not named.")


@click.command()
@_session_option
@click.option("--all", "everything", is_flag=True, help="Forget all sessions.")
@running_sandbox_flags
def reset(session: str | None, everything: bool, **flags: Any) -> None:
    """Forget the state and the clock of a running sandbox's session."""
    if everything and session is not None:
        raise click.UsageError("--session and --all exclude each other")
    client = client_of(flags, session)
    names = client.reset(all=everything)["reset"]
    click.echo(f"forgot the state of {', '.join(names)}")


@click.command()
@click.argument("collection", required=False)
@click.argument("id", required=False)
@_session_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@running_sandbox_flags
def state(collection: str | None, id: str | None, session: str | None, as_json: bool, **flags: Any) -> None:
    """Show the documents of a running sandbox: the test data, with their changes."""
    client = client_of(flags, session)
    if collection is None:
        value: Mapping[str, Any] = client.collections()
    elif id is None:
        value = client.collection(collection)
    else:
        value = client.document(collection, id)
    if as_json or id is not None:
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    elif collection is not None:
        for key, document in value.items():
            click.echo(f"{key}  {json.dumps(document, ensure_ascii=False)}")
        if not value:
            click.echo(f"nothing in {collection}")
    else:
        width = max(map(len, value), default=0)
        for name, documents in value.items():
            click.echo(f"{name:<{width}}  {len(documents)}")


@click.command()
@click.option("--move", metavar="SPAN", help="Let time pass: 90d, 12h, 1d6h, PT15M, 90 (seconds); -1d goes back.")
@click.option("--freeze", metavar="TIME", help="Stop the clock at this time: 2026-11-21T09:00.")
@click.option("--seed", metavar="TEXT", help="With --freeze: make the same ids whenever the same requests come.")
@click.option("--real", is_flag=True, help="Go back to the real time.")
@_session_option
@running_sandbox_flags
def clock(
    move: str | None, freeze: str | None, seed: str | None, real: bool, session: str | None, **flags: Any
) -> None:
    """Show, move, freeze or set back the clock of a running sandbox's session."""
    if (move is not None) + (freeze is not None) + real > 1:
        raise click.UsageError("--move, --freeze and --real exclude each other")
    if seed is not None and freeze is None:
        raise click.UsageError("--seed goes with --freeze: only a clock that stands can have one")
    client = client_of(flags, session)
    if move is not None:
        now = client.move_clock(move)
    elif freeze is not None:
        now = client.set_clock(frozen=freeze, seed=seed)
    elif real:
        now = client.set_clock(real=True)
    else:
        now = client.clock()
    click.echo(f"{now['now']}  {_kind(now)}")


def _kind(clock: ClockShape) -> str:
    if clock["frozen"]:
        return "frozen"
    shift = timedelta(seconds=clock["shift"])
    days = str(abs(shift)).removesuffix(", 0:00:00")
    return f"{'behind' if shift < timedelta() else 'ahead'} by {days}" if shift else "real"


def client_of(flags: dict[str, Any], session: str | None) -> Client:
    return Client.of(load_settings(flags), session)
