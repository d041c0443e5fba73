"""Counts which operations, rules and errors requests have used, and lists the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.journal.log_line import LogEntry


@dataclass(slots=True)
class CoverageTally:
    """Collects the sources of answers.

    `rules` are ids of rules and operations, `errors` are names in the table of errors.
    """

    rules: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)

    def add(self, exchange: LogEntry) -> None:
        if exchange.cause:  # a callback, which may have the name of a rule
            return
        if exchange.rule:
            self.rules.add(exchange.rule)
        self.rules.update(exchange.amended)
        if exchange.error:
            self.errors.add(exchange.error)

    def include(self, other: "CoverageTally") -> None:
        """Merge the data of another process."""
        self.rules |= other.rules
        self.errors |= other.errors


@dataclass(frozen=True, slots=True)
class Part:
    """An operation, a rule or an error. `about` is its method and path, or its status and code."""

    id: str
    about: str
    place: str
    exercised: bool


type Coverage = dict[str, list[Part]]
"""The parts by `operations`, `rules` and `errors`, each in the order of its files."""


def measure(interface: Interface, tally: CoverageTally) -> Coverage:
    """Return the coverage. An operation is covered by its rules, too, but not by requests that are rejected before."""
    by_rules = {rule.operation for rule in interface.rules if rule.id in tally.rules}
    coverage = {
        "operations": [
            Part(
                id,
                f"{operation.method} {operation.pattern.text}",
                operation.origin.place,
                id in tally.rules or id in by_rules,
            )
            for id, operation in interface.operations.items()
        ],
        "rules": [
            Part(
                own_rule.id,
                own_rule.operation or (own_rule.pattern.text if own_rule.pattern else ""),
                own_rule.origin.place,
                own_rule.id in tally.rules,
            )
            for own_rule in interface.rules
        ],
        "errors": [
            Part(name, f"{error.status()} {error.code()}", error.origin.place, name in tally.errors)
            for name, error in interface.errors.items()
        ],
    }
    return {kind: sorted(parts, key=_by_place) for kind, parts in coverage.items()}


def as_json(coverage: Coverage) -> dict[str, Any]:
    return {
        kind: {
            "total": len(parts),
            "exercised": sum(part.exercised for part in parts),
            "never": [{"id": p.id, "about": p.about, "place": p.place} for p in parts if not p.exercised],
        }
        for kind, parts in coverage.items()
    }


def as_text(coverage: Coverage) -> str:
    return "\n".join(line for kind, parts in coverage.items() for line in _lines(kind, parts))


def _lines(kind: str, parts: Sequence[Part]) -> Iterator[str]:
    never = [part for part in parts if not part.exercised]
    yield f"{kind}: {len(parts) - len(never)} of {len(parts)} exercised{', never:' if never else ''}"
    widest = max((len(part.id) for part in never), default=0)
    for part in never:
        yield f"  {part.id:{widest}}  {part.about}  ({part.place})"


def _by_place(part: Part) -> tuple[str, int]:
    file, _, line = part.place.rpartition(":")
    return file, int(line)
