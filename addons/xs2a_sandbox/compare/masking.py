"""Rules that ignore differences or set their severity, with a reason. Their paths are exact: `*` matches one step."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.compare.diff import Exact, contrast
from xs2a_sandbox.compare.difference import Consequence, Difference, Kind, Severity
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.json_pointer import Pointer, parse_pointer
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.http import Response

ANY = "*"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """Ignores differences that match all its conditions, or sets their severity.

    `until` is its last day; `place` is where it is written.
    """

    why: str
    place: str = ""
    path: tuple[str, ...] | None = None
    header: str | None = None
    kinds: frozenset[Kind] = frozenset()
    consequences: frozenset[Consequence] = frozenset()
    severity: Severity | None = None
    operation: str | None = None
    until: date | None = None

    def fits(self, difference: Difference, operation: str | None) -> bool:
        if self.kinds and difference.kind not in self.kinds:
            return False
        if self.consequences and difference.consequence not in self.consequences:
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
    """The rules that apply on a day, and which of them have had an effect."""

    def __init__(self, rules: Sequence[IgnoreRule] = (), today: date | None = None) -> None:
        self.lapsed = tuple(r for r in rules if today and r.until and r.until < today)
        self._rules = tuple(rule for rule in rules if rule not in self.lapsed)
        self._used: set[IgnoreRule] = set()

    def reason(self, difference: Difference, operation: str | None) -> str | None:
        rule = self._rule(difference, operation, weighs=False)
        return rule.why if rule else None

    def weigh(self, difference: Difference, operation: str | None) -> Difference:
        """Return the difference with the severity that the user has set, if any."""
        rule = self._rule(difference, operation, weighs=True)
        return replace(difference, weighed=rule.severity) if rule else difference

    def _rule(self, difference: Difference, operation: str | None, *, weighs: bool) -> IgnoreRule | None:
        """Return the first rule that matches."""
        rules = (rule for rule in self._rules if (rule.severity is not None) is weighs)
        rule = next((rule for rule in rules if rule.fits(difference, operation)), None)
        if rule:
            self._used.add(rule)
        return rule

    @property
    def unused(self) -> tuple[IgnoreRule, ...]:
        return tuple(rule for rule in self._rules if rule not in self._used)


def read(files: Sequence[Path]) -> list[IgnoreRule]:
    """Read rules. Raises Unreadable with every problem of every file."""
    rules: list[IgnoreRule] = []
    problems: list[Problem] = []
    for file in files:
        try:
            document = yaml_reader.read(file)
        except Unreadable as error:
            problems += error.problems
            continue
        if mistakes := yaml_reader.complaints(document, bundled_schema("ignore")) or _find_broad(document):
            problems += mistakes
            continue
        rules += [_rule(document, number, spec) for number, spec in enumerate(document.value.get("rules") or ())]
    if problems:
        raise Unreadable(problems)
    return rules


def _find_broad(document: Document) -> list[Problem]:
    return [
        document.problem(("rules", number, "path"), "wrong-value", "* can replace only a whole step")
        for number, spec in enumerate(document.value.get("rules") or ())
        if any(ANY in step and step != ANY for step in spec.get("path", "").split("/"))
    ]


def _rule(document: Document, number: int, spec: dict[str, Any]) -> IgnoreRule:
    kinds, consequences = spec.get("kind", []), spec.get("consequence", [])
    return IgnoreRule(
        why=spec["why"],
        place=f"{document.file}:{document.line(('rules', number))}",
        path=parse_pointer(spec["path"]) if "path" in spec else None,
        header=spec.get("header"),
        kinds=frozenset(kinds if isinstance(kinds, list) else [kinds]),
        consequences=frozenset(consequences if isinstance(consequences, list) else [consequences]),
        severity=spec.get("severity"),
        operation=spec.get("operation"),
        until=date.fromisoformat(spec["until"]) if spec.get("until") else None,
    )


def _leads_to(path: tuple[str, ...], place: Pointer) -> bool:
    return len(path) == len(place) and all(mine in (ANY, str(step)) for mine, step in zip(path, place, strict=True))


_CHANGES: frozenset[Kind] = frozenset({"value", "format"})
_COMES_AND_GOES: frozenset[Kind] = frozenset({"member-missing", "member-extra", "null"})
_ELEMENTS: frozenset[Kind] = frozenset({"element-missing", "element-extra"})
_HEADERS: frozenset[Kind] = frozenset({"header-missing", "header-extra"})

_MASKS: dict[Kind, tuple[frozenset[Kind], str]] = {
    "value": (_CHANGES, "the bank changes this value from read to read"),
    "format": (_CHANGES, "the bank writes this value differently from read to read"),
    "type": (_CHANGES | {"type"}, "the bank changes the type of this from read to read"),
    "null": (frozenset({"null"}), "the bank leaves this out or sends null, from read to read"),
    "member-missing": (_COMES_AND_GOES, "the bank sends this member in some reads only"),
    "member-extra": (_COMES_AND_GOES, "the bank sends this member in some reads only"),
    "element-missing": (_ELEMENTS, "the bank lists this element in some reads only"),
    "element-extra": (_ELEMENTS, "the bank lists this element in some reads only"),
    "length": (frozenset({"length"}), "the bank changes how many elements it lists from read to read"),
    "order": (frozenset({"order"}), "the bank changes the order from read to read"),
    "header-changed": (frozenset({"header-changed"}), "the bank changes this header from read to read"),
    "header-missing": (_HEADERS, "the bank sends this header in some reads only"),
    "header-extra": (_HEADERS, "the bank sends this header in some reads only"),
}
"""By kind of a difference between two answers of the bank: the kinds of differences with the sandbox that are hidden at
the same place, and the reason.
"""

_Place = str | Pointer | tuple[Pointer, str | None, str]


class Noise:
    """Learned from a request that was sent several times and answered with the same status."""

    def __init__(
        self,
        first: Response,
        others: Sequence[Response] = (),
        header_names: Collection[str] = (),
        things: Things | None = None,
    ) -> None:
        self._habits: dict[_Place, list[Kind]] = {}
        for other in others:
            for change in contrast(first, other, Exact(things), header_names):
                # A body that is JSON once and a page the next time shows a broken bank, not noise.
                if change.kind in _MASKS and not (change.kind == "type" and not change.bank_place):
                    self._habits.setdefault(_place(change), []).append(change.kind)

    def reason(self, difference: Difference, twin: Callable[[str], str] = str) -> str | None:
        """Return the reason why the difference is noise, or None. `twin` maps a bank id to the sandbox id."""
        kinds = list(self._habits.get(_place(difference), ()))
        if difference.kind in _ELEMENTS:
            for place, others in self._habits.items():
                if place[:1] == (difference.bank_place[:-1],) and twin(str(place[-1])) == difference.key:
                    kinds += others
        return next((why for hidden, why in map(_MASKS.__getitem__, kinds) if difference.kind in hidden), None)


def _place(difference: Difference) -> _Place:
    if difference.header:
        return difference.header.lower()
    if difference.kind in _ELEMENTS and difference.key is not None:
        return difference.bank_place[:-1], difference.by, difference.key
    return difference.bank_place
