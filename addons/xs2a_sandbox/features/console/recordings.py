"""Shows recordings, differences between bank and sandbox, and how these have changed over time."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from xs2a_sandbox.errors import ConfigError, Refused, UserMistake
from xs2a_sandbox.features.compare import history
from xs2a_sandbox.features.compare.history import WatchRun
from xs2a_sandbox.features.console.runs import comparisons
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.recording.har_log import raw_files

_RUNS = 30
"""The number of last runs that are shown."""


async def recordings(visit: ConsoleVisit) -> Response:
    """Show the page, or start the comparison that its form describes."""
    problem, files, runs = "", [], []
    if visit.is_sent:
        try:
            return await comparisons.start(visit)
        except (Refused, UserMistake) as mistake:
            problem = str(mistake)
    status = await visit.ask("GET", "status")
    directory = comparisons.recordings_folder(visit.settings)
    try:
        files, runs = list(_files(directory)), history.read(history.FOLDER)
    except ConfigError as mistake:
        problem = problem or str(mistake)
    last_runs = list(_runs(runs))[-_RUNS:]
    return visit.page(
        "recordings.html",
        "Recordings",
        409 if visit.is_sent else 200,
        problem=problem,
        banks=comparisons.list_banks(visit),
        chosen={name: visit.form.get(name, "") for name in ("recording", "with", "writes")},
        comparisons=comparisons.list_comparisons(visit),
        is_comparing=visit.commands.comparisons.is_active,
        reports=visit.commands.comparisons.folder,
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
    """Yield the files of a recording, the newest first. Raises ConfigError."""
    for file in reversed(raw_files(directory)):
        facts = file.stat()
        yield {
            "name": file.name,
            "size": f"{facts.st_size / 1024:,.0f} KiB",
            "time": f"{datetime.fromtimestamp(facts.st_mtime):%Y-%m-%d %H:%M}",
        }


def _count_recorded_rules(visit: ConsoleVisit) -> list[tuple[str, int]]:
    """Return the operations with recorded rules, and the number of these rules."""
    rules = [rule for bank in visit.sandbox.banks.all for rule in bank.interface.rules if rule.tape]
    return sorted(Counter(rule.operation or "no operation" for rule in rules).items())


def _runs(runs: list[WatchRun]) -> Iterator[tuple[WatchRun, history.Changes]]:
    """Yield each run with its changes since earlier runs."""
    for number, run in enumerate(runs):
        yield run, history.changes([earlier for earlier in runs[:number] if earlier.is_of_the_same(run)], run)
