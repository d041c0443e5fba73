"""Rules that stand in a test instead of a file, read as a cassette is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from xs2a_sandbox import document, reader
from xs2a_sandbox.cassette import Cassette
from xs2a_sandbox.document import Document
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.loader import Place
from xs2a_sandbox.messages import to_json
from xs2a_sandbox.schema import Schemas


def read_rules(rules: Mapping[str, Any] | str, file: Path, schemas: Schemas, name: str) -> Cassette:
    """One rule, as a mapping or as YAML text; text may also be a list of rules, or a whole cassette.

    `file` is what mistakes are reported of; files that the rules name are looked for beside it. A rule without an id
    is called `name`.

    Raises:
        Unreadable: with every mistake.
    """
    # As text again, so that a mistake in a mapping has a place, too.
    text = rules if isinstance(rules, str) else msgspec.json.format(to_json(rules), indent=2).decode()
    problems: list[Problem] = []
    cassette = reader.parse(_as_cassette(document.parse(text, file), name), schemas, problems)
    if problems:
        raise Unreadable(problems)
    return cassette


def _as_cassette(written: Document, name: str) -> Document:
    value, root = written.value, written.root
    if isinstance(value, dict) and "cassette" in value:
        return written
    rules, places = (value, root.children) if isinstance(value, list) else ([value], [root])
    named = [
        {"id": name if len(rules) == 1 else f"{name}.{number}", **rule} if isinstance(rule, dict) else rule
        for number, rule in enumerate(rules, 1)
    ]
    whole = Place(root.line, root.column, {"rules": Place(root.line, root.column, list(places))})  # type: ignore[arg-type]
    return Document(written.file, {"cassette": 1, "rules": named}, written.lines, whole)
