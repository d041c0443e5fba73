"""The recording in a run of `serve`: its progress, and the rules that are derived from it at the end."""

from collections.abc import Callable, Iterator

from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.wording import say_count


class RunRecording(RunPart):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._engine: Engine | None = None
        self._requests: set[tuple[str, str]] = set()

    def begin(self, engine: Engine, say: Callable[[str], None]) -> None:
        self._engine = engine

    def add(self, exchange: LogEntry) -> None:
        if exchange.source == "bank":
            self._requests.add((exchange.method, exchange.path))

    def progress(self) -> str | None:
        if self._engine is None or not (recording := self._engine.parts.egress.recording):
            return None
        redacted = recording.redactions
        parts = (
            f"recorded {say_count(recording.exchanges, 'exchange')}",
            f"{say_count(len(self._requests), 'request')} distinguished",
            "not redacted" if redacted is None else f"{say_count(redacted, 'value')} redacted",
        )
        return ", ".join(parts)

    def end(self) -> Iterator[str]:
        if self._engine is None or not (recording := self._engine.parts.egress.recording):
            return
        if recording.exchanges:
            yield f"{self.progress()}: {recording.file}"
            if recording.noted:
                yield f"{say_count(recording.noted.total(), 'body', 'bodies')} not recorded:"
                yield from (f"  {count} {kind}" for kind, count in recording.noted.most_common())
            from xs2a_sandbox.features.derive.derive import derive, report_lines

            engine = self._engine
            try:
                with Progress("deriving rules") as progress:
                    derived = derive(recording.directory, engine.interface, engine.schemas, progress)
                yield from report_lines(derived, recording.directory)
            except UserMistake as mistake:
                yield f"the exchanges are kept, but no rules could be derived from them:\n{mistake}"
                yield f"fix this, then run: xs2a-sandbox derive {recording.directory}"
        if recording.lost:
            yield f"{say_count(recording.lost, 'exchange')} with the bank could not be written and were lost"
