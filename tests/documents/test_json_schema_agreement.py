"""A schema accepts the same values as jsonschema, and explains all others."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_schema import Node, Schema

SCHEMAS = Schemas([bundled("schemas")])
# Drawing values for the schemas of large OpenAPI documents takes minutes.
NAMES = [name for name in SCHEMAS.names() if "#" not in name]
SAMPLES = {
    "amount": ["12.34", "-1", "1,5", "1.2345"],
    "bic": ["GIBAATWWXXX", "nope"],
    "country": ["AT", "Austria"],
    "currency": ["EUR", "euro"],
    "date": ["2026-02-28", "2026-02-30", "20260228"],
    "date-time": ["2026-02-28T10:00:00Z", "2026-02-28 10:00"],
    "iban": ["DE89370400440532013000", "DE00"],
    "ip": ["::1", "1.2.3"],
    "redirect-uri": ["https://tpp.example/back", "/back"],
    "uuid": ["99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "99391c7e"],
}
DECIMALS = st.decimals(-100, 100, places=2) | st.sampled_from([Decimal("1.0"), Decimal("1E+3"), Decimal("0.10")])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | DECIMALS
    | st.sampled_from(["", "a", "5\n", "٣", "a/b", "12.34", "true", "off"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner), max_leaves=5
)
_DEEPEST = 5


def values(node: Node, depth: int = 0) -> st.SearchStrategy[Any]:
    """Draw values close to a schema: most match it, and every part of them may be any value."""
    if depth > _DEEPEST:
        return ANYTHING
    return st.integers(0, 11).flatmap(lambda number: fitting(node.resolve(), depth) if number else ANYTHING)


def fitting(node: Node, depth: int) -> st.SearchStrategy[Any]:
    schema = node.schema
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    branches = list(node.branches())
    if branches and "properties" not in schema:
        return st.sampled_from(branches).flatmap(lambda branch: values(branch, depth))
    kinds = schema.get("type", "object" if "properties" in schema else ["string", "number", "object", "array"])
    return st.sampled_from([kinds] if isinstance(kinds, str) else kinds).flatmap(
        lambda kind: of_kind(node, kind, depth)
    )


def of_kind(node: Node, kind: str, depth: int) -> st.SearchStrategy[Any]:
    schema = node.schema
    match kind:
        case "object":
            return objects(node, depth)
        case "array":
            return st.lists(values(node.at(schema.get("items", {})), depth + 1), max_size=3)
        case "string":
            return texts(schema)
        case "integer":
            return st.integers(-2, 100) | st.just(Decimal("3.0"))
        case "number":
            return st.integers(-2, 100) | DECIMALS
        case "boolean":
            return st.booleans()
    return st.none()


def texts(schema: Any) -> st.SearchStrategy[str]:
    if "format" in schema:
        return st.sampled_from(SAMPLES[schema["format"]])
    if "pattern" in schema:
        fit = st.from_regex(schema["pattern"], alphabet=st.characters(codec="utf-8"))
        return fit | fit.map(lambda text: text + "\n")
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=schema.get("minLength", 0) + 3)


def objects(node: Node, depth: int) -> st.SearchStrategy[Any]:
    schema = node.schema
    properties = {name: values(node.at(inner), depth + 1) for name, inner in schema.get("properties", {}).items()}
    required = {name: properties[name] for name in schema.get("required", ()) if name in properties}
    whole = st.fixed_dictionaries(required, optional={n: s for n, s in properties.items() if n not in required})
    more = schema.get("additionalProperties")
    names = texts(node.at(schema.get("propertyNames", {})).resolve().schema)
    others = st.dictionaries(names, values(node.at(more if isinstance(more, dict) else {}), depth + 1), max_size=2)
    both = st.tuples(whole, others).map(lambda pair: {**pair[0], **pair[1]})
    return whole | both if more is not False else st.integers(0, 5).flatmap(lambda n: whole if n else both)


def test_samples_cover_every_format() -> None:
    assert SAMPLES.keys() == FORMATS.keys()
    for name, samples in SAMPLES.items():
        assert {FORMATS[name](text) for text in samples} == {True, False}


def jsonschema_accepts(schema: Schema, value: Any) -> bool:
    """Return whether jsonschema accepts the value with our formats, and with patterns and integers as in ECMA-262 and
    JSON.
    """

    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(schema._read_uri(uri), default_specification=DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    return bool(KIND(schema.document, registry=registry, format_checker=CHECKER).is_valid(value))


def _match(validator: Any, rule: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    # In Python, $ also matches before a line break at the end, and \d matches the digits of all scripts.
    if isinstance(value, str) and not jsonschema_rs.validator_for({"pattern": rule}).is_valid(value):
        yield ValidationError(f"{value!r} does not match {rule!r}")


def _is_integer(checker: Any, value: Any) -> bool:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return is_number and value == value and value % 1 == 0


CHECKER = FormatChecker(formats=())
for _name, _fits in FORMATS.items():
    CHECKER.checks(_name)(lambda text, fits=_fits: not isinstance(text, str) or fits(text))
TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
KIND = extend(Draft202012Validator, {"pattern": _match}, type_checker=TYPES)  # type: ignore[no-untyped-call]


def agree(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    value = data.draw(values(schema.node))

    accepts = schema.accepts(value)

    assert jsonschema_accepts(schema, value) == accepts
    assert (schema.complaint(value) is None) == (schema.complaints(value) == set()) == accepts


ODD_DATA = settings(suppress_health_check=list(HealthCheck))


@settings(ODD_DATA)
@given(st.sampled_from(NAMES), st.data())
def test_the_bundled_schemas_accept_the_same_values_as_jsonschema(name: str, data: st.DataObject) -> None:
    agree(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(ODD_DATA, max_examples=100)
@given(st.data())
def test_random_schemas_accept_the_same_values_as_jsonschema(name: str, data: st.DataObject) -> None:
    agree(name, data)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ({"pattern": "^[0-9]+$"}, "5\n"),
        ({"pattern": r"^\d$"}, "٣"),
        ({"type": "integer"}, Decimal("1.0")),
        ({"type": "integer"}, Decimal("1.5")),
        ({"type": "integer"}, 1.0),
        ({"type": "integer"}, True),
        ({"type": "number"}, Decimal("1.5")),
        ({"const": 1}, Decimal("1.0")),
        ({"const": 1}, True),
        ({"enum": [0]}, False),
        ({"minimum": 1}, Decimal("0.99")),
        ({"uniqueItems": True}, [1, True]),
        ({"uniqueItems": True}, [{"a": 1}, {"a": Decimal("1.0")}]),
        ({"maxLength": 1}, "é"),
        ({"format": "iban"}, 5),
    ],
)
def test_schemas_accept_the_same_values_as_jsonschema_where_libraries_differ(rule: Any, value: Any) -> None:
    schema = Schema("own", rule, SCHEMAS.__getitem__)

    assert jsonschema_accepts(schema, value) == schema.accepts(value)
