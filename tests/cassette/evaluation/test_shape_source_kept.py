"""The results for entries of long lists are cached if they depend only on the entry."""

from typing import Any

import pytest

from xs2a_sandbox.cassette.evaluation import shape_source
from xs2a_sandbox.cassette.evaluation.expressions import RESULT_ROOTS
from xs2a_sandbox.cassette.evaluation.shapes import CompiledShape, compile_shapes
from xs2a_sandbox.cassette.evaluation.work import WORK, Work

LONG = 1000


def shapes(**templates: Any) -> Any:
    return compile_shapes(templates, RESULT_ROOTS, lambda *mistake: pytest.fail(str(mistake)))


def entries(count: int = LONG) -> list[Any]:
    return [{"n": number} for number in range(count)]


def shaped(shape: CompiledShape, things: Any, **result: Any) -> Any:
    return shape.many({"result": result, WORK: Work()}, things)


def test_entries_of_a_long_list_are_shaped_once() -> None:
    shape, things = shapes(it={"N": "{{ it.n }}"})["it"], [None, *entries()]
    first, again = shaped(shape, things), shaped(shape, things[1:])
    assert first[:3] == [None, {"N": 0}, {"N": 1}]
    assert all(one is other for one, other in zip(first[1:], again, strict=True))


def test_results_are_cached_in_a_list_of_another_shape_too() -> None:
    both, things = shapes(all={"each": "{{ it }}", "shape": "it"}, it={"rename": {"n": "N"}}), entries()
    first, again = (both["all"].one({WORK: Work()}, things) for _ in range(2))
    assert first[1] is again[1]


def test_short_lists_are_not_cached() -> None:
    shape, things = shapes(it={"N": "{{ it.n }}"})["it"], entries(LONG - 1)
    assert shaped(shape, things)[1] is not shaped(shape, things)[1]


@pytest.mark.parametrize(
    "templates",
    [
        {"it": {"N": "{{ it.n }}", "self": "{{ result.self }}"}},
        {"it": {"N": "{{ it.n }}", "at": "{{ now() }}"}},
        {"it": {"N": "{{ it.n }}", "links": {"shape": "links"}}, "links": {"self": "{{ result.self }}"}},
    ],
)
def test_results_that_depend_on_more_than_the_entry_are_not_cached(templates: Any) -> None:
    assert shapes(**templates)["it"].kept is None


def test_a_change_of_another_value_is_noticed() -> None:
    shape, things = shapes(it={"self": "{{ result.self }}/{{ it.n }}"})["it"], entries()
    assert shaped(shape, things, self="/a")[1] == {"self": "/a/1"}
    assert shaped(shape, things, self="/b")[1] == {"self": "/b/1"}


def test_the_size_of_the_cache_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_source, "_MOST_KEPT", LONG + 1)
    shape, lists = shapes(it={"N": "{{ it.n }}"})["it"], [entries() for _ in range(5)]
    for things in lists:
        assert shaped(shape, things)[-1] == {"N": LONG - 1}
        assert shape.kept is not None
        assert len(shape.kept._held) <= 2 * LONG
