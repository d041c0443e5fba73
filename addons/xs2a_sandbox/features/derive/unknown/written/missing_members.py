"""Writes the required members of a request as a list, if the bank answers each that is missing with the same error."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.mentions import find_mention
from xs2a_sandbox.features.derive.unknown.recorded.places import source_of

MISSING = "missing"
"""The named value with the required members that a request lacks."""


def join_missing(checks: Sequence[LearnedCheck]) -> tuple[list[LearnedCheck], Mapping[str, Any]]:
    """Return the checks with one in place of those for missing members, and the named value for it, if there is one.

    The first of the missing members is told. All have their turn before the form of any member is checked.
    """
    groups: defaultdict[int, list[LearnedCheck]] = defaultdict(list)
    for check in checks:
        if check.condition.kind == "missing" and _is_plain(check) and (check.instead or find_mention(check)):
            groups[id(check.answer)].append(check)
    group = max(groups.values(), key=len, default=[])
    if len(group) < 2:
        return list(checks), {}
    told = _told(group[0])
    rows = [_write_row(check, told) for check in group]
    instead = [(old, braced(f"let.{MISSING}[0].{name}")) for name, old in told.items()]
    joined = replace(
        group[0],
        condition=replace(group[0].condition, source=f"let.{MISSING}"),
        shown_by=tuple(number for check in group for number in check.shown_by),
        is_guess=all(check.is_guess for check in group),
        instead=tuple(instead),
    )
    kept = [joined if check is group[0] else check for check in checks if check is group[0] or check not in group]
    return kept, {MISSING: {"each": rows, "when": "entry.sent is none or entry.sent == ''", "give": "{{ entry }}"}}


def _is_plain(check: LearnedCheck) -> bool:
    source = source_of(check.condition.place)
    return check.condition.source == f"{source} is none or {source} == ''"


def _told(check: LearnedCheck) -> dict[str, str]:
    """Return the texts of the recorded error that name the member: the place, and the last name in it if it differs."""
    if check.instead:
        texts = [old for old, _ in check.instead]
    else:
        texts = [find_mention(check) or "", str(check.condition.place[-1])]
    return dict(zip(("member", "name"), dict.fromkeys(texts), strict=False))


def _write_row(check: LearnedCheck, told: Mapping[str, str]) -> dict[str, Any]:
    new = dict(check.instead)
    names = {name: new.get(old, old) for name, old in told.items()}
    return {**names, "sent": braced(source_of(check.condition.place))}
