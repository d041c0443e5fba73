"""The days on which payments are executed."""

from collections.abc import Mapping
from datetime import date, timedelta
from itertools import islice
from typing import Any

import pytest

from xs2a_sandbox.bank.domain.schedule import days, first_day


def order(start: str, frequency: str, **more: Any) -> dict[str, Any]:
    return {"kind": "standing", "schedule": {"start": start, "frequency": frequency, **more}}


@pytest.mark.parametrize(
    ("payment", "expected"),
    [
        (order("2026-11-21", "Daily"), "2026-11-21 2026-11-22 2026-11-23 2026-11-24"),
        (order("2026-12-28", "Weekly"), "2026-12-28 2027-01-04 2027-01-11 2027-01-18"),
        (order("2026-11-21", "EveryTwoWeeks"), "2026-11-21 2026-12-05 2026-12-19 2027-01-02"),
        (order("2026-11-21", "Monthly"), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "EveryTwoMonths"), "2026-11-21 2027-01-21 2027-03-21 2027-05-21"),
        (order("2026-11-21", "Quarterly"), "2026-11-21 2027-02-21 2027-05-21 2027-08-21"),
        (order("2026-11-21", "SemiAnnual"), "2026-11-21 2027-05-21 2027-11-21 2028-05-21"),
        (order("2026-11-21", "Annual"), "2026-11-21 2027-11-21 2028-11-21 2029-11-21"),
        (order("2026-11-21", "monthly"), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "now and then"), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "MonthlyVariable"), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "Monthly", months=["1", "11"]), "2026-11-21 2027-01-21 2027-11-21 2028-01-21"),
        # month ends and leap years
        (order("2027-01-31", "Monthly"), "2027-01-31 2027-02-28 2027-03-31 2027-04-30"),
        (order("2028-01-31", "Monthly"), "2028-01-31 2028-02-29 2028-03-31 2028-04-30"),
        (order("2028-02-29", "Annual"), "2028-02-29 2029-02-28 2030-02-28 2031-02-28"),
        (order("2026-11-30", "Quarterly"), "2026-11-30 2027-02-28 2027-05-30 2027-08-30"),
        (order("2027-12-31", "EveryTwoMonths"), "2027-12-31 2028-02-29 2028-04-30 2028-06-30"),
        # the day of execution
        (order("2027-01-10", "Monthly", day="31"), "2027-01-31 2027-02-28 2027-03-31 2027-04-30"),
        (order("2028-02-01", "Monthly", day="30"), "2028-02-29 2028-03-30 2028-04-30 2028-05-30"),
        (order("2026-11-21", "Monthly", day="15"), "2026-12-15 2027-01-15 2027-02-15 2027-03-15"),
        (order("2026-11-21", "Monthly", day="21"), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "Quarterly", day="1"), "2027-02-01 2027-05-01 2027-08-01 2027-11-01"),
        (order("2026-11-21", "Weekly", day="1"), "2026-11-21 2026-11-28 2026-12-05 2026-12-12"),
        *(
            (order("2026-11-21", "Monthly", day=nonsense), "2026-11-21 2026-12-21 2027-01-21 2027-02-21")
            for nonsense in ("", "0", "00", "-3", "x", "32", "99", "٣", None)
        ),
        # the end
        (order("2026-11-21", "Monthly", end="2027-01-21"), "2026-11-21 2026-12-21 2027-01-21"),
        (order("2026-11-21", "Monthly", end="2027-01-20"), "2026-11-21 2026-12-21"),
        (order("2026-11-21", "Monthly", end="2026-11-21"), "2026-11-21"),
        (order("2026-11-21", "Monthly", end=None), "2026-11-21 2026-12-21 2027-01-21 2027-02-21"),
        (order("2026-11-21", "Monthly", end="2026-11-30", day="15"), ""),
        (order("9999-11-30", "Monthly"), "9999-11-30 9999-12-30"),
        (order("9999-12-30", "Daily"), "9999-12-30 9999-12-31"),
        (order("9999-12-31", "Monthly", day="1"), ""),
        # the day of authorisation
        (
            order("2026-11-21", "Monthly") | {"authorised_on": "2026-11-22"},
            "2026-11-22 2026-12-21 2027-01-21 2027-02-21",
        ),
        (order("2026-11-21", "Daily") | {"authorised_on": "2026-11-24"}, "2026-11-24 2026-11-25 2026-11-26 2026-11-27"),
        (
            order("2025-11-21", "Monthly") | {"authorised_on": "2026-11-01"},
            "2026-11-01 2026-11-21 2026-12-21 2027-01-21",
        ),
        (
            order("2026-11-21", "Monthly") | {"authorised_on": "2026-11-01"},
            "2026-11-21 2026-12-21 2027-01-21 2027-02-21",
        ),
        (order("2026-11-21", "Weekly", end="2026-11-22") | {"authorised_on": "2026-11-23"}, ""),
    ],
)
def test_the_days_of_a_periodic_payment(payment: Mapping[str, Any], expected: str) -> None:
    found = [day.isoformat() for day, _ in zip(days(payment), range(4), strict=False)]
    assert found == expected.split()
    assert first_day(payment) == (date.fromisoformat(found[0]) if found else None)


def test_a_daily_order_without_an_end_never_ends() -> None:
    *_, last = islice(days(order("2026-11-21", "Daily")), 5000)
    assert last == date(2026, 11, 21) + timedelta(days=4999)


def single(**members: Any) -> dict[str, Any]:
    return {"kind": "single", **members}


@pytest.mark.parametrize(
    ("payment", "expected"),
    [
        (single(authorised_on="2026-11-21"), "2026-11-21"),
        (single(authorised_on="2026-11-21", execute_on=None), "2026-11-21"),
        (single(authorised_on="2026-11-21", execute_on=""), "2026-11-21"),
        (single(authorised_on="2026-11-21", execute_on="2026-11-25"), "2026-11-25"),
        (single(authorised_on="2026-11-26", execute_on="2026-11-25"), "2026-11-26"),
        (single(execute_on="2026-11-25"), "2026-11-25"),
        (single(instant=True, authorised_on="2026-11-21", execute_on="2026-11-25"), "2026-11-21"),
        (single(), None),
        (order("", "Monthly"), None),
    ],
)
def test_the_day_of_a_single_payment(payment: Mapping[str, Any], expected: str | None) -> None:
    assert [day.isoformat() for day in days(payment)] == ([expected] if expected else [])
