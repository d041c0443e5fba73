"""`xs2a-sandbox compare` and `watch`: the sandbox beside a bank, or a bank beside a recording of it."""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.authoring.examples import compose, examples
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cli.flags import header_flag, setting_flags, vault_flag
from xs2a_sandbox.compare import history
from xs2a_sandbox.compare import steps as recorded_steps
from xs2a_sandbox.compare.comparison import Step
from xs2a_sandbox.config import RealBank, load_settings
from xs2a_sandbox.config.kinds import BANK_URL, NOISE_READS, SettingKind
from xs2a_sandbox.config.readers import REPORTS
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.recording.tape import Tape, read_tape

if TYPE_CHECKING:
    from xs2a_sandbox.compare.comparison import Against, Result
    from xs2a_sandbox.compare.difference import Severity
    from xs2a_sandbox.compare.reports.report import Report
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.engine import Engine
    from xs2a_sandbox.redaction.vault import OpenVault

_RECORDED = (".har", ".jsonl")
_FLOORS: "dict[str, Severity | None]" = {"high": "high", "medium": "medium", "low": "low", "none": None}
_DIFFERS, _NOT_COMPARED = 1, 2


def _as(kind: SettingKind[Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """A callback that reads an option's value like a setting."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else kind.read(value, Path.cwd())
        except ValueError:
            # A URL may hold a password.
            shown = re.sub(r"//[^/@]*@", "//…@", str(value))
            raise click.BadParameter(f"{shown} is not {kind.expected}") from None

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
            help="Compare the bank with the sandbox (is it wrong?), or with the recording (has the bank moved?).",
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
            help="Write a report: .json, .xml (JUnit) or .html.",
        ),
        click.option("--no-redact", is_flag=True, help="Show secrets and personal data as they are."),
        setting_flags("dialect", "quirk", "cassettes", "testdata", "confdir"),
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
    outcome = _compared(played, bank, offline, behaviour, **flags)
    made = outcome.report
    _tell(made, reports, _FLOORS[fail_on])
    if patch:
        _amend(made, outcome.interface, patch, outcome.amended)
    if suggest_ignores:
        from xs2a_sandbox.compare.reports import suggest_ignores as ignore_suggestion

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
    from xs2a_sandbox.compare.reports import changes, files

    runs = history.read(folder)
    history.prepare(folder)
    made = _compared(recordings, bank, None, None, **flags).report
    run = history.WatchRun.of(made, Clock().now())
    before = [earlier for earlier in runs if earlier.is_of_the_same(run)]
    drift = history.changes(before, run)
    history.append(folder, run)
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False, soft_wrap=True)
    changes.write(made, drift, len(before), console)
    for file in reports:
        files.write(file, made, _FLOORS[fail_on])
    _exit(made, drift.fails(_FLOORS[fail_on]))


def _exit(made: "Report", fails: bool) -> None:
    verdicts = made.tally.verdicts
    if not made.compares:
        click.echo("nothing was compared: this run says nothing of the bank or the sandbox", err=True)
    if not made.compares or verdicts["not answered"] or verdicts["not comparable"]:
        click.get_current_context().exit(_NOT_COMPARED)
    if fails:
        click.get_current_context().exit(_DIFFERS)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The report of a comparison. `amended` compares what was answered once more, with another layer of cassettes."""

    report: "Report"
    interface: Interface
    amended: "Callable[[Path], Report]"


def _compared(
    played: Sequence[Path],
    bank: str | None,
    offline: Path | None,
    behaviour: Path | None,
    against: "Against",
    headers: Sequence[tuple[str, str]],
    vault: Path | None,
    allow_writes: bool,
    noise_reads: int,
    sca_timeout: int,
    ignore: Sequence[Path],
    no_redact: bool,
    **flags: Any,
) -> _Outcome:
    """Asks all that is to be asked. Raises UserMistake before anything is sent."""
    alone = bool(behaviour and not bank and not offline)
    if against == "recording" and not bank:
        raise click.UsageError("--against recording asks whether a bank has moved: say which, with --bank URL")
    from xs2a_sandbox.bank.recorded_data import recorded_data
    from xs2a_sandbox.cassette.index import Index
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.compare import behaviour as behaviours
    from xs2a_sandbox.compare import masking as rules
    from xs2a_sandbox.compare.comparison import Result
    from xs2a_sandbox.compare.payment_user import PaymentUser
    from xs2a_sandbox.compare.reports.report import Question, printable, report
    from xs2a_sandbox.engine.build import build, redactor_of
    from xs2a_sandbox.recording.derive import counted
    from xs2a_sandbox.recording.har_log import raw_files
    from xs2a_sandbox.upstream.client import check

    # Beside --offline a recording's folder is a layer: does what was derived from it agree with it?
    recorded = [path for path in played if path.suffix in _RECORDED or ((bank or alone) and raw_files(path))]
    layers = tuple(path for path in played if path not in recorded)
    if against == "recording" and (layers or not recorded):
        raise click.UsageError("--against recording takes recordings only: name one, and no cassettes")
    if alone and (layers or not recorded):
        raise click.UsageError("--behaviour alone compares two recordings: name the other one, and no cassettes")
    settings = load_settings(flags)
    tapes = [read_tape(path) for path in ([offline] if offline else []) + recorded]
    entries = [entry for tape in tapes for entry in tape.entries]
    url = bank or (entries[0].bank if entries else "")
    # With its certificates, and the cassettes that are for it.
    real = next((configured for configured in settings.banks if configured.url == url), RealBank(bank))
    if bank:
        check(real)
    # The bank is asked from here, not by the sandbox, which says what it would say in its place.
    simulated = replace(real, mode="simulate", modes=(), hosts=())
    settings = replace(
        settings,
        state="memory:",
        reset=False,
        cassettes=(*settings.cassettes, *layers),
        mode="simulate",
        bank=real.url,
        banks=(simulated,),
    )
    today = Clock().today()
    ignoring = rules.Ignoring(rules.read([*settings.ignore, *ignore]), today)
    # Told before anything is sent, and before the rest is read.
    opened = _opened_vault(tapes, vault, settings.confdir) if bank else None
    recorded_of = sorted({str(Origin.parse(entry.bank)) for entry in entries if entry.bank})
    if opened and str(Origin.parse(url)) not in recorded_of:
        click.echo(_ELSEWHERE.format(", ".join(recorded_of), Origin.parse(url)), err=True)
    engine = build(settings)
    lacking: frozenset[int] = frozenset()
    if opened:
        entries, lacking = _as_sent(tapes, opened, settings, engine)
    if any(key for tape in tapes for key in tape.keys):
        engine.testdata = recorded_data(entries, engine.testdata)
    steps = [step for position, step in enumerate(recorded_steps.of_entries(entries)) if position not in lacking]
    if lacking:
        click.echo(_LACKING.format(counted(len(lacking), "request")), err=True)
    if against == "recording" and not allow_writes:
        outdated = recorded_steps.outdated_reads(steps)
        steps = [step for step in steps if step not in outdated]
        if outdated:
            click.echo(_OUTDATED.format(counted(len(outdated), "read")), err=True)
    if bank and against == "sandbox" and not allow_writes:
        orphans = recorded_steps.about_spared_writes(steps)
        steps = [step for step in steps if step not in orphans]
        if orphans:
            click.echo(_ORPHANS.format(counted(len(orphans), "request")), err=True)
    if offline is None and (layers or not recorded):
        steps = [*of_examples(engine.interface, layers), *steps]
    shown = bank or str(offline or recorded[0])
    # A live bank's answers are never redacted yet; a recording says whether it is.
    redacted = bank is None and all(tape.is_redacted for tape in tapes)
    if not steps:
        raise ConfigError("there is nothing to compare: name a cassette with examples, a recording, or a HAR file")
    steps = [replace(step, request=recorded_steps.with_fields(step.request, headers)) for step in steps]
    # With the recording's own key a report has its pseudonyms.
    keys = {opened.keys[key] for tape in tapes for key in tape.keys if key} if opened else set()
    redactor = redactor_of(settings, engine.banks, key=keys.pop()) if keys else None
    if redactor is None and not (no_redact or redacted):
        redactor = redactor_of(settings, engine.banks)
    redact = redactor.entry if redactor and not no_redact else None
    options = {"bank_url": url, "ignoring": ignoring, "noise_reads": noise_reads, "allow_writes": allow_writes}
    options["payment_user"] = PaymentUser(lambda text: click.echo(printable(text), err=True), sca_timeout)
    options |= {"redact": redactor.entry if redactor else None, "is_redacted": any(tape.is_redacted for tape in tapes)}
    if against == "recording":
        options |= {"against": against, "sandbox_url": entries[0].bank}
    before = read_tape(behaviour).entries if behaviour else entries
    days = sorted(entry.time.date() for entry in (before if alone else entries))
    question = Question("recording" if alone else against, bool(bank), (days[0], days[-1]) if days else None, today)
    result = Result(()) if alone else asyncio.run(_play(steps, engine, real if bank else None, **options))
    made = report(result, shown, redact, question)
    made = replace(made, redacted=made.redacted or redacted)
    if behaviour:
        index, then = Index(engine.interface), printable(str(behaviour))
        after = entries if alone else [comparison.bank for comparison in result.compared if comparison.bank]
        chains = behaviours.chains(before, index), behaviours.chains(after, index)
        made = replace(made, behaviour=behaviours.behaviour(then, printable(shown), *chains))

    def amended(layer: Path) -> "Report":
        other = build(replace(settings, cassettes=(*settings.cassettes, layer)))
        other.testdata = engine.testdata
        again = {"bank_url": url, "ignoring": rules.Ignoring(rules.read([*settings.ignore, *ignore]), today)}
        again["redact"] = options["redact"]
        return report(
            asyncio.run(_play(recorded_steps.replayed(result), other, None, **again)), shown, redact, question
        )

    return _Outcome(made, engine.interface, amended)


def _opened_vault(tapes: Sequence[Tape], file: Path | None, confdir: Path) -> "OpenVault | None":
    """The vault named, or that of this machine; None if no recording is redacted. Raises ConfigError."""
    if not any(key for tape in tapes for key in tape.keys):
        return None
    from xs2a_sandbox.recording.tape import without_vault
    from xs2a_sandbox.redaction import vault

    file = file or confdir / vault.FILE
    if not file.exists():
        raise without_vault(tapes, file)
    return vault.read(file, confdir)


def _as_sent(
    tapes: Sequence[Tape], vault: "OpenVault", settings: "Settings", engine: "Engine"
) -> tuple[list[Exchange], frozenset[int]]:
    """All exchanges with real values, and the positions of those that lack what opens doors. Raises ConfigError."""
    from xs2a_sandbox.engine.build import restorer_of
    from xs2a_sandbox.recording.tape import as_sent

    restorer = restorer_of(settings, engine.banks)
    entries: list[Exchange] = []
    lacking: set[int] = set()
    for tape in tapes:
        real = as_sent(tape, vault, restorer)
        lacking |= {len(entries) + position for position in real.lacking}
        entries += real.entries
    return entries, frozenset(lacking)


_OUTDATED = "left out: {} that the recording has another answer for later, as the bank has only the last"
_ELSEWHERE = "note: the recording is of {}, and its real values are sent to {}"
_ORPHANS = "left out: {} about what a write has made, as no write is sent without --allow-writes"
_LACKING = "left out: {} that held a password, a token or the like in path, query or body: such are never kept"


async def _play(steps: Sequence[Step], engine: "Engine", real: RealBank | None, **options: Any) -> "Result":
    """The result of the steps at the bank `real`, or of its recorded answers; the options are those of `Comparison`."""
    from xs2a_sandbox.compare.comparison import Comparison
    from xs2a_sandbox.http import Response

    upstream = bank = None
    if real:
        from xs2a_sandbox.upstream.client import Upstream

        upstream = Upstream()

        async def ask(request: Request) -> Response:
            return await upstream.send(real, request, request.target)

        bank = ask
    comparison = Comparison(
        engine.interface,
        engine.schemas,
        engine.answer,
        bank,
        **{"sandbox_url": engine.public_url, "follow": engine.follow, **options},
    )
    try:
        return await comparison.play(steps, _progress())
    finally:
        if upstream:
            await upstream.close()


def _progress() -> Callable[[int, int], None]:
    """A line that is written over, for who sits at a terminal."""
    if not sys.stderr.isatty():
        return lambda done, count: None

    def show(done: int, count: int) -> None:
        click.echo(f"\r{done} of {count} compared{'' if done < count else chr(10)}", nl=False, err=True)

    return show


def _tell(made: "Report", reports: Sequence[Path], fail_on: "Severity | None") -> None:
    from rich.console import Console

    from xs2a_sandbox.compare.reports import files, text

    # Wide enough for both sides where there is no terminal.
    text.write(made, Console(width=None if sys.stdout.isatty() else 140, highlight=False))
    for file in reports:
        files.write(file, made, fail_on)


def _amend(made: "Report", interface: Interface, directory: Path, amended: "Callable[[Path], Report]") -> None:
    """Writes amendments that were tried: `amended` compares the same once more, with those of a folder."""
    from xs2a_sandbox.authoring import suggest_amendments

    suggestion = suggest_amendments.suggest(made, interface)
    with TemporaryDirectory() as folder:
        suggest_amendments.write(suggestion.cassettes, Path(folder))
        try:
            left = suggest_amendments.left(made, amended(Path(folder)))
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


def of_examples(interface: Interface, places: Sequence[Path] = ()) -> list[Step]:
    """All that the cassettes have; with `places`, those of these files and of the files in these folders."""
    within = [place.resolve() for place in places]
    steps = []
    for entry in examples(interface):
        file = entry.owner.origin.document.file.resolve()
        if within and not any(file == place or place in file.parents for place in within):
            continue
        try:
            title, status = f"{entry.owner.id}, example {entry.number + 1}", entry.expect.get("status")
            steps.append(Step(title, compose(entry), expected=status if isinstance(status, int) else None))
        except ValueError as error:
            raise ConfigError(f"{entry.place}: {error}") from None
    return steps
