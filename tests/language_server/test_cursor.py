"""The place of the cursor, in YAML that is being typed. `|` marks the cursor."""

import pytest

from xs2a_sandbox.features.language_server.cursor import AS_KEY, AS_WRITTEN, Cursor, find_cursor


def at(text: str, inserts: tuple[str, ...] = AS_KEY) -> Cursor | None:
    before, _, after = text.partition("|")
    return find_cursor(before + after, len(before), inserts)


@pytest.mark.parametrize(
    ("text", "pointer", "is_key"),
    [
        ("a: 1\n|", ("",), True),
        ("a: 1\nb|", ("b",), True),
        ("a:\n  |\nb: 1", ("a", ""), True),
        ("a:\n  - x: 1\n    |\n    y: 2\nb: 3", ("a", 0, ""), True),
        ("a:\n  - |", ("a", 0, ""), True),
        ("a: {|}", ("a", ""), True),
        ("a: {b: 1, |", ("a", ""), True),
        ("a: {b: c|}\nd: 1", ("a", "b"), False),
        ("a: |\nb: 1", ("a",), False),
        ("a:\n  b: c|\n  d: 1", ("a", "b"), False),
        ("a: [x, |y]", ("a", 1, ""), True),
        ('a: "x {{ y|', ("a",), False),
        ("a: 'x|\nb: 1", ("a",), False),
        ("a: &one {b: 1}\nc: *one\nd: e|", ("d",), False),
    ],
)
def test_incomplete_text(text: str, pointer: tuple[str | int, ...], is_key: bool) -> None:
    cursor = at(text)
    assert cursor
    assert (cursor.pointer, cursor.is_key) == (pointer, is_key)


@pytest.mark.parametrize(
    ("text", "word", "before"),
    [
        ("a: one-t|wo\nb: 1", "one-two", "one-t"),
        ("on|e: 1", "one", "on"),
        ("a: [read pay|ment, x]", "read payment", "read pay"),
        ('a: "{{ x|y }}"', "{{ xy }}", "{{ x"),
    ],
)
def test_the_word_at_the_cursor(text: str, word: str, before: str) -> None:
    cursor = at(text, AS_WRITTEN)
    assert cursor
    assert (cursor.text, cursor.before) == (word, before)


@pytest.mark.parametrize("text", ["a: 1  # x|\nb: 1", "a: [}\nb: x|"])
def test_no_place(text: str) -> None:
    assert at(text) is None


def test_the_document_contains_what_is_around_the_cursor() -> None:
    cursor = at("a: 1\nb: {c: true, |}\nd: [x]")
    assert cursor
    assert cursor.document == {"a": 1, "b": {"c": True, "": None}, "d": ["x"]}
    assert not cursor.is_only_key
    broken = at("a: 1\nb: x|\nc: d: e")
    assert broken
    assert broken.document == {"a": 1, "b": "x"}
