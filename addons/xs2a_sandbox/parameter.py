"""What rules say of path parameters that can never be: values that the operation does not take, misspelled names."""

from collections.abc import Collection, Iterator
from typing import Any

from xs2a_sandbox.cassette import Operation, Pointer, Rule, answers
from xs2a_sandbox.complaint import did_you_mean
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.expression import members
from xs2a_sandbox.matching import Constraint

CODE = "where"

_COMPUTED = ("status", "headers", "body", "text", "values")
"""Keys of an answer whose texts may hold expressions."""


def check(rule: Rule, operation: Operation | None) -> Iterator[Problem]:
    """`operation` is the one that the rule names."""
    if operation:
        yield from _values(rule, operation)
    pattern = operation.pattern if operation else rule.pattern
    if pattern is None:
        return
    for pointer, text in _expressions(rule):
        for name in sorted(members(text, "path") - set(pattern.names)):
            said = f"the path {pattern.text} has no parameter {name}{_hint([name], pattern.names)}"
            yield rule.origin.problem(CODE, said, pointer)


def _values(rule: Rule, operation: Operation) -> Iterator[Problem]:
    asked = [c for c in rule.constraints if c.place.part == "where" and c.values]
    if not asked or any(all(_goes_with(c, one) for c in asked) for one in operation.where):
        return
    for constraint in asked:
        if not any(_goes_with(constraint, one) for one in operation.where):
            name, values = constraint.place.name, sorted(constraint.values or ())
            taken = {
                v for one in operation.where for c in one if c.place == constraint.place for v in sorted(c.values or ())
            }
            said = f"in {operation.id} the parameter {name} is never {' or '.join(values)}{_hint(values, taken)}"
            yield rule.origin.problem(CODE, said, ("match", "where", name))
            return
    together = " and ".join(f"{c.place.name} {' or '.join(sorted(c.values or ()))}" for c in asked)
    yield rule.origin.problem(CODE, f"{operation.id} never has {together} together", ("match", "where"))


def _goes_with(constraint: Constraint, alternative: Collection[Constraint]) -> bool:
    """Whether one of the values that it asks for is one that the operation takes there."""
    others = [one for one in alternative if one.place == constraint.place]
    return any(all(one.fits((value,)) for one in others) for value in constraint.values or ())


def _hint(words: Collection[str], known: Collection[str]) -> str:
    near = next((hint for word in words if (hint := did_you_mean(word, known))), "")
    return near or (f"; there are {', '.join(sorted(known))}" if known else "")


def _expressions(rule: Rule) -> Iterator[tuple[Pointer, str]]:
    """Places below the rule, and the text there that is computed."""
    written = rule.origin.written
    if rule.when_text:
        yield ("match", "when"), _braced(rule.when_text)
    for below, _ in answers(rule):
        answer = written[below[0]] if len(below) == 1 else written[below[0]][below[1]]
        if "when" in answer:
            yield (*below, "when"), _braced(answer["when"])
        for key in _COMPUTED if answer.get("raw") is not True else ():
            yield from _texts(answer.get(key), (*below, key))
    for number, effect in enumerate(written.get("effects", ())):
        yield from _texts(effect.get("to"), ("effects", number, "to"))


def _braced(condition: str) -> str:
    return "{{ " + condition + " }}"


def _texts(value: Any, pointer: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(value, str) and "{{" in value:
        yield pointer, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        yield from _texts(inner, (*pointer, step))
