"""The time, as one session of the sandbox sees it. No other module reads it."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from time import time
from zoneinfo import ZoneInfo

BANK_ZONE = ZoneInfo("Europe/Vienna")


@dataclass(frozen=True, slots=True)
class Clock:
    """Real, shifted or frozen; all times are the bank's local ones, with their offset."""

    shift: timedelta = timedelta()
    frozen: datetime | None = None

    def now(self) -> datetime:
        if self.frozen is None and not self.shift:
            return datetime.now(BANK_ZONE)
        # Shifted before it is local: an hour more is an hour more on the days that clocks change, too.
        return (self.frozen or datetime.now(UTC) + self.shift).astimezone(BANK_ZONE)

    def today(self, days: int = 0) -> date:
        today = self.now().date()
        return today + timedelta(days=days) if days else today


REAL = Clock()


def instant() -> float:
    """Now, as a number that costs nothing to take; `at` says when that was."""
    return time()


def at(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, BANK_ZONE)
