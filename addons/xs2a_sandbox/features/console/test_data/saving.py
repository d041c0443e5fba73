"""The customers and accounts that a session has added or changed, as a file of test data."""

from collections.abc import Iterator, Mapping
from datetime import date
from textwrap import indent
from typing import Any

from xs2a_sandbox.documents.formats import is_date
from xs2a_sandbox.documents.yaml_writer import yaml_line, yaml_text
from xs2a_sandbox.errors import Refused, StoreUnavailable
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import NOT_KEPT
from xs2a_sandbox.state import Documents
from xs2a_sandbox.state.attempts import run_transaction

COLLECTIONS = ("psus", "accounts")
"""The collections in the file. Accounts include their entries."""
_DATES = frozenset({"booked_on", "value_on", "reference_date", "quoted_on", "start", "end"})
"""The members with dates. They are written relative to the day of saving, so that the file does not become outdated."""
_BEGIN = "{{"
_LITERAL = "{{ '{{' }}"

type Changes = Mapping[str, Mapping[str, dict[str, Any]]]
"""Documents by collection and id."""


async def saved_test_data(visit: ConsoleVisit) -> Response:
    """Return the file as a download. Raises Refused."""
    if visit.names[1] != "testdata.yaml":
        text = "The console has no such page. The address of a document ends with its collection and its id."
        raise Refused(404, "path-unknown", text)
    today = date.fromisoformat((await visit.ask("GET", "clock"))["today"])
    changes = await read_changes(visit, await visit.ask("GET", "state"))
    body = write_test_data(changes, today).encode()
    disposition = ("Content-Disposition", f'attachment; filename="testdata-{visit.session}.yaml"')
    return Response(200, (*NOT_KEPT, ("Content-Type", "application/yaml; charset=utf-8"), disposition), body)


async def read_changes(visit: ConsoleVisit, state: Changes) -> Changes:
    """Read which documents of `state` the session itself has written. Raises Refused."""

    def read(documents: Documents) -> Changes:
        # The store may contain only the difference between a changed document and the test data.
        written = {name: documents.list(visit.session, name)[1] for name in COLLECTIONS}
        return {name: {id: state[name][id] for id in ids if id in state[name]} for name, ids in written.items() if ids}

    try:
        changes = await run_transaction(visit.sandbox.store, read)
    except StoreUnavailable as error:
        raise Refused(503, "busy", f"the state cannot be read right now: {error}") from None
    return {name: changed for name, changed in changes.items() if changed}


def write_test_data(changes: Changes, today: date) -> str:
    """Return the YAML, in which dates are relative to `today`."""
    lines = ["testdata: 2\n"]
    for name, documents in changes.items():
        lines.append(f"{name}:\n")
        for id, document in documents.items():
            head = yaml_text({id: None}).removesuffix(" null\n")
            lines += [indent(f"{head}\n", "  "), indent("".join(_members(_as_written(document, today))), "    ")]
    return "".join(lines)


def _members(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the YAML of each member of a document. In a list of objects, each object is one line."""
    for name, value in document.items():
        key = yaml_text({name: None}).removesuffix(" null\n")
        if _is_list_of_objects(value):
            yield f"{key}\n" + "".join(f"  - {yaml_line(item)}\n" for item in value)
        elif isinstance(value, dict) and any(map(_is_list_of_objects, value.values())):
            yield f"{key}\n" + indent("".join(_members(value)), "  ")
        else:
            yield yaml_text({name: value})


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _as_written(value: Any, today: date, name: str = "") -> Any:
    """Return the value for the file: dates are relative, and text that looks like an expression is escaped."""
    if isinstance(value, dict):
        return {name: _as_written(inner, today, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_as_written(inner, today) for inner in value]
    if not isinstance(value, str):
        return value
    if name in _DATES and is_date(value):
        return f"{{{{ today({(date.fromisoformat(value) - today).days}) }}}}"
    return value.replace(_BEGIN, _LITERAL)
