"""Generate docs/operations.md from the operations of the documented dialects."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.documentation.openapi import Writer, paths_of, writer

DIALECTS = ("xs2a-1.84", "berlin-group-1.3")


def page() -> str:
    """Return the text of docs/operations.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Operations"
    yield ""
    yield "<!-- Made by `documentation/operations_page.py` from the cassettes; change it there. -->"
    yield ""
    yield "This page lists the operations of each [dialect](dialects.md). *operation* is the name of the operation in"
    yield "rules, in the journal and in `explain`; *responses* are its successful statuses; *errors* are the"
    yield "[errors](errors.md) that it can return. Parameters and bodies of the documented interface are in an [OpenAPI"
    yield "file](openapi.yaml)."
    for dialect in DIALECTS:
        yield from _dialect(dialect)
    yield ""


def _dialect(dialect: str) -> Iterator[str]:
    interface = writer(dialect)
    operations = [
        (operation.origin.document.value["title"], operation, _endings(interface, operation))
        for operation in interface.bank.operations.values()
    ]
    everywhere = set.intersection(*(set(errors) for *_, (_, errors) in operations))
    yield from ("", f"## {dialect}", "", f"Every operation can return: {_list(sorted(everywhere))}.")
    for title, titled in groupby(sorted(operations, key=itemgetter(0)), key=itemgetter(0)):
        yield from ("", f"### {title}", "", "| request | operation | responses | errors |", "|---|---|---|---|")
        for _, operation, (answers, errors) in titled:
            request = f"{operation.method} {operation.pattern.text}"
            listed_errors = _list([error for error in errors if error not in everywhere])
            yield f"| `{request}` | `{operation.id}` | {', '.join(map(str, answers))} | {listed_errors} |"


def _endings(interface: Writer, operation: Operation) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the successful statuses, and status and name of each error."""
    endings = {ending[:2] for _, _, listed in paths_of(operation) for ending in interface.endings(operation, listed)}
    names = interface.bank.errors
    succeeding = sorted({status for status, name in endings if name not in names})
    return succeeding, sorted((status, name) for status, name in endings if name in names)


def _list(errors: list[tuple[int, str]]) -> str:
    by_status = groupby(errors, key=itemgetter(0))
    return "; ".join(f"{status} {', '.join(f'`{name}`' for _, name in named)}" for status, named in by_status)
