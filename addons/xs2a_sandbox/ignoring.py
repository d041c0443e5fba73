"""Rules that say which differences do not matter, and why. Their paths are exact: `*` is one step, nothing is more."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from xs2a_sandbox import document
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.difference import Difference, Kind, Pointer
from xs2a_sandbox.errors import Problem, Unreadable

ANY = "*"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """Ignores what fits all that it says. `until` is the last day that it holds; `place` is where it is written."""

    why: str
    place: str = ""
    path: tuple[str, ...] | None = None
    header: str | None = None
    kinds: frozenset[Kind] = frozenset()
    operation: str | None = None
    until: date | None = None

    def fits(self, difference: Difference, operation: str | None) -> bool:
        if self.kinds and difference.kind not in self.kinds:
            return False
        if self.operation is not None and self.operation != operation:
            return False
        if self.header is not None:
            return difference.header is not None and difference.header.lower() == self.header.lower()
        if self.path is None:
            return True
        if difference.header is not None or difference.kind == "status":
            return False
        return _leads_to(self.path, difference.place) or _leads_to(self.path, difference.bank_place)


class Ignoring:
    """The rules as of a day, and which of them were of use."""

    def __init__(self, rules: Sequence[IgnoreRule] = (), today: date | None = None) -> None:
        self.lapsed = tuple(r for r in rules if today and r.until and r.until < today)
        self._rules = tuple(rule for rule in rules if rule not in self.lapsed)
        self._used: set[int] = set()

    def reason(self, difference: Difference, operation: str | None) -> str | None:
        for number, rule in enumerate(self._rules):
            if rule.fits(difference, operation):
                self._used.add(number)
                return rule.why
        return None

    @property
    def unused(self) -> tuple[IgnoreRule, ...]:
        return tuple(rule for number, rule in enumerate(self._rules) if number not in self._used)


def read(files: Sequence[Path]) -> list[IgnoreRule]:
    """Raises `Unreadable` with every problem of every file."""
    rules: list[IgnoreRule] = []
    problems: list[Problem] = []
    for file in files:
        try:
            one = document.read(file)
        except Unreadable as error:
            problems += error.problems
            continue
        if found := document.complaints(one, _schema()) or _broad(one):
            problems += found
            continue
        rules += [_rule(one, number, spec) for number, spec in enumerate(one.value.get("rules") or ())]
    if problems:
        raise Unreadable(problems)
    return rules


def steps(path: str) -> tuple[str, ...]:
    """Of a JSON Pointer, unescaped."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])


def _broad(one: document.Document) -> list[Problem]:
    return [
        one.problem(("rules", number, "path"), "wrong-value", "* stands for one whole step, and for nothing else")
        for number, spec in enumerate(one.value.get("rules") or ())
        if any(ANY in step and step != ANY for step in spec.get("path", "").split("/"))
    ]


def _rule(one: document.Document, number: int, spec: dict[str, Any]) -> IgnoreRule:
    kind = spec.get("kind", [])
    kinds: list[Any] = [kind] if isinstance(kind, str) else kind
    return IgnoreRule(
        why=spec["why"],
        place=f"{one.file}:{one.line(('rules', number))}",
        path=steps(spec["path"]) if "path" in spec else None,
        header=spec.get("header"),
        kinds=frozenset(kinds),
        operation=spec.get("operation"),
        until=date.fromisoformat(spec["until"]) if spec.get("until") else None,
    )


def _leads_to(path: tuple[str, ...], place: Pointer) -> bool:
    return len(path) == len(place) and all(mine in (ANY, str(step)) for mine, step in zip(path, place, strict=True))


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((bundled("schemas") / "ignore.schema.json").read_bytes())
    return schema
