"""The compiled body of an answer agrees with the interpreter."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.cassette.answers import ResponseTemplate, compile_answer
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS
from xs2a_sandbox.documents.json_schema import Schema

SCHEMA: dict[str, Any] = {
    "$id": "https://xs2a-sandbox.invalid/schemas/thing.schema.json",
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": ["string", "null"]},
        "c": {"type": "array", "items": {"$ref": "#"}},
        "d": {"$ref": "#"},
        "e": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        "f": {"allOf": [{"properties": {"g": {}}}], "properties": {"h": {}}},
        "i": {},
    },
}
NAMES = st.sampled_from(["a", "b", "c", "d", "e", "f", "i", "x", "y%", 'z"ä'])
TEXTS = st.sampled_from(["", "50 %b", "ä", "{{ body.a }}", "{{ body.b }}", "{{ body.c or none }}", "{{ body.a }}/%s"])
CONSTANTS = st.sampled_from([None, True, 1, [], {}, "plain", "100 %"])


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = st.tuples(NAMES, st.sampled_from(["", "?"])).map("".join)
    each = st.builds(lambda give: {"each": "{{ body.list }}", "give": give}, inner)
    return st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(optional, inner, max_size=5), each, st.builds(merge, inner)
    )


def merge(part: Any) -> Any:
    return {"merge": [{"a": 1, "i": None}, part]}


TEMPLATES = st.recursive(TEXTS | CONSTANTS, nested, max_leaves=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "%b", "ä\n"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": VALUES, "list": st.lists(VALUES, max_size=2)})


def compiled(body: Any, nulls: str | None = None) -> ResponseTemplate:
    problems: list[str] = []
    spec = {"body": body} | ({"nulls": nulls} if nulls else {})
    template = compile_answer(spec, ROOTS, lambda name: b"", lambda pointer, text: problems.append(text))
    assert problems == []
    return template


@given(TEMPLATES, BODIES, st.sampled_from([None, "fill", "drop"]))
def test_the_body_is_that_of_the_interpreter(written: Any, body: Mapping[str, Any], nulls: str | None) -> None:
    writers = compiled(written, nulls).writers
    schema = Schema("thing", SCHEMA, lambda uri: SCHEMA) if nulls == "fill" else None

    assert writers[schema]({"body": body}) == writers.interpret(schema, {"body": body})


def test_ids_are_drawn_in_the_order_of_the_template() -> None:
    """A session with a seed would get other ids if the order of the schema decided."""
    ids = iter("first second".split())
    writers = compiled({"b": "{{ uuid() }}", "a": "{{ uuid() }}"}, "fill").writers
    schema = Schema("thing", SCHEMA, lambda uri: SCHEMA)

    assert list(json.loads(writers[schema]({"uuid": lambda: next(ids)})).items())[:2] == [
        ("a", "second"),
        ("b", "first"),
    ]


def test_a_body_too_deep_for_python_is_interpreted() -> None:
    body: Any = "{{ body.a }}"
    for _ in range(150):
        body = {"each": "{{ body.list }}", "give": body}

    assert compiled(body).writers[None]({"body": {"a": 1, "list": []}}) == b"[]"


@pytest.mark.parametrize("nulls", [None, "fill", "drop"])
def test_a_constant_body_is_completed_once(nulls: str | None) -> None:
    template = compiled({"a": "yes", "b": None}, nulls)
    schema = Schema("thing", SCHEMA, lambda uri: SCHEMA) if nulls == "fill" else None
    filled = {"a": "yes", "b": None, "e": None, "f": None, "i": None}
    expected = {None: {"a": "yes", "b": None}, "fill": filled, "drop": {"a": "yes"}}

    assert json.loads(template.writers[schema]({})) == expected[nulls]
    assert template.writers[schema] is template.writers[schema]
