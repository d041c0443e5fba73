"""Makes steps of a comparison from recorded exchanges, and decides which of them are sent."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.compare.comparison import Result, Step
from xs2a_sandbox.compare.identifiers import identifiers_in, names_in
from xs2a_sandbox.compare.states import Asked
from xs2a_sandbox.http import Headers, Request, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import FRAMING
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state.session import HEADER

_SENT_ANEW = FRAMING | {"accept-encoding"}


def of_entries(entries: Sequence[Exchange]) -> list[Step]:
    """Return the steps in the order of the recording, all in a new session of the sandbox."""
    session = (HEADER, f"compare-{uuid.uuid4().hex[:16]}")
    return [
        Step(
            f"recorded exchange {number}",
            Request(
                entry.method,
                entry.target,
                Headers((*(pair for pair in entry.headers if pair[0].lower() not in _SENT_ANEW), session)),
                entry.body,
                host="bank.example",
            ),
            entry,
            entry.status,
        )
        for number, entry in enumerate(entries, 1)
    ]


def replay(result: Result) -> list[Step]:
    """Return the bank's answers of this comparison as a recording, each in its session of the sandbox."""
    sides = [(compared.bank, compared.sandbox) for compared in result.compared if compared.bank and compared.sandbox]
    steps = []
    for step, (_, sandbox) in zip(of_entries([bank for bank, _ in sides]), sides, strict=True):
        session = sandbox.headers.get(HEADER)
        headers = [(name, session if name == HEADER and session else value) for name, value in step.request.headers]
        steps.append(replace(step, request=structs.replace(step.request, headers=Headers(headers))))
    return steps


def with_fields(request: Request, fields: Sequence[tuple[str, str]]) -> Request:
    """Return the request with these headers replacing its own."""
    names = {name.lower() for name, _ in fields}
    own = (pair for pair in request.headers if pair[0].lower() not in names)
    return structs.replace(request, headers=Headers((*own, *fields)))


def page_visits(steps: Sequence[Step], index: Index) -> list[Step]:
    """Return the requests of a browser for HTML pages of the bank, which are not part of the interface."""
    return [
        step
        for step in steps
        if step.recorded
        and media_type(step.recorded.answer_headers.get("content-type")) == "text/html"
        and index.find(step.request.method, split_target(step.request.target).segments).operation is None
    ]


def about_spared_writes(steps: Sequence[Step], index: Index) -> list[Step]:
    """Return the reads of resources that a recorded write created: if the write is not sent, only the bank has them."""
    made: set[str] = set()
    orphans = []
    for step in steps:
        names = set(names_in(step.request, index.interface.things))
        if _is_read(step, index):
            orphans += [step] if made & names else []
        elif step.recorded:
            made |= {
                identifier
                for identifier in identifiers_in(body.read(step.recorded.answer_body).value, index.interface.things)
                if identifier not in names
            }
    return orphans


def outdated_reads(steps: Sequence[Step], index: Index) -> list[Step]:
    """Return the reads that the recording repeats with another answer: the bank only has the last state."""
    last: dict[tuple[object, ...], Exchange] = {}
    outdated = []
    for step in reversed(steps):
        if step.recorded is None or not _is_read(step, index):
            continue
        consent = Asked.in_exchange(index, step.recorded).consent
        key = step.request.method, step.request.target, consent, step.request.body
        later = last.setdefault(key, step.recorded)
        if (later.status, later.answer_body) != (step.recorded.status, step.recorded.answer_body):
            outdated.append(step)
    return outdated


def _is_read(step: Step, index: Index) -> bool:
    lookup = index.find(step.request.method, split_target(step.request.target).segments)
    return lookup.is_read(step.request.method)
