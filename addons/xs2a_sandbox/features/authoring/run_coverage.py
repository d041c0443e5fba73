"""The coverage of a run of `serve`, for `--coverage`."""

from collections.abc import Iterator, Sequence

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring.coverage import CoverageTally
from xs2a_sandbox.journal.log_line import LogEntry


class RunCoverage(RunPart):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._tally = CoverageTally()

    def add(self, exchange: LogEntry) -> None:
        self._tally.add(exchange)

    def result(self) -> CoverageTally:
        return self._tally

    def sum_up(self, results: Sequence[CoverageTally]) -> Iterator[str]:
        if self.settings.coverage:
            from xs2a_sandbox.features.authoring.commands import show_coverage

            tally = CoverageTally()
            for of_process in results:
                tally.include(of_process)
            show_coverage(self.settings, (), tally, self.settings.log_format, err=True)
        return iter(())
