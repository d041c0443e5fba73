"""docs/operations.md, the operations of the documented dialects."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.documentation.openapi import Writer, paths_of, writer

DIALECTS = ("xs2a-1.84", "berlin-group-1.3")


def page() -> str:
    """docs/operations.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Operations"
    yield ""
    yield "<!-- Made by `documentation/operations_page.py` from the cassettes; change it there. -->"
    yield ""
    yield "The operations of each [dialect](dialects.md): the name that rules, the journal and `explain` call each by,"
    yield "and the [errors](errors.md) that it can end in. Parameters and bodies of the documented interface are in"
    yield "an [OpenAPI file](openapi.yaml)."
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
    yield from ("", f"## {dialect}", "", f"Any operation: {_list(sorted(everywhere))}.")
    for title, titled in groupby(sorted(operations, key=itemgetter(0)), key=itemgetter(0)):
        yield from ("", f"### {title}", "", "| request | operation | answers | errors |", "|---|---|---|---|")
        for _, operation, (answers, errors) in titled:
            request = f"{operation.method} {operation.pattern.text}"
            listed_errors = _list([error for error in errors if error not in everywhere])
            yield f"| `{request}` | `{operation.id}` | {', '.join(map(str, answers))} | {listed_errors} |"


def _endings(interface: Writer, operation: Operation) -> tuple[list[int], list[tuple[int, str]]]:
    """Statuses that succeed; status and name of each error."""
    endings = {ending[:2] for _, _, listed in paths_of(operation) for ending in interface.endings(operation, listed)}
    names = interface.bank.errors
    succeeding = sorted({status for status, name in endings if name not in names})
    return succeeding, sorted((status, name) for status, name in endings if name in names)


def _list(errors: list[tuple[int, str]]) -> str:
    by_status = groupby(errors, key=itemgetter(0))
    return "; ".join(f"{status} {', '.join(f'`{name}`' for _, name in named)}" for status, named in by_status)
