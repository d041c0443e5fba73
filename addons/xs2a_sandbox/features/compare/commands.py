"""`xs2a-sandbox compare` and `watch`: compare the sandbox with a bank, or a bank with a recording of it."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import header_flag, setting_flags, vault_flag
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.cli.verbosity import detail, verbosity_options
from xs2a_sandbox.config.kinds import BANK_URL, NOISE_READS, SettingKind
from xs2a_sandbox.config.readers import REPORTS, REPORTS_TEXT
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.features.compare import history

if TYPE_CHECKING:
    from xs2a_sandbox.cassette import Interface
    from xs2a_sandbox.compare.difference import Severity
    from xs2a_sandbox.compare.reports.report import Report
    from xs2a_sandbox.features.compare.comparison_run import ComparisonOutcome

_SETTINGS = ("dialect", "quirk", "like", "cassettes", "testdata", "confdir")
_FLOORS: "dict[str, Severity | None]" = {"high": "high", "medium": "medium", "low": "low", "none": None}
_DIFFERS, _NOT_COMPARED = 1, 2


def _as(kind: SettingKind[Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Return a callback that reads an option's value like a setting."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else kind.read(value, Path.cwd())
        except ValueError:
            # A URL may hold a password.
            text = re.sub(r"//[^/@]*@", "//…@", str(value))
            raise click.BadParameter(f"{text!r} is not {kind.expected}") from None

    return read


def _files(context: click.Context, parameter: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in value:
        if file.suffix not in REPORTS:
            raise click.BadParameter(f"the name of {file} must end in one of {', '.join(REPORTS)}")
        if not file.resolve().parent.is_dir():
            raise click.BadParameter(f"the folder {file.parent} for {file.name} does not exist; create it first")
    return value


_existing = click.Path(exists=True, path_type=Path)
_path = click.Path(path_type=Path)


def _shared_flags(against: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the flags of all comparisons. `against` is the default of `--against`."""
    flags = (
        option(
            "--against",
            type=click.Choice(["sandbox", "recording"]),
            default=against,
            help=(
                "Compare the bank with the sandbox (to check the sandbox), or with the recording (to find "
                "changes of the bank)."
            ),
        ),
        json_option,
        header_flag,
        vault_flag,
        option("--allow-writes", is_flag=True, help="Also send writes to the bank."),
        option(
            "--noise-reads",
            metavar="N|off",
            default="1",
            callback=_as(NOISE_READS),
            help="Repeat each read at the bank this many times, to find values that differ on every read.",
        ),
        option(
            "--sca-timeout",
            metavar="SECONDS",
            type=click.IntRange(min=0),
            default=300,
            help="Seconds to wait for the payment user to decide, if the recording has a decision; 0: do not wait.",
        ),
        option(
            "--ignore", metavar="FILE", multiple=True, type=_existing, help="A file of ignore rules. May be repeated."
        ),
        option(
            "--fail-on",
            type=click.Choice(list(_FLOORS)),
            default="medium",
            help="Exit with 1 for differences of this severity or a higher one.",
        ),
        option(
            "--report",
            "reports",
            metavar="FILE",
            multiple=True,
            type=_path,
            callback=_files,
            help=f"Write a report: {REPORTS_TEXT}. May be repeated.",
        ),
        option("--no-redact", is_flag=True, help="Show secrets and personal data as they are."),
        setting_flags(*_SETTINGS),
        verbosity_options,
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for flag in reversed(flags):
            command = flag(command)
        return command

    return decorate


@command(
    section="Real banks",
    examples=(
        "xs2a-sandbox compare recordings --bank https://api.bank.example/psd2",
        "xs2a-sandbox compare --offline recordings --report compare.html",
    ),
)
@click.argument("played", metavar="[CASSETTE|RECORDING|FILE.har]...", nargs=-1, type=_existing)
@option("--bank", metavar="URL", callback=_as(BANK_URL), help="Base URL of the real bank.")
@option("--offline", metavar="RECORDING", type=_existing, help="Compare with a recording instead of the bank.")
@option("--suggest-ignores", is_flag=True, help="Print ignore rules for the values that drift.")
@option("--patch", metavar="DIR", type=_path, help="Write amendments that make the sandbox answer like the bank.")
@option(
    "--behaviour",
    metavar="RECORDING",
    type=_existing,
    help="Also compare the sequences of states with this recording.",
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
    as_json: bool,
    **flags: Any,
) -> None:
    """Show where the sandbox and a real bank differ.

    Sends the same requests to both: the examples of all cassettes or of a CASSETTE (a file or a folder), or the
    requests of a RECORDING (its folder, or one of its files) or a FILE.har.

    Exit status: 0 no differences, 1 differences, 2 something could not be compared.
    """
    if bank and offline:
        raise click.UsageError("use either --bank or --offline, not both: --offline RECORDING replaces the bank")
    if not bank and not offline and not behaviour:
        raise click.UsageError("choose what to compare with: --bank URL, --offline RECORDING or --behaviour RECORDING")
    if flags["against"] == "recording" and patch:
        raise click.UsageError(
            "use either --patch or --against recording, not both: --patch needs a comparison with the sandbox"
        )
    if as_json and suggest_ignores:
        raise click.UsageError("use either --json or --suggest-ignores, not both: both write to standard output")
    outcome = _run(played=played, bank=bank, offline=offline, behaviour=behaviour, **flags)
    made = outcome.report
    _report(made, reports, _FLOORS[fail_on], as_json=as_json)
    if patch:
        _amend(made, outcome.interface, patch, outcome.amended, err=as_json)
    if suggest_ignores:
        from xs2a_sandbox.features.compare.reports import suggest_ignores as ignore_suggestion

        click.echo(ignore_suggestion.as_yaml(*ignore_suggestion.suggest(made)), nl=False)
    _exit(made, made.fails(_FLOORS[fail_on]))


@command(
    section="Real banks",
    examples=(
        "xs2a-sandbox watch recordings --bank https://api.bank.example/psd2",
        "xs2a-sandbox watch recordings --bank https://api.bank.example/psd2 --report watch.xml --quiet",
    ),
)
@click.argument("recordings", metavar="RECORDING|FILE.har...", nargs=-1, required=True, type=_existing)
@option("--bank", metavar="URL", required=True, callback=_as(BANK_URL), help="Base URL of the real bank.")
@option(
    "--history",
    "folder",
    metavar="DIR",
    type=_path,
    default=history.FOLDER,
    help="Folder for the differences of each run.",
)
@_shared_flags("recording")
def watch(
    recordings: tuple[Path, ...],
    bank: str,
    folder: Path,
    fail_on: str,
    reports: tuple[Path, ...],
    as_json: bool,
    **flags: Any,
) -> None:
    """Show changes in a bank's responses since the last run.

    Sends the requests of the RECORDING to the bank, and compares the responses with the recorded ones, or with those
    of the sandbox. Exit status: 0 no new differences, 1 new differences, 2 something could not be compared.
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
    if as_json:
        click.echo(changes.as_json(drift, len(before)))
    else:
        console = Console(width=None if sys.stdout.isatty() else 140, highlight=False, soft_wrap=True)
        changes.write(made, drift, len(before), console)
    for file in reports:
        files.write(file, made, _FLOORS[fail_on])
    _exit(made, drift.fails(_FLOORS[fail_on]))


def _run(**flags: Any) -> "ComparisonOutcome":
    """Compare as the flags say. Raises UserMistake before anything is sent."""
    from xs2a_sandbox.features.compare.comparison_run import ComparisonFlags, run

    settings = {name: flags.pop(name) for name in _SETTINGS}
    outcome = run(ComparisonFlags(settings=settings, **flags))
    for exchange in outcome.report.exchanges:
        detail(f"{exchange.verdict}: {exchange.request}")
    return outcome


def _exit(made: "Report", fails: bool) -> None:
    verdicts = made.tally.verdicts
    if not made.compares:
        click.echo("nothing was compared", err=True)
    if not made.compares or verdicts["not answered"] or verdicts["not comparable"]:
        click.get_current_context().exit(_NOT_COMPARED)
    if fails:
        click.get_current_context().exit(_DIFFERS)


def _report(made: "Report", reports: Sequence[Path], fail_on: "Severity | None", *, as_json: bool) -> None:
    from rich.console import Console

    from xs2a_sandbox.features.compare.reports import files, text

    if as_json:
        click.echo(files.as_json(made), nl=False)
    else:
        # Without a terminal, wide enough for both sides.
        text.write(made, Console(width=None if sys.stdout.isatty() else 140, highlight=False))
    for file in reports:
        files.write(file, made, fail_on)


def _amend(
    made: "Report", interface: "Interface", directory: Path, amended: "Callable[[Path], Report]", *, err: bool
) -> None:
    """Write amendments that were tried: `amended` compares again, with the amendments of a folder."""
    from xs2a_sandbox.features.compare import suggest_amendments

    suggestion = suggest_amendments.suggest(made, interface)
    with TemporaryDirectory() as folder:
        suggest_amendments.write(suggestion.cassettes, Path(folder))
        try:
            left = suggest_amendments.find_remaining(made, amended(Path(folder)))
        except Unreadable as error:
            click.echo(f"no amendments were written, because they cannot be read: {error}", err=err)
            return
    before = Counter(group.operation for group in made.groups)
    useful = {name: text for name, text in suggestion.cassettes.items() if len(left.get(name, ())) < before[name]}
    for operation, file in suggest_amendments.write(useful, directory).items():
        places = left.get(operation, ())
        does = f"{len(places)} {'does' if len(places) == 1 else 'do'}{': ' if places else ''}{', '.join(places)}"
        click.echo(f"{file}: {before[operation]} differ; with this file {does}", err=err)
    for operation in sorted(suggestion.cassettes.keys() - useful.keys()):
        click.echo(f"{operation}: no amendment was written, because no amendment would remove a difference", err=err)
    for line in suggestion.left:
        click.echo(f"not amended: {line}", err=err)
    if useful:
        click.echo(f"try them with --cassettes {directory}", err=err)
