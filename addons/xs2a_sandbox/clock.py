"""The time, as one session of the sandbox sees it. No other module reads it."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

BANK_ZONE = ZoneInfo("Europe/Vienna")


@dataclass(frozen=True, slots=True)
class Clock:
    """Real, shifted or frozen; all times are the bank's local ones, with their offset."""

    shift: timedelta = timedelta()
    frozen: datetime | None = None

    def now(self) -> datetime:
        # Shifted before it is local: an hour more is an hour more on the days that clocks change, too.
        return (self.frozen or datetime.now(UTC) + self.shift).astimezone(BANK_ZONE)

    def today(self, days: int = 0) -> date:
        return self.now().date() + timedelta(days=days)
