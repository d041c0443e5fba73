from datetime import UTC, datetime, timedelta

import pytest

from xs2a_sandbox import clock as clock_module
from xs2a_sandbox.clock import BANK_ZONE, Clock, at, read_time, stamp


def test_real_time_is_local_to_the_bank() -> None:
    before = datetime.now(UTC)
    now = Clock().now()

    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == before.astimezone(BANK_ZONE).utcoffset()
    assert str(BANK_ZONE) == "Europe/Vienna"


def test_a_shifted_clock_is_ahead_of_real_time() -> None:
    ahead = Clock(timedelta(days=3)).now().astimezone(UTC) - Clock().now()

    assert abs(ahead - timedelta(days=3)) < timedelta(minutes=1)


@pytest.mark.parametrize("days", [-400, -1, 0, 1, 31, 366])
def test_days_are_counted_from_today(days: int) -> None:
    frozen = Clock(frozen=datetime(2028, 2, 29, 23, 59, tzinfo=BANK_ZONE))

    assert frozen.today(days) == datetime(2028, 2, 29).date() + timedelta(days=days)


@pytest.mark.parametrize(
    ("utc", "shift", "local"),
    [
        (datetime(2026, 3, 29, 0, 30, tzinfo=UTC), timedelta(hours=1), "2026-03-29T03:30:00+02:00"),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), timedelta(hours=1), "2026-10-25T02:30:00+01:00"),
        (datetime(2026, 12, 31, 22, 59, tzinfo=UTC), timedelta(minutes=1), "2027-01-01T00:00:00+01:00"),
    ],
)
def test_a_shift_of_one_hour_adds_one_hour_of_real_time(
    monkeypatch: pytest.MonkeyPatch, utc: datetime, shift: timedelta, local: str
) -> None:
    """This also holds on the days of the clock change."""
    monkeypatch.setattr(clock_module, "datetime", fixed(utc))

    assert Clock(shift).now().isoformat() == local


@pytest.mark.parametrize(
    ("begins", "hours", "then"),
    [
        ("2026-03-28T12:00", 24, "2026-03-29T13:00:00+02:00"),
        ("2026-03-29T01:30", 1, "2026-03-29T03:30:00+02:00"),
        ("2026-10-25T02:30", 1, "2026-10-25T02:30:00+01:00"),
        ("2026-10-24T12:00", 24, "2026-10-25T11:00:00+01:00"),
        ("2028-02-28T23:30", 1, "2028-02-29T00:30:00+01:00"),
    ],
)
def test_time_after_some_hours(monkeypatch: pytest.MonkeyPatch, begins: str, hours: int, then: str) -> None:
    begins_at = read_time(begins)

    assert Clock(frozen=begins_at).after(hours * 3600).isoformat() == then
    assert Clock(frozen=begins_at).text(hours * 3600) == then
    monkeypatch.setattr(clock_module, "datetime", fixed(begins_at))
    assert Clock().after(hours * 3600).isoformat() == then


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-11-21", "2026-11-21T00:00:00+01:00"),
        ("2026-11-21T09:00:00.5", "2026-11-21T09:00:00.500000+01:00"),
        ("2026-11-21T23:30Z", "2026-11-22T00:30:00+01:00"),
        ("2026-06-21T09:00-10:00", "2026-06-21T21:00:00+02:00"),
        ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00"),
        ("1970-01-02T01:00", "1970-01-02T01:00:00+01:00"),
        ("2999-12-31T01:00", "2999-12-31T01:00:00+01:00"),
    ],
)
def test_a_time_is_parsed(written: str, shown: str) -> None:
    assert read_time(written).isoformat() == shown


@pytest.mark.parametrize("written", ["1970-01-01", "2999-12-31T01:01", "0001-01-01T00:00+14:00", "9999-12-31T23:59-12"])
def test_a_time_outside_the_range_of_the_clock_is_rejected(written: str) -> None:
    with pytest.raises(OverflowError):
        read_time(written)


@pytest.mark.parametrize(
    "begins",
    ["1970-01-02T01:00", "1980-04-06T00:00", "2026-03-29T00:00", "2026-06-21T00:00", "2026-10-25T00:00", "2999-12-31"],
)
def test_a_day_starts_at_midnight(begins: str) -> None:
    midnight = read_time(begins).astimezone(UTC)
    for moment in (midnight + timedelta(milliseconds=n) for n in (-1, 0, 1)):
        assert Clock(frozen=moment).today() == moment.astimezone(BANK_ZONE).date()


@pytest.mark.parametrize("second", [100_000, 1_774_745_999, 1_774_746_000, 1_792_889_999, 1_792_890_000])
@pytest.mark.parametrize("fraction", [0.0, 0.0625, 0.123, 0.5, 0.9375])
def test_a_stamp_is_the_instant_in_iso_format(second: int, fraction: float) -> None:
    instant = second + fraction

    assert stamp(instant) == at(instant).isoformat(timespec="milliseconds")
    assert stamp(instant, " ") == at(instant).isoformat(" ", "milliseconds")


def fixed(moment: datetime) -> type[datetime]:
    """Return a `datetime` class whose `now` is always this moment."""

    class Fixed(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return moment.astimezone(tz)  # type: ignore[arg-type]

    return Fixed


@pytest.mark.parametrize("local", ["2026-10-25T02:59:59.999999+02:00", "2026-10-25T02:00:00+01:00", "1970-01-03T00:00"])
def test_the_text_of_the_time_has_no_fraction(local: str) -> None:
    clock = Clock(frozen=read_time(local))

    assert clock.text() == clock.now().isoformat(timespec="seconds")
