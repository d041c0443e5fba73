"""Expands rules that match operations by what they do into one rule for each of these operations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from xs2a_sandbox.cassette.model import Operation, Rule
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem


def for_each(rule: Rule, operations: Mapping[str, Operation]) -> Iterator[Rule]:
    """Yield a copy of the rule for each operation with the `does` of the rule. A rule without `does` is yielded itself.

    Only the first copy keeps the examples, because examples name paths of their own.
    """
    if not rule.does:
        yield rule
        return
    examples = rule.examples
    for id, operation in operations.items():
        if operation.does and any(act.covers(operation.does) for act in rule.does):
            yield replace(rule, operation=id, examples=examples)
            examples = ()


def check(rules: Iterable[Rule], operations: Mapping[str, Operation]) -> Iterator[Problem]:
    """Yield a problem for each rule whose `does` matches no operation."""
    for rule in rules:
        if rule.does and not any(True for _ in for_each(rule, operations)):
            acts = sorted({str(operation.does) for operation in operations.values() if operation.does})
            said = " or ".join(map(str, rule.does))
            text = f"no operation does {said!r}{did_you_mean(said, acts) or f'; choose one of: {", ".join(acts)}'}"
            yield rule.origin.problem("unknown-operation", text, ("match", "does"))
