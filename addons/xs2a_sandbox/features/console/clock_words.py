"""Describes a session's clock in words."""

from collections.abc import Mapping
from typing import Any

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def say_clock(clock: Mapping[str, Any]) -> str:
    """Return how the clock differs from real time, such as `runs 23 h 55 min ahead of real time`, or an empty text."""
    if clock.get("frozen"):
        return "is stopped"
    left = abs(shift := int(clock.get("shift") or 0))
    words = []
    for size, unit in _UNITS:
        if left >= size:
            words.append(f"{left // size} {unit}")
            left %= size
    return f"runs {' '.join(words[:2])} {'ahead of' if shift > 0 else 'behind'} real time" if words else ""
