"""Parts: of cases that are much alike `make test` takes some, and `make test-slow` the others."""

from collections.abc import Collection, Iterable
from typing import Any
from zlib import crc32

import pytest


def take_turns(items: Iterable[pytest.Item], *names: str) -> None:
    """Marks as slow all but one of those items that differ in the parameters of these names alone."""
    alike: dict[object, list[pytest.Item]] = {}
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        # Values that cannot be compared are the same object in each case.
        others = tuple((name, id(value)) for name, value in parameters.items() if name not in names)
        alike.setdefault((item.nodeid.partition("[")[0], others), []).append(item)
    for group in alike.values():
        chosen = crc32(group[0].nodeid.encode()) % len(group)
        for item in group[:chosen] + group[chosen + 1 :]:
            item.add_marker(pytest.mark.slow)


def third_through_sockets(items: Iterable[pytest.Item], door: str, wires: Collection[str]) -> None:
    """Marks as slow those that go through one of the doors with a socket, but for each third case, which keeps one."""
    wired = [item for item in items if hasattr(item, "callspec") and item.callspec.params.get(door) in wires]
    take_turns(wired, door)
    for item in wired:
        if crc32(item.nodeid.encode()) % 3:
            item.add_marker(pytest.mark.slow)


def few(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """All of them as parameters; those that are not `quick` are slow."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
