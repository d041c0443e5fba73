"""Reads YAML files as documents, and checks them with a schema."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xs2a_sandbox.bundled import are_untouched
from xs2a_sandbox.documents import bundled_values, own_file
from xs2a_sandbox.documents.document import Document, SourceText, split_lines
from xs2a_sandbox.errors import Problem, Unreadable

if TYPE_CHECKING:
    from xs2a_sandbox.documents.json_schema import Schema

LARGEST = 32 * 1024 * 1024
"""The most bytes of a YAML file."""


def read(file: Path, *, folder: Path | None = None) -> Document:
    """Read a file. Raises Unreadable, also if it does not exist or is outside of `folder`."""
    try:
        content = own_file.read(file, folder=folder, limit=LARGEST)
    except OSError as error:
        raise Unreadable([Problem(file, 1, 1, "unreadable", f"cannot be read: {error.strerror or error}")]) from None
    if not bundled_values.is_bundled(file):
        return parse(content, file)
    if kept := bundled_values.find(content):
        text = _text(content, file)
        source = SourceText(text, lambda: parse(text, file).source.root)
        return Document(file, kept.value, source, are_untouched([file]))
    document = parse(content, file)
    bundled_values.note(content, document.value)
    return replace(document, is_sound=are_untouched([file]))


def parse(text: str | bytes, file: Path) -> Document:
    """Parse YAML. Raises Unreadable with every problem; a syntax error hides the problems after it."""
    # Imported when needed, because most starts read only files of the package, whose values are kept.
    from xs2a_sandbox.documents.yaml_loader import Loader

    loader = Loader(file, _text(text, file))
    value, root = loader.document()
    if loader.problems:
        raise Unreadable(loader.problems)
    return Document(file, value, SourceText(loader.text, lambda: root))


def complaints(document: Document, schema: "Schema") -> list[Problem]:
    """Return all violations of the schema, ordered by place."""
    problems = {document.problem(c.pointer, c.code, c.text, key=c.key) for c in schema.complaints(document.value)}
    return sorted(problems, key=lambda p: (p.line, p.column, p.text))


def _text(content: str | bytes, file: Path) -> str:
    try:
        text = content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        before = split_lines(error.object[: error.start].decode())
        reason = f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file in that encoding"
        raise Unreadable([Problem(file, len(before), len(before[-1]) + 1, "encoding", reason)]) from None
    return text.removeprefix("\ufeff")
