"""The clock of a session. No other module reads the time."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from time import time
from zoneinfo import ZoneInfo

BANK_ZONE = ZoneInfo("Europe/Vienna")
EXPECTED_TIME = "an ISO 8601 time such as 2026-11-21T09:00:00 (the bank's time) or 2026-11-21T08:00:00Z"
TOO_FAR = "the clock can only show times from 1970 to 2999"

_FIRST, _LAST = datetime(1970, 1, 2, tzinfo=UTC), datetime(2999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """A real, shifted or frozen clock. All times are in the bank's time zone, with their offset.

    Only a frozen clock can have a `seed`, which makes generated ids repeatable.
    """

    shift: timedelta = timedelta()
    frozen: datetime | None = None
    seed: str | None = None

    def now(self) -> datetime:
        if self.frozen is None and not self.shift:
            return datetime.now(BANK_ZONE)
        # Shift before conversion to local time, so that an hour is an hour even when clocks change.
        return (self.frozen or datetime.now(UTC) + self.shift).astimezone(BANK_ZONE)

    def timestamp(self) -> float:
        """Return the time in seconds since 1970, which is much faster than `now`."""
        if self.frozen:
            return self.frozen.timestamp()
        return time() + self.shift.total_seconds() if self.shift else time()

    def text(self, later: float = 0) -> str:
        """Return the time that many seconds later, to the second, as an ISO 8601 string."""
        before, after = _second(int(self.timestamp() + later), "T")
        return before + after

    def after(self, seconds: float) -> datetime:
        """Return the time after that many seconds, correct even when clocks change."""
        return (self.now().astimezone(UTC) + timedelta(seconds=seconds)).astimezone(BANK_ZONE)

    def today(self, days: int = 0) -> date:
        today = _day_at(int(self.timestamp()) // _QUARTER)
        return today + timedelta(days=days) if days else today


_QUARTER = 15 * 60


@lru_cache(64)
def _day_at(quarter: int) -> date:
    """Return the bank's day in that quarter-hour since 1970. Days begin, and clocks change, between quarter-hours."""
    return datetime.fromtimestamp(quarter * _QUARTER, BANK_ZONE).date()


@dataclass(frozen=True, slots=True)
class WatchedClock(Clock):
    """Records in `looks` each read of the time, except for reads of the day. `began` is the start of the watch."""

    began: datetime = datetime.min
    looks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, clock: Clock) -> "WatchedClock":
        return cls(clock.shift, clock.frozen, clock.seed, clock.now())

    def now(self) -> datetime:
        self.looks.append("now")
        return Clock.now(self)

    def timestamp(self) -> float:
        self.looks.append("timestamp")
        return Clock.timestamp(self)

    def today(self, days: int = 0) -> date:
        today = _day_at(int(Clock.timestamp(self)) // _QUARTER)
        return today + timedelta(days=days) if days else today


REAL = Clock()


def read_time(text: str) -> datetime:
    """Parse an ISO 8601 time. Without an offset it is in the bank's time zone.

    Raises:
        ValueError: the text is not a valid time.
        OverflowError: the time is outside the range of clocks.
    """
    moment = datetime.fromisoformat(text)
    # Convert through UTC, so that a time that the bank's clocks skip becomes a time in the next hour.
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=BANK_ZONE)).astimezone(UTC)
    if not can_show(moment):
        raise OverflowError(TOO_FAR)
    return moment.astimezone(BANK_ZONE)


def beginning(day: date) -> datetime:
    """Return the instant when the bank's day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=BANK_ZONE)


def can_show(moment: datetime) -> bool:
    return _FIRST <= moment <= _LAST


def instant() -> float:
    """Return the current instant as a number, which is very fast. `at` converts it to a time."""
    return time()


def at(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, BANK_ZONE)


def stamp(instant: float, between: str = "T") -> str:
    """Format the instant with milliseconds and offset: `2026-11-21T09:00:00.123+01:00`."""
    second, fraction = divmod(round(instant * 1_000_000), 1_000_000)
    before, after = _second(second, between)
    return f"{before}.{fraction // 1000:03}{after}"


@lru_cache(64)
def _second(second: int, between: str) -> tuple[str, str]:
    """Return the texts before and after the fraction. Cached, because a second may have thousands of requests."""
    text = at(second).isoformat(between)
    return text[:19], text[19:]
