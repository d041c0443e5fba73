"""`xs2a-sandbox compare` and `watch`: the sandbox beside a bank, or a bank beside a recording of it."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import header_flag, setting_flags, vault_flag
from xs2a_sandbox.config.kinds import BANK_URL, NOISE_READS, SettingKind
from xs2a_sandbox.config.readers import REPORTS, REPORTS_TEXT
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.features.compare import history

if TYPE_CHECKING:
    from xs2a_sandbox.cassette import Interface
    from xs2a_sandbox.compare.difference import Severity
    from xs2a_sandbox.compare.reports.report import Report
    from xs2a_sandbox.features.compare.comparison_run import ComparisonOutcome

_SETTINGS = ("dialect", "quirk", "cassettes", "testdata", "confdir")
_FLOORS: "dict[str, Severity | None]" = {"high": "high", "medium": "medium", "low": "low", "none": None}
_DIFFERS, _NOT_COMPARED = 1, 2


def _as(kind: SettingKind[Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """A callback that reads an option's value like a setting."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else kind.read(value, Path.cwd())
        except ValueError:
            # A URL may hold a password.
            text = re.sub(r"//[^/@]*@", "//…@", str(value))
            raise click.BadParameter(f"{text} is not {kind.expected}") from None

    return read


def _files(context: click.Context, parameter: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in value:
        if file.suffix not in REPORTS:
            raise click.BadParameter(f"{file} ends in none of {', '.join(REPORTS)}")
        if not file.resolve().parent.is_dir():
            raise click.BadParameter(f"{file.parent} is no folder that a report can be written into")
    return value


_existing = click.Path(exists=True, path_type=Path)
_path = click.Path(path_type=Path)


def _shared_flags(against: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the flags of all comparisons. `against` is held against the bank where nobody says what."""
    flags = (
        click.option(
            "--against",
            type=click.Choice(["sandbox", "recording"]),
            default=against,
            show_default=True,
            help="Compare the bank with the sandbox (is it wrong?), or with the recording (has the bank changed?).",
        ),
        header_flag,
        vault_flag,
        click.option("--allow-writes", is_flag=True, help="Also send writes to the bank."),
        click.option(
            "--noise-reads",
            metavar="N|off",
            default="1",
            show_default=True,
            callback=_as(NOISE_READS),
            help="How often to repeat each read at the bank, to find values that change by themselves.",
        ),
        click.option(
            "--sca-timeout",
            metavar="SECONDS",
            type=click.IntRange(min=0),
            default=300,
            show_default=True,
            help="How long to wait for the payment user to decide as in the recording; 0: not at all.",
        ),
        click.option("--ignore", metavar="FILE", multiple=True, type=_existing, help="A file of ignore rules."),
        click.option(
            "--fail-on",
            type=click.Choice(list(_FLOORS)),
            default="medium",
            show_default=True,
            help="Exit with 1 for differences of this severity, or worse.",
        ),
        click.option(
            "--report",
            "reports",
            metavar="FILE",
            multiple=True,
            type=_path,
            callback=_files,
            help=f"Write a report: {REPORTS_TEXT}.",
        ),
        click.option("--no-redact", is_flag=True, help="Show secrets and personal data as they are."),
        setting_flags(*_SETTINGS),
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for flag in reversed(flags):
            command = flag(command)
        return command

    return decorate


@click.command()
@click.argument("played", metavar="[CASSETTE|RECORDING|FILE.har]...", nargs=-1, type=_existing)
@click.option("--bank", metavar="URL", callback=_as(BANK_URL), help="The real bank.")
@click.option("--offline", metavar="RECORDING", type=_existing, help="Compare with a recording in place of the bank.")
@click.option("--suggest-ignores", is_flag=True, help="Print ignore rules for the values that drift.")
@click.option(
    "--patch", metavar="DIR", type=_path, help="Write amendments with which the sandbox would agree with the bank."
)
@click.option(
    "--behaviour",
    metavar="RECORDING",
    type=_existing,
    help="Also compare the chains of states with those in this recording.",
)
@_shared_flags("sandbox")
def compare(
    played: tuple[Path, ...],
    bank: str | None,
    offline: Path | None,
    behaviour: Path | None,
    suggest_ignores: bool,
    fail_on: str,
    reports: tuple[Path, ...],
    patch: Path | None,
    **flags: Any,
) -> None:
    """Say where the sandbox and a real bank differ, and whether it matters.

    It sends both the same requests: the examples of all cassettes; or those of a CASSETTE (a file or a folder); or the
    requests of a RECORDING (its folder, or one of its files) or a FILE.har. Exit status: 0 they agree, 1 they differ,
    2 something could not be compared.
    """
    if bank and offline:
        raise click.UsageError("--bank and --offline exclude each other: the recording stands for the bank")
    if not bank and not offline and not behaviour:
        raise click.UsageError("say what to compare with: --bank URL, or --offline RECORDING; or --behaviour RECORDING")
    if flags["against"] == "recording" and patch:
        raise click.UsageError("--patch amends the sandbox, and --against recording does not ask about it")
    outcome = _run(played=played, bank=bank, offline=offline, behaviour=behaviour, **flags)
    made = outcome.report
    _tell(made, reports, _FLOORS[fail_on])
    if patch:
        _amend(made, outcome.interface, patch, outcome.amended)
    if suggest_ignores:
        from xs2a_sandbox.features.compare.reports import suggest_ignores as ignore_suggestion

        click.echo(ignore_suggestion.as_yaml(*ignore_suggestion.suggest(made)), nl=False)
    _exit(made, made.fails(_FLOORS[fail_on]))


@click.command()
@click.argument("recordings", metavar="RECORDING|FILE.har...", nargs=-1, required=True, type=_existing)
@click.option("--bank", metavar="URL", required=True, callback=_as(BANK_URL), help="The real bank.")
@click.option(
    "--history",
    "folder",
    metavar="DIR",
    type=_path,
    default=history.FOLDER,
    show_default=True,
    help="Folder that keeps the differences of each run.",
)
@_shared_flags("recording")
def watch(
    recordings: tuple[Path, ...],
    bank: str,
    folder: Path,
    fail_on: str,
    reports: tuple[Path, ...],
    **flags: Any,
) -> None:
    """Say which of a bank's answers have changed since the last run.

    It sends the requests of the RECORDING to the bank, and compares the answers with the recorded ones, or with the
    sandbox's. Exit status: 0 no new difference, 1 there is one, 2 something could not be compared.
    """
    from rich.console import Console

    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.features.compare.reports import changes, files

    runs = history.read(folder)
    history.prepare(folder)
    made = _run(played=recordings, bank=bank, offline=None, behaviour=None, **flags).report
    run = history.WatchRun.of(made, Clock().now())
    before = [earlier for earlier in runs if earlier.is_of_the_same(run)]
    drift = history.changes(before, run)
    history.append(folder, run)
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False, soft_wrap=True)
    changes.write(made, drift, len(before), console)
    for file in reports:
        files.write(file, made, _FLOORS[fail_on])
    _exit(made, drift.fails(_FLOORS[fail_on]))


def _run(**flags: Any) -> "ComparisonOutcome":
    """Takes the flags of settings apart from those of the comparison. Raises UserMistake before anything is sent."""
    from xs2a_sandbox.features.compare.comparison_run import ComparisonFlags, run

    settings = {name: flags.pop(name) for name in _SETTINGS}
    return run(ComparisonFlags(settings=settings, **flags))


def _exit(made: "Report", fails: bool) -> None:
    verdicts = made.tally.verdicts
    if not made.compares:
        click.echo("nothing was compared: this run says nothing of the bank or the sandbox", err=True)
    if not made.compares or verdicts["not answered"] or verdicts["not comparable"]:
        click.get_current_context().exit(_NOT_COMPARED)
    if fails:
        click.get_current_context().exit(_DIFFERS)


def _tell(made: "Report", reports: Sequence[Path], fail_on: "Severity | None") -> None:
    from rich.console import Console

    from xs2a_sandbox.features.compare.reports import files, text

    # Wide enough for both sides where there is no terminal.
    text.write(made, Console(width=None if sys.stdout.isatty() else 140, highlight=False))
    for file in reports:
        files.write(file, made, fail_on)


def _amend(made: "Report", interface: "Interface", directory: Path, amended: "Callable[[Path], Report]") -> None:
    """Writes amendments that were tried: `amended` compares the same once more, with those of a folder."""
    from xs2a_sandbox.features.compare import suggest_amendments

    suggestion = suggest_amendments.suggest(made, interface)
    with TemporaryDirectory() as folder:
        suggest_amendments.write(suggestion.cassettes, Path(folder))
        try:
            left = suggest_amendments.find_remaining(made, amended(Path(folder)))
        except Unreadable as error:
            click.echo(f"no amendments are written, as they cannot be read: {error}")
            return
    before = Counter(group.operation for group in made.groups)
    useful = {name: text for name, text in suggestion.cassettes.items() if len(left.get(name, ())) < before[name]}
    for operation, file in suggest_amendments.write(useful, directory).items():
        places = left.get(operation, ())
        does = f"{len(places)} {'does' if len(places) == 1 else 'do'}{': ' if places else ''}{', '.join(places)}"
        click.echo(f"{file}: {before[operation]} differ; with this file {does}")
    for operation in sorted(suggestion.cassettes.keys() - useful.keys()):
        click.echo(f"{operation}: no amendment makes it differ less, so none is written")
    for line in suggestion.left:
        click.echo(f"not amended: {line}")
    if useful:
        click.echo(f"try them with --cassettes {directory}")
