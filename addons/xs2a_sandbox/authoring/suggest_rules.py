"""Rules that would make the sandbox agree with the bank, as cassettes to be read and taken over."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import quote, unquote

from xs2a_sandbox.compare.reports.report import ComparedExchange, Report, printable
from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.documents.yaml_writer import exactly, yaml_text
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.infer_match import ALWAYS, RecordedRequest, recorded_request, rules
from xs2a_sandbox.recording.recorded_answer import taped_answer
from xs2a_sandbox.recording.routes import slug

_MOST_SAID = 20
_LONGEST = 80
"""Differences, and characters of a value, in a comment."""


def write(report: Report, directory: Path) -> list[Path]:
    """The files that were written, one for each operation that differs. Raises ConfigError for what cannot be."""
    files = []
    for operation in report.operations:
        differing = [e for e in report.exchanges if e.operation == operation and e.findings and e.bank and e.sandbox]
        if not differing:
            continue
        bodies: dict[str, bytes] = {}
        file = directory / f"patched-{slug(operation)}.yaml"
        text = cassette(operation, differing, report.bank, bodies)
        for name, content in bodies.items():
            replace_file(directory / name, content)
        replace_file(file, text.encode())
        files.append(file)
    return files


def cassette(operation: str, exchanges: Sequence[ComparedExchange], bank: str, bodies: dict[str, bytes]) -> str:
    """Large bodies go into `bodies`, under their names relative to the cassette."""
    routes: dict[tuple[str, str], list[tuple[ComparedExchange, Exchange, Exchange]]] = {}
    for exchange in exchanges:
        if exchange.bank and exchange.sandbox:
            route = exchange.sandbox.method, _path(exchange.bank.target, exchange.sandbox.target)
            routes.setdefault(route, []).append((exchange, exchange.bank, exchange.sandbox))
    text = yaml_text({"cassette": 1, "title": f"{operation}, as {bank} answers"}) + "rules:\n"
    number = 0
    for (method, path), group in routes.items():
        answers = [taped_answer(theirs, bodies) for _, theirs, _ in group]
        requests = _requests([(theirs, ours) for _, theirs, ours in group], answers)
        for rule, positions, _ in rules({"method": method, "path": path}, requests, answers, {}):
            number += 1
            for position in positions:
                lines = (printable(line).replace("\n", " ") for line in _differences(group[position][0]))
                text += "".join(f"  # {line}\n" for line in lines)
            text += indent(yaml_text([{"id": f"patched-{slug(operation)}-{number}", **rule}]), "  ")
    return text


def _path(bank: str, sandbox: str) -> str:
    """The path of both, with parameters for segments that differ: there they call something differently."""
    mine, theirs = _segments(bank), _segments(sandbox)
    if len(mine) != len(theirs):
        mine = theirs
    pairs = enumerate(zip(mine, theirs, strict=True))
    return "/" + "/".join(
        quote(unquote(one), safe="") if one == other else f"{{id{position}}}" for position, (one, other) in pairs
    )


def _segments(target: str) -> list[str]:
    path = target.partition("?")[0]
    start = path.find("/v1/")
    return path[max(start, 0) :].strip("/").split("/") if path.strip("/") else []


def _requests(sides: Sequence[tuple[Exchange, Exchange]], answers: Sequence[Any]) -> list[RecordedRequest]:
    """The request to the sandbox, without what one of the two sides calls differently."""
    pairs = [(_request(theirs), _request(ours)) for theirs, ours in sides]
    differing = {
        place
        for one, other in pairs
        for place in one.places.keys() | other.places.keys()
        if one.places.get(place) != other.places.get(place)
    }
    return [
        replace(
            request,
            places={place: values for place, values in request.places.items() if place not in differing},
            answer=exactly(answer),
        )
        for (_, request), answer in zip(pairs, answers, strict=True)
    ]


def _request(entry: Exchange) -> RecordedRequest:
    """The request without what no app sends as it stands here: the body and other headers hold pseudonyms."""
    consent = [pair for pair in entry.headers if pair[0].lower() in ALWAYS]
    return recorded_request(0, {}, entry.target, Headers(consent), b"", answer="")


def _differences(exchange: ComparedExchange) -> Iterator[str]:
    yield exchange.request
    for finding in exchange.findings[:_MOST_SAID]:
        where = finding.where or "the body"
        bank, sandbox = (text[:_LONGEST] for text in (finding.bank, finding.sandbox))
        yield f"{finding.severity} {finding.kind} at {where}: bank {bank}, sandbox {sandbox}"
    if (more := len(exchange.findings) - _MOST_SAID) > 0:
        yield f"and {more} more"
