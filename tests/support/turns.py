"""Divide similar cases: `make test` runs some of them, `make test-slow` the others."""

from collections.abc import Collection, Iterable
from typing import Any
from zlib import crc32

import pytest


def take_turns(items: Iterable[pytest.Item], *names: str) -> None:
    """Mark items as slow that differ only in the parameters of these names, except for one."""
    alike: dict[object, list[pytest.Item]] = {}
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        # Values that cannot be compared are the same objects in every case.
        others = tuple((name, id(value)) for name, value in parameters.items() if name not in names)
        alike.setdefault((item.nodeid.partition("[")[0], others), []).append(item)
    for group in alike.values():
        chosen = crc32(group[0].nodeid.encode()) % len(group)
        for item in group[:chosen] + group[chosen + 1 :]:
            item.add_marker(pytest.mark.slow)


def third_through_sockets(items: Iterable[pytest.Item], door: str, wires: Collection[str]) -> None:
    """Mark cases as slow that use a door with a socket. Every third case keeps one such door."""
    wired = [item for item in items if hasattr(item, "callspec") and item.callspec.params.get(door) in wires]
    take_turns(wired, door)
    for item in wired:
        if crc32(item.nodeid.encode()) % 3:
            item.add_marker(pytest.mark.slow)


def few(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Return all values as parameters. Those that are not in `quick` are slow."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
