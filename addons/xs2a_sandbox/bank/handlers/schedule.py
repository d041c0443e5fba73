"""On which days a payment executes."""

from calendar import monthrange
from collections.abc import Iterator, Mapping
from datetime import MAXYEAR, date, timedelta
from itertools import count
from typing import Any

_DAYS = {"daily": 1, "weekly": 7, "everytwoweeks": 14}
_MONTHS = {"monthly": 1, "everytwomonths": 2, "quarterly": 3, "semiannual": 6, "annual": 12}
_MOST = 1000
"""Executions of one payment; a daily order without end would otherwise fill the account for ever."""


def first_day(payment: Mapping[str, Any]) -> date | None:
    """The day when it executes, or for the first time. None: it never does, or the test data do not say when."""
    return next(days(payment), None)


def days(payment: Mapping[str, Any]) -> Iterator[date]:
    """All days of execution, from the first; none is before the day of authorisation."""
    request = payment.get("request", payment)
    authorised = date.fromisoformat(payment["authorised"]) if "authorised" in payment else None
    if payment["service"] == "periodic-payments":
        yield from _periods(request, authorised)
        return
    wanted = None if payment["product"].startswith("instant-") else request.get("requestedExecutionDate")
    found = [day for day in (authorised, date.fromisoformat(wanted) if wanted else None) if day]
    if found:
        yield max(found)


def executes_later(payment: Mapping[str, Any], today: date) -> bool:
    """A future day, or every period."""
    wanted = payment.get("request", payment).get("requestedExecutionDate") or ""
    instant = payment["product"].startswith("instant-")
    return payment["service"] == "periodic-payments" or (not instant and wanted > today.isoformat())


def _periods(request: Mapping[str, Any], authorised: date | None) -> Iterator[date]:
    """The first one is made up for on the day of authorisation if that came too late, others are not."""
    if not request.get("startDate"):
        return
    start = date.fromisoformat(request["startDate"])
    end = date.fromisoformat(request.get("endDate") or date.max.isoformat())
    last: date | None = None
    given = 0
    for day in _occurrences(start, request):
        if last is None:
            day = max(day, authorised or day)
        elif day <= last:
            continue
        if day > end or given == _MOST:
            return
        yield day
        last = day
        given += 1


def _occurrences(start: date, request: Mapping[str, Any]) -> Iterator[date]:
    """The days from the start on; a month that is too short for the day has it on its last."""
    frequency = str(request.get("frequency", "")).lower()
    if step := _DAYS.get(frequency):
        for number in range((date.max - start).days // step + 1):
            yield start + timedelta(days=number * step)
        return
    wanted = str(request.get("dayOfExecution") or "")
    wished = int(wanted) if wanted.isdecimal() and int(wanted) else start.day
    for months in count(start.month - 1, _MONTHS.get(frequency, 1)):
        year, month = start.year + months // 12, months % 12 + 1
        if year > MAXYEAR:
            return
        day = date(year, month, min(wished, monthrange(year, month)[1]))
        if day >= start:
            yield day
