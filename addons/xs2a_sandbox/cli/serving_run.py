"""What a run of `serve` has to tell: how far a recording is, and in the end what became of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from xs2a_sandbox.cli.flags import near
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.recording.derive import counted, derive, report_lines


class Run:
    """Told of the engine once it is built, and of every exchange. Rules of two banks with the same id count as one."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._used: set[str] = set()
        self._requests: set[tuple[str, str]] = set()

    def begin(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, exchange: LogEntry) -> None:
        if exchange.rule:
            self._used.add(exchange.rule)
        if exchange.source == "bank":
            self._requests.add((exchange.method, exchange.path))

    def progress(self) -> str | None:
        """The progress of a recording in one line."""
        if self._engine is None or not (recording := self._engine.passage.recording):
            return None
        redacted = recording.redactions
        parts = (
            f"recorded {counted(recording.exchanges, 'exchange')}",
            f"{counted(len(self._requests), 'request')} told apart",
            "not redacted" if redacted is None else f"{counted(redacted, 'value')} redacted",
        )
        return ", ".join(parts)

    def end(self) -> Iterator[str]:
        """After the last exchange: derives rules from what was recorded, and names the recorded rules nobody used."""
        if self._engine is None:
            return
        if self._engine.passage.comparing:
            yield from self._engine.passage.comparing.report.end()
        recording = self._engine.passage.recording
        if recording and recording.exchanges:
            yield f"{self.progress()}: {recording.file}"
            if recording.noted:
                yield f"{counted(recording.noted.total(), 'body', 'bodies')} not recorded:"
                yield from (f"  {count} {kind}" for kind, count in recording.noted.most_common())
            engine = self._engine
            try:
                yield from report_lines(
                    derive(recording.directory, engine.interface, engine.schemas), recording.directory
                )
            except UserMistake as mistake:
                yield f"the exchanges are kept, but no rules could be derived from them:\n{mistake}"
                yield f"mend that, then: xs2a-sandbox derive {recording.directory}"
        if recording and recording.lost:
            yield f"{counted(recording.lost, 'exchange')} with the bank could not be written down: lost"
        yield from unused_lines([self.used()])

    def used(self) -> "Used":
        """Which recorded rules there are, and what has answered."""
        banks = self._engine.banks.all if self._engine else ()
        rules = [rule for bank in banks for rule in bank.interface.rules if rule.tape]
        return Used({rule.origin.place: rule.id for rule in rules}, self._used)  # banks may share cassettes


class Used(NamedTuple):
    """Ids of recorded rules by their places, and of all rules that have answered in a process."""

    recorded: dict[str, str]
    used: set[str]


def unused_lines(processes: Sequence[Used]) -> Iterator[str]:
    """Names the recorded rules that have answered in no process."""
    recorded = {place: id for process in processes for place, id in process.recorded.items()}
    used = set().union(*(process.used for process in processes))
    if unused := {place: id for place, id in recorded.items() if id not in used}:
        yield f"{counted(len(unused), 'recorded rule')} answered nothing:"
        yield from (f"  {near(Path(place))}  {id}" for place, id in unused.items())
