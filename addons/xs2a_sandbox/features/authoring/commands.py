"""The commands for authors of cassettes."""

import json
import shlex
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import bank_flags, running_sandbox_flags, shorten
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.cli.verbosity import Verbosity, detail, verbosity_options
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.features.authoring.coverage import CoverageTally


@command(section="Write cases", examples=("xs2a-sandbox coverage", "xs2a-sandbox coverage cases --json"))
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@json_option
@bank_flags
def coverage(paths: tuple[Path, ...], as_json: bool, **flags: Any) -> None:
    """List operations, rules and errors without an example.

    Runs the examples of the configured cassettes, and of each PATH: a cassette, a folder of cassettes, or test data.
    """
    from xs2a_sandbox.features.authoring.coverage import CoverageTally

    form = "json" if as_json else "text"
    show_coverage(load_settings(flags), paths, CoverageTally(), form, examples=True)


@command(
    section="Write cases",
    examples=(
        "xs2a-sandbox new-case GET /v1/accounts --status 403",
        "xs2a-sandbox new-case --from-journal 12 --to cassettes/cases/accounts.yaml",
    ),
)
@click.argument("method", required=False)
@click.argument("path", required=False)
@option("--status", type=click.IntRange(200, 599), unset="the operation's status", help="Status of the response.")
@option(
    "--from-journal",
    "number",
    metavar="N",
    type=click.IntRange(1),
    help="Write a case for this exchange in the journal.",
)
@option(
    "--to",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    unset="named after operation and status",
    help="The file to write.",
)
@running_sandbox_flags
def new_case(
    method: str | None, path: str | None, status: int | None, number: int | None, file: Path | None, **flags: Any
) -> None:
    """Write a case to edit, for requests such as METHOD PATH.

    Path parameters can be placeholders: GET /v1/accounts/{account-id}/balances

    With --from-journal N, write a case from the request and response of exchange N of a running sandbox.
    """
    from xs2a_sandbox.features.authoring import new_case

    settings = load_settings(flags)
    if number is not None:
        if method or status:
            raise click.UsageError(f"use either --from-journal or {'METHOD' if method else '--status'}, not both")
        from xs2a_sandbox.control import journal
        from xs2a_sandbox.control.client import Client

        entry = journal.read(Client.of(settings, number=Decimal).exchange(number, plain=True))
        written = new_case.write_exchange(settings, entry, file)
    elif method and path:
        written = new_case.write(settings, method, path, status, file)
    else:
        raise click.UsageError("give METHOD and PATH, or use --from-journal N")
    click.echo(f"{shorten(written)} written. Edit it, then check it with: xs2a-sandbox lint")


def show_coverage(
    settings: Settings,
    paths: Sequence[Path],
    tally: "CoverageTally",
    form: str,
    *,
    examples: bool = False,
    err: bool = False,
) -> None:
    """Print the entries of the current files that the tally lacks. The `examples` are tried first."""
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


@command(section="Write cases", examples=("xs2a-sandbox lint", "xs2a-sandbox lint --cassettes cases --format github"))
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="Format of the problems; github: annotations for GitHub Actions.",
)
@option("--json", "as_json", is_flag=True, help="Same as --format json.")
@bank_flags
@verbosity_options
def lint(paths: tuple[Path, ...], form: str, as_json: bool, **flags: Any) -> None:
    """Check cassettes and test data, and run all examples.

    Checks the files that `serve` would use, and each PATH: a cassette, a folder of cassettes, or test data. The exit
    status is 1 if there are problems.
    """
    problems, files = check_files(load_settings(flags), paths)
    for file in sorted(files):
        detail(f"checked {shorten(file)}")
    if as_json or form == "json":
        fields = ("file", "line", "column", "code", "text", "source")
        entries = [{name: getattr(p, name) for name in fields} | {"file": str(p.file)} for p in problems]
        click.echo(json.dumps(entries, ensure_ascii=False, indent=2))
    else:
        for problem in problems:
            click.echo(str(problem) if form == "text" else _annotation(problem))
        if not problems and Verbosity.current() > Verbosity.QUIET:
            click.echo(f"no problems in {say_count(len(files), 'file')}")
    if problems:
        click.get_current_context().exit(1)


_BASE = "berlin-group-1.3"


@command(
    section="Write cases",
    examples=("xs2a-sandbox init mybank --scenario outage", "xs2a-sandbox init mybank --dialect mybank"),
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@option("--scenario", metavar="NAME", help="Also write this scenario, such as outage; `xs2a-sandbox docs` lists all.")
@option("--dialect", metavar="NAME", help="Start your own dialect, which extends another one.")
@option("--from", "base", metavar="DIALECT", unset=_BASE, help="The dialect that it extends.")
def init(directory: Path, scenario: str | None, dialect: str | None, base: str | None) -> None:
    """Write editable cassettes, schemas and settings to DIR."""
    from xs2a_sandbox.features.authoring import init_files

    if dialect is not None:
        if scenario is not None:
            raise click.UsageError("use either --dialect or --scenario, not both")
        written = init_files.write_dialect(directory, dialect, base or _BASE)
        file = directory / "cassettes" / dialect / "dialect.yaml"
        click.echo(f"{len(written)} files written. Describe in {file} how your bank differs; then:")
        click.echo(f"  {_going_to(directory)}xs2a-sandbox serve --dialect {dialect}")
        return
    if base is not None:
        raise click.UsageError("--from needs --dialect NAME with the name of your dialect")
    written = init_files.write(directory, scenario)
    click.echo(f"{len(written)} files written. Your own cases go into {directory / 'cassettes/cases'}; then:")
    click.echo(f"  {_going_to(directory)}xs2a-sandbox serve")


def _going_to(directory: Path) -> str:
    return "" if directory.resolve() == Path.cwd() else f"cd {shlex.quote(str(directory))} && "


def check_files(settings: Settings, paths: Sequence[Path]) -> tuple[list[Problem], set[Path]]:
    """Return all problems, and the files that were checked: the configured ones, and those in `paths`."""
    from xs2a_sandbox.bank.loading import data_files, layers
    from xs2a_sandbox.features.authoring.lint import check

    places = [place for layer in layers(settings) for place in layer]
    listed = (file for place in (*places, *paths) for file in ([place] if place.is_file() else place.rglob("*.yaml")))
    files = {file.resolve() for file in listed if file.is_file()}
    try:
        problems = check(settings, paths, lambda line: click.echo(f"warning: {line}", err=True))
    except Unreadable as unreadable:
        problems = list(unreadable.problems)
    return problems, files.union(data_files(settings))


def _annotation(problem: Problem) -> str:
    """Return a line that GitHub Actions shows next to the line of the file."""
    text = problem.text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    places = {"file": shorten(problem.file), "line": problem.line, "col": problem.column, "title": problem.code}
    escapes: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    properties = ",".join(f"{name}={str(value).translate(str.maketrans(escapes))}" for name, value in places.items())
    return f"::error {properties}::{text}"
