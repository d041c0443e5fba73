"""Mistakes in schema files, each with its position."""

import json
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.schema_files import check


def problems(directory: Path, **documents: Any) -> list[str]:
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document, indent=1)
        (directory / f"{name}.schema.json").write_text(text)
    return [f"{p.file.name}:{p.line}:{p.column} {p.code}: {p.text}" for p in check(Schemas([directory]))]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([1], "1:1 schema: a schema is an object"),
        (
            {"type": "strng"},
            'a.schema.json:2:10 schema: must be a list, "array", "boolean", "integer", "null", "number", "object" or '
            '"string", not "strng"; did you mean string?',
        ),
        ({"properties": {"x": {"minLength": -1}}}, "4:17 schema: must be at least 0, not -1"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "2:13 schema: only https://json-schema",
        ),
        ({"requird": ["x"]}, "2:2 schema: unknown keyword requird; did you mean required?"),
        ({"format": "ibn"}, "2:12 schema: unknown format ibn; did you mean iban?"),
        (
            {"$ref": "b.schema.json#/$defs/x"},
            "2:10 schema: b.schema.json#/$defs/x does not refer to a schema: there is no b",
        ),
        ({"$ref": "b.json"}, "there is no b.json; the names of schema files end in .schema.json"),
        ({"$ref": "#/$defs/iban", "$defs": {"ibn": {}}}, "/$defs has no iban; did you mean ibn?"),
        ({"$ref": "#iban"}, "#iban does not end in a valid JSON Pointer: "),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}, "#/$defs/x refers to itself"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "# refers to itself"),
        ({"properties": {"x": {"allOf": [{"oneOf": [{"$ref": "#/properties/x"}]}]}}}, "refers to itself"),
        ({"$ref": "https://bank.example/a.schema.json"}, "is a URL, which is never fetched"),
        ({"$ref": "//bank.example/schemas/a.schema.json"}, "is a URL, which is never fetched"),
        ({"$ref": "file:///etc/passwd"}, "is a URL, which is never fetched"),
    ],
)
def test_a_mistake_is_reported_with_its_position(tmp_path: Path, document: Any, expected: str) -> None:
    assert any(expected in one for one in problems(tmp_path, a=document)), problems(tmp_path, a=document)


def test_a_file_without_json_is_reported_along_with_other_mistakes(tmp_path: Path) -> None:
    first, second = problems(tmp_path, a="{", b={"requird": []})
    assert "a.schema.json:1:1 schema-json: the file must be JSON" in first
    assert "b.schema.json:2:2 schema: unknown keyword" in second


def test_member_names_and_values_are_not_read_as_schemas(tmp_path: Path) -> None:
    document = {
        "properties": {"requird": {}, "$ref": {}},
        "enum": [{"$ref": "x"}],
        "x-own": 1,
        "examples": [{"typ": 1}],
    }
    assert problems(tmp_path, a=document, b={"$ref": "a.schema.json#/properties/requird"}) == []


def test_references_are_relative_to_the_file_regardless_of_its_id(tmp_path: Path) -> None:
    first = {"$id": "https://bank.example/a", "properties": {"x": {"$ref": "b.schema.json"}}}
    assert problems(tmp_path, a=first, b={"type": "string"}) == []
    schema = Schemas([tmp_path])["a"]
    assert [schema.accepts({"x": "text"}), schema.accepts({"x": 1})] == [True, False]


def test_a_schema_can_contain_itself_in_a_member(tmp_path: Path) -> None:
    tree = {"properties": {"child": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "more": {"items": {"$ref": "#"}}}}
    assert problems(tmp_path, tree=tree) == []


def test_the_bundled_schemas_have_no_mistakes() -> None:
    assert check(Schemas([bundled("schemas")])) == []
