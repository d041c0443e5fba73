"""Sections: what a dialect defines once for all of its operations. A layer contains only its differences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.evaluation.values import merge_patch
from xs2a_sandbox.cassette.model import Cassette, Pointer
from xs2a_sandbox.errors import Problem

SECTIONS = ("authorisation", "callbacks", "let", "request", "shapes", "signatures", "states", "things")
"""The keys of a cassette that are sections. Each holds a mapping."""


class Sections:
    """The sections of all layers so far. Each layer is a JSON Merge Patch on those below it."""

    def __init__(self) -> None:
        self._merged: dict[str, Any] = {}
        self._said: list[Cassette] = []

    def lay(self, layer: Sequence[Cassette]) -> Iterator[Problem]:
        """Add a layer on top.

        Yields a problem for entries that two of its files define: the order of files would decide.
        """
        first: dict[tuple[str, str], Cassette] = {}
        for cassette in layer:
            for section, entries in cassette.sections.items():
                for name in entries:
                    if (other := first.setdefault((section, name), cassette)) is not cassette:
                        text = f"{section}.{name} is already in {other.file}, in the same layer"
                        yield cassette.place.problem("duplicate-id", text, (section, name), key=True)
            self._merged = merge_patch(self._merged, cassette.sections)
            if cassette.sections:
                self._said.append(cassette)

    def get(self, section: str) -> Mapping[str, Any]:
        entries: Mapping[str, Any] = self._merged.get(section, {})
        return entries

    def said(self, section: str) -> Iterator[Mapping[str, Any]]:
        """Return the section of each file, lowest layer first, for a section whose layers are not merge patches."""
        for cassette in self._said:
            if section in cassette.sections:
                yield cassette.sections[section]

    def problem(self, pointer: Pointer, code: str, text: str, *, key: bool = False) -> Problem:
        """Return a problem at this place, in the topmost file that has it. `pointer` starts with the section."""
        for length in range(len(pointer), 0, -1):
            for cassette in reversed(self._said):
                if _is_said(cassette.sections, pointer[:length]):
                    return cassette.place.problem(code, text, pointer[:length], key=key)
        raise LookupError(f"no layer has a section {pointer[0]}")


def _is_said(value: Any, pointer: Pointer) -> bool:
    for step in pointer:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return True
