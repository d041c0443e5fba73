"""The commands. Each imports what it needs itself: `--help` waits for no proxy."""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from xs2a_sandbox import (
    __version__,
    authoring_commands,
    compare_command,
    config,
    control_commands,
    explain_command,
    journal_command,
    recording_commands,
    serve_commands,
    trust,
)
from xs2a_sandbox.errors import Problem, StoreUnavailable, Unreadable, UserMistake

Collections = Mapping[str, Mapping[str, Any]]


class _Mistake(click.ClickException):
    exit_code = 2


class _Commands(click.Group):
    """Says a user's mistake in words, and takes ^C for an answer."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Unreadable as unreadable:
            # Each line begins with its place, where editors and terminals look for one.
            click.echo(str(unreadable), err=True)
            context.exit(2)
        except (UserMistake, StoreUnavailable) as mistake:
            raise _Mistake(str(mistake)) from None
        except KeyboardInterrupt:
            context.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A sandbox that answers like a bank's PSD2 XS2A interface.

    Every flag can also stand in xs2a-sandbox.yaml (proxy_port: 8080) or in the environment (XS2A_SANDBOX_PROXY_PORT).
    """
    trust.leave_out(os.environ)


for _command in (
    serve_commands.serve,
    serve_commands.record,
    compare_command.compare,
    authoring_commands.new_case,
    authoring_commands.coverage,
    recording_commands.derive_,
    recording_commands.import_,
    recording_commands.export_,
    control_commands.reset,
    control_commands.state,
    control_commands.clock,
    explain_command.explain,
    journal_command.journal,
):
    cli.add_command(_command)


def main() -> None:
    cli(prog_name="xs2a-sandbox")


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def testdata(as_json: bool) -> None:
    """The preconfigured consents, accounts, payments and customers."""
    listed = _listed(*_testdata(_load({})))
    if as_json:
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Wide enough for an id and its accounts where there is no terminal.
    console = Console(width=None if sys.stdout.isatty() else 140)
    for title, rows in listed.items():
        table = Table(title=title, title_justify="left")
        for column in rows[0] if rows else ():
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(_cell(value)) for value in row.values()))
        console.print(table)


@cli.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
def lint(paths: tuple[Path, ...], form: str) -> None:
    """Check cassettes and test data; exit status 1 when there are problems."""
    problems, files = _check(_load({}), paths)
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


@cli.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--scenario", metavar="NAME", help="A case to start from, such as outage: docs/scenarios lists them.")
def init(directory: Path, scenario: str | None) -> None:
    """Write the cassettes, schemas and settings into DIR, to be edited."""
    from xs2a_sandbox import starter

    written = starter.write(directory, scenario)
    click.echo(f"{len(written)} files written. Your own cases go into {directory / 'cassettes/cases'}; then:")
    click.echo(f"  cd {shlex.quote(str(directory))} && xs2a-sandbox serve")


def _load(flags: Mapping[str, Any]) -> config.Settings:
    return config.load(flags, os.environ, Path.cwd())


def _testdata(settings: config.Settings) -> tuple[Collections, Sequence[str]]:
    """The documents as a session begins with them, and the ids of the consents that the bank does not know."""
    from xs2a_sandbox.assembly import load_testdata

    data = load_testdata(settings)
    return data.at(settings.clock.today()), data.unknown_consents


def _check(settings: config.Settings, paths: Sequence[Path]) -> tuple[list[Problem], int]:
    """All problems, and the number of files looked at: the configured ones, and those in `paths`."""
    from xs2a_sandbox import assembly
    from xs2a_sandbox.lint import check

    places = [place for layer in assembly.layers(settings) for place in layer]
    files = {file.resolve() for place in [*places, *paths] for file in ([place] if place.is_file() else _yaml(place))}
    try:
        problems = check(settings, paths)
    except Unreadable as unreadable:
        problems = list(unreadable.problems)
    # The test data, and what is laid over it.
    return problems, len(files) + 1 + bool(settings.testdata)


def _yaml(directory: Path) -> list[Path]:
    return [file for file in directory.rglob("*.yaml") if file.is_file()]


def _listed(collections: Collections, unknown_consents: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """What a client of the sandbox needs to know; an account's balance is the forwardAvailable one."""
    consents = [
        {"id": id, "role": consent["role"], "accounts": list(consent.get("accounts") or [])}
        for id, consent in collections.get("consents", {}).items()
    ]
    consents += [{"id": id, "role": "unknown", "accounts": []} for id in unknown_consents]
    accounts = [
        {"iban": iban, "currency": a.get("currency"), "name": a.get("name"), "balance": _balance(a)}
        | {"psuId": a.get("psuId")}
        for iban, a in collections.get("accounts", {}).items()
    ]
    payments = [
        {"id": id, "service": p.get("service"), "product": p.get("product"), "status": p.get("transactionStatus")}
        for id, p in collections.get("payments", {}).items()
    ]
    psus = [
        {"id": id, "password": psu.get("password"), "otp": psu.get("otp"), "methods": psu.get("methods") or []}
        for id, psu in collections.get("psus", {}).items()
    ]
    return {"consents": consents, "accounts": accounts, "payments": payments, "psus": psus}


def _balance(account: Mapping[str, Any]) -> str | None:
    for balance in account.get("balances") or ():
        if balance["balanceType"] == "forwardAvailable":
            return str(balance["balanceAmount"]["amount"])
    return None


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(v["authenticationMethodId"]) if isinstance(v, dict) else str(v) for v in value)
    return "" if value is None else str(value)


def _annotation(problem: Problem) -> str:
    """A line that GitHub Actions shows beside the file's line."""
    text = problem.text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    file = problem.file
    if file.is_absolute() and file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    places = {"file": file, "line": problem.line, "col": problem.column, "title": problem.code}
    escapes: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    properties = ",".join(f"{name}={str(value).translate(str.maketrans(escapes))}" for name, value in places.items())
    return f"::error {properties}::{text}"
