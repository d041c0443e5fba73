"""What a case that was added means for the others: the problems that lint did not have before."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.interface import Interface


def new_problems(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    # By their places, as texts may hold answers, which differ each time: identifiers, dates.
    known = {(p.file, p.line, p.column, p.code) for p in before}
    return [p for p in after if (p.file, p.line, p.column, p.code) not in known]


def refusal(problems: Sequence[Problem], file: Path, interface: Interface) -> str:
    """Why the case in `file` is not kept, and what to do."""
    return "\n".join(["nothing written:", *_lines(problems, file, interface)])


def _lines(problems: Sequence[Problem], file: Path, interface: Interface) -> Iterator[str]:
    own = [p for p in problems if p.file.resolve() == file.resolve()]
    others = [p for p in problems if p not in own]
    for one in others:
        yield f"  {one.place}: this example of {_owner(one, interface)} would no longer hold: {one.text}"
    if others:
        yield "name a PATH or a query that leaves these requests alone, or give those rules a higher priority"
    for one in own:
        yield f"  the case's own example would not hold: {one.text}"
    if own:
        yield "name a request that the operation takes, as `xs2a-sandbox explain METHOD PATH` shows"


def _owner(problem: Problem, interface: Interface) -> str:
    """The rule or operation that stands there."""
    entries: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    lines = {
        entry.origin.document.line(entry.origin.pointer): entry.id
        for entry in entries
        if entry.origin.document.file == problem.file
    }
    above = [line for line in lines if line <= problem.line]
    return lines[max(above)] if above else "another rule"
