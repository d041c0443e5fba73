"""Which missing members a schema fills with null, and which members it does not list."""

from typing import Any

import pytest

from xs2a_sandbox.documents.json_schema import Node, make_filler, make_lister


def a_node(schema: dict[str, Any], **others: Any) -> Node:
    """Return the node of a schema. `others` are the files that it may refer to, by name."""
    named = {name: f"https://x.invalid/schemas/{name}.schema.json" for name in others}
    files = {named[name]: {"$id": named[name], **one} for name, one in others.items()}
    document = {"$id": "https://x.invalid/schemas/main.schema.json", **schema}
    return Node(document, document, files.__getitem__)


def test_members_follow_the_order_of_the_schema_and_unknown_ones_come_last() -> None:
    node = a_node({"properties": {"a": {}, "b": {"type": "string"}, "c": {"type": ["string", "null"]}}})
    strangers = [f"z{number}" for number in range(20)]

    filled = make_filler(node)({**dict.fromkeys(strangers, 1), "b": "x"})

    assert list(filled) == ["a", "b", "c", *strangers]
    assert (filled["a"], filled["c"]) == (None, None)


@pytest.mark.parametrize(
    ("member", "nullable"),
    [
        ({}, True),
        ({"type": "null"}, True),
        ({"type": ["object", "null"]}, True),
        ({"enum": ["a", None]}, True),
        ({"const": None}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"$ref": "other.schema.json#/$defs/maybe"}, True),
        ({"$ref": "#/$defs/maybe"}, True),
        ({"type": "string"}, False),
        ({"type": ["string", "array"]}, False),
        ({"enum": ["a"]}, False),
        ({"const": "a"}, False),
        ({"anyOf": [{"type": "string"}]}, False),
        ({"$ref": "other.schema.json#/$defs/surely"}, False),
    ],
)
def test_only_nullable_members_are_filled(member: Any, nullable: bool) -> None:
    defs = {"maybe": {"type": ["string", "null"]}, "surely": {"type": "string"}}
    node = a_node({"properties": {"m": member}, "$defs": defs}, other={"$defs": defs})

    assert make_filler(node)({}) == ({"m": None} if nullable else {})
    assert make_filler(node)({"m": "kept"}) == {"m": "kept"}


def test_filling_descends_but_adds_no_objects() -> None:
    inner = {"type": ["object", "null"], "properties": {"x": {}}}
    node = a_node({"properties": {"one": inner, "many": {"type": "array", "items": inner}}})

    assert make_filler(node)({"one": {}, "many": [{}, None, {"x": 1}]}) == {
        "one": {"x": None},
        "many": [{"x": None}, None, {"x": 1}],
    }
    assert make_filler(node)({}) == {"one": None}
    assert make_filler(node)({"one": None, "many": "odd"}) == {"one": None, "many": "odd"}
    for odd in (None, [], "x", 1):
        assert make_filler(node)(odd) == odd


def test_the_given_value_is_not_changed() -> None:
    node = a_node({"properties": {"a": {}, "b": {"type": "object", "properties": {"c": {}}}}})
    given: dict[str, Any] = {"b": {}}

    make_filler(node)(given)

    assert given == {"b": {}}


def test_a_schema_without_members_fills_nothing() -> None:
    for schema in ({}, {"type": "string"}, {"type": "array", "items": {"type": "string"}}):
        given = {"a": [1]}
        assert make_filler(a_node(schema))(given) is given


def test_the_first_branch_that_has_members_is_filled() -> None:
    node = a_node({"anyOf": [{"type": "null"}, {"properties": {"x": {}}}]})

    assert make_filler(node)({}) == {"x": None}
    assert make_filler(node)(None) is None


def test_members_that_are_not_listed_have_their_pointers() -> None:
    account = {"properties": {"iban": {}}}
    node = a_node({"properties": {"one": {"$ref": "other.schema.json"}, "many": {"items": account}}}, other=account)
    unlisted = make_lister(node)

    assert unlisted({"one": {"iban": 1, "size": 2}, "many": [{}, {"size": 3}], "more": {"deep": 1}}) == [
        "/one/size",
        "/many/1/size",
        "/more",
    ]
    assert unlisted({"a/b": 1, "one": {"m~n": 1}}) == ["/a~1b", "/one/m~0n"]
    assert unlisted({"one": [{"size": 1}], "many": {"size": 1}}) == []
    assert make_lister(a_node({"type": "object"}))({"any": 1}) == []


def test_a_recursive_schema_is_filled_and_listed_at_every_depth() -> None:
    maybe = {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    node = a_node({"type": "object", "properties": {"n": {}, "kid": maybe, "kids": {"type": "array", "items": maybe}}})

    filled = make_filler(node)({"kid": {"kid": {"n": 1}}, "kids": [{"n": 2}, None]})

    assert filled == {
        "n": None,
        "kid": {"n": None, "kid": {"n": 1, "kid": None}},
        "kids": [{"n": 2, "kid": None}, None],
    }
    node = a_node({"properties": {"n": {}, "kid": {"$ref": "#"}, "kids": {"items": {"$ref": "#"}}}})
    assert make_lister(node)({"kid": {"kid": {"odd": 1}}, "kids": [{"odd": 2}]}) == ["/kid/kid/odd", "/kids/0/odd"]


def test_a_part_that_is_used_twice_is_filled_in_both_places() -> None:
    plain = {"$ref": "#/$defs/plain"}
    node = a_node(
        {
            "$defs": {"plain": {"type": "string"}},
            "properties": {"a": plain, "b": {"anyOf": [plain, {"properties": {"x": {}}}]}},
        }
    )
    assert make_filler(node)({"b": {}}) == {"b": {"x": None}}
