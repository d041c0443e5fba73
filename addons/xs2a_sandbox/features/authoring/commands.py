"""The commands for writing cases: a starter for one, and what none has exercised yet."""

import json
import shlex
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import running_sandbox_flags, shorten
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.errors import Problem, Unreadable

if TYPE_CHECKING:
    from xs2a_sandbox.features.authoring.coverage import CoverageTally


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def coverage(paths: tuple[Path, ...], form: str) -> None:
    """List the operations, rules and errors that no example exercises."""
    from xs2a_sandbox.features.authoring.coverage import CoverageTally

    show_coverage(load_settings(), paths, CoverageTally(), form, examples=True)


@click.command()
@click.argument("method", required=False)
@click.argument("path", required=False)
@click.option("--status", type=click.IntRange(200, 599), help="Status of the answer. [that of the operation]")
@click.option(
    "--from-journal",
    "number",
    metavar="N",
    type=click.IntRange(1),
    help="Make the case of this exchange of the journal.",
)
@click.option(
    "--to",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write this file. [named after operation and status]",
)
@running_sandbox_flags
def new_case(
    method: str | None, path: str | None, status: int | None, number: int | None, file: Path | None, **flags: Any
) -> None:
    """Write a commented case for requests like METHOD PATH, for you to edit.

    {parameters} of the path may stay open: GET /v1/accounts/{account-id}/balances

    With --from-journal it writes the request and answer of exchange N of a running sandbox as a case.
    """
    from xs2a_sandbox.features.authoring import new_case

    settings = load_settings(flags)
    if number is not None:
        if method or status:
            raise click.UsageError(f"--from-journal and {'METHOD' if method else '--status'} exclude each other")
        from xs2a_sandbox.control import journal
        from xs2a_sandbox.control.client import Client

        entry = journal.read(Client.of(settings, number=Decimal).exchange(number, plain=True))
        written = new_case.write_exchange(settings, entry, file)
    elif method and path:
        written = new_case.write(settings, method, path, status, file)
    else:
        raise click.UsageError("give METHOD and PATH, or --from-journal N")
    click.echo(f"{shorten(written)} written; edit it, and see with `xs2a-sandbox lint` whether it is right")


def show_coverage(
    settings: Settings,
    paths: Sequence[Path],
    tally: "CoverageTally",
    form: str,
    *,
    examples: bool = False,
    err: bool = False,
) -> None:
    """Shows what the tally leaves out of the files as they are now; `examples` are tried for it first."""
    from xs2a_sandbox.bank import loading
    from xs2a_sandbox.features.authoring.coverage import as_json, as_text, measure

    files = loading.read(settings, paths)
    interface, testdata = files.require_all()
    if examples:
        from xs2a_sandbox.features.authoring.examples import trials

        clock, static = settings.clock, settings.static_data
        for trial in trials(interface, files.schemas, testdata, clock=clock, static_data=static):
            if trial.exchange:
                tally.add(trial.exchange)
    measured = measure(interface, tally)
    click.echo(as_text(measured) if form == "text" else json.dumps(as_json(measured), ensure_ascii=False), err=err)


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
def lint(paths: tuple[Path, ...], form: str) -> None:
    """Check cassettes and test data; exit status 1 when there are problems."""
    problems, files = _check(load_settings(), paths)
    if form == "json":
        fields = ("file", "line", "column", "code", "text", "source")
        entries = [{name: getattr(p, name) for name in fields} | {"file": str(p.file)} for p in problems]
        click.echo(json.dumps(entries, ensure_ascii=False, indent=2))
    else:
        for problem in problems:
            click.echo(str(problem) if form == "text" else _annotation(problem))
        if not problems:
            click.echo(f"no problems in {files} file{'' if files == 1 else 's'}")
    if problems:
        click.get_current_context().exit(1)


_BASE = "berlin-group-1.3"


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--scenario", metavar="NAME", help="A case to start from, such as outage; `xs2a-sandbox docs` links to all."
)
@click.option("--dialect", metavar="NAME", help="Begin a dialect of your own, which extends another.")
@click.option("--from", "base", metavar="DIALECT", help=f"The dialect that it extends. [{_BASE}]")
def init(directory: Path, scenario: str | None, dialect: str | None, base: str | None) -> None:
    """Write the cassettes, schemas and settings into DIR, for you to edit."""
    from xs2a_sandbox.features.authoring import init_files

    if dialect is not None:
        if scenario is not None:
            raise click.UsageError("--dialect and --scenario exclude each other")
        written = init_files.write_dialect(directory, dialect, base or _BASE)
        file = directory / "cassettes" / dialect / "dialect.yaml"
        click.echo(f"{len(written)} files written. What your bank does otherwise goes into {file}; then:")
        click.echo(f"  {_going_to(directory)}xs2a-sandbox serve --dialect {dialect}")
        return
    if base is not None:
        raise click.UsageError("--from goes with --dialect NAME: the dialect of one's own that extends it")
    written = init_files.write(directory, scenario)
    click.echo(f"{len(written)} files written. Your own cases go into {directory / 'cassettes/cases'}; then:")
    click.echo(f"  {_going_to(directory)}xs2a-sandbox serve")


def _going_to(directory: Path) -> str:
    return "" if directory.resolve() == Path.cwd() else f"cd {shlex.quote(str(directory))} && "


def _check(settings: Settings, paths: Sequence[Path]) -> tuple[list[Problem], int]:
    """All problems, and the number of files looked at: the configured ones, and those in `paths`."""
    from xs2a_sandbox.bank.loading import layers
    from xs2a_sandbox.features.authoring.lint import check

    places = [place for layer in layers(settings) for place in layer]
    listed = (file for place in (*places, *paths) for file in ([place] if place.is_file() else place.rglob("*.yaml")))
    files = {file.resolve() for file in listed if file.is_file()}
    try:
        problems = check(settings, paths, lambda line: click.echo(f"warning: {line}", err=True))
    except Unreadable as unreadable:
        problems = list(unreadable.problems)
    # The test data, and what is laid over it.
    return problems, len(files) + 1 + bool(settings.testdata)


def _annotation(problem: Problem) -> str:
    """A line that GitHub Actions shows beside the file's line."""
    text = problem.text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    places = {"file": shorten(problem.file), "line": problem.line, "col": problem.column, "title": problem.code}
    escapes: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    properties = ",".join(f"{name}={str(value).translate(str.maketrans(escapes))}" for name, value in places.items())
    return f"::error {properties}::{text}"
