"""Divide similar cases: `make test` runs some of them, `make test-slow` the others."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any
from zlib import crc32

import pytest


def take_turns(items: Iterable[pytest.Item], *names: str) -> None:
    """Mark items as slow that differ only in the parameters of these names, except for one."""
    for group in _alike(items, *names):
        chosen = crc32(group[0].nodeid.encode()) % len(group)
        for item in group[:chosen] + group[chosen + 1 :]:
            item.add_marker(pytest.mark.slow)


def share_out(items: Sequence[pytest.Item], door: str, wires: Collection[str]) -> list[pytest.Item]:
    """Return the items of one test without most of those that use a door with a socket.

    Each case keeps one of these doors, in turns. If the test has fewer cases than doors, some cases keep several, so
    that each test passes through all doors. Every third case is quick, the others are slow. With the marker
    `every_door`, a test keeps all of them.
    """
    cases = _alike([item for item in items if _parameters(item).get(door) in wires], door)
    first = crc32(cases[0][0].nodeid.encode()) if cases else 0
    kept: dict[str, list[pytest.Item]] = {}
    for turn in range(len(wires)):
        for number, case in enumerate(cases, first):
            item = case[(number + turn) % len(case)]
            of_door = kept.setdefault(_parameters(item)[door], [])
            if turn == 0 or (turn < len(case) and item.get_closest_marker("every_door")) or not of_door:
                of_door.append(item)
                if turn or crc32(item.nodeid.encode()) % 3:
                    item.add_marker(pytest.mark.slow)
    left = {*chain(*kept.values())}
    return [item for item in items if item in left or _parameters(item).get(door) not in wires]


def _alike(items: Iterable[pytest.Item], *names: str) -> list[list[pytest.Item]]:
    """Group the items that differ only in the parameters of these names."""
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        # Values that cannot be compared are the same objects in every case.
        others = tuple((name, id(value)) for name, value in _parameters(item).items() if name not in names)
        groups.setdefault((item.nodeid.partition("[")[0], others), []).append(item)
    return list(groups.values())


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def few(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Return all values as parameters. Those that are not in `quick` are slow."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
