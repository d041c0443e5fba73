"""Requests of a timeline that are repeated in a row, such as those of an app that polls a status."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xs2a_sandbox.features.console.life import TimelineStep


def count_repeats(steps: "Sequence[TimelineStep]", shown: object = "") -> "list[tuple[TimelineStep, int]]":
    """Merge equal steps in a row, and return each step with the number of its requests.

    Of equal steps the last one is kept, unless the exchange `shown` is one of them.
    """
    counted: list[tuple[TimelineStep, int]] = []
    for step in steps:
        if counted and _what(counted[-1][0]) == _what(step):
            before, count = counted[-1]
            counted[-1] = (before if before.exchange["number"] == shown else step, count + 1)
        else:
            counted.append((step, 1))
    return counted


def _what(step: "TimelineStep") -> tuple[Any, ...]:
    one = step.exchange
    return step.origin, one["operation"], one["method"], one["status"], one["fault"], step.states
