import pytest

from xs2a_sandbox.compare.difference import ACTED_ON, collect_headers


@pytest.mark.parametrize("name", ["Date", "SERVER", "X-Request-ID", "traceparent", "X-Sandbox-Rule", "Content-Length"])
def test_headers_that_always_differ_are_not_compared(name: str) -> None:
    assert collect_headers([(name, "x")]) == {}


@pytest.mark.parametrize("name", sorted({*ACTED_ON, "allow", "retry-after", "x-ratelimit-limit"}))
def test_headers_with_a_meaning_in_the_interface_are_compared(name: str) -> None:
    assert collect_headers([(name.upper(), "x")]) == {name: (name.upper(), "x")}


def test_several_fields_with_the_same_name_are_one_list() -> None:
    assert collect_headers([("Allow", "GET"), ("allow", " PUT ")]) == {"allow": ("Allow", "GET, PUT")}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("application/json", "Application/JSON; charset=utf-8", True),
        ("application/problem+json;charset=UTF-8", "application/problem+json", True),
        ("text/html; charset=utf-8", 'text/html;charset="UTF-8"', True),
        ("text/html; charset=utf-8", "text/html", False),
        ("application/json", "application/xml", False),
        ("application/json; profile=a", "application/json; profile=b", False),
    ],
)
def test_media_types_are_compared_by_meaning(one: str, other: str, equal: bool) -> None:
    assert (collect_headers([("Content-Type", one)]) == collect_headers([("Content-Type", other)])) is equal
