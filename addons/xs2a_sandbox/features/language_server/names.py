"""What a bank's files name: operations, rules, errors, shapes, schemas; and where cassettes use these names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.dialect.shapes import SECTION as SHAPES
from xs2a_sandbox.cassette.model import ErrorAnswer, SourcePlace
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.features.language_server.cursor import Pointer

type Kind = Literal["operation", "rule", "handler", "action", "error", "shape", "schema", "dialect"]
type Names = Mapping[Kind, Mapping[str, "Name"]]

ANY = "*"
_VALUES: Sequence[tuple[tuple[str, ...], tuple[Kind, ...]]] = (
    (("match", "operation"), ("operation",)),
    (("operations", ANY, "id"), ("operation",)),
    (("rules", ANY, "id"), ("rule",)),
    (("without", ANY), ("operation", "rule")),
    (("handler",), ("handler",)),
    (("do",), ("action",)),
    (("error",), ("error",)),
    (("otherwise", ANY), ("error",)),
    (("shape",), ("shape",)),
    (("schema",), ("schema",)),
    (("answers", ANY), ("schema",)),
    (("extends",), ("dialect",)),
)
"""The ends of pointers to values that are names, and the kinds of names."""

_KEYS: Sequence[tuple[tuple[str, ...], tuple[Kind, ...]]] = (
    (("changes", "operations", ANY), ("operation",)),
    (("changes", "rules", ANY), ("rule",)),
    (("changes", "errors", ANY), ("error",)),
    (("changes", "options", ANY), ("handler", "action")),
    (("errors", ANY), ("error",)),
    (("errors", ANY, "status", ANY), ("operation",)),
    (("errors", ANY, "code", ANY), ("operation",)),
    (("errors", ANY, "number", ANY), ("operation",)),
    (("shapes", ANY), ("shape",)),
)
"""The same for keys."""


@dataclass(frozen=True, slots=True)
class Name:
    """The documentation of a name, and the file and line of its definition, unless that is in Python."""

    doc: str
    file: Path | None = None
    line: int = 1


def find_kinds(pointer: Pointer, *, is_key: bool) -> tuple[Kind, ...]:
    """Return the kinds of the names that can be at this place."""
    table = _KEYS if is_key else _VALUES
    return next((kinds for end, kinds in table if _ends(pointer, end)), ())


def _ends(pointer: Pointer, end: Sequence[str]) -> bool:
    last = pointer[-len(end) :]
    return len(last) == len(end) and all(one in (ANY, step) for one, step in zip(end, last, strict=True))


def read_names(interface: Interface, schemas: Schemas) -> Names:
    handlers = collect_handlers().values()
    return {
        "operation": {name: _of_entry(one) for name, one in interface.operations.items()},
        "rule": {one.id: _of_entry(one) for one in interface.rules},
        "handler": {one.name: Name(one.doc) for one in handlers if not one.is_action},
        "action": {one.name: Name(one.doc) for one in handlers if one.is_action},
        "error": {name: _of_error(one) for name, one in interface.errors.items()},
        "shape": dict(_of_shapes(interface)),
        "schema": {name: Name("A JSON Schema.", schemas.file_of(name)) for name in schemas.names() if "#" not in name},
        "dialect": {name: Name("A dialect.") for name in dialects(Path.cwd() / "cassettes", bundled("cassettes"))},
    }


def _of_entry(entry: Operation | Rule) -> Name:
    if isinstance(entry, Operation):
        head = f"{entry.method} {entry.pattern.text}"
    else:
        path = entry.pattern.text if entry.pattern else entry.operation or ""
        head = " ".join(("Rule for", *sorted(entry.methods), path))
    return _at(entry.origin, head, entry.origin.written.get("doc", ""))


def _of_error(error: ErrorAnswer) -> Name:
    written = error.origin.written
    head = f"{error.status()} {error.code()}"
    return _at(error.origin, head, written.get("doc") or documented("errors.md", error.name) or written.get("text", ""))


def _at(origin: SourcePlace, head: str, doc: str) -> Name:
    text = f"`{head}`\n\n{doc}" if doc else f"`{head}`"
    return Name(text, origin.document.file, origin.document.line(origin.pointer))


def _of_shapes(interface: Interface) -> Iterator[tuple[str, Name]]:
    for name in interface.shapes:
        place = interface.sections.problem((SHAPES, name), "", "", key=True)
        yield name, Name("A shape.", place.file, place.line)


@cache
def documented(page: str, name: str) -> str:
    """Return the last cell of the row about a name in a table of the documentation, or an empty text."""
    for line in (bundled("docs") / page).read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) > 1 and re.search(rf"`{re.escape(name)}(\(.*?\))?`", cells[0]):
            return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cells[-1])
    return ""
