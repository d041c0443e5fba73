"""A report as a single page without external fonts, images or network access; a script is only used for searching."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from xs2a_sandbox.compare.difference import SEVERITIES, Severity
from xs2a_sandbox.compare.reports.report import NOT_SHOWN, ComparedExchange, Report, as_json, make_printable, refusal
from xs2a_sandbox.documents.html_templates import environment
from xs2a_sandbox.documents.json_pointer import Pointer
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.exchange import Exchange

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_AROUND = 3
"""The number of lines shown before and after one that differs."""
_MOST_LINES = 400
_MAX_DEPTH = 100


class Line(NamedTuple):
    """A line of an answer. `mark` is the severity of its difference; `skip` means that lines before it are left out."""

    text: str
    mark: Severity | None = None
    skip: bool = False


class Marks(NamedTuple):
    """The `places` to highlight, with their severity, and the places whose `whole` content is highlighted."""

    places: dict[Pointer, Severity]
    whole: set[Pointer]


def write(report: Report) -> str:
    exchanges = [
        {
            "shown": exchange,
            "requests": _requests(report.question.against, exchange),
            "bank": _excerpt(exchange, exchange.bank, True),
            "sandbox": _excerpt(exchange, exchange.sandbox, False),
        }
        for exchange in report.exchanges
    ]
    script = (_TEMPLATES / "compare.js").read_text()
    return (
        environment(_TEMPLATES)
        .get_template("compare.html")
        .render(
            report=report,
            refusal=refusal,
            exchanges=exchanges,
            severities=SEVERITIES,
            style=(_TEMPLATES / "compare.css").read_text(),
            script=script,
            script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _requests(against: str, exchange: ComparedExchange) -> dict[str, list[str]]:
    """Return the request for each side, or only once if both got the same."""
    sides = {"Bank": exchange.bank, against.capitalize(): exchange.sandbox}
    requests = {name: list(_request(entry)) for name, entry in sides.items() if entry}
    return requests if len({tuple(lines) for lines in requests.values()}) > 1 else dict(list(requests.items())[:1])


def _request(entry: Exchange) -> Iterator[str]:
    yield make_printable(f"{entry.method} {entry.target}")
    yield from (make_printable(f"{name}: {value}") for name, value in entry.headers)
    if entry.body:
        yield ""
        yield from (line for line, _ in islice(_lines(entry.body, Marks({}, set())), _MOST_LINES))


def _excerpt(exchange: ComparedExchange, entry: Exchange | None, of_bank: bool) -> list[Line]:
    """Return the lines around those that differ."""
    if entry is None or not exchange.findings:
        return []
    marks = Marks({}, set())
    for finding in reversed(exchange.findings):  # the most severe last, so that it wins
        pointer = finding.bank_pointer if of_bank else finding.pointer
        if pointer is not None:
            place = tuple(map(str, pointer))
            marks.places[place] = finding.severity
            if finding.kind not in ("order", "length"):
                marks.whole.add(place)
    lines = [*_head(exchange, entry), *_lines(entry.answer_body, marks)]
    near = {
        n for position, (_, mark) in enumerate(lines) if mark for n in range(position - _AROUND, position + _AROUND + 1)
    }
    chosen = [n for n in range(len(lines)) if n in near or len(lines) <= 4 * _AROUND][:_MOST_LINES]
    excerpt = [Line(*lines[position], position != previous + 1) for previous, position in pairwise([-1, *chosen])]
    if chosen and chosen[-1] != len(lines) - 1:
        excerpt.append(Line("", None, True))
    return excerpt


def _head(exchange: ComparedExchange, entry: Exchange) -> Iterator[tuple[str, Severity | None]]:
    """Yield the status, and the headers that differ."""
    severities = {finding.header.lower(): finding.severity for finding in exchange.findings if finding.header}
    status = next((finding.severity for finding in exchange.findings if finding.kind == "status"), None)
    yield f"HTTP {entry.status}", status
    for name, value in entry.answer_headers:
        if severity := severities.get(name.lower()):
            yield make_printable(f"{name}: {value}"), severity


def _lines(body: bytes, marks: Marks) -> Iterator[tuple[str, Severity | None]]:
    read = content.read(body)
    if read.kind != "json":
        text = make_printable(read.value) if read.kind == "text" else f"({len(body)} bytes)"
        for line in text.splitlines()[:_MOST_LINES]:
            yield line, marks.places.get(())
        return
    yield from _value(read.value, (), "", "", marks)


def _value(
    value: Any, place: Pointer, before: str, after: str, marks: Marks, above: Severity | None = None
) -> Iterator[tuple[str, Severity | None]]:
    mark = marks.places.get(place) or above
    below_it = mark if above or place in marks.whole else None
    indent = "  " * len(place)
    if not isinstance(value, dict | list) or not value:
        yield f"{indent}{before}{as_json(value)}{after}", mark
        return
    if len(place) > _MAX_DEPTH:
        yield f"{indent}{before}{NOT_SHOWN}{after}", mark
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{before}{opening}", mark
    inner = list(value.items() if isinstance(value, dict) else enumerate(value))
    for number, (step, below) in enumerate(inner):
        name = f"{as_json(step)}: " if isinstance(value, dict) else ""
        yield from _value(below, (*place, str(step)), name, "," if number < len(inner) - 1 else "", marks, below_it)
    yield f"{indent}{closing}{after}", mark
