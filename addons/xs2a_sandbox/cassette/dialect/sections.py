"""What a dialect says once for all of its operations, in sections. A layer says only what it has otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.evaluation.values import merge_patch
from xs2a_sandbox.cassette.model import Cassette, Pointer
from xs2a_sandbox.errors import Problem

SECTIONS = ("authorisation", "let", "request", "shapes", "signatures", "states", "things")
"""Their names: keys of a cassette that hold mappings."""


class Sections:
    """The sections of all layers so far: each layer is a JSON Merge Patch of those below it."""

    def __init__(self) -> None:
        self._merged: dict[str, Any] = {}
        self._said: list[Cassette] = []

    def lay(self, layer: Sequence[Cassette]) -> Iterator[Problem]:
        """Puts a layer on top. Finds what two of its files say: the order of files would decide."""
        first: dict[tuple[str, str], Cassette] = {}
        for cassette in layer:
            for section, entries in cassette.sections.items():
                for name in entries:
                    if (other := first.setdefault((section, name), cassette)) is not cassette:
                        text = f"{section}.{name} stands already in {other.file}, in the same layer"
                        yield cassette.place.problem("duplicate-id", text, (section, name), key=True)
            self._merged = merge_patch(self._merged, cassette.sections)
            if cassette.sections:
                self._said.append(cassette)

    def get(self, section: str) -> Mapping[str, Any]:
        entries: Mapping[str, Any] = self._merged.get(section, {})
        return entries

    def said(self, section: str) -> Iterator[Mapping[str, Any]]:
        """What each file says in it, those of the lowest layer first, for a section whose layers are no patches."""
        for cassette in self._said:
            if section in cassette.sections:
                yield cassette.sections[section]

    def problem(self, pointer: Pointer, code: str, text: str, *, key: bool = False) -> Problem:
        """A problem at this place, in the topmost file that says something there; `pointer` begins with the section."""
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
