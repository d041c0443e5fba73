"""Compares the compiled body of every answer with what the interpreter writes."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from xs2a_sandbox.cassette.answers import BodyWriters
from xs2a_sandbox.cassette.body_source import WriteBody
from xs2a_sandbox.cassette.evaluation.expressions import FUNCTIONS, Scope
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.documents.json_schema import Schema

DIFFERENT: list[str] = []
"""Bodies about which the two did not agree since it was last emptied."""


def compare(write: WriteBody, interpret: WriteBody, scope: Scope) -> bytes:
    """Return the compiled body. The interpreter gets the same ids and times, in the same order."""
    drawn: list[Any] = []

    def record(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            drawn.append(function(*arguments))
            return drawn[-1]

        return call

    def draw_again(values: Iterator[Any]) -> Callable[..., Any]:
        return lambda *arguments: next(values)

    functions = {name: scope[name] for name in FUNCTIONS if name in scope}
    body = write({**scope, **{name: record(function) for name, function in functions.items()}})
    again = draw_again(iter(drawn))
    other = interpret({**scope, **dict.fromkeys(functions, again), WORK: Work()})
    if body != other:
        DIFFERENT.append(f"{body!r} instead of {other!r}")
    return body


@cache
def install() -> None:
    """Let every answer of this process note the differences."""
    find = BodyWriters.__missing__

    def find_compared(writers: BodyWriters, schema: Schema | None) -> WriteBody:
        write = find(writers, schema)
        writers[schema] = lambda scope: compare(write, lambda again: writers.interpret(schema, again), scope)
        return writers[schema]

    BodyWriters.__missing__ = find_compared  # type: ignore[method-assign]
