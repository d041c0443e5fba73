"""The result of comparing an exchange with the bank, known only after the exchange is in the journal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex

DIFFERS = "differs"


@dataclass(slots=True, eq=False)
class Outcome:
    """`verdict` is None until the comparison has ended. `key` is its name in all processes."""

    verdict: str | None = None
    key: str = field(default_factory=lambda: token_hex(8))
    _tell: Callable[["Outcome"], None] | None = None

    def settle(self, verdict: str) -> None:
        self.verdict = verdict
        if self._tell:
            self._tell(self)

    def when_settled(self, tell: Callable[["Outcome"], None]) -> None:
        """Call `tell` with each verdict from now on."""
        self._tell = tell

    def __reduce__(self) -> tuple[type["Outcome"], tuple[str | None, str]]:
        """Leave out the function, which belongs to this process."""
        return Outcome, (self.verdict, self.key)
