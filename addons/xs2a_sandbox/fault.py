"""Slow and broken answers, described; the engine waits, the door breaks the connection."""

import math
import random
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

FAULTS = ("reset", "drop", "truncate", "malformed")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
LONGEST = 300.0
"""Seconds that an answer can be delayed."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class Delay:
    """`median` in seconds; `sigma` 0 is always the median, else log-normal round it."""

    median: float
    sigma: float = 0.0

    def seconds(self) -> float:
        if not self.sigma or not self.median:
            return self.median
        return min(random.lognormvariate(math.log(self.median), self.sigma), LONGEST)


def parse_delay(value: Any) -> Delay:
    """`250ms`, `1.5s`, or `{lognormal: {median: 200ms, sigma: 0.4}}`. Raises ValueError."""
    if isinstance(value, dict):
        shape = value["lognormal"]
        return Delay(seconds(shape["median"]), float(Decimal(shape["sigma"])))
    return Delay(seconds(value))


def seconds(text: str) -> float:
    """`250ms`, `1.5s`, `2m`. Raises ValueError."""
    fits = _DURATION.fullmatch(text)
    if not fits:
        raise ValueError(f"{text!r} is no duration such as 250ms, 1.5s or 2m")
    span = float(fits[1]) * _UNITS[fits[2]]
    if span > LONGEST:
        raise ValueError(f"{text} is too long: {LONGEST:g}s is the longest")
    return span
