"""The value of a file, and the places of its parts."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from xs2a_sandbox.errors import Problem

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


class Position(NamedTuple):
    """The place of a value, counted from 0. `keys` holds the places of a mapping's keys."""

    line: int
    column: int
    children: Mapping[str, "Position"] | Sequence["Position"] = ()
    keys: Mapping[str, tuple[int, int]] = {}


def split_lines(text: str) -> list[str]:
    """Split where YAML does, which is at fewer line breaks than `str.splitlines`."""
    return _BREAK.split(text)


@cache
def unprintable() -> re.Pattern[str]:
    """Return the pattern of characters that YAML forbids. It is compiled when needed, which takes milliseconds."""
    return re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def problem(file: Path, lines: Sequence[str], line: int, column: int, code: str, text: str) -> Problem:
    if line >= len(lines):
        line, column = len(lines) - 1, len(lines[-1])
    # Replace each tab with one blank, so that the caret is below the right character.
    source = unprintable().sub("�", lines[line]).replace("\t", " ").rstrip() if len(lines[line]) <= 300 else ""
    return Problem(file, line + 1, min(column, len(lines[line])) + 1, code, text, source)


@dataclass(frozen=True)
class SourceText:
    """A text, and the places of the values in it, which are needed only for problems and explanations."""

    text: str
    find_places: Callable[[], Position] = field(compare=False, repr=False)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(split_lines(self.text))

    @cached_property
    def root(self) -> Position:
        return self.find_places()


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a file. Aliased parts are the same object, so do not change it in place.

    It `is_sound` if it is an unchanged file of the package, which the tests check.
    """

    file: Path
    value: Any
    source: SourceText
    is_sound: bool = False

    def problem(self, pointer: Sequence[str | int], code: str, text: str, *, key: bool = False) -> Problem:
        """Return a problem with the value at `pointer` or its key, or with the nearest parent that exists."""
        line, column = self._place(pointer, key)
        return problem(self.file, self.source.lines, line, column, code, text)

    def line(self, pointer: Sequence[str | int]) -> int:
        """Return the line number, counted from 1."""
        return self._place(pointer, False)[0] + 1

    def _place(self, pointer: Sequence[str | int], key: bool) -> tuple[int, int]:
        place = self.source.root
        for step in pointer:
            above = place
            try:
                place = above.children[step]  # type: ignore[index]
            except (LookupError, TypeError):
                return above.line, above.column
        if key and pointer and pointer[-1] in above.keys:
            return above.keys[str(pointer[-1])]
        return place.line, place.column
