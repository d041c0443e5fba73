"""Finds the value or key at the cursor, in YAML that may be incomplete."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from xs2a_sandbox.documents.yaml_loader import MAX_DEPTH, Loader

type Pointer = tuple[str | int, ...]

_MARK = "\ue000"
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

AS_WRITTEN = ("", '"', "'")
"""Texts to insert at the cursor until it is inside a value. A quote ends a text that is still open."""
AS_KEY = (": ", *AS_WRITTEN)
"""The same, but words at the cursor become a key if they can."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of the cursor.

    `pointer` leads to the value, or to the value of the key. `text` is the whole key or value, `before` its part in
    front of the cursor. `document` is what could be read; values that could not are missing.
    """

    pointer: Pointer
    is_key: bool
    text: str
    before: str
    document: Any

    @property
    def is_only_key(self) -> bool:
        """Whether the key may still become a value, because its mapping has no other keys."""
        return self.is_key and len(value_at(self.document, self.pointer[:-1]) or ()) == 1


def find_cursor(text: str, offset: int, inserts: tuple[str, ...] = AS_WRITTEN) -> Cursor | None:
    """Return the place of the cursor in the text, or None if it is in a comment or behind a mistake.

    Each text of `inserts` is tried at the cursor, until the whole document can be read.
    """
    found: Cursor | None = None
    for insert in inserts:
        walk = _Walk(f"{text[:offset]}{_MARK}{insert}{text[offset:]}")
        is_complete = walk.run()
        if walk.cursor and is_complete:
            return walk.cursor
        found = found or walk.cursor
    return found


def value_at(document: Any, pointer: Pointer) -> Any:
    """Return the value at the place, or None if there is none."""
    value = document
    for step in pointer:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


class _Walk:
    """Reads events up to the first mistake, and keeps what has been read. The reader of cassettes keeps nothing."""

    def __init__(self, text: str) -> None:
        self._parser = _Parser(text)
        self._next: Callable[[], Any] = self._parser.get_event
        self._scalars = Loader(Path(), "")
        self._document: dict[str, Any] = {}
        self._found: tuple[Pointer, bool, str] | None = None

    @property
    def cursor(self) -> Cursor | None:
        if self._found is None:
            return None
        pointer, is_key, text = self._found
        before, _, after = text.partition(_MARK)
        return Cursor(pointer, is_key, before + after, before, self._document.get("root"))

    def run(self) -> bool:
        """Return whether the document has no mistakes."""
        try:
            self._next()
            if not isinstance(self._next(), yaml.StreamEndEvent):
                self._value(self._next(), (), partial(self._document.__setitem__, "root"))
                self._next()
                self._next()
        except yaml.YAMLError:
            return False
        finally:
            self._parser.dispose()
        return True

    def _value(self, event: Any, pointer: Pointer, put: Callable[[Any], None]) -> None:
        if len(pointer) > MAX_DEPTH:
            raise yaml.YAMLError
        if isinstance(event, yaml.ScalarEvent):
            is_here = self._take(event.value, pointer, is_key=False)
            put(event.value.replace(_MARK, "") if is_here else self._scalars.scalar(event, (0, 0)))
        elif isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            put(items)
            while not isinstance(inner := self._next(), yaml.SequenceEndEvent):
                items.append(None)
                self._value(inner, (*pointer, len(items) - 1), partial(items.__setitem__, len(items) - 1))
        elif isinstance(event, yaml.MappingStartEvent):
            members: dict[str, Any] = {}
            put(members)
            while not isinstance(inner := self._next(), yaml.MappingEndEvent):
                name = self._key(inner, pointer)
                members[name] = None
                self._value(self._next(), (*pointer, name), partial(members.__setitem__, name))

    def _key(self, event: Any, mapping: Pointer) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._value(event, mapping, lambda value: None)
            return ""
        name: str = event.value.replace(_MARK, "")
        self._take(event.value, (*mapping, name), is_key=True)
        return name

    def _take(self, text: str, pointer: Pointer, *, is_key: bool) -> bool:
        """Remember the place if the cursor is in the text, and return whether it is."""
        is_here = _MARK in text
        if is_here:
            self._found = pointer, is_key, text
        return is_here
