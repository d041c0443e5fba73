"""Parses YAML as plain values with their places: only JSON's scalars, no surprises, and every mistake at once."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from xs2a_sandbox.documents.document import Position, problem, split_lines, unprintable
from xs2a_sandbox.errors import Problem

MAX_DEPTH = 100
MAX_NODES = 1_000_000
MAX_ALIASED = 20_000
"""The most nodes that aliases may add when they are expanded, as a protection against alias bombs."""

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_LONG_EXPONENT = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]{4,}")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_EXPRESSION = 'an unquoted {{ is a mapping to YAML; quote it: "{{ … }}"'


class _Stop(Exception):
    """Raised to stop reading when going on would be useless or expensive."""


class _Anchored(NamedTuple):
    value: Any
    place: Position
    size: int
    height: int


class Loader:
    """Reads the parser's events instead of its nodes, which hide explicit tags and recurse in C without a limit."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.text = text
        self.lines = split_lines(text)
        self.problems: list[Problem] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.nodes = self.aliased = self.deepest = 0

    def complain(self, place: tuple[int, int], code: str, text: str) -> None:
        self.problems.append(problem(self.file, self.lines, *place, code, text))

    def document(self) -> tuple[Any, Position]:
        """Return the first document. Its mistakes are in `problems`."""
        value, root = None, Position(0, 0)
        for match in unprintable().finditer(self.text):
            before = split_lines(self.text[: match.start()])
            place = len(before) - 1, len(before[-1])
            self.complain(place, "character", f"U+{ord(match[0]):04X} must be written as an escape in double quotes")
            if len(self.problems) == 10:
                break
        if self.problems:
            return value, root
        parser = _Parser(self.text)
        self.next = parser.get_event
        try:
            self.next()
            if not isinstance(self.next(), yaml.StreamEndEvent):
                value, root = self.value(self.next(), 1)
                self.next()
                if not isinstance(another := self.next(), yaml.StreamEndEvent):
                    self.complain(
                        _start(another), "documents", "a second document starts here; use a separate file for each"
                    )
        except yaml.MarkedYAMLError as error:
            self.syntax(error)
        except yaml.YAMLError as error:
            self.complain((0, 0), "syntax", " ".join(str(error).split()))
        except _Stop:
            pass
        finally:
            parser.dispose()
        return value, root

    def syntax(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        source = self.lines[line] if line < len(self.lines) else ""
        expression = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), source[: column + 2]).find("{{")
        if any(p.code == "unquoted-expression" and p.line == line + 1 for p in self.problems):
            return
        if expression >= 0:
            self.complain((line, expression), "unquoted-expression", _EXPRESSION)
            return
        text = error.problem or "is not YAML"
        at = source[column : column + 1]
        if "tab" in text or at == "\t":
            text = "do not indent with tabs; use spaces"
        elif at and "cannot start any token" in text:
            text = f'text cannot start with {at}; quote it: "{at}…"'
        elif "mapping values are not allowed" in text:
            text += '; quote text that contains ": " or ends with ":"'
        elif error.context:
            begins = error.context_mark
            text += f" {error.context}"
            if begins and begins.line < line:
                text += f" that starts in line {begins.line + 1}"
        self.complain((line, column), "syntax", text)

    def value(self, event: Any, depth: int) -> tuple[Any, Position]:
        place = _start(event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(str(event.anchor), place, depth)
        self.nodes += 1
        if depth > MAX_DEPTH:
            self.stop(place, "too-deep", f"nested deeper than {MAX_DEPTH}")
        if self.nodes > MAX_NODES:
            self.stop(place, "too-large", f"more than {MAX_NODES} values in one file; split it")
        if event.tag is not None:
            self.tag(event.tag, place)
        if event.anchor is None:
            return self.content(event, place, depth)
        self.anchors[event.anchor] = None
        nodes, deepest, self.deepest = self.nodes, self.deepest, depth
        value, placed = self.content(event, place, depth)
        self.anchors[event.anchor] = _Anchored(value, placed, self.nodes - nodes + 1, self.deepest - depth)
        self.deepest = max(deepest, self.deepest)
        return value, placed

    def content(self, event: Any, place: tuple[int, int], depth: int) -> tuple[Any, Position]:
        self.deepest = max(self.deepest, depth)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, place), Position(*place)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(inner := self.next(), yaml.SequenceEndEvent):
                items.append(self.value(inner, depth + 1))
            return [item for item, _ in items], Position(*place, [placed for _, placed in items])
        return self.mapping(event, place, depth)

    def scalar(self, event: Any, place: tuple[int, int]) -> Any:
        text: str = event.value
        if event.style:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if number := _NUMBER.fullmatch(text):
            if len(text) > 1000:
                self.complain(place, "number", "longer than 1000 digits; quote it to make it text")
                return None
            return Decimal(text) if number[1] or number[2] else int(text)
        if _LONG_EXPONENT.fullmatch(text):
            self.complain(place, "number", "its exponent is longer than 3 digits; quote it to make it text")
        return text

    def mapping(self, event: Any, place: tuple[int, int], depth: int) -> tuple[Any, Position]:
        values: dict[str, Any] = {}
        places: dict[str, Position] = {}
        keys: dict[str, tuple[int, int]] = {}
        while not isinstance(inner := self.next(), yaml.MappingEndEvent):
            key, at = self.key(inner, place, depth), _start(inner)
            if key in values:
                self.complain(at, "duplicate-key", f"the key {key} already exists, in line {keys[key][0] + 1}")
            value, placed = self.value(self.next(), depth + 1)
            values[key], places[key], keys[key] = value, placed, at
        return values, Position(*place, places, keys)

    def key(self, event: Any, mapping: tuple[int, int], depth: int) -> str:
        at = _start(event)
        if not isinstance(event, yaml.ScalarEvent):
            if isinstance(event, yaml.MappingStartEvent) and at == (mapping[0], mapping[1] + 1):
                self.complain(mapping, "unquoted-expression", _EXPRESSION)
                problems = list(self.problems)  # its content is one mistake, however many YAML finds in it
                try:
                    self.value(event, depth + 1)
                finally:
                    self.problems[:] = problems
            else:
                self.complain(at, "key", "a key must be plain text")
                self.value(event, depth + 1)
            return f"\0{at}"
        if event.tag is not None:
            self.tag(event.tag, at)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(event.value, Position(*at), 1, 0)
        if event.value == "<<" and not event.style:
            self.complain(at, "merge-key", "merge keys (<<) are not supported; copy the members here")
            return f"\0{at}"
        return str(event.value)

    def alias(self, name: str, place: tuple[int, int], depth: int) -> tuple[Any, Position]:
        if (anchored := self.anchors.get(name)) is None:
            what = "is inside the value that it refers to" if name in self.anchors else "refers to no earlier anchor"
            self.complain(place, "alias", f"*{name} {what}")
            return None, Position(*place)
        self.aliased += anchored.size
        self.nodes += anchored.size
        self.deepest = max(self.deepest, depth + anchored.height)
        if self.aliased > MAX_ALIASED:
            self.stop(place, "alias", f"aliases repeat more than {MAX_ALIASED} values")
        if depth + anchored.height > MAX_DEPTH:
            self.stop(place, "too-deep", f"nested deeper than {MAX_DEPTH}")
        return anchored.value, anchored.place

    def tag(self, tag: str, place: tuple[int, int]) -> None:
        written = tag.replace("tag:yaml.org,2002:", "!!")
        self.complain(place, "tag", f"the tag {written} is not supported; write the plain value without it")

    def stop(self, place: tuple[int, int], code: str, text: str) -> None:
        self.complain(place, code, text)
        raise _Stop


def _start(event: Any) -> tuple[int, int]:
    mark = event.start_mark
    return mark.line, mark.column
