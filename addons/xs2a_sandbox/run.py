"""One run of `serve`: what is said of recordings and comparisons at its start, while it goes on, and at the end."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from xs2a_sandbox.derive import derive
from xs2a_sandbox.derived import counted, told
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.exchange_log import Exchange


class Run:
    """Told of the engine once it is built, and of every exchange. Rules of two banks with the same id count as one."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._used: set[str] = set()
        self._asked: set[tuple[str, str]] = set()

    def begin(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, exchange: Exchange) -> None:
        if exchange.rule:
            self._used.add(exchange.rule)
        if exchange.source == "bank":
            self._asked.add((exchange.method, exchange.path))

    def progress(self) -> str | None:
        """How far a recording is, in one line."""
        if self._engine is None or not (recording := self._engine.passage.recording):
            return None
        return (
            f"recorded {counted(recording.exchanges, 'exchange')}, {counted(len(self._asked), 'request')} told apart,"
            f" {counted(self._engine.passage.redactions(), 'value')} redacted"
        )

    def end(self) -> Iterator[str]:
        """After the last exchange: derives rules from what was recorded, and names the recorded rules nobody used."""
        if self._engine is None:
            return
        if self._engine.passage.comparing:
            yield from self._engine.passage.comparing.report.end()
        recording = self._engine.passage.recording
        if recording and recording.exchanges:
            yield f"{self.progress()}: {recording.file}"
            try:
                yield from told(derive(recording.directory, self._engine.interface), recording.directory)
            except UserMistake as mistake:
                yield f"the exchanges are kept, but no rules could be derived from them:\n{mistake}"
                yield f"mend that, then: xs2a-sandbox derive {recording.directory}"
        if recording and recording.lost:
            yield f"{counted(recording.lost, 'exchange')} with the bank could not be written down: lost"
        rules = [rule for bank in self._engine.banks.all for rule in bank.interface.rules if rule.tape]
        recorded = {rule.origin.place: rule for rule in rules}  # banks may share cassettes
        unused = [rule for rule in recorded.values() if rule.id not in self._used]
        if unused:
            yield f"{counted(len(unused), 'recorded rule')} answered nothing:"
            yield from (f"  {_near(rule.origin.place)}  {rule.id}" for rule in unused)


def _near(place: str) -> str:
    with suppress(ValueError):
        return str(Path(place).relative_to(Path.cwd()))
    return place
