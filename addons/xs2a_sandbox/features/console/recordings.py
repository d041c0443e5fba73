"""What is recorded, where the bank and the sandbox differ, and how that has changed over time."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from xs2a_sandbox.engine.build import RECORDINGS
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.compare import history
from xs2a_sandbox.features.compare.history import WatchRun
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.recording.har_log import raw_files

_RUNS = 30
"""Runs of the history that are shown, the last ones."""


async def recordings(visit: ConsoleVisit) -> Response:
    status = await visit.ask("GET", "status")
    directory = visit.settings.to or Path.cwd() / RECORDINGS
    problem, files, runs = "", [], []
    try:
        files, runs = list(_files(directory)), history.read(history.FOLDER)
    except ConfigError as mistake:
        problem = str(mistake)
    last_runs = list(_runs(runs))[-_RUNS:]
    return visit.page(
        "recordings.html",
        "Recordings",
        problem=problem,
        recording=status["recording"],
        directory=directory,
        files=files,
        recorded=_count_recorded_rules(visit),
        comparison=status["comparison"],
        runs=last_runs[::-1],
        most=max((len(run.drifts) for run, _ in last_runs), default=1),
        history=history.FOLDER / history.FILE,
    )


def _files(directory: Path) -> Iterator[dict[str, Any]]:
    """The files of a recording, the newest first. Raises ConfigError."""
    for file in reversed(raw_files(directory)):
        facts = file.stat()
        yield {
            "name": file.name,
            "size": f"{facts.st_size / 1024:,.0f} KiB",
            "time": f"{datetime.fromtimestamp(facts.st_mtime):%Y-%m-%d %H:%M}",
        }


def _count_recorded_rules(visit: ConsoleVisit) -> list[tuple[str, int]]:
    """The operations that recorded rules answer, each with how many there are."""
    rules = [rule for bank in visit.sandbox.banks.all for rule in bank.interface.rules if rule.tape]
    return sorted(Counter(rule.operation or "no operation" for rule in rules).items())


def _runs(runs: list[WatchRun]) -> Iterator[tuple[WatchRun, history.Changes]]:
    """Each run with what it brought that those before it had not."""
    for number, run in enumerate(runs):
        yield run, history.changes([earlier for earlier in runs[:number] if earlier.is_of_the_same(run)], run)
