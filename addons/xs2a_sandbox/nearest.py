"""What an unmatched request was probably meant for."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.pattern import LITERAL, Pattern

_SHOWN = 3


def nearest(interface: Interface, method: str, segments: Sequence[str]) -> list[dict[str, Any]]:
    """The operations and rules whose paths are most like it, best first, each with where it is written."""
    scored = sorted(_candidates(interface), key=lambda c: -_likeness(c[1], c[2], method, segments))
    return [
        {
            "rule" if isinstance(entry, Rule) else "operation": entry.id,
            "method": ", ".join(sorted(methods)) or "any",
            "path": pattern.text,
            "place": _shown(entry.origin.place),
        }
        for entry, methods, pattern in scored[:_SHOWN]
    ]


def _shown(place: str) -> str:
    """Relative where it can be: a client is told no more of the server's disk than it needs."""
    for root in (Path.cwd(), bundled("cassettes").parent):
        if place.startswith(f"{root}/"):
            return place.removeprefix(f"{root}/")
    return place


def _candidates(interface: Interface) -> Iterable[tuple[Operation | Rule, frozenset[str], Pattern]]:
    for operation in interface.operations.values():
        yield operation, frozenset([operation.method]), operation.pattern
    for rule in interface.rules:
        if rule.pattern:
            yield rule, rule.methods, rule.pattern


def _likeness(methods: frozenset[str], pattern: Pattern, method: str, segments: Sequence[str]) -> float:
    """Words compared with words; a parameter fits anything, but less well than a word fits itself."""
    wanted = [s.text if s.kind == LITERAL else None for s in pattern.segments]
    fits = 0.0
    for position, word in enumerate(segments[: len(wanted)]):
        expected = wanted[position]
        fits += 0.8 if expected is None else SequenceMatcher(None, expected, word[:100]).ratio()
    longest = max(len(wanted), len(segments), 1)
    return fits / longest + (0.1 if not methods or method in methods else 0.0)
