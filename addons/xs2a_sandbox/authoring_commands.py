"""The commands for writing cases: a starter for one, and what none has exercised yet."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox import config
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.flags import setting_flags

if TYPE_CHECKING:
    from xs2a_sandbox.coverage import Tally


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def coverage(paths: tuple[Path, ...], form: str) -> None:
    """List the operations, rules and errors that no example exercises."""
    from xs2a_sandbox.coverage import Tally

    show_coverage(config.load({}, os.environ, Path.cwd()), paths, Tally(), form, examples=True)


@click.command()
@click.argument("method", required=False)
@click.argument("path", required=False)
@click.option(
    "--status", type=click.IntRange(200, 599), help="What is answered; without it what the operation answers."
)
@click.option("--from-journal", "number", metavar="N", type=click.IntRange(1), help="Of this exchange instead.")
@click.option("--to", "file", metavar="FILE", type=click.Path(path_type=Path), help="Another file to write.")
@setting_flags("host", "port", "confdir")
def new_case(
    method: str | None, path: str | None, status: int | None, number: int | None, file: Path | None, **flags: Any
) -> None:
    """Write a commented case for requests like METHOD PATH, to be edited.

    {parameters} of the path may stay open: GET /v1/accounts/{account-id}/balances

    With --from-journal it is a case of exchange N of a running sandbox, as it was asked and answered.
    """
    from xs2a_sandbox import new_case

    settings = config.load(flags, os.environ, Path.cwd())
    if number is not None:
        if method or status:
            raise click.UsageError(f"--from-journal and {'METHOD' if method else '--status'} exclude each other")
        from xs2a_sandbox import journal_view
        from xs2a_sandbox.remote import Remote

        entry = journal_view.read(Remote(settings).get("journal", str(number), plain="true"))
        written = new_case.write_exchange(settings, entry, file)
    elif method and path:
        written = new_case.write(settings, method, path, status, file)
    else:
        raise click.UsageError("give METHOD and PATH, or --from-journal N")
    shown = written.relative_to(Path.cwd()) if written.is_relative_to(Path.cwd()) else written
    click.echo(f"{shown} written; edit it, and see with `xs2a-sandbox lint` whether it is right")


def show_coverage(
    settings: config.Settings,
    paths: Sequence[Path],
    tally: "Tally",
    form: str,
    *,
    examples: bool = False,
    err: bool = False,
) -> None:
    """What the tally leaves out of the files as they are now; `examples` are tried for it first."""
    from xs2a_sandbox import assembly
    from xs2a_sandbox.coverage import as_json, as_text, measure

    files = assembly.read(settings, paths)
    if files.problems or files.interface is None or files.testdata is None:
        raise Unreadable(files.problems)
    if examples:
        from xs2a_sandbox.trial import trials

        clock, static = settings.clock, settings.static_data
        for trial in trials(files.interface, files.schemas, files.testdata, clock=clock, static_data=static):
            if trial.exchange:
                tally.add(trial.exchange)
    found = measure(files.interface, tally)
    click.echo(as_text(found) if form == "text" else json.dumps(as_json(found), ensure_ascii=False), err=err)
