"""Examples of operations and rules: a request, and the expected answer."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.dialect.request_ids import NAME as REQUEST_ID
from xs2a_sandbox.cassette.evaluation.expressions import mismatches
from xs2a_sandbox.cassette.evaluation.values import contains, to_text
from xs2a_sandbox.cassette.matchers import Constraint
from xs2a_sandbox.cassette.model import Behaviour
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL, Pattern
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.explain.candidates import place_of
from xs2a_sandbox.explain.explanation import explain_miss
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.journal.journal import read_json
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.state.session import HEADER

if TYPE_CHECKING:
    from xs2a_sandbox.tpp.certificate import Kind

_SHOWN = 400


@dataclass(frozen=True, slots=True)
class Example:
    """An entry of `examples`. `methods`, `pattern` and `where` are those of its owner, or of the operation that it
    names; `of_customer` are the headers which show that the customer is present.
    """

    owner: Operation | Rule
    number: int
    methods: frozenset[str]
    pattern: Pattern
    where: tuple[Constraint, ...]
    request: Mapping[str, Any]
    expect: Mapping[str, Any]
    of_customer: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        document, pointer = self.owner.origin.document, self.owner.origin.pointer
        return f"{document.file}:{document.line((*pointer, 'examples', self.number))}"


def examples(interface: Interface) -> list[Example]:
    """Return all examples of the cassettes, except for those of a dialect that is silent."""
    owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    return [
        example(owner, interface, number, spec["request"], spec["expect"])
        for owner in owners
        if owner.id not in interface.silent
        for number, spec in enumerate(owner.examples)
    ]


def example(
    owner: Operation | Rule, interface: Interface, number: int, request: Mapping[str, Any], expect: Mapping[str, Any]
) -> Example:
    operation = interface.operations.get(owner.operation or "") if isinstance(owner, Rule) else owner
    own = owner if isinstance(owner, Rule) else None
    where: tuple[Constraint, ...] = own.constraints if own else ()
    if operation:
        methods, pattern, where = frozenset([operation.method]), operation.pattern, (*where, *operation.where[0])
    else:
        methods, pattern = own.methods if own else frozenset(), owner.pattern or Pattern("/", ())
    return Example(owner, number, methods, pattern, where, request, expect, headers_of_customer(interface.things))


def headers_of_customer(things: Things) -> tuple[str, ...]:
    """Return the headers, in lower case, which show that the customer is present."""
    return tuple(place.name for place in things["customer"].present if place.part == "headers")


def compose(entry: Example) -> Request:
    """Return the request, with the headers that most requests need.

    Raises ValueError if a path parameter has no value.
    """
    spec = entry.request
    sent = "body" in spec or "text" in spec
    headers: dict[str, Any] = {
        REQUEST_ID: str(uuid4()),
        **dict.fromkeys(entry.of_customer, "192.0.2.1"),
        HEADER.lower(): f"example-{uuid4().hex}",
        **({"content-type": "application/json" if "body" in spec else "text/plain; charset=utf-8"} if sent else {}),
        **{name.lower(): value for name, value in spec.get("headers", {}).items()},
    }
    path = spec["path"] if "path" in spec else _path(entry)
    query = [(name, to_text(value)) for name, value in spec.get("query", {}).items() if value is not None]
    usual = "POST" if sent else "GET"
    return Request(
        method=spec.get("method") or (usual if not entry.methods or usual in entry.methods else min(entry.methods)),
        target=f"{path}?{urlencode(query)}" if query else path,
        headers=Headers((name, to_text(value)) for name, value in headers.items() if value is not None),
        body=to_json(spec["body"]) if "body" in spec else spec.get("text", "").encode(),
        host="bank.example",
        certificates=_certificates(**_make_hashable(spec["certificate"])) if "certificate" in spec else None,
    )


def _make_hashable(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lists to tuples, so that the function's result can be cached."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in certificate.items()}


@lru_cache(64)
def _certificates(
    name: str = "My TPP",
    organisation: str = "PSDAT-FMA-123456",
    kind: "Kind" = "QWAC",
    roles: tuple[str, ...] = ("AISP", "PISP", "PIISP"),
) -> tuple[bytes]:
    """Return a client certificate with this content, in DER, from an unknown CA."""
    # Imported only when needed, because the import is slow.
    from cryptography.hazmat.primitives.serialization import Encoding

    from xs2a_sandbox.tpp import issuing, organisation_identifier
    from xs2a_sandbox.tpp.qc_statements import ROLES

    identifier, now = organisation_identifier.parse(organisation), REAL.now()
    if identifier is None:
        raise ValueError(f"{organisation} is not an organisation identifier such as PSDAT-FMA-123456")
    particulars = issuing.Particulars(
        name=name,
        organisation_identifier=organisation,
        roles=tuple(ROLES[role] for role in roles),
        authority=identifier.authority_id,
        authority_name=identifier.authority,
        country=identifier.country,
        kind=kind,
        not_before=now - timedelta(days=1),
        not_after=now + timedelta(days=47),
    )
    issued = issuing.issue(particulars, issuing.new_key("ec"), issuing.issue_ca(now))
    return (issued.public_bytes(Encoding.DER),)


def compare(expect: Mapping[str, Any], response: Response, why: str = "") -> list[str]:
    """Return the differences. The first one contains `why`, and the first one not about a header shows the answer."""
    text = response.body.decode("utf-8", "replace")[:_SHOWN]
    complaints, answer = [], f"; the answer is {text}" if text else "; the answer has no body"
    if response.status != expect["status"]:
        complaints.append(f"the status is {response.status}, not {expect['status']}{why}{answer}")
        why = answer = ""
    headers = Headers(response.headers)
    for name, expected in expect.get("headers", {}).items():
        value = headers.get(name)
        if value != (None if expected is None else to_text(expected)):
            complaints.append(f"the header {name} is {_word(value)}, not {_word(expected)}{why}")
            why = ""
    if "body" in expect and not contains(read_json(response.body), expect["body"]):
        complaints.append(f"the body does not contain {to_json(expect['body']).decode()[:_SHOWN]}{why}{answer}")
    return complaints


def _path(entry: Example) -> str:
    listed = [c for c in reversed(entry.where) if c.place.part == "where"]
    values = {c.place.name: [c.spec["equals"]] if "equals" in c.spec else c.spec.get("in", ()) for c in listed}
    values |= {name: [value] for name, value in entry.request.get("where", {}).items()}
    words = []
    for segment in entry.pattern.segments:
        if segment.kind == LITERAL:
            words.append(quote(segment.text, safe=""))
        elif value := values.get(segment.text):
            words.append(quote(to_text(value[0]), safe="/" if segment.kind == TAIL else ""))
        else:
            raise ValueError(f"the example has no value for {{{segment.text}}}; add it under where")
    return "/" + "/".join(words)


def _word(value: Any) -> str:
    return "absent" if value is None else repr(to_text(value))


@dataclass(frozen=True, slots=True)
class Trial:
    """An example and its result.

    `complaints` are the differences from the expectation; `failure` is why the answer could not be rendered;
    `mismatches` are expressions that returned null, with the reason. Without a request there is no `response` and no
    `exchange`.
    """

    entry: Example
    complaints: tuple[str, ...]
    response: Response | None = None
    exchange: LogEntry | None = None
    failure: str | None = None
    mismatches: tuple[tuple[str, str], ...] = ()


def trials(
    interface: Interface,
    schemas: Schemas,
    data: TestData,
    *,
    clock: Clock = REAL,
    static_data: bool = False,
    tried: Callable[[Example], bool] = lambda entry: True,
) -> list[Trial]:
    banks = Banks(Bank(_remove_delays(interface), schemas))
    log_entries: list[LogEntry] = []
    engine = Engine(
        Parts(banks, MemoryStore(), data, USUAL, clock, static_data=static_data, on_exchange=log_entries.append)
    )

    async def all_of_them() -> list[Trial]:
        return [await _try(engine, log_entries, entry) for entry in examples(interface) if tried(entry)]

    return asyncio.run(all_of_them())


async def _try(engine: Engine, log_entries: list[LogEntry], entry: Example) -> Trial:
    try:
        request = compose(entry)
    except ValueError as error:
        return Trial(entry, (str(error),))
    with _exceptions() as raised, mismatches() as mismatched:
        response = await engine.answer(request)
    exchange, complaints = log_entries[-1], tuple(compare(entry.expect, response))
    if complaints:
        with _exceptions():
            complaints = tuple(compare(entry.expect, response, _why(engine, entry, request, exchange)))
    # An error that a cassette returns on purpose has the name of the rule.
    failed = exchange.error == "internal" and exchange.rule is None
    reason = raised[0] if raised else response.body.decode("utf-8", "replace")
    return Trial(entry, complaints, response, exchange, reason if failed else None, tuple(mismatched))


def _why(engine: Engine, entry: Example, request: Request, exchange: LogEntry) -> str:
    """Describe what answered, and why the example's own rule did not."""
    explained, own = engine.explain(request), entry.owner.id
    if exchange.rule and (by := engine.interface.entry(exchange.rule)):
        who = f", answered by {by.id} ({place_of(by)})"
    elif explained.by:
        who = f", refused by {explained.by.candidate.entry.id} ({explained.by.candidate.place})"
    else:
        who = f": {explained.message}"
    reason = explain_miss(explained, own) if exchange.rule != own else None
    return f"{who}; {own} does not answer: {reason}" if reason else who


def _remove_delays(interface: Interface) -> Interface:
    def speed_up(behaviour: Behaviour) -> Behaviour:
        return replace(
            behaviour,
            respond=tuple(replace(answer, delay=None) for answer in behaviour.respond),
            sequence=tuple(replace(answer, delay=None) for answer in behaviour.sequence),
        )

    return replace(
        interface,
        operations={
            id: replace(operation, behaviour=speed_up(operation.behaviour))
            for id, operation in interface.operations.items()
        },
        rules=tuple(replace(rule, behaviour=speed_up(rule.behaviour)) for rule in interface.rules),
    )


@contextmanager
def _exceptions() -> Iterator[list[str]]:
    """Collect the errors that the engine would log, which are those of the cassettes here."""
    raised: list[str] = []

    class WarningHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                raised.append(str(record.exc_info[1]))

    log, handler = logging.getLogger("xs2a_sandbox"), WarningHandler()
    propagated = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield raised
    finally:
        log.propagate = propagated
        log.removeHandler(handler)
