"""JSON Schema errors as plain text."""

import json
from pathlib import Path
from typing import Any

import pytest

from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.documents.yaml_reader import complaints, parse

FILE = Path("cases/file.yaml")

SCHEMA = {
    "type": "object",
    "required": ["cassette"],
    "additionalProperties": False,
    "properties": {
        "cassette": {"const": 1},
        "title": {"type": "string"},
        "kind": {"enum": ["simulate", "record", "compare"]},
        "port": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 65535}, {"const": "off"}]},
        "matcher": {
            "oneOf": [
                {"type": ["string", "number"]},
                {"type": "object", "additionalProperties": False, "properties": {"regex": {"type": "string"}}},
                {
                    "type": "object",
                    "required": ["kind", "size"],
                    "properties": {"kind": {"const": "big"}, "size": {"type": "integer"}},
                },
            ]
        },
        "rule": {"oneOf": [{"required": ["respond"]}, {"required": ["sequence"]}]},
        "iban": {"type": "string", "format": "iban"},
        "codes": {"propertyNames": {"pattern": "^[0-9]{3}$"}, "maxProperties": 2},
        "list": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string", "pattern": "^x"}},
        "wait": {"type": "string", "pattern": "^[0-9]+(ms|s)$", "description": "A duration such as 5s; or none."},
        "code": {"type": "string", "pattern": "^[0-9]+$", "description": "Digits in quotes."},
        "body": {"propertyNames": {"pattern": "^/", "description": "A JSON Pointer such as /a/b."}},
    },
}


def complaints_of(text: str, schema: Any = SCHEMA) -> list[tuple[int, int, str, str]]:
    return [
        (p.line, p.column, p.code, p.text) for p in complaints(parse(text, FILE), Schema("own", schema, {}.__getitem__))
    ]


class TestComplaints:
    def test_a_valid_document_has_no_complaints(self):
        text = "cassette: 1\nport: off\nmatcher: {kind: big, size: 3}\nlist: [x, xy]\niban: DE89370400440532013000\n"
        assert complaints_of(text) == []

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("titel: x", (2, 1, "unknown-key", "unknown key titel; did you mean title?")),
            ("title: 1", (2, 8, "wrong-type", "must be text, not 1; quote it to make it text")),
            ("title: [1]", (2, 8, "wrong-type", "must be text, not a list")),
            ("title:", (2, 7, "wrong-type", "must be text, not null")),
            (
                "kind: recrod",
                (2, 7, "wrong-value", 'must be "simulate", "record" or "compare", not "recrod"; did you mean record?'),
            ),
            ("port: of", (2, 7, "wrong-value", 'must be a whole number or "off", not "of"; did you mean off?')),
            ("port: 70000", (2, 7, "wrong-value", "must be at most 65535, not 70000")),
            ("port: 1.5", (2, 7, "wrong-value", 'must be a whole number or "off", not 1.5')),
            ("matcher: [1]", (2, 10, "wrong-type", "must be text, a number or a mapping, not a list")),
            ("matcher: {regx: x}", (2, 11, "unknown-key", "unknown key regx; did you mean regex?")),
            ("matcher: {regex: 1}", (2, 18, "wrong-type", "must be text, not 1; quote it to make it text")),
            ("matcher: {kind: big, size: x}", (2, 28, "wrong-type", 'must be a whole number, not "x"')),
            ("matcher: {kind: big}", (2, 10, "missing-key", "the key size is missing in matcher")),
            ("rule: {}", (2, 7, "missing-key", "one of the keys respond or sequence is missing in rule")),
            (
                "rule: {respond: 1, sequence: 2}",
                (2, 20, "wrong-value", "only one of respond and sequence may be given"),
            ),
            ("iban: DE00", (2, 7, "wrong-value", 'must be an IBAN with valid check digits, not "DE00"')),
            ("codes: {a: 1}", (2, 9, "wrong-value", 'the key a must match ^[0-9]{3}$, not "a"')),
            ("codes: {200: 1, 201: 1, 202: 1}", (2, 8, "wrong-value", "must have at most 2 keys")),
            ("list: []", (2, 7, "wrong-value", "must not be empty")),
            ("list: [x, x]", (2, 7, "wrong-value", "has the same entry twice")),
            ("wait: 5 seconds", (2, 7, "wrong-value", 'must be a duration such as 5s, not "5 seconds"')),
            ("wait: 5", (2, 7, "wrong-type", "must be a duration such as 5s, not 5")),
            ("code: 5", (2, 7, "wrong-type", "must be text, not 5; quote it to make it text")),
            (
                "body: {amount: 1}",
                (
                    2,
                    8,
                    "wrong-value",
                    'the key amount must be a JSON Pointer such as /a/b, not "amount"; did you mean /amount?',
                ),
            ),
            ("list: [x, y]", (2, 11, "wrong-value", 'must match ^x, not "y"')),
        ],
    )
    def test_a_complaint_has_its_place_code_and_text(self, text, found):
        assert complaints_of(f"cassette: 1\n{text}\n") == [found]

    def test_all_complaints_are_returned_at_once(self):
        assert complaints_of("title: 1\nkind: x\n") == [
            (1, 1, "missing-key", "the key cassette is missing"),
            (1, 8, "wrong-type", "must be text, not 1; quote it to make it text"),
            (2, 7, "wrong-value", 'must be "simulate", "record" or "compare", not "x"'),
        ]

    def test_an_unknown_key_without_a_similar_one_lists_the_possible_keys(self):
        complaints = complaints_of("a: 1", {"additionalProperties": False, "properties": {"x": {}, "yy": {}}})
        assert complaints == [(1, 1, "unknown-key", "unknown key a; possible here: x, yy")]

    def test_references_to_other_schemas_are_followed(self, tmp_path):
        (tmp_path / "deep").mkdir()
        home = "https://example.org/schemas"
        shared = {"$id": f"{home}/shared.schema.json", "$defs": {"id": {"type": "integer"}}}
        inner = {"$id": f"{home}/deep/inner.schema.json", "type": "boolean"}
        top = {
            "$id": f"{home}/top.schema.json",
            "properties": {"a": {"$ref": "shared.schema.json#/$defs/id"}, "b": {"$ref": "deep/inner.schema.json"}},
        }
        for name, schema in (("shared", shared), ("deep/inner", inner), ("top", top)):
            (tmp_path / f"{name}.schema.json").write_text(json.dumps(schema))
        problems = complaints(parse("a: x\nb: 1\n", FILE), Schemas([tmp_path])["top"])
        assert [p.text for p in problems] == ['must be a whole number, not "x"', "must be true or false, not 1"]

    def test_the_words_of_the_validator_are_never_used(self):
        everything = {
            "not": {"type": "string"},
            "if": {"type": "string"},
            "then": {"minLength": 9, "multipleOf": 3},
            "contains": {"const": 1},
            "dependentRequired": {"a": ["b"]},
        }
        assert complaints_of("abc", everything)[0][3] == "has a form that is not allowed here"
        assert complaints_of("abc", everything)[1][3] == 'must have at least 9 characters, not "abc"'
        assert complaints_of("[2]", everything)[0][3] == "lacks a required entry"
        assert complaints_of("a: 1", everything)[0][3] == "a also needs the key b"
        assert complaints_of("7", {"multipleOf": 2})[0][3] == "does not satisfy multipleOf: 2"


def schema(document: Any) -> Schema:
    return Schema("own", document, {}.__getitem__)


def test_a_valid_value_has_no_complaints():
    fitting = schema({"properties": {"a": {"format": "iban"}}})
    assert fitting.complaints({"a": "DE89370400440532013000"}) == set()
    assert fitting.complaint({"a": "DE89370400440532013000"}) is None


def test_a_complaint_about_a_key_is_marked():
    (one,) = schema({"additionalProperties": False, "properties": {"b": {}}}).complaints({"a": 1})
    assert (one.pointer, one.code, one.key) == (("a",), "unknown-key", True)


@pytest.mark.parametrize(
    ("rule", "body", "pointer", "text"),
    [
        ({"required": ["a", "b"]}, {"a": 1}, ("b",), "is required"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ("b",), "is required together with a"),
        (
            {"properties": {"title": {}}, "additionalProperties": False},
            {"titel": 1},
            ("titel",),
            "is unknown here; did you mean title?",
        ),
        ({"propertyNames": {"pattern": "^x"}}, {"a": 1}, ("a",), "is an invalid name: it must match ^x"),
        ({"type": ["string", "object", "null"]}, 1, (), "must be a string, an object or null, not a number"),
        ({"type": ["string", "null"], "maxLength": 0}, "x", (), "must be null, not a string"),
        ({"items": {"enum": ["a", "b", "c", ""]}}, ["a", "d"], (1,), 'must be "a", "b" or "c"'),
        ({"const": [1, 2]}, 1, (), "must be [1, 2]"),
        ({"minItems": 1}, [], (), "must not be empty"),
        ({"minItems": 2}, [1], (), "must have at least 2 entries"),
        ({"maxLength": 1}, "xy", (), "must have at most one character"),
        ({"minimum": 1}, 0, (), "must be at least 1"),
        ({"pattern": "^[0-9]+$"}, "5\n", (), "must match ^[0-9]+$"),
        ({"pattern": "^[0-9]+$", "description": "Digits; no more."}, "x", (), "must be digits"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, (), "does not match any of the allowed forms"),
        ({"uniqueItems": True}, [1, 1], (), "has the same entry twice"),
        ({"properties": {"a": False}}, {"a": 1}, ("a",), "contains something that is not allowed here"),
        ({"properties": {"a": {"format": "email"}}}, {"a": "x"}, ("a",), "must be a valid email"),
    ],
)
def test_a_complaint_about_a_body_has_its_pointer_and_text(rule: Any, body: Any, pointer: tuple[Any, ...], text: str):
    one = schema(rule).complaint(body)
    assert one is not None
    assert one.pointer == pointer
    assert one.text.startswith(text)


@pytest.mark.parametrize(
    ("word", "hint"), [("titel", "; did you mean title?"), ("TITLE", ""), ("colour", ""), ("", "")]
)
def test_only_similar_words_are_suggested(word, hint):
    assert did_you_mean(word, ["title", "kind", 1, None]) == hint


def test_every_forbidden_member_is_reported() -> None:
    schema = Schema("own", {"properties": {"a": {}}, "additionalProperties": False}, lambda uri: {})
    assert [breach.pointer for breach in schema.breaches({"a": 1, "b": 2, "c": 3})] == [("b",), ("c",)]
