"""Comparisons of recordings with this sandbox or a real bank: start one, watch it, and read its report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from xs2a_sandbox.cli.flags import as_flags
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import RECORDINGS
from xs2a_sandbox.errors import body_invalid
from xs2a_sandbox.features.console.runs.background import BackgroundRun
from xs2a_sandbox.features.console.runs.report_page import REPORT, show_report
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.recording.har_log import raw_files

_BANK = ("dialect", "cassettes", "quirk", "testdata")
_COUNTS = "report.json"
OFFLINE = "offline"
"""The value of the form for a comparison without a bank."""


class ComparisonCounts(msgspec.Struct):
    """The numbers of exchanges by verdict, and of differences by severity."""

    verdicts: dict[str, int]
    high: int = 0
    medium: int = 0
    low: int = 0


class _Report(msgspec.Struct):
    """The part of a JSON report that is read."""

    summary: ComparisonCounts


def recordings_folder(settings: Settings) -> Path:
    return settings.to or Path.cwd() / RECORDINGS


def find_recording(settings: Settings, name: str) -> Path:
    """Return the file of a recording, or the folder of all for an empty name. Raises Refused if there is none."""
    folder = recordings_folder(settings)
    files = {file.name: file for file in raw_files(folder)}
    if not files or name not in ("", *files):
        raise body_invalid(f"recording: there is no {name[:80] or 'recording'} in {folder}")
    return files.get(name, folder)


def list_banks(visit: ConsoleVisit) -> list[str]:
    """Return the URLs of the real banks that may be asked."""
    banks = (bank.real for bank in visit.sandbox.banks.all)
    return [real.url for real in banks if real.url and real.can_be_asked]


async def start(visit: ConsoleVisit) -> Response:
    """Start the comparison that the form describes. Raises Refused and UserMistake."""
    name, bank = visit.form.get("recording", ""), visit.form.get("with", OFFLINE)
    played = str(find_recording(visit.settings, name))
    if bank != OFFLINE and bank not in list_banks(visit):
        raise body_invalid("with must be offline, or the URL of a bank that this sandbox asks")
    has_writes = bank != OFFLINE and visit.form.get("writes") == "true"
    what = ["--offline", played] if bank == OFFLINE else [played, "--bank", bank]
    what += ["--allow-writes"] if has_writes else []
    about = {"recording": name, "bank": "" if bank == OFFLINE else bank, "writes": has_writes}
    run = await visit.commands.comparisons.start(compose(visit.settings, what), about)
    return visit.go(f"comparisons/{run.name}")


def compose(settings: Settings, what: list[str]) -> Callable[[Path], list[str]]:
    """Return a function that composes the words of `compare` for a folder."""
    sandbox = ["--confdir", str(settings.confdir), *as_flags(settings, *_BANK)]

    def words(folder: Path) -> list[str]:
        reports = (word for name in (REPORT, _COUNTS) for word in ("--report", str(folder / name)))
        return ["compare", *what, *sandbox, *reports]

    return words


def list_comparisons(visit: ConsoleVisit) -> list[dict[str, Any]]:
    return [_summary(run) for run in visit.commands.comparisons.list_runs()]


async def comparison(visit: ConsoleVisit) -> Response:
    """Return the whole page, or with `part=true` only the part that changes during the comparison."""
    run, problem = visit.commands.comparisons.find(visit.names[1]), ""
    if visit.is_sent:
        if visit.form.get("do") == "stop":
            visit.commands.comparisons.stop(run)
            return visit.go(f"comparisons/{run.name}")
        problem = "do must be stop"
    values: Mapping[str, Any] = {**_summary(run), "is_live": run.is_running}
    if visit.query.get("part") == "true":
        return visit.part("comparison_parts.html", **values)
    return visit.page("comparison.html", "Recordings", 400 if problem else 200, problem=problem, **values)


async def comparison_report(visit: ConsoleVisit) -> Response:
    return show_report(visit.commands.comparisons.find(visit.names[1]), visit.names[2])


def _summary(run: BackgroundRun) -> dict[str, Any]:
    counts = _read_counts(run.folder / _COUNTS)
    return {
        "run": run,
        "counts": counts,
        "verdicts": {name: count for name, count in counts.verdicts.items() if count} if counts else {},
        "failed": not (run.is_running or run.is_stopped or counts),
        "has_report": (run.folder / REPORT).exists(),
    }


def _read_counts(file: Path) -> ComparisonCounts | None:
    """Return the counts, or None as long as there is no report."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Report).summary
    except (OSError, msgspec.DecodeError):
        return None
