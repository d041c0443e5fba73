"""Sample values that match a condition."""

import json
from typing import Any

import pytest

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.cassette.matchers import RequestPart, constrain, sample
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.features.authoring.samples import of_body, of_schema

SCHEMAS = bundled_engine().schemas
NO_BODIES = ("cassette", "testdata", "config", "definitions", "state/")
BODIES = [name for name in SCHEMAS.names() if not name.startswith(NO_BODIES) and not name.endswith("#…")]
"""Exclude the names that match all parts of an OpenAPI document."""


def body(**matchers: Any) -> Any:
    return of_body(
        constrain(RequestPart("body", pointer), matcher, SCHEMAS.__getitem__) for pointer, matcher in matchers.items()
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_sample_has_the_required_format(name: str) -> None:
    fits = constrain(RequestPart("query", "a"), {"format": name}, SCHEMAS.__getitem__).fits
    assert fits((sample({"format": name}),))


def test_a_sample_matches_the_body_condition() -> None:
    assert body(**{"/a/b": "x", "/a/c": {"in": [1, 2]}, "/l/1/n": {"format": "currency"}}) == {
        "a": {"b": "x", "c": 1},
        "l": [None, {"n": "EUR"}],
    }
    assert body(**{"": {"contains": {"k": 1}}, "/a": "x"}) == {"k": 1, "a": "x"}
    assert body(**{"/a": {"gt": 5}, "/b": {"exists": True}}) is None


@pytest.mark.parametrize("name", BODIES)
def test_a_sample_is_valid_for_its_schema(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema.complaint(of_schema(schema.node)) is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "required": ["a"], "properties": {"a": {"const": 7}, "b": {"type": "string"}}}, {"a": 7}),
        ({"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 5}}, [5, 5]),
        ({"anyOf": [{"type": "boolean"}, {"type": "string"}]}, True),
        ({"type": ["string", "null"]}, None),
        ({"examples": [{"from": "the author"}], "type": "object"}, {"from": "the author"}),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "TEXT"),
        ({}, None),
    ],
)
def test_samples_for_keywords(schema: Any, value: Any) -> None:
    assert of_schema(Schema("x", json.loads(json.dumps(schema)), lambda uri: None).node) == value
