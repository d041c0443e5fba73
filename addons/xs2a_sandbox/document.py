"""YAML text as plain values that know where they stand in their file.

Scalars are JSON's: `null`, `~`, nothing, `true`, `false` and JSON numbers, decimals as `Decimal` with their digits;
all else (`NO`, `0123`, `2026-11-21`) is the text that was written, and so is every key of a mapping.

Codes of problems: unreadable, encoding, character, syntax, unquoted-expression, documents, tag, merge-key, key,
duplicate-key, number, alias, too-deep, too-large; and those of `complaint.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xs2a_sandbox import own_file
from xs2a_sandbox.complaint import Formats, explain
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.formats import FORMATS
from xs2a_sandbox.loader import Loader, Place, problem, split_lines

LARGEST = 32 * 1024 * 1024
"""Bytes of a file of YAML."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value. Aliased parts of it are the same object: do not change it in place."""

    file: Path
    value: Any
    lines: tuple[str, ...]
    root: Place

    def problem(self, pointer: Sequence[str | int], code: str, text: str, *, key: bool = False) -> Problem:
        """A problem with the value at `pointer`, or with its key; with the nearest parent when there is none."""
        line, column = self._place(pointer, key)
        return problem(self.file, self.lines, line, column, code, text)

    def line(self, pointer: Sequence[str | int]) -> int:
        """Counts from 1."""
        return self._place(pointer, False)[0] + 1

    def _place(self, pointer: Sequence[str | int], key: bool) -> tuple[int, int]:
        place = self.root
        for step in pointer:
            above = place
            try:
                place = above.children[step]  # type: ignore[index]
            except (LookupError, TypeError):
                return above.line, above.column
        if key and pointer and pointer[-1] in above.keys:
            return above.keys[str(pointer[-1])]
        return place.line, place.column


def read(file: Path, *, folder: Path | None = None) -> Document:
    """Raises `Unreadable`, also when there is no such file, or it lies outside of `folder` if one is given."""
    try:
        text = own_file.read(file, folder=folder, limit=LARGEST)
    except OSError as error:
        raise Unreadable([Problem(file, 1, 1, "unreadable", f"cannot be read: {error.strerror or error}")]) from None
    return parse(text, file)


def parse(text: str | bytes, file: Path) -> Document:
    """Raises `Unreadable` with every problem of the text; a mistake of syntax hides those behind it."""
    loader = Loader(file, (_decoded(text, file) if isinstance(text, bytes) else text).removeprefix("\ufeff"))
    value, root = loader.document()
    if loader.problems:
        raise Unreadable(loader.problems)
    return Document(file, value, loader.lines, root)


def complaints(document: Document, schema: Mapping[str, Any], formats: Formats = FORMATS) -> list[Problem]:
    """What `schema` finds wrong, in the order of place; `$ref` may name any file in `schemas/`."""
    found = {document.problem(c.pointer, c.code, c.text, key=c.key) for c in explain(document.value, schema, formats)}
    return sorted(found, key=lambda p: (p.line, p.column, p.text))


def _decoded(content: bytes, file: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = split_lines(content[: error.start].decode())
        text = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file in that encoding"
        raise Unreadable([Problem(file, len(before), len(before[-1]) + 1, "encoding", text)]) from None
