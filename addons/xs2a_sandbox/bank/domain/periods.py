"""Periods for limits: calendar periods, or periods that start on the first day of a mandate."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta

PERIODS: Mapping[str, tuple[int, int]] = {
    "day": (1, 0),
    "week": (7, 0),
    "fortnight": (14, 0),
    "month": (0, 1),
    "half-year": (0, 6),
    "year": (0, 12),
}
"""The length of each period in days, or in months."""
_MONDAY, _JANUARY = date(1970, 1, 5), date(1970, 1, 1)


def beginning_of(period: str, today: date, since: date | None = None) -> date:
    """Return the first day of the current period. Without `since` it is a period of the calendar."""
    days, months = PERIODS[period]
    if days:
        first = since or _MONDAY
        return first + timedelta(days=(today - first).days // days * days)
    first = since or _JANUARY
    passed = (today.year - first.year) * 12 + today.month - first.month
    begins = _add_months(first, passed // months * months)
    return begins if begins <= today else _add_months(first, (passed // months - 1) * months)


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
