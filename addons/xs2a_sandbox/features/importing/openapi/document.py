"""Reads an OpenAPI document, 3.0, 3.1 or Swagger 2.0, with the files that it refers to."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from xs2a_sandbox.documents import openapi_schemas, own_file, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.features.importing.openapi.swagger import moved, upgrade

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
    _others: dict[Path, tuple[Any, Document | None]] = field(default_factory=dict)

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
        start = located.file, ""
        for _ in range(_MOST_STEPS):
            reference = located.value.get("$ref") if isinstance(located.value, Mapping) else None
            if not isinstance(reference, str):
                return located
            start = located.file, reference
            located = self.follow(reference, located.file)
        file, reference = start
        raise self._broken(reference, file, f"{reference} refers to itself")

    def follow(self, reference: str, file: Path) -> Located:
        """Return the target of a reference in that file. Raises Unreadable."""
        name, _, fragment = reference.partition("#")
        if urlsplit(name).scheme or name.startswith("//"):
            way = f"save that file next to {self.file.name}, and refer to it there"
            raise self._broken(reference, file, f"{reference} is a URL, which is never fetched: {way}")
        other = (file.parent / unquote(name)).resolve() if name else file
        try:
            value = self._read(other)
            for step in parse_pointer(unquote(fragment)):
                value = value[int(step) if isinstance(value, list) else step]
        except (KeyError, IndexError, ValueError, TypeError):
            text = f"{reference} in {file.name} does not exist; correct the reference"
            raise self._broken(reference, file, text) from None
        return Located(value, other)

    def _broken(self, reference: str, file: Path, text: str) -> Unreadable:
        """Return the error at the first place in the file that has the reference."""
        source = self.source if file == self.file else self._others[file][1]
        if source is None:
            return Unreadable([Problem(file, 1, 1, "schema", text)])
        return Unreadable([source.problem(next(_find(source.value, reference), ()), "schema", text)])

    def _read(self, file: Path) -> Any:
        if file == self.file:
            return self.content
        if file not in self._others:
            self._others[file] = _parse(file, self.file.parent)
        return self._others[file][0]


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


def _find(value: Any, reference: str) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of a reference, which may be in the form of Swagger 2.0."""
    if isinstance(value, Mapping):
        written = value.get("$ref")
        if isinstance(written, str) and reference in (written, moved(written)):
            yield ("$ref",)
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from ((name, *place) for place in _find(member, reference))


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
