"""JSON Schemas of the interface: checking a body quickly, explaining a failure, filling what is unused with null."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_pointer import parse_pointer, pointer_text
from xs2a_sandbox.errors import Problem, Unreadable

Fill = Callable[[Any], Any]
_Visit = Callable[[Any, str, list[str]], None]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a schema; `document` is the file it stands in, `read` opens another by its URI."""

    schema: Any
    document: Any
    read: Callable[[str], Any]

    def at(self, schema: Any) -> "Node":
        return Node(schema, self.document, self.read)

    def resolved(self) -> "Node":
        """Without `$ref`, and a mapping in any case."""
        schema, document = self.schema, self.document
        while isinstance(schema, dict) and "$ref" in schema:
            file, _, fragment = schema["$ref"].partition("#")
            document = self.read(urljoin(document["$id"], file)) if file else document
            schema = document
            for step in parse_pointer(fragment):
                schema = schema[step]
        return Node(schema if isinstance(schema, dict) else {}, document, self.read)

    def branches(self) -> Iterator["Node"]:
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from map(self.at, self.schema.get(keyword, ()))

    def takes_null(self) -> bool:
        node = self.resolved()
        if "const" in node.schema:
            return node.schema["const"] is None
        if "enum" in node.schema:
            return None in node.schema["enum"]
        if "type" in node.schema:
            kinds = node.schema["type"]
            return "null" in kinds if isinstance(kinds, list) else bool(kinds == "null")
        branches = list(node.branches())
        return not branches or any(branch.takes_null() for branch in branches)


def filling(node: Node) -> Fill:
    """Gives every unused member that may be null the value null, in the order of the schema."""
    return _fill(node) or (lambda value: value)


def listing(node: Node) -> Callable[[Any], list[str]]:
    """Gives the JSON Pointers of members that the schema does not name."""
    visit = _visit(node)

    def unlisted(value: Any) -> list[str]:
        found: list[str] = []
        if visit:
            visit(value, "", found)
        return found

    return unlisted


def _fill(node: Node) -> Fill | None:
    """None where nothing below can be filled, so that such values are passed by."""
    node = node.resolved()
    for branch in node.branches():
        if fill := _fill(branch):
            return fill
    if "items" in node.schema:
        entry = _fill(node.at(node.schema["items"]))
        if entry is None:
            return None
        return lambda value: [entry(item) for item in value] if isinstance(value, list) else value
    properties: Mapping[str, Any] = node.schema.get("properties", {})
    if not properties:
        return None
    unused = dict.fromkeys(properties)
    left_out = tuple(name for name, schema in properties.items() if not node.at(schema).takes_null())
    below = ((name, _fill(node.at(schema))) for name, schema in properties.items())
    fills = tuple((name, fill) for name, fill in below if fill is not None)

    def fill_object(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        filled = {**unused, **value}
        for name in left_out:
            if filled[name] is None:
                del filled[name]
        for name, fill in fills:
            if (inner := filled.get(name)) is not None:
                filled[name] = fill(inner)
        return filled

    return fill_object


def _visit(node: Node) -> _Visit | None:
    """None where the schema lists no members, now or below."""
    node = node.resolved()
    if "items" in node.schema:
        entry = _visit(node.at(node.schema["items"]))
        if entry is None:
            return None

        def visit_list(value: Any, pointer: str, found: list[str]) -> None:
            for position, item in enumerate(value if isinstance(value, list) else ()):
                entry(item, f"{pointer}/{position}", found)

        return visit_list
    if "properties" not in node.schema:
        return None
    properties = node.schema["properties"].items()
    visits = {name: (pointer_text((name,)), _visit(node.at(schema))) for name, schema in properties}

    def visit_object(value: Any, pointer: str, found: list[str]) -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name not in visits:
                found.append(pointer + pointer_text((name,)))
                continue
            step, visit = visits[name]
            if visit:
                visit(inner, pointer + step, found)

    return visit_object


SUFFIX = ".schema.json"


class Schemas:
    """The schemas of some directories, by name (`payments/sepa-credit-transfers`); earlier directories win.

    Each is read and compiled when it is first asked for.

    Raises:
        KeyError: no directory has a schema of that name.
        Unreadable: the file is no JSON Schema.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = tuple(directories)
        self._documents: dict[str, Any] = {}
        self._schemas: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> "Schema":
        if name not in self._schemas:
            self._schemas[name] = Schema(name, self._read(name), self._read)
        return self._schemas[name]

    def __contains__(self, name: str) -> bool:
        return self._file(name) is not None

    def names(self) -> list[str]:
        found = {
            file.relative_to(directory).as_posix().removesuffix(SUFFIX)
            for directory in self._directories
            for file in directory.rglob("*" + SUFFIX)
        }
        return sorted(found)

    def _file(self, name: str) -> tuple[Path, Path] | None:
        """The directory, and the file below it; a name cannot lead out of it."""
        if {"", ".."} & set(name.split("/")):
            return None
        candidates = ((directory, directory / (name + SUFFIX)) for directory in self._directories)
        return next((found for found in candidates if found[1].exists()), None)

    def _read(self, name: str) -> Any:
        if name not in self._documents:
            self._documents[name] = self._parse(name)
        return self._documents[name]

    def _parse(self, name: str) -> Any:
        found = self._file(name)
        if found is None:
            raise KeyError(name)
        directory, file = found
        try:
            return json.loads(own_file.read(file, folder=directory))
        except OSError as error:
            raise Unreadable([Problem(file, 1, 1, "unreadable", f"cannot be read: {error.strerror}")]) from None
        except (ValueError, RecursionError) as error:
            raise Unreadable([Problem(file, 1, 1, "schema-json", f"this is not JSON: {error}")]) from None


class Schema:
    """One schema, compiled for the request path; jsonschema explains what it refuses."""

    def __init__(self, name: str, document: Any, read: Callable[[str], Any]) -> None:
        self.name = name
        self.document = document
        self._read = read

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        accepts: Callable[[Any], bool] = self._validator.is_valid
        return accepts

    def mistakes(self, value: Any) -> frozenset[tuple[Any, ...]]:
        """Which rules are broken, and where: quickly and without words. Equal for what `complaint` says the same of."""
        errors = self._validator.iter_errors(value)
        return frozenset((*error.instance_path, None, *error.schema_path) for error in errors)

    @cached_property
    def _validator(self) -> Any:
        return jsonschema_rs.validator_for(
            self.document, formats=FORMATS, validate_formats=True, retriever=lambda uri: self._read(_name(uri))
        )

    @cached_property
    def fill(self) -> Fill:
        """A function that gives every unused member that may be null the value null, in the schema's order."""
        return filling(self.node)

    @cached_property
    def unlisted(self) -> Callable[[Any], list[str]]:
        """A function that gives the JSON Pointers of members that the schema does not name."""
        return listing(self.node)

    @property
    def node(self) -> Node:
        return Node(self.document, self.document, lambda uri: self._read(_name(uri)))

    def complaint(self, value: Any) -> tuple[str, str] | None:
        """The JSON Pointer of what is wrong first, and what was expected there."""
        import jsonschema  # only a refused body needs the slower of the two
        import referencing

        def retrieve(uri: str) -> referencing.Resource[Any]:
            return referencing.Resource.from_contents(self._read(_name(uri)))

        checker = jsonschema.FormatChecker(formats=())
        for name, check in FORMATS.items():
            checker.checks(name)(lambda text, check=check: not isinstance(text, str) or check(text))
        registry: referencing.Registry[Any] = referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
        validator = jsonschema.Draft202012Validator(self.document, format_checker=checker, registry=registry)
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is None:
            return None
        pointer = [str(token) for token in error.absolute_path]
        text = _explain(error.validator, error.validator_value, error.instance, error.schema)
        if error.validator == "required":
            pointer.append(next(name for name in error.validator_value if name not in error.instance))
            text = "is required"
        return pointer_text(pointer), text


def _explain(keyword: str, wanted: Any, found: Any, schema: Mapping[str, Any]) -> str:
    if keyword == "type" or (keyword == "maxLength" and wanted == 0):
        listed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        # Of texts, a member that takes only the empty one takes none that says anything.
        kinds = [kind for kind in listed if kind != "string" or schema.get("maxLength") != 0]
        return f"must be {' or '.join(map(_article, kinds))}, not {_article(_kind(found))}"
    if keyword == "format":
        return f"must be {_article(_FORMAT_WORDS.get(wanted, wanted))}"
    if keyword in ("enum", "const"):
        values = wanted if keyword == "enum" else [wanted]
        # The empty text is as good as no member, and nobody is told to write it.
        return f"must be {' or '.join(json.dumps(value) for value in values if value != '')}"
    if keyword in ("minItems", "minLength"):
        return "must not be empty" if wanted == 1 else f"must have at least {wanted} entries or characters"
    if keyword in ("maxItems", "maxLength"):
        return f"must have at most {wanted} entries or characters"
    if keyword in ("minimum", "maximum"):
        return f"must be at {'least' if keyword == 'minimum' else 'most'} {wanted}"
    if keyword == "pattern":
        return f"must be {_lower(schema['description'])}" if "description" in schema else f"must fit {wanted}"
    if keyword in ("anyOf", "oneOf"):
        return "has none of the forms it may have" + _alternatives(wanted)
    return "is not what the interface takes there"


_FORMAT_WORDS = {
    "amount": "amount with a dot, such as 12.34",
    "bic": "BIC",
    "country": "ISO 3166 country code",
    "currency": "ISO 4217 currency code",
    "date": "date (YYYY-MM-DD)",
    "iban": "IBAN with valid check digits",
    "uuid": "UUID",
}


def _alternatives(branches: Sequence[Any]) -> str:
    needed = [name for branch in branches if isinstance(branch, dict) for name in branch.get("required", ())]
    return f": one of {', '.join(needed)} is needed" if needed else ""


def _article(noun: str) -> str:
    if noun == "null":
        return noun
    return f"{'an' if noun[0] in 'aeioAI' else 'a'} {noun}"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((dict, "object"), (list, "array"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "number"


def _name(uri: str) -> str:
    return uri.partition("/schemas/")[2].partition("#")[0].removesuffix(SUFFIX)
