"""Reads an OpenAPI document, 3.0, 3.1 or Swagger 2.0, with the files that it refers to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from xs2a_sandbox.documents import openapi_schemas, own_file, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.features.importing.openapi.swagger import upgrade

_MOST_STEPS = 50
"""The most references that are followed to one value."""


@dataclass(frozen=True, slots=True)
class Located:
    """A value, and the file that contains it, for the references in it."""

    value: Any
    file: Path

    def at(self, value: Any) -> "Located":
        return Located(value, self.file)

    def get(self, name: str) -> "Located":
        return Located(self.value.get(name) if isinstance(self.value, Mapping) else None, self.file)


@dataclass(slots=True)
class ApiDocument:
    """An OpenAPI document. Swagger 2.0 is converted to OpenAPI 3.0; places are those in the file."""

    file: Path
    content: Mapping[str, Any]
    is_of_3_0: bool
    source: Document | None
    _others: dict[Path, Any] = field(default_factory=dict)

    @property
    def root(self) -> Located:
        return Located(self.content, self.file)

    def line(self, *pointer: str | int) -> int:
        """Return the line of a value, or of the nearest value above it. A file that is not YAML only has a line 1."""
        return self.source.line(pointer) if self.source else 1

    def mistake(self, text: str, *pointer: str | int) -> Unreadable:
        if self.source:
            return Unreadable([self.source.problem(pointer, "schema", text)])
        return Unreadable([Problem(self.file, 1, 1, "schema", text)])

    def resolve(self, located: Located) -> Located:
        """Return the value that `$ref` leads to. Raises Unreadable if a reference is broken."""
        for _ in range(_MOST_STEPS):
            reference = located.value.get("$ref") if isinstance(located.value, Mapping) else None
            if not isinstance(reference, str):
                return located
            located = self.follow(reference, located.file)
        raise self.mistake(f"{reference} refers to itself")

    def follow(self, reference: str, file: Path) -> Located:
        """Return the target of a reference in that file. Raises Unreadable."""
        name, _, fragment = reference.partition("#")
        if urlsplit(name).scheme or name.startswith("//"):
            raise self.mistake(
                f"{reference} is a URL, which is never fetched: save that file next to {self.file.name}, and refer to "
                "it there"
            )
        other = (file.parent / unquote(name)).resolve() if name else file
        try:
            value = self._read(other)
            for step in parse_pointer(unquote(fragment)):
                value = value[int(step) if isinstance(value, list) else step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise self.mistake(f"{reference} in {file.name} does not exist; correct the reference") from None
        return Located(value, other)

    def _read(self, file: Path) -> Any:
        if file == self.file:
            return self.content
        if file not in self._others:
            self._others[file] = _parse(file, self.file.parent)[0]
        return self._others[file]


def read_document(file: Path) -> ApiDocument:
    """Read a document. Raises Unreadable with the place of each mistake, and ConfigError for another kind of file."""
    file = file.resolve()
    content, source = _parse(file, file.parent)
    if not is_openapi(content):
        raise ConfigError(f"{file} is not an OpenAPI document: it has neither the key openapi nor the key swagger")
    is_swagger = "swagger" in content
    if is_swagger:
        if str(content["swagger"]) != "2.0":
            raise ApiDocument(file, content, True, source).mistake(
                f"only Swagger 2.0 and OpenAPI 3.0 and 3.1 are supported, not Swagger {content['swagger']}", "swagger"
            )
        content = upgrade(content)
    elif mistake := openapi_schemas.version_mistake(content):
        raise ApiDocument(file, content, True, source).mistake(mistake, "openapi")
    document = ApiDocument(file, content, not str(content.get("openapi")).startswith("3.1"), source)
    paths = content.get("paths")
    if not isinstance(paths, Mapping) or not paths:
        raise document.mistake("the document has no paths, so there is nothing to import", "paths")
    for path, item in paths.items():
        if not path.startswith("x-") and not isinstance(item, Mapping):
            raise document.mistake("a path must be a mapping of its methods", "paths", path)
    return document


def is_openapi(content: Any) -> bool:
    return isinstance(content, Mapping) and ("openapi" in content or "swagger" in content)


def _parse(file: Path, folder: Path) -> tuple[Any, Document | None]:
    """Return the content, and its places. JSON is YAML too, except for some escapes and tabs."""
    try:
        source = yaml_reader.read(file, folder=folder)
    except Unreadable:
        if file.suffix != ".json":
            raise
        try:
            return json.loads(own_file.read(file, folder=folder), parse_float=Decimal), None
        except (OSError, ValueError, RecursionError):
            pass
        raise
    return source.value, source
