from decimal import Decimal
from statistics import median

import pytest

from xs2a_sandbox.cassette.answers import parse_delay


@pytest.mark.parametrize(
    ("written", "seconds"), [("250ms", 0.25), ("0ms", 0.0), ("1.5s", 1.5), ("2m", 120.0), ("0.5ms", 0.0005)]
)
def test_durations(written, seconds):
    assert parse_delay(written).seconds() == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["", "5", "ms", "-1s", "1 s", "1h", "1,5s", "1e3s", ".5s", "1s\n"])
def test_invalid_durations(written):
    with pytest.raises(ValueError, match="duration"):
        parse_delay(written)


def test_log_normal_delays_are_distributed_around_their_median():
    delay = parse_delay({"lognormal": {"median": "200ms", "sigma": Decimal("0.4")}})
    drawn = [delay.seconds() for _ in range(4000)]
    assert len(set(drawn)) > 3900
    assert min(drawn) > 0
    assert median(drawn) == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(("middle", "sigma", "seconds"), [("200ms", 0, 0.2), ("0ms", 1, 0.0)])
def test_delays_without_spread(middle, sigma, seconds):
    assert parse_delay({"lognormal": {"median": middle, "sigma": sigma}}).seconds() == pytest.approx(seconds)
