from datetime import UTC, datetime, timedelta

import pytest

from xs2a_sandbox import clock as clock_module
from xs2a_sandbox.clock import BANK_ZONE, Clock


def test_real_time_is_local_to_the_bank() -> None:
    before = datetime.now(UTC)
    now = Clock().now()

    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == before.astimezone(BANK_ZONE).utcoffset()
    assert str(BANK_ZONE) == "Europe/Vienna"


def test_shifted() -> None:
    ahead = Clock(timedelta(days=3)).now() - Clock().now()

    assert abs(ahead - timedelta(days=3)) < timedelta(minutes=1)


@pytest.mark.parametrize("days", [-400, -1, 0, 1, 31, 366])
def test_days_from_today(days: int) -> None:
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
def test_an_hour_more_is_an_hour_more(
    monkeypatch: pytest.MonkeyPatch, utc: datetime, shift: timedelta, local: str
) -> None:
    """On the days that clocks change, too."""

    class Fixed(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return utc.astimezone(tz)  # type: ignore[arg-type]

    monkeypatch.setattr(clock_module, "datetime", Fixed)

    assert Clock(shift).now().isoformat() == local
