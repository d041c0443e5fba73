from types import MappingProxyType

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import (
    CUT,
    ENVIRONMENT,
    FILTERS,
    IN_ORDER,
    WEIGHED,
    member,
)


@pytest.mark.parametrize(
    ("value", "key", "found"),
    [
        ({"items": 1}, "items", 1),
        (MappingProxyType({"a": 1}), "a", 1),
        ({"a": 1}, "b", None),
        ({"a": 1}, "keys", None),
        ([1, 2], 1, 2),
        ([1, 2], -1, 2),
        ([1, 2], 2, None),
        ((1, 2), "count", None),
        ("text", "upper", None),
        ("text", 0, None),
        (5, "real", None),
        (None, "a", None),
    ],
)
def test_only_members_and_entries_are_accessible(value, key, found):
    assert member(value, key) == found


def test_only_the_listed_filters_exist():
    assert set(ENVIRONMENT.filters) == FILTERS | {CUT, IN_ORDER, WEIGHED}
    assert not ENVIRONMENT.globals
