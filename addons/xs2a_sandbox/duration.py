"""Spans of time as people and ISO 8601 write them: `90d`, `-1d12h`, `PT15M`."""

import re
from datetime import timedelta

EXPECTED = "a duration such as 90d, -12h, 1d6h30m or PT15M (weeks, days, hours, minutes, seconds)"

_DAYS = r"(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
_TIME = r"(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,12})S)?"
_SHORT = re.compile(rf"(?P<sign>[+-]?)(?=\d){_DAYS}{_TIME}", re.IGNORECASE | re.ASCII)
_ISO = re.compile(rf"(?P<sign>[+-]?)P(?=T?\d){_DAYS}(?:T(?=\d){_TIME})?", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Years and months are refused, as they are not always as long. Raises ValueError."""
    short = _SHORT.fullmatch(text)
    if short and text != text.lower():
        # 1M is a month to some.
        why = "the units are small letters (m is a minute), and months are refused, as they are not always as long"
        raise ValueError(f"{text[:40]!r} is not {EXPECTED}: {why}")
    fits = short or _ISO.fullmatch(text)
    if not fits:
        raise ValueError(f"{text[:40]!r} is not {EXPECTED}")
    parts = {name: int(given) for name, given in fits.groupdict().items() if name != "sign" and given}
    try:
        span = timedelta(**parts)
    except OverflowError:
        raise ValueError(f"{text!r} is longer than there is time") from None
    return -span if fits["sign"] == "-" else span
