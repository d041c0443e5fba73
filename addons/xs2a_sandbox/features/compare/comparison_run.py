"""Runs a comparison for a command: selects the requests and the two sides, and returns the result."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.bank.recorded_data import adopt, recorded_data
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import note
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.compare import behaviour, masking
from xs2a_sandbox.compare import steps as recorded_steps
from xs2a_sandbox.compare.comparison import Against, Compared, Comparison, Result, Step
from xs2a_sandbox.compare.payment_user import PaymentUser
from xs2a_sandbox.compare.reports.report import Question, Report, make_printable, report
from xs2a_sandbox.config import RealBank, Settings, load_settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.redacting import redactor_of, restorer_of
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.authoring.examples import compose, examples
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.recording.har_log import raw_files
from xs2a_sandbox.recording.tape import Tape, as_sent, read_tape, without_vault
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.redactor import Redactor
    from xs2a_sandbox.redaction.vault import OpenVault

_RECORDED = (".har", ".jsonl")
_COUNTED_EVERY = 30
"""Seconds between two lines of the countdown without a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFlags:
    """The flags of a comparison. `settings` are the flags for settings."""

    played: Sequence[Path]
    bank: str | None
    offline: Path | None
    behaviour: Path | None
    against: Against
    headers: Sequence[tuple[str, str]]
    vault: Path | None
    allow_writes: bool
    noise_reads: int
    sca_timeout: int
    ignore: Sequence[Path]
    no_redact: bool
    settings: Mapping[str, Any]

    @property
    def asks_nobody(self) -> bool:
        """Whether only the chains of states of two recordings are compared."""
        return bool(self.behaviour and not self.bank and not self.offline)

    def recordings_and_layers(self) -> tuple[list[Path], tuple[Path, ...]]:
        """Return the recordings and cassettes to play. Raises UsageError if the flags exclude them."""
        # With --offline the folder of a recording is a layer, to check that cassettes derived from it match it.
        is_asked_again = self.bank or self.asks_nobody
        recorded = [path for path in self.played if path.suffix in _RECORDED or (is_asked_again and raw_files(path))]
        layers = tuple(path for path in self.played if path not in recorded)
        if self.against == "recording" and (layers or not recorded):
            raise click.UsageError("--against recording works only with recordings: give a recording, and no cassettes")
        if self.asks_nobody and (layers or not recorded):
            raise click.UsageError(
                "--behaviour without --bank compares two recordings: give a second recording, and no cassettes"
            )
        return recorded, layers


@dataclass(frozen=True, slots=True)
class ComparisonOutcome:
    """The report of a comparison. `amended` compares the same answers again, with another layer of cassettes."""

    report: Report
    interface: Interface
    amended: Callable[[Path], Report]


def run(flags: ComparisonFlags) -> ComparisonOutcome:
    """Run the comparison. Raises UserMistake before anything is sent."""
    if flags.against == "recording" and not flags.bank:
        raise click.UsageError("--against recording needs --bank URL, the bank to check")
    recorded, layers = flags.recordings_and_layers()
    tapes = [read_tape(path) for path in ([flags.offline] if flags.offline else []) + recorded]
    entries = [entry for tape in tapes for entry in tape.entries]
    url = flags.bank or (entries[0].bank if entries else "")
    real, settings = _sides(flags, url, layers)
    today = Clock().today()
    ignoring = masking.Ignoring(masking.read([*settings.ignore, *flags.ignore]), today)
    # Errors are reported before anything is sent, and before the rest is read.
    vault = _open_vault(tapes, flags.vault, settings.confdir) if flags.bank else None
    if vault:
        _tell_of_another_bank(entries, url)
    engine = build(settings, diagnose=False)
    entries, lacking = _as_sent(tapes, vault, settings, engine) if vault else (entries, frozenset())
    if any(key for tape in tapes for key in tape.keys):
        own = engine.parts.testdata
        engine.use(testdata=recorded_data(entries, own, engine.interface))
        if what := adopt(own, engine.parts.testdata):
            note(f"adopted from the recording: {what}")
    steps = _recorded_steps(flags, entries, lacking, engine.interface)
    if flags.offline is None and (layers or not recorded):
        steps = [*of_examples(engine.interface, layers), *steps]
    if not steps:
        raise ConfigError("there is nothing to compare: give a cassette with examples, a recording, or a HAR file")
    steps = [replace(step, request=recorded_steps.with_fields(step.request, flags.headers)) for step in steps]
    # The answers of a live bank are not redacted; a recording says whether it is.
    redacted = flags.bank is None and all(tape.is_redacted for tape in tapes)
    redactor = _redactor(tapes, vault, settings, engine, is_needed=not (flags.no_redact or redacted))
    redact = redactor.entry if redactor and not flags.no_redact else None
    result = Result(())
    if not flags.asks_nobody:
        options: dict[str, Any] = {
            "bank_url": url,
            "ignoring": ignoring,
            "noise_reads": flags.noise_reads,
            "allow_writes": flags.allow_writes,
            "payment_user": PaymentUser(
                lambda text: click.echo(make_printable(text), err=True), flags.sca_timeout, count_down=_count_down()
            ),
            "redact": redactor.entry if redactor else None,
            "is_redacted": any(tape.is_redacted for tape in tapes),
        }
        if flags.against == "recording":
            options |= {"against": flags.against, "sandbox_url": entries[0].bank}
        result = asyncio.run(_play(steps, engine, real if flags.bank else None, **options))
        for hint in _hints(result, flags, engine.interface):
            note(hint)
    before = read_tape(flags.behaviour).entries if flags.behaviour else entries
    title = flags.bank or str(flags.offline or recorded[0])
    question = _question(flags, before if flags.asks_nobody else entries, today)
    made = report(result, title, redact, question)
    made = replace(made, redacted=made.redacted or redacted)
    if flags.behaviour:
        index = Index(engine.interface)
        after = entries if flags.asks_nobody else [one.bank for one in result.compared if one.bank]
        chains = behaviour.chains(before, index), behaviour.chains(after, index)
        names = make_printable(str(flags.behaviour)), make_printable(title)
        made = replace(made, behaviour=behaviour.behaviour(*names, *chains))

    def amend(layer: Path) -> Report:
        other = build(replace(settings, cassettes=(*settings.cassettes, layer)), diagnose=False)
        other.use(testdata=engine.parts.testdata)
        again = masking.Ignoring(masking.read([*settings.ignore, *flags.ignore]), today)
        options = {"bank_url": url, "ignoring": again, "redact": redactor.entry if redactor else None}
        return report(
            asyncio.run(_play(recorded_steps.replay(result), other, None, **options)), title, redact, question
        )

    return ComparisonOutcome(made, engine.interface, amend)


def _sides(flags: ComparisonFlags, url: str, layers: Sequence[Path]) -> tuple[RealBank, Settings]:
    """Return the bank at `url` with its certificates and cassettes, and the settings of the sandbox next to it."""
    settings = load_settings(flags.settings)
    real = next((configured for configured in settings.banks if configured.url == url), RealBank(flags.bank))
    if flags.bank:
        from xs2a_sandbox.upstream.client import check

        check(real)
    # The bank is asked from here; the sandbox only simulates.
    simulated = replace(real, mode="simulate", modes=(), hosts=())
    return real, replace(
        settings,
        state="memory:",
        reset=False,
        cassettes=(*settings.cassettes, *layers),
        mode="simulate",
        bank=real.url,
        banks=(simulated,),
    )


def _recorded_steps(
    flags: ComparisonFlags, entries: Sequence[Exchange], lacking: frozenset[int], interface: Interface
) -> list[Step]:
    """Return the recorded requests that can be sent. Prints why the others are left out."""
    index = Index(interface)
    steps = [step for position, step in enumerate(recorded_steps.of_entries(entries)) if position not in lacking]
    if lacking:
        note(_LACKING.format(say_count(len(lacking), "request")))
    if flags.against == "sandbox":
        steps = _without(steps, recorded_steps.page_visits(steps, index), _PAGES, "request")
    if not flags.bank or flags.allow_writes:
        return steps
    if flags.against == "recording":
        return _without(steps, recorded_steps.outdated_reads(steps, index), _OUTDATED, "read")
    return _without(steps, recorded_steps.about_spared_writes(steps, index), _ORPHANS, "request")


def _without(steps: Sequence[Step], left_out: Sequence[Step], text: str, noun: str) -> list[Step]:
    if left_out:
        note(text.format(say_count(len(left_out), noun)))
    return [step for step in steps if step not in left_out]


def _hints(result: Result, flags: ComparisonFlags, interface: Interface) -> Iterator[str]:
    """Yield advice if all requests have failed for the same reason."""
    compared = [one for one in result.compared if one.bank and one.sandbox]
    if not compared:
        return
    if all(one.bank and one.bank.status == 401 for one in compared) and flags.bank:
        yield _NO_TOKEN.format("bank")
    elif flags.offline and interface.finds_consent_by_token and _lack_tokens(compared, interface):
        yield _BY_TOKEN.format(interface.dialect, flags.offline)
    elif flags.against == "sandbox" and all(one.sandbox and one.sandbox.status == 401 for one in compared):
        yield _NO_TOKEN.format("sandbox")
    elif flags.against == "sandbox" and all(one.operation is None and one.verdict == "differs" for one in compared):
        yield _OTHER_DIALECT.format(interface.dialect)


def _lack_tokens(compared: Sequence[Compared], interface: Interface) -> bool:
    """Return whether the sandbox answered 401 to every request except for those that get a token."""
    get_tokens = [name for name, one in interface.operations.items() if one.behaviour.handler == "token.issue"]
    others = [one.sandbox.status for one in compared if one.operation not in get_tokens and one.sandbox]
    return bool(others) and set(others) == {401}


def _redactor(
    tapes: Sequence[Tape], vault: "OpenVault | None", settings: Settings, engine: Engine, *, is_needed: bool
) -> "Redactor | None":
    """Return a redactor with the recording's key, so that a report has the same pseudonyms.

    Without such a key, return a redactor with a new key if `is_needed`, otherwise None.
    """
    keys = {vault.keys[key] for tape in tapes for key in tape.keys if key} if vault else set()
    if keys:
        return redactor_of(settings, engine.banks, key=keys.pop())
    return redactor_of(settings, engine.banks) if is_needed else None


def _question(flags: ComparisonFlags, entries: Sequence[Exchange], today: date) -> Question:
    days = sorted(entry.time.date() for entry in entries)
    return Question(
        "recording" if flags.asks_nobody else flags.against,
        bool(flags.bank),
        (days[0], days[-1]) if days else None,
        today,
    )


def _tell_of_another_bank(entries: Sequence[Exchange], url: str) -> None:
    recorded = sorted({str(Origin.parse(entry.bank)) for entry in entries if entry.bank})
    if str(Origin.parse(url)) not in recorded:
        click.echo(_ELSEWHERE.format(", ".join(recorded), Origin.parse(url)), err=True)


def _open_vault(tapes: Sequence[Tape], file: Path | None, confdir: Path) -> "OpenVault | None":
    """Return the named vault or that of this machine; None if no recording is redacted. Raises ConfigError."""
    if not any(key for tape in tapes for key in tape.keys):
        return None
    from xs2a_sandbox.redaction import vault

    file = file or confdir / vault.FILE
    if not file.exists():
        raise without_vault(tapes, file)
    return vault.read(file, confdir)


def _as_sent(
    tapes: Sequence[Tape], vault: "OpenVault", settings: Settings, engine: Engine
) -> tuple[list[Exchange], frozenset[int]]:
    """Return all exchanges with real values, and the positions of those that lack credentials.

    Raises ConfigError.
    """
    restorer = restorer_of(settings, engine.banks)
    entries: list[Exchange] = []
    lacking: set[int] = set()
    for tape in tapes:
        real = as_sent(tape, vault, restorer)
        lacking |= {len(entries) + position for position in real.lacking}
        entries += real.entries
    return entries, frozenset(lacking)


_OUTDATED = "left out: {} for which the recording has a later answer, because the bank can only give the latest"
_ELSEWHERE = "note: the recording is of {}, and its real values are sent to {}"
_NO_TOKEN = (
    "note: the {} answered 401 to every request; if a token is missing or has expired, set one:"
    " --header 'Authorization: Bearer …'"
)
_BY_TOKEN = (
    "note: the dialect {0} finds the consent by the token, and recordings contain no tokens, so the sandbox refused"
    " every request. Compare the rules of the recording: xs2a-sandbox compare {1}/cassettes --offline {1}"
)
_OTHER_DIALECT = (
    "note: no request is for an operation of the dialect {}: set the bank's dialect with --dialect, or add cassettes"
    " made from a recording of the bank with --cassettes"
)
_PAGES = "left out: {} for pages of the bank, which are not for apps"
_ORPHANS = "left out: {} about resources that a write creates, because writes are sent only with --allow-writes"
_LACKING = (
    "left out: {} that contained a secret, such as a password or token, in path, query or body: recordings "
    "never contain secrets"
)


async def _play(steps: Sequence[Step], engine: Engine, real: RealBank | None, **options: Any) -> Result:
    """Run the steps with the bank `real` or its recorded answers. The options are those of `Comparison`."""
    upstream = bank = None
    if real:
        from xs2a_sandbox.upstream.client import Upstream

        upstream = Upstream()

        async def ask(request: Request) -> Response:
            return await upstream.send(real, request, real.below(request.target).sent)

        bank = ask
    comparison = Comparison(
        engine.interface,
        engine.schemas,
        engine.answer,
        bank,
        **{"sandbox_url": engine.parts.public_url, "follow": engine.follow, **options},
    )
    try:
        with Progress("comparing") as progress:
            return await comparison.play(steps, progress)
    finally:
        if upstream:
            await upstream.close()


def _count_down() -> Callable[[float], None]:
    """Return a function that shows how long to wait for the payment user.

    At a terminal it overwrites one line; otherwise it writes a new line every half minute.
    """
    is_terminal = sys.stderr.isatty()
    shown, width = 0.0, 0

    def show(left: float) -> None:
        nonlocal shown, width
        text = f"waiting for the payment user, {left:.0f} s left; to skip this, use --sca-timeout 0"
        if is_terminal:
            # The previous line may have been longer.
            width = max(width, len(text))
            click.echo(f"\r{text:{width}}" if left else f"\r{'':{width}}\r", nl=False, err=True)
        elif left and (not shown or shown - left >= _COUNTED_EVERY):
            click.echo(text, err=True)
            shown = left
        if not left:
            shown = 0.0

    return show


def of_examples(interface: Interface, places: Sequence[Path] = ()) -> list[Step]:
    """Return the examples of all cassettes, or only of these files and of files in these folders."""
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
