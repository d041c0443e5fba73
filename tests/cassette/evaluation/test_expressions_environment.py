from decimal import Decimal
from types import MappingProxyType

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import (
    CUT,
    ENVIRONMENT,
    FILTERS,
    IN_ORDER,
    WEIGHED,
    is_missing,
    member,
)
from xs2a_sandbox.cassette.evaluation.values import to_text


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
def test_only_members_and_entries_are_found(value, key, found):
    assert member(value, key) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (ENVIRONMENT.undefined(), ""), (True, "true"), (False, "false"), (Decimal("1.10"), "1.10"), (7, "7")],
)
def test_values_in_text(value, text):
    assert to_text(value) == text


def test_null_and_undefined_are_missing():
    assert is_missing(None)
    assert is_missing(ENVIRONMENT.undefined())
    assert not is_missing(0)
    assert not is_missing("")


def test_nothing_but_the_listed_filters_is_there():
    assert set(ENVIRONMENT.filters) == FILTERS | {CUT, IN_ORDER, WEIGHED}
    assert not ENVIRONMENT.globals
