"""Completions, descriptions and definitions for one place of a file."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.cassette.amend import AMEND_RESULT_ROOTS, AMEND_ROOTS
from xs2a_sandbox.cassette.evaluation.expressions import ERROR_ROOTS, FILTERS, FUNCTIONS, IT, RESULT_ROOTS
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.documents.yaml_writer import yaml_line
from xs2a_sandbox.features.authoring.lint_members import Shape
from xs2a_sandbox.features.language_server.cursor import AS_KEY, Cursor, Pointer, find_cursor, value_at
from xs2a_sandbox.features.language_server.names import ANY, Name, Names, documented, find_kinds
from xs2a_sandbox.features.language_server.schema_parts import describe, find_parts, keys, values

_CHAIN = re.compile(r"((?:[A-Za-z_]\w*\.)*)\w*$")
_CONDITIONS = ("when", "that")
"""Keys whose values are expressions without braces."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion. A key needs a colon after it."""

    text: str
    doc: str = ""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Completions:
    """Suggestions for the word between the offsets."""

    start: int
    end: int
    suggestions: list[Completion]


@dataclass(frozen=True, slots=True)
class BankWords:
    """The words of the bank whose files are edited, as they were saved.

    `members` returns the roots of expressions in an operation or rule, with their members.
    """

    names: Names = field(default_factory=dict)
    members: Callable[[Operation | Rule], Mapping[str, Shape | None]] = lambda by: {}
    entry: Callable[[str], Operation | Rule | None] = lambda id: None


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one kind of file."""

    schema: Schema
    bank: BankWords = BankWords()

    def complete(self, text: str, offset: int) -> Completions:
        cursor = find_cursor(text, offset, AS_KEY)
        is_expression = cursor is not None and _find_expression(cursor) is not None
        before, after = (r"\w*$", r"\w*") if is_expression else (r"[\w.\-]*$", r"[\w.\-]*")
        start = offset - len(_match(before, text[:offset]))
        return Completions(start, offset + len(_match(after, text[offset:])), self._suggest(text, cursor))

    def _suggest(self, text: str, cursor: Cursor | None) -> list[Completion]:
        if cursor is None:
            return [] if text.strip() else list(self._keys((), {}))
        if (expression := _find_expression(cursor)) is not None:
            return list(self._in_expression(cursor, expression))
        if not cursor.is_key:
            return list(self._values(cursor.pointer))
        mapping = cursor.pointer[:-1]
        found = [*self._keys(mapping, cursor.document)]
        others = (value_at(cursor.document, mapping) or {}).keys() - {cursor.text}
        found = [one for one in found if one.text not in others]
        return [*found, *self._values(mapping)] if cursor.is_only_key else found

    def describe(self, text: str, offset: int) -> str:
        """Return the description of the word at the cursor, or an empty text."""
        cursor = find_cursor(text, offset)
        if cursor is None:
            return ""
        if (expression := _find_expression(cursor)) is not None:
            word = _word_at(cursor, expression)
            return documented("expressions.md", word) if word in {*FUNCTIONS, *_roots(cursor.pointer)} else ""
        if name := self._name(cursor):
            return name.doc
        return describe(find_parts(self.schema, cursor.document, cursor.pointer)) if cursor.is_key else ""

    def define(self, text: str, offset: int) -> Name | None:
        """Return the definition of the name at the cursor."""
        cursor = find_cursor(text, offset)
        name = self._name(cursor) if cursor else None
        return name if name and name.file else None

    def _name(self, cursor: Cursor) -> Name | None:
        found = (
            self.bank.names.get(kind, {}).get(cursor.text) for kind in self._kinds(cursor.pointer, is_key=cursor.is_key)
        )
        return next(filter(None, found), None)

    def _kinds(self, pointer: Pointer, *, is_key: bool) -> Iterator[Any]:
        """Yield the kinds of names at this place. A body may have any keys, so only shapes have names there."""
        kinds = find_kinds(pointer, is_key=is_key)
        has_schema = bool(find_parts(self.schema, {}, pointer, is_open=True))
        yield from (kind for kind in kinds if has_schema or kind == "shape")

    def _keys(self, mapping: Pointer, document: Any) -> Iterator[Completion]:
        for name, doc in keys(find_parts(self.schema, document, mapping)).items():
            yield Completion(name, doc, is_key=True)
        for kind in self._kinds((*mapping, ANY), is_key=True):
            for name, known in self.bank.names.get(kind, {}).items():
                yield Completion(name, known.doc, is_key=True)

    def _values(self, pointer: Pointer) -> Iterator[Completion]:
        kinds = self._kinds(pointer, is_key=False)
        named = {name: known for kind in kinds for name, known in self.bank.names.get(kind, {}).items()}
        yield from (Completion(name, known.doc) for name, known in named.items())
        for value in dict.fromkeys(map(yaml_line, values(find_parts(self.schema, {}, pointer, is_open=True)))):
            if value not in named:
                yield Completion(value)

    def _in_expression(self, cursor: Cursor, expression: str) -> Iterator[Completion]:
        chain = _CHAIN.search(expression)
        steps = chain[1].split(".")[:-1] if chain else []
        if steps:
            yield from (Completion(name) for name in sorted(_follow(self._members(cursor), steps)))
        elif re.search(r"\|\s*\w*$", expression):
            yield from map(Completion, sorted(FILTERS))
        else:
            for name in sorted(_roots(cursor.pointer)):
                yield Completion(name, documented("expressions.md", name))
            for name in sorted(FUNCTIONS):
                yield Completion(f"{name}(", documented("expressions.md", name))

    def _members(self, cursor: Cursor) -> dict[str, Shape | None]:
        entry = value_at(cursor.document, (*cursor.pointer[:2], "id"))
        by = self.bank.entry(entry) if isinstance(entry, str) else None
        if by is None:
            return {}
        operation = self.bank.entry(by.operation) if isinstance(by, Rule) and by.operation else by
        pattern = operation.pattern if operation else None
        return {**self.bank.members(by), "path": dict.fromkeys(pattern.names if pattern else ())}


def _find_expression(cursor: Cursor) -> str | None:
    """Return the expression in front of the cursor, or None if the cursor is not in one."""
    if cursor.is_key:
        return None
    if cursor.pointer and cursor.pointer[-1] in _CONDITIONS:
        return cursor.before
    start = cursor.before.rfind("{{")
    return cursor.before[start + 2 :] if start > cursor.before.rfind("}}") else None


def _word_at(cursor: Cursor, expression: str) -> str:
    """Return the root or function at the cursor, or an empty text at a member."""
    if re.search(r"\.\w*$", expression):
        return ""
    return _match(r"\w*$", expression) + _match(r"\w*", cursor.text[len(cursor.before) :])


def _match(pattern: str, text: str) -> str:
    """Return the text of a pattern that ends with `$` at the end of the text, of others at its start."""
    found = re.search(pattern, text) if pattern.endswith("$") else re.match(pattern, text)
    return found[0] if found else ""


def _roots(pointer: Pointer) -> frozenset[str]:
    """Return the roots that can exist at this place. `lint` also knows whether there is a result."""
    match pointer:
        case ("every_error", *_):
            return ERROR_ROOTS
        case ("shapes", *_):
            return RESULT_ROOTS | ERROR_ROOTS | {IT}
        case ("rules", _, "amend", *_):
            return AMEND_ROOTS | AMEND_RESULT_ROOTS
        case _:
            return RESULT_ROOTS


def _follow(shapes: Mapping[str, Shape | None], steps: list[str]) -> Mapping[str, Any]:
    """Return the known members below these steps."""
    shape: Shape | None = shapes
    for step in steps:
        shape = (shape or {}).get(step, (shape or {}).get(ANY))
    return {name: inner for name, inner in (shape or {}).items() if name != ANY}
