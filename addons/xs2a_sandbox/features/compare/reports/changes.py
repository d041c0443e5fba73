"""Shows a run and its changes from earlier ones in a terminal."""

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from xs2a_sandbox.compare.reports.report import Report
from xs2a_sandbox.features.compare.history import Changes, RecordedDrift
from xs2a_sandbox.features.compare.reports.text import remarks

_COLOURS = {"new": "bold red", "gone": "green", "flaps": "yellow", "standing": "dim", "not compared": "yellow"}


def as_json(changes: Changes, runs: int) -> str:
    """Return the changes as JSON, for programs."""
    value = {
        "runs": runs,
        "new": [_drift(drift) for drift in changes.new],
        "gone": [_drift(drift) for drift in changes.gone],
        "flaps": [{**_drift(drift), "remark": remark} for drift, remark in changes.flaps],
        "standing": [_drift(drift) for drift in changes.standing],
        "notCompared": [_drift(drift) for drift in changes.unknown],
    }
    return json.dumps(value, indent=2)


def _drift(drift: RecordedDrift) -> dict[str, Any]:
    at = {"operation": drift.at.operation, "kind": drift.at.kind, "place": drift.at.place}
    return at | {name: getattr(drift, name) for name in ("severity", "extent", "request", "bank", "other")}


def write(report: Report, changes: Changes, runs: int, console: Console) -> None:
    """Print the changes. `runs` is the number of earlier runs."""
    console.print(Text(str(report.question), "bold"))
    by_word = {
        "new": [(drift, "") for drift in changes.new],
        "gone": [(drift, "") for drift in changes.gone],
        "flaps": changes.flaps,
        "standing": [(drift, "") for drift in changes.standing],
        "not compared": [(drift, "its operation was not compared this time") for drift in changes.unknown],
    }
    for word, drifts in by_word.items():
        for drift, remark in drifts:
            console.print(
                Text.assemble((f"{word:<14}", _COLOURS[word]), *_parts(drift, remark, report.question.against))
            )
    counts = ", ".join(f"{len(drifts)} {word}" for word, drifts in by_word.items())
    since = f"since {runs} run{'s' if runs > 1 else ''}" if runs else "in the first run"
    remarks(report, console)
    console.print(Text(f"drift {since}: {counts}"))
    console.print(Text(report.tally.summary(report.bank, len(report.skipped))))


def _parts(drift: RecordedDrift, remark: str, against: str) -> Iterable[str | tuple[str, str]]:
    yield f"{drift.severity} {drift.at.kind} at {drift.at.place or 'the body'}"
    yield (f" [{drift.at.operation}, {remark or drift.extent}]", "dim")
    if not remark:
        yield (f"\n{'':14}bank {drift.bank}, {against} {drift.other}", "dim")
