"""The faults that a campaign leaves out, and why, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xs2a_sandbox.features.pytest.injected_fault import InjectedFault
from xs2a_sandbox.wording import say_count

ALIKE, IDLE, UNREACHED, BUDGET = "alike", "idle", "not reached", "no time left"
"""The reasons for leaving a fault out."""

_SENTENCES: Mapping[str, tuple[str, str]] = {
    ALIKE: (
        "was left out because it would show the same as another fault",
        "were left out because they would show the same as other faults",
    ),
    IDLE: (
        "was left out because it changes nothing for this app",
        "were left out because they change nothing for this app",
    ),
    UNREACHED: (
        "was not reached: the app did not make its call",
        "were not reached: the app did not make their calls",
    ),
    BUDGET: (
        "was not tried because the time was over or the campaign was stopped",
        "were not tried because the time was over or the campaign was stopped",
    ),
}
"""The ends of the sentences for one fault and for several."""


@dataclass(frozen=True, slots=True)
class SkippedFault:
    """A fault that was not tried, or not reached."""

    fault: InjectedFault
    why: str


@dataclass(frozen=True, slots=True)
class LeftOutGroup:
    """All faults that were left out for one reason: a sentence without full stop, and a line for each point."""

    sentence: str
    lines: tuple[str, ...]


def group_left_out(left_out: Iterable[SkippedFault]) -> list[LeftOutGroup]:
    faults: dict[str, list[InjectedFault]] = {why: [] for why in _SENTENCES}
    for one in left_out:
        faults[one.why].append(one.fault)
    return [
        LeftOutGroup(f"{say_count(len(some), 'fault')} {_SENTENCES[why][len(some) != 1]}", tuple(_list_points(some)))
        for why, some in faults.items()
        if some
    ]


def _list_points(faults: Iterable[InjectedFault]) -> Iterable[str]:
    """Yield a line for each point, such as `account-list 1: reset (after), token expires (before, after)`."""
    points: dict[str, dict[str, list[str]]] = {}
    for fault in faults:
        phases = points.setdefault(fault.point, {}).setdefault(fault.name, [])
        if fault.phase not in phases:
            phases.append(fault.phase)
    for point, names in points.items():
        yield f"{point}: {', '.join(f'{name} ({", ".join(phases)})' for name, phases in names.items())}"
