"""Collects the schemas that operations use, as one file of JSON Schema 2020-12."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs

from xs2a_sandbox.documents.formats import FORMATS, OF_JSON_SCHEMA
from xs2a_sandbox.documents.json_schema import mistakes_of
from xs2a_sandbox.documents.openapi_schemas import translate_schema
from xs2a_sandbox.documents.schema_files import DRAFT, KEYWORDS
from xs2a_sandbox.features.importing.openapi.document import ApiDocument, Located
from xs2a_sandbox.http import to_json

_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = frozenset(
    "additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems "
    "unevaluatedProperties".split()
)
_LEFT_OUT = frozenset(
    "$anchor $comment $dynamicAnchor $dynamicRef $id $schema $vocabulary default deprecated description readOnly title "
    "writeOnly".split()
)
"""Keywords that restrict no values, or that have no meaning after the schema was moved."""
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class SchemaCollection:
    """The definitions of the file, by name. Keywords that JSON Schema does not allow are left out, and noted."""

    def __init__(self, document: ApiDocument) -> None:
        self.definitions: dict[str, Any] = {}
        self.notes: list[str] = []
        self._document = document
        self._names: dict[tuple[Path, str], str] = {}

    def add(self, schema: Located, name: str) -> str:
        """Add a schema with all that it refers to, and return its name: its own if it is only a reference."""
        if isinstance(schema.value, Mapping) and isinstance(reference := schema.value.get("$ref"), str):
            return self._refer(reference, schema.file)
        free = self._free(name)
        self.definitions[free] = True  # takes the name while the schema's own references are followed
        self.definitions[free] = self._convert(schema, free)
        return free

    def text(self) -> str:
        """Return the file, with one line for each definition."""
        lines = ",\n".join(f"  {_json(name)}: {_json(schema)}" for name, schema in sorted(self.definitions.items()))
        return f'{{"$schema": {_json(DRAFT)}, "$defs": {{\n{lines}\n}}}}\n'

    def _free(self, name: str) -> str:
        word = _NOT_A_NAME.sub("-", name).strip("-") or "schema"
        numbered = (f"{word}-{number}" for number in range(2, len(self.definitions) + 3))
        return word if word not in self.definitions else next(one for one in numbered if one not in self.definitions)

    def _refer(self, reference: str, file: Path) -> str:
        target = self._document.follow(reference, file)
        self._document.resolve(target)  # a schema that only refers to itself has no samples
        pointer = reference.partition("#")[2]
        if (key := (target.file, pointer)) not in self._names:
            self._names[key] = name = self._free(pointer.rpartition("/")[2] or target.file.stem)
            self.definitions[name] = True
            self.definitions[name] = self._convert(target, name)
        return self._names[key]

    def _convert(self, schema: Located, name: str) -> Any:
        kept = _keep_examples(schema.value)
        return self._clean(translate_schema(kept) if self._document.is_of_3_0 else kept, schema.file, name)

    def _clean(self, schema: Any, file: Path, name: str) -> Any:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            self.notes.append(f"the schema {name} contains {str(schema)[:40]!r} where a schema must be; it is left out")
            return True
        cleaned: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword == "$ref" and isinstance(value, str):
                cleaned["$ref"] = f"#/$defs/{self._refer(value, file)}"
            elif keyword in _BY_NAME and isinstance(value, Mapping):
                cleaned[keyword] = {one: self._clean(inner, file, name) for one, inner in value.items()}
            elif keyword in _LISTS and isinstance(value, list) and value:
                cleaned[keyword] = [self._clean(inner, file, name) for inner in value]
            elif keyword in _SINGLE and isinstance(value, Mapping | bool):
                cleaned[keyword] = self._clean(value, file, name)
            elif keyword in KEYWORDS and keyword not in _LEFT_OUT:
                self._keep_plain(cleaned, keyword, value, name)
        return _with_own_examples(cleaned)

    def _keep_plain(self, into: dict[str, Any], keyword: str, value: Any, name: str) -> None:
        """Add a keyword whose value is not a schema, if JSON Schema allows the value."""
        if keyword == "format" and str(value) not in FORMATS and str(value) not in OF_JSON_SCHEMA:
            return
        if mistakes_of({keyword: value}) or (keyword == "pattern" and not _compiles(value)):
            self.notes.append(f"the schema {name} has {keyword}: {str(value)[:60]}, which is left out")
        else:
            into[keyword] = value


def _keep_examples(schema: Any) -> Any:
    """Return the schema with `example`, which JSON Schema does not have, as `examples`."""
    if isinstance(schema, list):
        return [_keep_examples(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        keyword: {name: _keep_examples(inner) for name, inner in value.items()}
        if keyword in _BY_NAME and isinstance(value, Mapping)
        else _keep_examples(value)
        if keyword in _LISTS or keyword in _SINGLE
        else value
        for keyword, value in schema.items()
    }
    return {**kept, "examples": [schema["example"]]} if "example" in schema else kept


def _with_own_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with those examples of a scalar that are valid."""
    if not isinstance(examples := schema.get("examples"), list):
        return schema
    others = {keyword: value for keyword, value in schema.items() if keyword != "examples"}
    if not others.keys().isdisjoint(("$ref", *_LISTS, *_BY_NAME, *_SINGLE)):
        return others
    validator = jsonschema_rs.validator_for(others, formats=FORMATS, validate_formats=True)
    valid = [one for one in examples if not isinstance(one, dict | list) and validator.is_valid(one)]
    return {**others, "examples": valid} if valid else others


def _compiles(pattern: Any) -> bool:
    try:
        jsonschema_rs.validator_for({"pattern": pattern})
    except ValueError:
        return False
    return True


def _json(value: Any) -> str:
    return to_json(value).decode()
