"""Periods of limits, based on the calendar or on a mandate."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.bank.domain.periods import PERIODS, beginning_of

DAYS = st.dates(date(1990, 1, 1), date(2090, 12, 31))
LONGEST = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "half-year": 184, "year": 366}


@pytest.mark.parametrize(
    ("period", "first"),
    [
        ("day", date(2027, 8, 19)),
        ("week", date(2027, 8, 16)),
        ("month", date(2027, 8, 1)),
        ("half-year", date(2027, 7, 1)),
        ("year", date(2027, 1, 1)),
    ],
)
def test_calendar_periods(period: str, first: date) -> None:
    assert beginning_of(period, date(2027, 8, 19)) == first


@pytest.mark.parametrize(
    ("period", "today", "first"),
    [
        ("week", date(2027, 2, 6), date(2027, 1, 31)),
        ("week", date(2027, 2, 7), date(2027, 2, 7)),
        ("fortnight", date(2027, 2, 13), date(2027, 1, 31)),
        ("month", date(2027, 2, 27), date(2027, 1, 31)),
        ("month", date(2027, 2, 28), date(2027, 2, 28)),
        ("month", date(2027, 3, 30), date(2027, 2, 28)),
        ("half-year", date(2027, 7, 30), date(2027, 1, 31)),
        ("year", date(2028, 1, 31), date(2028, 1, 31)),
    ],
)
def test_periods_of_a_mandate_from_31_january(period: str, today: date, first: date) -> None:
    assert beginning_of(period, today, date(2027, 1, 31)) == first


@given(period=st.sampled_from(sorted(PERIODS)), today=DAYS, since=st.none() | DAYS)
def test_the_period_contains_today(period: str, today: date, since: date | None) -> None:
    first = beginning_of(period, today, since)
    assert first <= today < first + timedelta(days=LONGEST[period])


@given(period=st.sampled_from(sorted(PERIODS)), today=DAYS, since=st.none() | DAYS)
def test_periods_do_not_overlap(period: str, today: date, since: date | None) -> None:
    first = beginning_of(period, today, since)
    assert beginning_of(period, first, since) == first
    assert beginning_of(period, first - timedelta(days=1), since) < first
    yesterday = beginning_of(period, today - timedelta(days=1), since)
    assert yesterday == first or first == today


@given(period=st.sampled_from(sorted(PERIODS)), since=DAYS)
def test_the_first_period_of_a_mandate_starts_on_its_first_day(period: str, since: date) -> None:
    assert beginning_of(period, since, since) == since
