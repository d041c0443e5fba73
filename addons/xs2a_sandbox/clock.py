"""The time, as one session of the sandbox sees it. No other module reads it."""

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
    """Real, shifted or frozen; all times are the bank's local ones, with their offset.

    With a `seed`, which only a frozen one has, ids are the same again.
    """

    shift: timedelta = timedelta()
    frozen: datetime | None = None
    seed: str | None = None

    def now(self) -> datetime:
        if self.frozen is None and not self.shift:
            return datetime.now(BANK_ZONE)
        # Shifted before it is local: an hour more is an hour more on the days that clocks change, too.
        return (self.frozen or datetime.now(UTC) + self.shift).astimezone(BANK_ZONE)

    def timestamp(self) -> float:
        """Now, in seconds since 1970: it costs much less than `now`."""
        if self.frozen:
            return self.frozen.timestamp()
        return time() + self.shift.total_seconds() if self.shift else time()

    def after(self, seconds: float) -> datetime:
        """When so many seconds have passed, on the days that clocks change, too."""
        return (self.now().astimezone(UTC) + timedelta(seconds=seconds)).astimezone(BANK_ZONE)

    def today(self, days: int = 0) -> date:
        today = _day_at(int(self.timestamp()) // _QUARTER)
        return today + timedelta(days=days) if days else today


_QUARTER = 15 * 60


@lru_cache(64)
def _day_at(quarter: int) -> date:
    """The bank's day in that quarter of an hour since 1970: days begin, and clocks change, between two of them."""
    return datetime.fromtimestamp(quarter * _QUARTER, BANK_ZONE).date()


@dataclass(frozen=True, slots=True)
class WatchedClock(Clock):
    """Notes in `looks` when somebody looks at more of the time than the day; `began` is when the watch did."""

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
    """ISO 8601, the bank's time where it has no offset.

    Raises:
        ValueError: it is none.
        OverflowError: no clock can show it.
    """
    moment = datetime.fromisoformat(text)
    # By way of UTC: an hour that the bank's clocks leave out is shown as the one after it.
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=BANK_ZONE)).astimezone(UTC)
    if not can_show(moment):
        raise OverflowError(TOO_FAR)
    return moment.astimezone(BANK_ZONE)


def beginning(day: date) -> datetime:
    """The instant at which the bank's day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=BANK_ZONE)


def can_show(moment: datetime) -> bool:
    return _FIRST <= moment <= _LAST


def instant() -> float:
    """Now, as a number that costs nothing to take; `at` says when that was."""
    return time()


def at(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, BANK_ZONE)


def stamp(instant: float, between: str = "T") -> str:
    """When that was, with milliseconds and offset: `2026-11-21T09:00:00.123+01:00`."""
    second, fraction = divmod(round(instant * 1_000_000), 1_000_000)
    before, after = _second(second, between)
    return f"{before}.{fraction // 1000:03}{after}"


@lru_cache(64)
def _second(second: int, between: str) -> tuple[str, str]:
    """The texts before and after the fraction of that second, in which there may be thousands of lines."""
    text = at(second).isoformat(between)
    return text[:19], text[19:]
