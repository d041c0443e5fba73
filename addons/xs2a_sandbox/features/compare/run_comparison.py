"""The comparison in a run of `serve` in mode compare: lines while it runs, and reports at the end."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import ConfigError

if TYPE_CHECKING:
    from xs2a_sandbox.compare.reports.live import LiveReport


class RunComparison(RunPart):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._live: LiveReport | None = None

    def begin(self, engine: Engine, say: Callable[[str], None]) -> None:
        if engine.parts.comparing:
            self._live = engine.parts.comparing.report
            self._live.say = say

    def end(self) -> Iterator[str]:
        if self._live is None:
            return
        yield from self._live.end()
        for file in self.settings.report:
            from xs2a_sandbox.features.compare.reports import files

            try:
                files.write(file, self._live.report(), "medium")
                yield f"  report: {file}"
            except ConfigError as error:
                yield f"  {error}"
        if self.settings.report and (cut := self._live.describe_cut()):
            yield f"  {cut}"
