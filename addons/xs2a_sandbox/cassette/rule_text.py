"""Reads rules that are not in a file: those of a test, and those added to a running sandbox."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from xs2a_sandbox.cassette import reader
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.document import Document, Position, SourceText
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.http import to_json


def read_rules(
    rules: Mapping[str, Any] | str, file: Path, schemas: Schemas, name: str, *, has_folder: bool = True
) -> Cassette:
    """Read one rule from a mapping or YAML text. Text may also be a list of rules or a whole cassette.

    `file` is the file name in error messages; files that the rules name are looked up next to it, if it `has_folder`. A
    rule without an id gets the id `name`.

    Raises:
        Unreadable: with every mistake.
    """
    problems: list[Problem] = []
    cassette = reader.parse(
        _as_cassette(yaml_reader.parse(in_lines(rules), file), name), schemas, problems, has_folder=has_folder
    )
    if problems:
        raise Unreadable(problems)
    return cassette


def in_lines(rules: Mapping[str, Any] | str) -> str:
    """Return a mapping as text, so that mistakes in it have a place. Text is returned unchanged."""
    return rules if isinstance(rules, str) else msgspec.json.format(to_json(rules), indent=2).decode()


def _as_cassette(written: Document, name: str) -> Document:
    value = written.value
    if isinstance(value, dict) and "cassette" in value:
        return written
    root = written.source.root
    rules, places = (value, root.children) if isinstance(value, list) else ([value], [root])
    with_ids = [
        {"id": name if len(rules) == 1 else f"{name}.{number}", **rule} if isinstance(rule, dict) else rule
        for number, rule in enumerate(rules, 1)
    ]
    whole = Position(root.line, root.column, {"rules": Position(root.line, root.column, list(places))})  # type: ignore[arg-type]
    return Document(written.file, {"cassette": 1, "rules": with_ids}, SourceText(written.source.text, lambda: whole))
