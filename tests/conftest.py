"""What is slow beyond the tests that are marked: cases that take turns, and the many examples of hypothesis."""

import pytest
from hypothesis import settings

from tests.support.turns import take_turns

# No deadline: a machine that is busy with other tests is not what is tried.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    turning: dict[tuple[str, ...], list[pytest.Item]] = {}
    for item in items:
        if marker := item.get_closest_marker("by_turns"):
            turning.setdefault(marker.args, []).append(item)
    for names, turned in turning.items():
        take_turns(turned, *names)
