from typing import Any

import pytest

from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.compare.diff import ArrayAlignment, by_key, by_likeness, by_position

KEYS = default_things().keys


def canonical(element: Any, banks: bool) -> bytes:
    return repr(element).encode()


def likeness(mine: Any, theirs: Any) -> float:
    """Return how many characters at the same position are equal."""
    one, other = str(mine), str(theirs)
    return sum(a == b for a, b in zip(one, other, strict=False)) / max(len(one), len(other))


def keyed(*values: Any) -> list[Any]:
    return [{"resourceId": value} for value in values]


@pytest.mark.parametrize(
    ("bank", "sandbox", "pairs", "reordered"),
    [
        ("abcd", "abcd", [(0, 0), (1, 1), (2, 2), (3, 3)], False),
        ("abcd", "acd", [(0, 0), (2, 1), (3, 2)], False),
        ("acd", "abcd", [(0, 0), (1, 2), (2, 3)], False),
        ("abcd", "bacd", [(0, 1), (1, 0), (2, 2), (3, 3)], True),
        ("aaa", "aa", [(0, 0), (1, 1)], False),
        ("abc", "axc", [(0, 0), (1, 1), (2, 2)], False),
        ("", "ab", [], False),
    ],
)
def test_equal_elements_are_paired(bank: str, sandbox: str, pairs: list[Any], reordered: bool) -> None:
    found = by_likeness(list(bank), list(sandbox), canonical, likeness)
    assert (list(found.pairs), found.reordered) == (pairs, reordered)


def test_a_removed_element_shifts_nothing_even_if_all_have_changed() -> None:
    bank = ["first=1", "second=2", "third=3", "fourth=4"]
    sandbox = ["first=9", "third=9", "fourth=9"]
    pairs = by_likeness(bank, sandbox, canonical, likeness)
    assert pairs.pairs == ((0, 0), (2, 1), (3, 2))
    assert (pairs.bank_only, pairs.sandbox_only) == ((1,), ())


def test_elements_are_paired_by_a_unique_key() -> None:
    pairs = by_key(keyed("a", "b", "c"), keyed("c", "a"), KEYS, str, lambda mine, theirs: 0.0)
    assert pairs == ArrayAlignment(((0, 1), (2, 0)), (1,), (), "resourceId")
    assert pairs.reordered


@pytest.mark.parametrize(
    ("bank", "sandbox"),
    [
        (keyed("a", "a"), keyed("a", "b")),
        (keyed("a", None), keyed("a", "b")),
        (keyed("a", ""), keyed("a", "b")),
        (["a"], keyed("a")),
        (keyed("a", "b"), keyed("c", "d")),
        (keyed("a", 1), keyed("a", 1)),
    ],
)
def test_a_member_that_does_not_identify_elements_is_not_a_key(bank: list[Any], sandbox: list[Any]) -> None:
    assert by_key(bank, sandbox, KEYS, str, lambda mine, theirs: 1.0) is None


def test_the_sandbox_can_use_other_keys() -> None:
    pairs = by_key(keyed("a", "b"), keyed("B", "A"), KEYS, str.upper, lambda mine, theirs: 0.0)
    assert pairs
    assert pairs.pairs == ((0, 1), (1, 0))


def test_an_element_with_a_changed_key_is_paired_if_it_is_similar() -> None:
    bank, sandbox = keyed("a", "b", "c"), keyed("a", "x", "c")
    alike = by_key(bank, sandbox, KEYS, str, lambda mine, theirs: 0.9)
    unlike = by_key(bank, sandbox, KEYS, str, lambda mine, theirs: 0.1)
    assert alike
    assert alike.pairs == ((0, 0), (1, 1), (2, 2))
    assert unlike
    assert (unlike.bank_only, unlike.sandbox_only) == ((1,), (1,))


def test_long_arrays_are_paired_by_position() -> None:
    bank, sandbox = list(range(1000)), list(range(1, 1001))
    assert by_likeness(bank, sandbox, canonical, likeness) == by_position(bank, sandbox)
