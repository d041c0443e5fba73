"""Turns: of cases that are alike but for a door or a road, `make test` takes one and `make test-slow` the others."""

from collections.abc import Iterable
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
