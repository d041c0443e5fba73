"""Comparisons over time: the findings of each run on one line, and the new findings of a run."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from xs2a_sandbox.compare.comparison import COMPARED
from xs2a_sandbox.compare.difference import SEVERITIES, Severity, is_at_least
from xs2a_sandbox.compare.reports.report import Report
from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.errors import ConfigError

VERSION = 1
FOLDER = Path("drift")
"""The default folder of a history."""
FILE = "drift.jsonl"
LOOKED_AT = 20
"""The number of last runs that are checked to see whether a drift comes and goes."""


class DriftPlace(NamedTuple):
    """Identifies the same difference in all runs, regardless of its values and severity."""

    operation: str
    kind: str
    place: str


@dataclass(frozen=True, slots=True)
class RecordedDrift:
    """A difference in a run. `bank` and `other` are the two sides of its first example, as in reports."""

    at: DriftPlace
    severity: Severity
    extent: str
    request: str
    bank: str
    other: str


@dataclass(frozen=True, slots=True)
class WatchRun:
    """`compared` are the operations with at least one comparison. About the others nothing is known."""

    time: datetime
    bank: str
    against: str
    compared: frozenset[str]
    drifts: Mapping[DriftPlace, RecordedDrift]

    @classmethod
    def of(cls, report: Report, time: datetime) -> Self:
        drifts = (
            RecordedDrift(
                DriftPlace(group.operation, group.kind, group.place),
                group.severity,
                group.extent,
                group.request,
                group.first.bank,
                group.first.sandbox,
            )
            for group in report.groups
        )
        compared = frozenset(exchange.operation for exchange in report.exchanges if exchange.verdict in COMPARED)
        # The worst is first, and represents less severe ones at the same place.
        by_place: dict[DriftPlace, RecordedDrift] = {}
        for drift in drifts:
            by_place.setdefault(drift.at, drift)
        return cls(time, report.bank, report.question.against, compared, by_place)

    def has(self, place: DriftPlace) -> bool | None:
        """Return whether the run has this drift, or None if no response of its operation was compared."""
        return place in self.drifts or (False if place.operation in self.compared else None)

    def is_of_the_same(self, other: "WatchRun") -> bool:
        """Return whether both runs have asked the same bank the same question."""
        return (self.bank, self.against) == (other.bank, other.against)

    def line(self) -> str:
        value = {
            "version": VERSION,
            "time": self.time.isoformat(),
            "bank": self.bank,
            "against": self.against,
            "compared": sorted(self.compared),
            "drifts": [
                {**drift.at._asdict(), **{name: getattr(drift, name) for name in _TOLD}} for drift in self.ordered
            ],
        }
        return json.dumps(value, ensure_ascii=False) + "\n"

    @property
    def ordered(self) -> list[RecordedDrift]:
        return sorted(self.drifts.values(), key=lambda drift: (SEVERITIES.index(drift.severity), drift.at))


_TOLD = ("severity", "extent", "request", "bank", "other")


@dataclass(frozen=True, slots=True)
class Changes:
    """A run compared with those before it. `flaps` says in how many of the last runs a drift occurs that comes and
    goes; `unknown` are drifts whose operation was not compared this time.
    """

    new: tuple[RecordedDrift, ...]
    gone: tuple[RecordedDrift, ...]
    flaps: tuple[tuple[RecordedDrift, str], ...]
    standing: tuple[RecordedDrift, ...]
    unknown: tuple[RecordedDrift, ...]

    def fails(self, fail_on: Severity | None) -> bool:
        """Return whether a new drift is at least this severe."""
        return fail_on is not None and any(is_at_least(drift.severity, fail_on) for drift in self.new)


def changes(before: Sequence[WatchRun], run: WatchRun) -> Changes:
    drifts: dict[DriftPlace, RecordedDrift] = {}
    for past in (*before[-LOOKED_AT:], run):
        drifts |= past.drifts
    new, gone, standing, unknown = [], [], [], []
    flaps: list[tuple[RecordedDrift, str]] = []
    ever = {place for past in before for place in past.drifts}
    for place, drift in drifts.items():
        was = [state for past in before[-LOOKED_AT:] if (state := past.has(place)) is not None]
        now = run.has(place)
        if now is None:
            unknown += [drift] if was and was[-1] else []
            continue
        states = [*was, now]
        comes = sum(state and (not number or not states[number - 1]) for number, state in enumerate(states))
        if place not in ever:
            new.append(drift)
        elif comes > 1 or (now and was and not was[-1]):
            flaps.append((drift, f"in {sum(states)} of the last {len(states)} runs"))
        elif now:
            standing.append(drift)
        elif was and was[-1]:
            gone.append(drift)
    return Changes(_order(new), _order(gone), _flaps(flaps), _order(standing), _order(unknown))


def _order(drifts: Iterable[RecordedDrift]) -> tuple[RecordedDrift, ...]:
    return tuple(sorted(drifts, key=lambda drift: (SEVERITIES.index(drift.severity), drift.at)))


def _flaps(flaps: Iterable[tuple[RecordedDrift, str]]) -> tuple[tuple[RecordedDrift, str], ...]:
    return tuple(sorted(flaps, key=lambda flap: (SEVERITIES.index(flap[0].severity), flap[0].at)))


def read(folder: Path) -> list[WatchRun]:
    """Return all runs of a history, oldest first; empty if the folder does not exist yet.

    Raises:
        ConfigError: it cannot be read, or a line is not a run. No line is skipped, because "new" would then be wrong.
    """
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    runs = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        try:
            runs.append(_run(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            what = str(error) if isinstance(error, _OtherVersion) else "this line is not a valid run"
            advice = "delete this line, or delete the file to start a new history"
            raise ConfigError(f"{file}:{number}: {what}; {advice}") from None
    return runs


class _OtherVersion(ValueError):
    pass


def _run(value: dict[str, Any]) -> WatchRun:
    if value["version"] != VERSION:
        raise _OtherVersion(
            f"the history has format version {value['version']}, but this xs2a-sandbox reads only version {VERSION}"
        )
    drifts = [
        RecordedDrift(
            DriftPlace(*(str(drift[name]) for name in DriftPlace._fields)),
            _severity(drift),
            *(str(drift[name]) for name in _TOLD[1:]),
        )
        for drift in value["drifts"]
    ]
    return WatchRun(
        datetime.fromisoformat(value["time"]),
        str(value["bank"]),
        str(value["against"]),
        frozenset(map(str, value["compared"])),
        {drift.at: drift for drift in drifts},
    )


def _severity(value: dict[str, Any]) -> Severity:
    return next(severity for severity in SEVERITIES if severity == value["severity"])


def prepare(folder: Path) -> None:
    """Create the folder before a run, so that its result is not lost. Raises ConfigError if it cannot be written."""
    _write(folder, b"")


def append(folder: Path, run: WatchRun) -> None:
    """Append a run durably. Raises ConfigError if the folder cannot be written."""
    _write(folder, run.line().encode("utf-8", "backslashreplace"))


def _write(folder: Path, line: bytes) -> None:
    file = folder / FILE
    with writing(file):
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
