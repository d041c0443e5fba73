"""Equality of values, containment, and distance."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.cassette.evaluation.values import canonical, contains, is_equal, words_apart

JSON_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
    st.sampled_from(["", "1", "1.0", "true", "null", "a"]),
)
JSON_VALUES = st.recursive(
    JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


@given(JSON_SCALARS, JSON_SCALARS)
def test_scalars_are_equal_if_their_canonical_values_are_equal(left, right):
    assert is_equal(left, right) is (canonical(left) == canonical(right))
    if is_equal(left, right):
        assert hash(canonical(left)) == hash(canonical(right))


@given(JSON_VALUES, JSON_VALUES)
def test_equality_and_containment(left, right):
    assert is_equal(left, left)
    assert contains(left, left)
    assert is_equal(left, right) is is_equal(right, left)
    if is_equal(left, right):
        assert contains(left, right)
        assert contains(right, left)


def test_distance_of_words() -> None:
    assert words_apart("same", "same") == 0
    assert (
        0
        < words_apart("accounts", "ACCOUNTS")
        < words_apart("accounts", "acounts")
        < words_apart("accounts", "consents")
        < words_apart("a", "b")
        == 1
    )
