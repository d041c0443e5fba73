"""The days on which a payment executes."""

import re
from calendar import FRIDAY, monthrange
from collections.abc import Container, Iterator, Mapping
from datetime import MAXYEAR, date, datetime, timedelta
from functools import cache
from itertools import count, groupby
from typing import Any

from xs2a_sandbox.clock import beginning

_DAYS = {"daily": 1, "weekly": 7, "everytwoweeks": 14}
_MONTHS = {"monthly": 1, "everytwomonths": 2, "quarterly": 3, "semiannual": 6, "annual": 12}
FREQUENCIES = frozenset({*_DAYS, *_MONTHS, "monthlyvariable"})
"""The frequencies in lower case. The last one is monthly, except in months that are not listed."""
SINGLE, BULK, STANDING = "single", "bulk", "standing"
"""The kinds of payments: one, several at once, and one that is executed repeatedly."""
T2 = "T2"
"""The business days of the Eurosystem's payments: no weekends and none of its six holidays."""

_DAY = re.compile(r"0?[1-9]|[12][0-9]|3[01]")


def first_day(payment: Mapping[str, Any]) -> date | None:
    """Return the first day on which the payment executes, or None if it never does or its day is unknown."""
    return next(days(payment), None)


def due(payment: Mapping[str, Any]) -> datetime | None:
    """Return the instant when the payment starts to execute, or None if it does not wait for a day.

    This is the beginning of its first day, in the bank's time zone.
    """
    first = first_day(payment) if payment["status"] == "ACTC" else None
    return beginning(first) if first else None


def days(payment: Mapping[str, Any]) -> Iterator[date]:
    """Return all days of execution in order, starting with the day of authorisation at the earliest."""
    if payment.get("business_days") == T2:
        return (day for day, _ in groupby(map(_next_business_day, _calendar_days(payment))))
    return _calendar_days(payment)


def _next_business_day(day: date) -> date:
    """Return the day itself, or the next one on which T2, the Eurosystem's settlement system, is open."""
    closed = _t2_holidays()
    while day < date.max and (day.weekday() > FRIDAY or day in closed):
        day += timedelta(days=1)
    return day


@cache
def _t2_holidays() -> Container[date]:
    # Imported only when needed: most payments execute on any day, and the import takes a tenth of a second.
    import holidays

    calendar: Container[date] = holidays.financial_holidays("ECB")
    return calendar


def _calendar_days(payment: Mapping[str, Any]) -> Iterator[date]:
    authorised = date.fromisoformat(payment["authorised_on"]) if "authorised_on" in payment else None
    if payment.get("kind") == STANDING:
        yield from _periods(payment.get("schedule") or {}, authorised)
        return
    requested = None if payment.get("instant") else payment.get("execute_on")
    candidates = [day for day in (authorised, date.fromisoformat(requested) if requested else None) if day]
    if candidates:
        yield max(candidates)


def _periods(schedule: Mapping[str, Any], authorised: date | None) -> Iterator[date]:
    """Yield the days of the schedule.

    If the first day is before the authorisation, it moves to the day of authorisation. Other days do not move.
    """
    if not schedule.get("start"):
        return
    start = date.fromisoformat(schedule["start"])
    end = date.fromisoformat(schedule.get("end") or date.max.isoformat())
    last: date | None = None
    for day in _occurrences(start, schedule):
        if last is None:
            day = max(day, authorised or day)
        elif day <= last:
            continue
        if day > end:
            return
        yield day
        last = day


def standing_order(payment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schedule of a standing order in the form of the entries in the list `information`."""
    schedule = payment["schedule"]
    start = date.fromisoformat(schedule["start"])
    step = _MONTHS.get(str(schedule["frequency"]).lower(), 1)
    months = sorted({(start.month - 1 + number * step) % 12 + 1 for number in range(12)})
    return {
        "start": schedule["start"],
        "frequency": schedule["frequency"],
        "end": schedule.get("end") or date.max.isoformat(),
        "rule": schedule.get("rule") or "following",
        "months": [str(month) for month in schedule.get("months") or months],
        "day": str(schedule.get("day") or start.day),
    }


def _occurrences(start: date, schedule: Mapping[str, Any]) -> Iterator[date]:
    """Yield the days from the start on. A month that is too short for the day uses its last day."""
    frequency = str(schedule.get("frequency", "")).lower()
    if step := _DAYS.get(frequency):
        for number in range((date.max - start).days // step + 1):
            yield start + timedelta(days=number * step)
        return
    listed_months = [str(month) for month in schedule.get("months") or ()]
    written = str(schedule.get("day") or "")
    wished = int(written) if _DAY.fullmatch(written) else start.day
    for months in count(start.month - 1, _MONTHS.get(frequency, 1)):
        year, month = start.year + months // 12, months % 12 + 1
        if year > MAXYEAR:
            return
        day = date(year, month, min(wished, monthrange(year, month)[1]))
        if day >= start and (not listed_months or str(month) in listed_months):
            yield day
