"""The command `campaign`: runs an app's tests repeatedly, each time with one fault."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags, write_flags
from xs2a_sandbox.cli.help import SectionedCommand, command, option
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import Verbosity, note, verbosity_options
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.config.readers import REPORTS, REPORTS_TEXT, parse_duration, seconds
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.features.campaign.campaign import CampaignState

_FOUND = 1
SLOW = "2s"
OF_THE_BANK = ("dialect", "cassettes", "quirk", "like", "testdata", "frozen_at", "seed", "profile", "checks")


def _variables(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in value]
    if any(not name or not equals for name, equals, _ in pairs):
        raise click.BadParameter("write it as NAME=TEXT, such as BANK_URL={url}")
    return {name: text for name, _, text in pairs}


def _span(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    try:
        return parse_duration(value).total_seconds() if value else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _delay(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _reports(context: click.Context, parameter: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    if any(file.suffix not in REPORTS for file in value):
        raise click.BadParameter(f"the name of a report must end in {REPORTS_TEXT}")
    for file in value:  # report a mistake now, not at the end
        if not file.parent.is_dir():
            raise click.BadParameter(f"the folder {file.parent} for {file.name} does not exist; create it first")
    return value


def _declared(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from xs2a_sandbox.features.campaign.shown import parse_declared

    try:
        for text in value:
            parse_declared(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


class CampaignCommand(SectionedCommand):
    """Add a hint to errors of the parser if the `--` before the app's own command is missing."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, list(args))
        except (click.NoSuchOption, click.MissingParameter) as error:
            if "--" in args and args[-1] != "--":
                raise
            text = f"{error.format_message()} The command that runs your tests comes after --"
            raise click.UsageError(f"{text}: xs2a-sandbox campaign -- pytest tests/bank", context) from None


@command(
    cls=CampaignCommand,
    context_settings={"ignore_unknown_options": False},
    section="Find bugs",
    examples=(
        "xs2a-sandbox campaign -- pytest tests/bank",
        "xs2a-sandbox campaign --jobs 4 --budget 10m --report campaign.html -- npm test",
        "xs2a-sandbox campaign --atlas --dialect berlin-group-1.3 -- pytest tests/bank",
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@option(
    "--jobs",
    type=click.IntRange(1, 64),
    unset="as many as keep the processor busy",
    help="Number of parallel runs, each in its own session.",
)
@option("--budget", metavar="SPAN", callback=_span, help="Start no run after this time, such as 10m.")
@option("--resume", is_flag=True, help="Continue the stopped campaign in the folder of --to.")
@option(
    "--timeout",
    metavar="SPAN",
    callback=_span,
    unset="10 times the first run, at least 30s",
    help="Treat a run that takes longer as hung.",
)
@option("--slow", metavar="TIME", default=SLOW, callback=_delay, help="Delay of a slow response.")
@option(
    "--atlas",
    is_flag=True,
    help="Instead of faults, try every quirk and every bank of the atlas, and list the banks at which the app fails.",
)
@option(
    "--choose",
    metavar="TEXT",
    multiple=True,
    help=(
        "Run only faults with TEXT in their name or in the name of the place where they are injected. May be repeated."
    ),
)
@option(
    "--only",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Replay one finding from its file.",
)
@option(
    "--env",
    "variables",
    metavar="NAME=TEXT",
    multiple=True,
    callback=_variables,
    help="Set a variable for the command; {url}, {tls_url}, {proxy}, {ca_file} and {session} are filled in. "
    "May be repeated.",
)
@option(
    "--shows",
    metavar="KIND=PATTERN",
    multiple=True,
    callback=_declared,
    help="Texts of your app with this regular expression are of this kind, such as later='try again'. May be repeated.",
)
@option("--url", metavar="URL", help="Use the running sandbox at this base URL instead of starting one.")
@option(
    "--to",
    "folder",
    metavar="DIR",
    default="campaign",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the results and findings.",
)
@option(
    "--report",
    "reports",
    metavar="FILE",
    multiple=True,
    callback=_reports,
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Also write a report: {REPORTS_TEXT}. May be repeated.",
)
@setting_flags("confdir", *OF_THE_BANK)
@verbosity_options
def campaign(
    words: Sequence[str],
    jobs: int | None,
    budget: float | None,
    resume: bool,
    timeout: float | None,
    slow: str,
    atlas: bool,
    choose: Sequence[str],
    only: Path | None,
    variables: dict[str, str],
    shows: Sequence[str],
    url: str | None,
    folder: Path,
    reports: Sequence[Path],
    **flags: Any,
) -> None:
    """Run your app's tests repeatedly, each time with one fault.

    COMMAND runs the tests, such as `pytest tests/bank`; write it after `--`. It gets the bank's address in
    XS2A_SANDBOX_URL, and the fault in XS2A_SANDBOX_FAULT.

    Exit status: 0 no findings, 1 findings, 2 inconclusive.
    """
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.documents.files import writing
    from xs2a_sandbox.features.campaign import finding_file
    from xs2a_sandbox.features.campaign.campaign import Campaign, Results
    from xs2a_sandbox.features.campaign.command import Command
    from xs2a_sandbox.features.campaign.kept_results import ResultsFile, read
    from xs2a_sandbox.features.campaign.reports import files
    from xs2a_sandbox.features.campaign.reports.text import as_text
    from xs2a_sandbox.features.campaign.shown import parse_declared

    if atlas and (url is not None or only):
        other = "--only" if only else "--url"
        raise click.UsageError(f"--atlas starts a sandbox for each bank, so it cannot be used with {other}")
    settings = load_settings(flags)
    command = Command(tuple(words), variables, Path.cwd())
    bank_flags = _flags(settings, flags)
    again = _again(bank_flags, flags, url, variables, shows, slow, timeout)
    findings = only.parent if only else folder / "findings"
    with (
        interrupted_by_sigterm(),
        tempfile.TemporaryDirectory(prefix="xs2a-campaign-") as scratch,
        CampaignProgress("trying faults") as shown,
    ):
        made = Campaign(
            command,
            interface_and_schemas(settings)[0],
            Path(scratch),
            flags=bank_flags,
            url=url,
            confdir=settings.confdir,
            jobs=jobs,
            budget=budget,
            timeout=timeout,
            slow=slow,
            choose=choose,
            atlas=atlas,
            declared=tuple(map(parse_declared, shows)),
            tell=shown.tell,
            note=note,
        )
        if only:
            results = made.run_one(*finding_file.read(only))
        else:
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            of: dict[str, Any] = {"atlas": True} if atlas else {}
            of |= {
                "command": command.words,
                "env": variables,
                "shows": list(shows),
                "flags": bank_flags,
                "slow": slow,
                "choose": list(choose),
            }
            try:
                results = made.run(ResultsFile(folder / "results.jsonl", of, resume))
            except KeyboardInterrupt:
                if shown.has_begun:  # otherwise the results belong to the previous campaign
                    kept = tuple(read(folder / "results.jsonl"))
                    files.write_findings(findings, Results(str(command), {}, kept, (), 0.0, again=again))
                click.echo("stopped; run the same command with --resume to continue", err=True)
                raise
    results = replace(results, again=again)
    if only is None:
        files.write_findings(findings, results)
    for file in reports:
        files.write(file, results, findings)
    click.echo(as_text(results, findings), nl=False)
    if results.findings:
        sys.exit(_FOUND)


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command like ^C, so that what it has started ends, too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _again(
    bank_flags: Sequence[str],
    flags: Mapping[str, Any],
    url: str | None,
    variables: Mapping[str, str],
    shows: Sequence[str],
    slow: str,
    timeout: float | None,
) -> tuple[str, ...]:
    """Return the command line without the app's command, for trying one of its faults again."""
    options = {"--confdir": flags.get("confdir"), "--url": url, "--slow": None if slow == SLOW else slow}
    options["--timeout"] = None if timeout is None else f"{timeout:g}"
    typed = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    environment = [word for name, text in variables.items() for word in ("--env", f"{name}={text}")]
    environment += [word for text in shows for word in ("--shows", text)]
    return ("xs2a-sandbox", "campaign", *bank_flags, *typed, *environment)


def _flags(settings: Settings, flags: dict[str, Any]) -> tuple[str, ...]:
    """Return the flags of the sandbox: as they were typed, and those that are set in the environment.

    The sandbox does not read the environment, which may belong to another one.
    """
    made: list[str] = []
    for name in OF_THE_BANK:
        values = flags.get(name)
        for value in values if isinstance(values, tuple) else (values,):
            if value is not None:
                made += [f"--{name.replace('_', '-')}", str(value)]
    untyped = [name for name in OF_THE_BANK if not flags.get(name) and f"{PREFIX}{name.upper()}" in os.environ]
    return (*made, *write_flags(settings, untyped))


class CampaignProgress(Progress):
    """A progress bar at a terminal, or with `--verbose` a line for each fault."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.has_begun = False
        """Whether there is a result."""
        self._is_verbose = Verbosity.current() is Verbosity.VERBOSE

    def tell(self, campaign: "CampaignState") -> None:
        self.has_begun = True
        if not self._is_verbose:
            self(campaign.done, campaign.of, f"{campaign.with_findings} with findings", campaign.left)
            return
        self.record(campaign.done, campaign.of, campaign.left)
        result = campaign.last
        outcome = say_count(len(result.findings), "finding") if result.is_reached else "not reached"
        left = f"{timedelta(seconds=round(campaign.left))} left"
        click.echo(f"{campaign.done} of {campaign.of}, {left}: {result.fault}: {outcome}", err=True)
