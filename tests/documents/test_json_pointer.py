"""JSON Pointer (RFC 6901)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.documents.json_pointer import Pointer, at_pointer, leaves, parse_pointer, pointer_text

WHOLE: Any = {"a/b": {"~": [1, {"01": 2}]}, "0": 3}


@pytest.mark.parametrize(
    ("pointer", "text"),
    [((), ""), (("a", 0, "b"), "/a/0/b"), (("a/b", "m~n", ""), "/a~1b/m~0n/"), (("~1",), "/~01")],
)
def test_a_pointer_is_written_as_in_the_standard(pointer: Pointer, text: str) -> None:
    assert pointer_text(pointer) == text


@given(st.lists(st.text(alphabet="a~/01é", max_size=4)))
def test_a_written_pointer_is_read_back(steps: list[str]) -> None:
    assert parse_pointer(pointer_text(steps)) == tuple(steps)


@pytest.mark.parametrize("text", ["a", "a/b", "/a~", "/a~2b"])
def test_an_invalid_pointer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        parse_pointer(text)


@pytest.mark.parametrize(("text", "value"), [("", WHOLE), ("/a~1b/~0/0", 1), ("/a~1b/~0/1/01", 2), ("/0", 3)])
def test_a_pointer_finds_its_value(text: str, value: Any) -> None:
    assert at_pointer(WHOLE, parse_pointer(text)) == (value,)


NOWHERE = ["/a", "/a~1b/~0/01", "/a~1b/~0/2", "/a~1b/~0/-", "/a~1b/~0/-1", "/a~1b/~0/" + "9" * 5000, "/0/x"]


@pytest.mark.parametrize("text", NOWHERE)
def test_a_pointer_to_nothing_has_no_value(text: str) -> None:
    assert at_pointer(WHOLE, parse_pointer(text)) == ()


def test_every_leaf_has_its_pointer() -> None:
    assert list(leaves(WHOLE)) == [("/a~1b/~0/0", 1), ("/a~1b/~0/1/01", 2), ("/0", 3)]
    assert list(leaves({"a": None, "b": [], "c": {}})) == [("/a", None)]
    assert list(leaves("text")) == [("", "text")]
