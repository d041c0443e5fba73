"""The commands that control a running sandbox, through its control interface."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import click

from xs2a_sandbox.cli.flags import running_sandbox_flags
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import ClockShape
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.state.session import is_session_name


def session_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return option("--session", metavar="NAME", section="Running sandbox", help=text, callback=_session_name)


def _session_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not is_session_name(value):
        raise click.BadParameter("a session name must have 1 to 64 characters from A-Z a-z 0-9 . _ -")
    return value


_session_option = session_option("The session (default: `default`).")


@command(section="Run", examples=("xs2a-sandbox reset", "xs2a-sandbox reset --session checkout-tests"))
@_session_option
@option("--all", "everything", is_flag=True, help="Reset all sessions.")
@running_sandbox_flags
def reset(session: str | None, everything: bool, **flags: Any) -> None:
    """Reset the state and the clock of a session."""
    if everything and session is not None:
        raise click.UsageError("use either --session or --all, not both")
    client = client_of(flags, session)
    names = client.reset(all=everything)["reset"]
    click.echo(f"deleted the state of {', '.join(names)}")


@command(
    section="Inspect", examples=("xs2a-sandbox state", "xs2a-sandbox state consents --session checkout-tests --json")
)
@click.argument("collection", required=False)
@click.argument("id", required=False)
@_session_option
@json_option
@running_sandbox_flags
def state(collection: str | None, id: str | None, session: str | None, as_json: bool, **flags: Any) -> None:
    """Show the consents, payments and other documents of a session.

    Without COLLECTION, lists the collections with their sizes; with COLLECTION, its documents; with ID, one document.
    """
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
            click.echo(f"the collection {collection} is empty{did_you_mean(collection, client.collections())}")
    else:
        width = max(map(len, value), default=0)
        for name, documents in value.items():
            click.echo(f"{name:<{width}}  {len(documents)}")


@command(section="Run", examples=("xs2a-sandbox clock --move 90d", "xs2a-sandbox clock --freeze 2026-11-21T09:00"))
@option("--move", metavar="SPAN", help="Move the clock: 90d, 12h, 1d6h, PT15M or 90 (seconds); -1d moves it back.")
@option("--freeze", metavar="TIME", help="Stop the clock at this time, such as 2026-11-21T09:00.")
@option("--seed", metavar="TEXT", help="With --freeze: create the same ids for the same requests.")
@option("--real", is_flag=True, help="Return to the real time.")
@json_option
@_session_option
@running_sandbox_flags
def clock(
    move: str | None,
    freeze: str | None,
    seed: str | None,
    real: bool,
    as_json: bool,
    session: str | None,
    **flags: Any,
) -> None:
    """Show, move or freeze the clock of a session."""
    if (move is not None) + (freeze is not None) + real > 1:
        raise click.UsageError("use only one of --move, --freeze and --real")
    if seed is not None and freeze is None:
        raise click.UsageError("--seed needs --freeze TIME: ids repeat only while the clock is frozen")
    client = client_of(flags, session)
    if move is not None:
        now = client.move_clock(move)
    elif freeze is not None:
        now = client.set_clock(frozen=freeze, seed=seed)
    elif real:
        now = client.set_clock(real=True)
    else:
        now = client.clock()
    click.echo(json.dumps(now, indent=2) if as_json else f"{now['now']}  {_kind(now)}")


def _kind(clock: ClockShape) -> str:
    if clock["frozen"]:
        return "frozen"
    shift = timedelta(seconds=clock["shift"])
    days = str(abs(shift)).removesuffix(", 0:00:00")
    return f"{'behind' if shift < timedelta() else 'ahead'} by {days}" if shift else "real"


def client_of(flags: dict[str, Any], session: str | None) -> Client:
    return Client.of(load_settings(flags), session)
