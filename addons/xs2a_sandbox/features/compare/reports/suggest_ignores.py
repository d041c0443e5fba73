"""Suggests ignore rules for values that always differ, and explains why there is none for the others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.compare.difference import Consequence, Kind
from xs2a_sandbox.compare.reports.report import UNKNOWN, ComparedExchange, Finding, Report
from xs2a_sandbox.documents.json_pointer import Pointer, pointer_text
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.http import body as content

_DRIFTING: frozenset[Kind] = frozenset({"value", "format", "header-changed"})
_WITHOUT_MEANING: frozenset[Consequence] = frozenset({"other-value", "header"})
"""Different values that schemas and cassettes list, such as states, currencies and error codes, have a meaning."""
_ALONE: frozenset[Kind] = frozenset({"member-extra", "element-extra", "type"})
"""Below these, the bank has nothing that could vary."""


@dataclass(frozen=True, slots=True)
class NoRule:
    """A difference without a rule, and the reason."""

    operation: str
    where: str
    kind: Kind
    because: str


@dataclass(frozen=True, slots=True)
class _Group:
    operation: str
    kind: Kind
    header: str | None
    path: tuple[str, ...]
    """With `*` for positions in arrays."""

    @property
    def place(self) -> dict[str, str]:
        """The place in the form of rules."""
        return {"header": self.header} if self.header else {"path": pointer_text(self.path)}


def suggest(report: Report) -> tuple[list[dict[str, str]], list[NoRule]]:
    """Return rules only for scalars that differ everywhere the rule applies, so that they hide nothing else."""
    groups: dict[_Group, list[tuple[ComparedExchange, Finding]]] = {}
    for exchange in report.exchanges:
        for finding in exchange.findings:
            groups.setdefault(_group(exchange, finding), []).append((exchange, finding))
    rules, refusals = [], []
    for group in sorted(groups, key=lambda group: (group.operation, [*group.place.items()], group.kind)):
        pairs = groups[group]
        where = pairs[0][1].where or "the whole body"
        if because := _find_refused(group, pairs, report.exchanges):
            refusals.append(NoRule(group.operation, where, group.kind, because))
            continue
        count = f"{len(pairs)} time{'' if len(pairs) == 1 else 's'}"
        why = (
            f"the {'header' if group.header else 'value'} differed {count}, at every place; explain here why "
            "this is correct"
        )
        operation = {} if group.operation == UNKNOWN else {"operation": group.operation}
        rules.append({**group.place, "kind": group.kind, **operation, "why": why})
    return rules, sorted(refusals, key=lambda r: (r.operation, r.where, r.kind))


def as_yaml(rules: Sequence[Mapping[str, str]], refusals: Sequence[NoRule]) -> str:
    """Return a file for `--ignore`."""
    reasons = [f"# no rule for {r.kind} at {r.where} ({r.operation}): {r.because}\n" for r in refusals]
    return yaml_text({"ignore": 1, "rules": rules}) + "".join(reasons)


def _group(exchange: ComparedExchange, finding: Finding) -> _Group:
    path = finding.path if finding.path is not None else () if finding.header else (finding.where,)
    return _Group(exchange.operation, finding.kind, finding.header, path)


def _find_refused(
    group: _Group, pairs: Sequence[tuple[ComparedExchange, Finding]], exchanges: Iterable[ComparedExchange]
) -> str | None:
    if group.kind not in _DRIFTING:
        return "structural: an app that reads this would notice"
    if consequence := next(
        (finding.consequence for _, finding in pairs if finding.consequence not in _WITHOUT_MEANING), None
    ):
        return f"{consequence}: the interface defines its meaning, and apps rely on it"
    if group.header:
        return None if group.header.isascii() and " " not in group.header else "its name is not shown"
    if not group.path:
        return "the root: a rule would ignore the whole body"
    if any(isinstance(step, str) and "*" in step for _, finding in pairs for step in finding.pointer or ()):
        return "impossible: a * in the name of a member would be a wildcard"
    if any(finding.where.endswith("/…") for _, finding in pairs):
        return "its place is not shown"
    drifted = {(exchange.number, finding.pointer) for exchange, finding in pairs}
    for exchange in exchanges:
        if exchange.operation != group.operation or exchange.sandbox is None:
            continue
        body = content.read(exchange.sandbox.answer_body)
        alone = [f.pointer for f in (*exchange.findings, *exchange.masked) if f.kind in _ALONE and f.pointer]
        for place in _places(body.value if body.kind == "json" else None, group.path):
            has_counterpart = not any(place[: len(pointer)] == pointer for pointer in alone)
            if has_counterpart and (exchange.number, place) not in drifted:
                return f"too broad: {pointer_text(group.path)} also matches {pointer_text(place)}, which did not drift"
    return None


def _places(value: Any, path: Sequence[str], before: Pointer = ()) -> Iterator[Pointer]:
    """Yield all places that the path matches."""
    if not path:
        yield before
    elif isinstance(value, Mapping):
        names = list(value) if path[0] == "*" else [path[0]]
        for name in names:
            if name in value:
                yield from _places(value[name], path[1:], (*before, name))
    elif isinstance(value, list) and path[0] == "*":
        for position, below in enumerate(value):
            yield from _places(below, path[1:], (*before, position))
