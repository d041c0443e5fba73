from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xs2a_sandbox.cassette.matchers import RequestPart, constrain
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.explain import distance
from xs2a_sandbox.explain.distance import align
from xs2a_sandbox.http.target import split_target


def alignment(pattern: str, path: str) -> distance.PathAlignment:
    return align(Pattern.parse(pattern), split_target(path).segments)


@pytest.mark.parametrize(
    ("pattern", "path", "parameters"),
    [
        ("/v1/a", "/v1/a/", {}),
        ("/v1/{x}/b", "/v1/1/b", {"x": "1"}),
        ("/v1/{rest*}", "/v1/1/b", {"rest": "1/b"}),
        ("/", "/", {}),
    ],
)
def test_a_matching_path_has_no_distance(pattern: str, path: str, parameters: dict[str, str]) -> None:
    found = alignment(pattern, path)

    assert (found.cost, found.parameters, found.edits) == (0, parameters, ())


@pytest.mark.parametrize(
    ("pattern", "path", "edits", "parameters"),
    [
        ("/v1/accounts", "/v1/acounts", ["'acounts' should be 'accounts'"], {}),
        ("/v1/{x}/status", "/v1/1", ["'status' is missing"], {"x": "1"}),
        ("/v1/{x}", "/v1/1/status", ["'status' is one segment too many"], {"x": "1"}),
        ("/v1/{x}", "/v1", ["{x} is missing"], {}),
        ("/a/{rest*}", "/ab/1/2", ["'ab' should be 'a'"], {"rest": "1/2"}),
        ("/v1/a/{x}", "/psd2/v1/b/7", ["'b' should be 'a'"], {"x": "7"}),
        ("/v1/a", "/psd2/v1/a", ["only the part from a later 'v1' on matches"], {}),
    ],
)
def test_a_different_path_has_the_edits_it_needs(
    pattern: str, path: str, edits: list[str], parameters: dict[str, str]
) -> None:
    found = alignment(pattern, path)

    assert found.cost > 0
    assert (list(found.edits), found.parameters) == (edits, parameters)


def test_a_different_word_and_a_wildcard_have_different_distances() -> None:
    assert alignment("/a/b", "/a/b").vague < alignment("/a/{x}", "/a/b").vague < alignment("/{rest*}", "/a/b").vague


@pytest.mark.parametrize(
    ("spec", "near", "far"),
    [
        ({"equals": "gold"}, "golden", "silver"),
        ({"in": ["fast", "slow"]}, "slo", "x"),
        ({"prefix": "corp-"}, "cor-1", "me"),
        ({"gt": "1000"}, "999", "1"),
        ({"lt": "2026-01-01"}, "2026-01-02", "2026-05-01"),
        ({"equals": 100}, 101, 9000),
        ({"format": "uuid"}, "x", None),
        ({"gte": 5, "lt": 10}, 4, 900),
    ],
)
def test_values_have_distances(spec: dict[str, Any], near: Any, far: Any) -> None:
    values = [[near], [] if far is None else [far]]
    costs = [distance.of_values(spec, value) for value in values]

    assert 0 < costs[0] < costs[1] <= 1
    assert distance.of_values(spec, [near, *values[1]]) == costs[0]


@pytest.mark.parametrize(
    ("spec", "value", "text"),
    [
        ({"gt": "1000"}, "990.5", "9.5 too little"),
        ({"gt": 5}, 5, "just not"),
        ({"lte": "10"}, "12", "2 too much"),
        ({"gte": "2026-11-01"}, "2026-10-31", "1 day too early"),
        ({"lt": "2026-11-01T00:00:00Z"}, "2026-11-01T00:30:00Z", "0:30:00 too late"),
        ({"gt": "1000"}, "soon", ""),
        ({"gt": "1000"}, "1001", ""),
        ({"equals": "a"}, "b", ""),
    ],
)
def test_the_shortfall_is_described(spec: dict[str, Any], value: Any, text: str) -> None:
    assert distance.shortfall(spec, value) == text


SCALARS = st.one_of(
    st.text(max_size=20), st.integers(), st.decimals(allow_nan=False, allow_infinity=False), st.booleans(), st.none(),
    st.sampled_from(["9e999999", "-9e999999", "0001-01-01", "9999-12-31", "0001-01-01T00:00:00+23:59"]),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2), st.lists(st.integers(), max_size=2),
)  # fmt: skip
BOUNDS = st.sampled_from(["1e999999", "0", "-5", "2026-01-01"])
SPECS = st.one_of(
    st.builds(lambda v: {"equals": v}, SCALARS),
    st.builds(lambda v: {"in": v}, st.lists(SCALARS, min_size=1)),
    st.builds(lambda o, v: {o: v}, st.sampled_from(["gt", "gte", "lt", "lte"]), BOUNDS),
    st.sampled_from([{"regex": "^a"}, {"prefix": "ab", "glob": "*c"}, {"not": {"equals": 1}}, {"absent": True}]),
)  # fmt: skip


@given(SPECS, st.lists(SCALARS, max_size=3))
def test_every_shortfall_is_described_in_few_characters(spec: dict[str, Any], values: list[Any]) -> None:
    fits = constrain(RequestPart("body", "/x"), spec, lambda _: bool).fits(values)

    assert fits or 0 < distance.of_values(spec, values) <= 1
    for value in values:
        assert len(distance.shortfall(spec, value)) < 60


@given(st.lists(st.sampled_from(["v1", "a", "b", "", "x" * 500]), max_size=40))
@example(["v1", "a", "", "b"])
def test_any_path_has_a_distance(segments: list[str]) -> None:
    for text in ("/v1/a/{x}/b", "/{rest*}", "/", "/a/b"):
        pattern = Pattern.parse(text)
        found = align(pattern, segments)
        assert found.cost >= 0
        assert (found.cost == 0) == (not found.edits)
        assert set(found.parameters) <= set(pattern.names)
