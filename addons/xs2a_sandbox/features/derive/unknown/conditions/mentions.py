"""Errors that name a part of the request, and how they name another part."""

from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves, source_of


def find_mention(check: LearnedCheck) -> str | None:
    """Return the text in an error that names the wrong place: a value, or a word in a sentence."""
    names = [str(step) for step in check.condition.place[1:] if isinstance(step, str)]
    if not names:
        return None
    full = ".".join(names)
    is_header = check.condition.place[0] == "headers"
    for one in check.answer.seen:
        for _, value in leaves(one.document):
            if is_header and isinstance(value, str) and value.lower() == full:
                return value
            if isinstance(value, str) and (value in (names[-1], full) or value.endswith((f".{full}", f"/{names[-1]}"))):
                return value
    words = {word for one in check.answer.seen for _, value in leaves(one.document) for word in _words(value)}
    return next((name for name in (full, names[-1]) if name in words and len(name) > 3), None)


def _words(value: Any) -> list[str]:
    is_sentence = isinstance(value, str) and " " in value
    return [word.strip("\"'`.,:;()") for word in value.split()] if is_sentence else []


def instead(donor: LearnedCheck, condition: Condition) -> tuple[tuple[str, str], ...]:
    """Return the texts to replace in the error of `donor`, so that it names the place of another condition.

    The error may also repeat what was sent there.
    """
    if condition.kind == "unknown":
        is_same = not donor.condition.name or condition.name == donor.condition.name
        return () if is_same else ((donor.condition.name, condition.name),)
    told = find_mention(donor)
    if told is None:
        return ()
    names = [str(step) for step in donor.condition.place[1:]]
    mine = [str(step) for step in condition.place[1:]]
    if told.lower() == names[-1] and condition.place[0] == "headers":
        return () if mine == names else ((told, mine[-1].title() if told[:1].isupper() else mine[-1]),)
    full = ".".join(names)
    new = told.removesuffix(full) + ".".join(mine) if told.endswith(full) else told.removesuffix(names[-1]) + mine[-1]
    root, _, rest = new.partition(".")
    if root in ("body", "query", "header", "headers") and condition.place[0] in ("body", "query"):
        new = f"{condition.place[0]}.{rest}"
    sent = braced(source_of(donor.condition.place)), braced(source_of(condition.place))
    return ((told, new), (names[-1], mine[-1]), sent)
