from datetime import timedelta

import pytest

from xs2a_sandbox.config.readers import parse_duration


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90d", timedelta(days=90)),
        ("+90d", timedelta(days=90)),
        ("-12h", timedelta(hours=-12)),
        ("1w2d3h4m5s", timedelta(days=9, hours=3, minutes=4, seconds=5)),
        ("1d6h", timedelta(days=1, hours=6)),
        ("0s", timedelta()),
        ("P90D", timedelta(days=90)),
        ("PT15M", timedelta(minutes=15)),
        ("-P1DT2H30M", timedelta(days=-1, hours=-2, minutes=-30)),
        ("P2W", timedelta(weeks=2)),
    ],
)
def test_spans(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    "text",
    [
        *["", "d", "90", "P", "PT", "P1DT", "T5M", "P5H", "P1M", "P1Y", "1y", "5m1h", "1.5d", "1 d", "--1d", "٣d"],
        *["1M", "1D", "1d6H", "pt5m", "999999999w", "1d\n"],
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration such as|is too long"):
        parse_duration(text)


def test_a_capital_m_is_no_minute() -> None:
    with pytest.raises(ValueError, match=r"'1M' is not .*: units are lower-case letters .*months are not supported"):
        parse_duration("1M")
