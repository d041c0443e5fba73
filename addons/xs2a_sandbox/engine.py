"""The whole product: a request in, the bank's answer out."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from xs2a_sandbox import requirement
from xs2a_sandbox.answer import JSON, Answer, choose, render_headers, with_content_type, write
from xs2a_sandbox.call import Call, Session
from xs2a_sandbox.cassette import Behaviour, Operation, Rule
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.environment import to_text
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.exchange_log import Exchange
from xs2a_sandbox.expression import render
from xs2a_sandbox.handlers import HANDLERS, RAISES
from xs2a_sandbox.handlers.pages import Pages
from xs2a_sandbox.index import Found, Index, candidates
from xs2a_sandbox.interface import ENGINE_ERRORS, Interface
from xs2a_sandbox.messages import MAX_BODY, Headers, Request, Response, is_field_value, to_json
from xs2a_sandbox.nearest import nearest
from xs2a_sandbox.pattern import Target, split_target
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.session import DEFAULT, session_name, session_time
from xs2a_sandbox.store import Collections, MemoryStore, Store, Transaction
from xs2a_sandbox.testdata import TestData

log = logging.getLogger("xs2a_sandbox")

COMMIT_TRIES = 8
MAX_HEADERS = 64 * 1024
"""Bytes of names and values."""
_RETRY_SECONDS = 0.02
_SEQUENCES = "_sequences"


_NOTHING = Transaction(MemoryStore(), DEFAULT, dict)
_OWN_ERRORS = ENGINE_ERRORS - RAISES


def _header_mistake(headers: Headers) -> str | None:
    """What no server library refuses, but no bank would take."""
    size = 0
    for name, value in headers:
        size += len(name) + len(value)
        if not is_field_value(value):
            return f"the header {name} holds a line break, NUL or characters outside Latin-1"
    return f"the headers together must not be larger than {MAX_HEADERS} bytes" if size > MAX_HEADERS else None


class _Outcome:
    """What is known of a request by the time it is answered, for the headers and the log."""

    __slots__ = ("delay", "rule", "session", "source", "warnings")

    def __init__(self) -> None:
        self.session = DEFAULT
        self.source = "sandbox"
        self.rule: str | None = None
        self.delay = 0.0
        self.warnings: Sequence[str] = ()


class Engine:
    """Answers requests. It keeps no state of its own: that is the store's.

    `on_exchange` is told of every request once it is answered; `public_url` is where browsers reach our pages.
    """

    def __init__(
        self,
        interface: Interface,
        schemas: Schemas,
        store: Store,
        testdata: TestData,
        *,
        public_url: str = "http://127.0.0.1:8081",
        hosts: Sequence[str] = (),
        base_path: str = "",
        debug_headers: bool = True,
        ca_file: Path = Path("mitmproxy-ca-cert.pem"),
    ) -> None:
        self.interface = interface
        self.schemas = schemas
        self.store = store
        self.testdata = testdata
        self.public_url = public_url
        self.on_exchange: Callable[[Exchange], None] | None = None
        self._started = Clock().today()
        self._hosts = frozenset(host.lower() for host in hosts)
        self._base = split_target(base_path).segments
        self._debug_headers = debug_headers
        self._index = Index(interface)
        self._pages = Pages(ca_file, self._check_ready)

    async def answer(self, request: Request) -> Response:
        """Never raises, unless it is cancelled."""
        started = time.perf_counter()
        outcome = _Outcome()
        try:
            response = await self._answer(request, outcome)
        except Exception:
            log.exception("the sandbox failed on %s %s", request.method, request.target.partition("?")[0])
            response = self._failed(request, outcome)
        if request.method == "HEAD":
            response = response.without_body()
        if self._debug_headers:
            source = (("X-Sandbox-Source", outcome.source),)
            response = response.with_headers(*source, *((("X-Sandbox-Rule", outcome.rule),) if outcome.rule else ()))
        if outcome.delay:
            await asyncio.sleep(outcome.delay)
        if self.on_exchange:
            exchange = Exchange(
                session=outcome.session,
                method=request.method,
                path=request.target.partition("?")[0],
                status=response.status,
                milliseconds=(time.perf_counter() - started) * 1000,
                source=outcome.source,
                rule=outcome.rule,
                warnings=tuple(outcome.warnings),
            )
            try:
                self.on_exchange(exchange)
            except Exception:
                log.exception("the exchange could not be told of")
        return response

    async def _answer(self, request: Request, outcome: _Outcome) -> Response:
        target = split_target(request.target)
        call: Call | None = None
        try:
            outcome.session, segments = session_name(request, target.segments)
            if mistake := _header_mistake(request.headers):
                request = replace(request, headers=Headers(pair for pair in request.headers if is_field_value(pair[1])))
                raise BankError("format-error", expected=mistake)
            if len(request.body) > MAX_BODY:
                raise BankError("body-too-large", limit=MAX_BODY)
            if page := self._pages.answer(request, segments):
                return page
            found = self._find(request, segments)
            target = Target(found.segments, target.query)
            for attempt in range(COMMIT_TRIES):
                if attempt:
                    await asyncio.sleep(_RETRY_SECONDS * attempt)
                outcome.source, outcome.rule, outcome.delay = "sandbox", None, 0.0
                try:
                    call = self._call(request, target, outcome)
                    response = self._attempt(call, found, outcome)
                    if call.state.commit():
                        return response
                except StoreUnavailable as error:
                    log.warning("the state cannot be used: %s", error)
            call, outcome.delay = None, 0.0
            raise BankError("busy")
        except BankError as error:
            if outcome.rule is None or error.name in _OWN_ERRORS:
                outcome.source, outcome.rule = "sandbox", None
            return self._say(error, call or self._stateless(request, target, outcome.session))

    def _call(self, request: Request, target: Target, outcome: _Outcome) -> Call:
        name = outcome.session
        transaction = Transaction(self.store, name, lambda: base())
        clock, anchor = session_time(transaction, self._started)

        def base() -> Collections:
            return self.testdata.at(anchor())

        call = Call(request, target, self._session(name), clock, transaction, base)
        outcome.warnings = call.warnings
        return call

    def _stateless(self, request: Request, target: Target, session: str = DEFAULT) -> Call:
        """For errors that must be sayable while the store is not there."""
        return Call(request, target, self._session(session), Clock(), _NOTHING, dict)

    def _session(self, name: str) -> Session:
        return Session(name, self.public_url if name == DEFAULT else f"{self.public_url}/s/{name}")

    def _find(self, request: Request, segments: tuple[str, ...]) -> Found:
        if self._hosts and request.door == "proxy" and request.host.lower() not in self._hosts:
            banks = ", ".join(sorted(self._hosts))
            text = f"{request.host} is not the bank, only {banks} is (hosts, in xs2a-sandbox.yaml)"
            raise BankError("path-unknown", id=request.host, hint=text)
        if self._base:
            if segments[: len(self._base)] != self._base:
                text = f"every path begins with /{'/'.join(self._base)} (base_path, in xs2a-sandbox.yaml)"
                raise BankError("path-unknown", id="/" + "/".join(segments), hint=text)
            segments = segments[len(self._base) :]
        return self._index.find(request.method, segments)

    def _attempt(self, call: Call, found: Found, outcome: _Outcome) -> Response:
        operation = found.operation
        refused: BankError | None = None
        checked = False
        if operation:
            call.operation, call.path = operation.id, found.parameters
        scope = None
        for rule, parameters in candidates(found, lambda path: lambda place: call.values(place, path)):
            if rule.methods and call.request.method not in rule.methods:
                continue
            if operation and not checked and not rule.skips_requirements:
                checked, refused = True, self._refusal(operation, call)
            if refused and not rule.skips_requirements:
                continue
            if not all(c.fits(call.values(c.place, parameters)) for c in rule.constraints):
                continue
            scope = scope or call.scope()
            if rule.when and not rule.when(scope | {"path": parameters}):
                continue
            call.path = parameters
            if rule.require:
                requirement.check(rule.require, call, self.schemas)
            outcome.rule = rule.id
            return self._perform(call, rule.behaviour, operation, outcome, rule)
        if operation is None:
            raise self._unmatched(call, found)
        if not checked:
            refused = self._refusal(operation, call)
        if refused:
            raise refused
        outcome.rule = operation.id
        return self._perform(call, operation.behaviour, operation, outcome)

    def _refusal(self, operation: Operation, call: Call) -> BankError | None:
        try:
            requirement.check(operation.require, call, self.schemas)
        except BankError as error:
            return error
        return None

    def _perform(
        self, call: Call, behaviour: Behaviour, operation: Operation | None, outcome: _Outcome, rule: Rule | None = None
    ) -> Response:
        outcome.source = "handler" if behaviour.handler else "rule"
        default = operation.behaviour if operation else behaviour
        call.options = behaviour.options if behaviour.options is not None else (default.options or {})
        scope = call.scope()
        if behaviour.bank:
            raise BankError("bank-not-configured")
        answers = behaviour.respond
        if behaviour.handler:
            scope["result"] = HANDLERS[behaviour.handler](call)
            answers = answers or default.respond
        answer = self._next(call, behaviour, rule) if behaviour.sequence and rule else choose(answers, scope)
        names = behaviour.answers or default.answers or {}
        outcome.delay = answer.delay.seconds() if answer.delay else 0.0
        for effect in behaviour.effects:
            effect.apply(call.state, scope)
        try:
            return write(answer, self.interface.every_answer.headers, scope, names, self.schemas)
        except BankError as error:
            if not answer.error:
                raise
            # The cassette's own words: what they change, and their turn in a sequence, are kept.
            return self._say(error, call)

    def _next(self, call: Call, behaviour: Behaviour, rule: Rule) -> Answer:
        """The sequence's turn is counted in the transaction of the answer itself."""
        key = "|".join([rule.id, *(f"{name}={value}" for name, value in sorted(call.path.items()))])
        given = int((call.state.get(_SEQUENCES, key) or {"given": 0})["given"])
        count = len(behaviour.sequence)
        if given >= count and behaviour.on_exhausted == "fail":
            raise BankError("sequence-exhausted", id=rule.id, count=count)
        call.state.put(_SEQUENCES, key, {"given": given + 1})
        position = given % count if behaviour.on_exhausted == "restart" else min(given, count - 1)
        return behaviour.sequence[position]

    def _unmatched(self, call: Call, found: Found) -> BankError:
        if found.unfit:
            return BankError(found.unfit, id=call.self_path)
        if found.methods:
            offered = ", ".join(sorted(set(found.methods)))
            return BankError("method-not-offered", method=call.request.method, allow=offered)
        return BankError("path-unknown", id=call.self_path)

    def _say(self, error: BankError, call: Call) -> Response:
        """The error as the dialect's table says it."""
        known = self.interface.errors[error.name]
        scope = call.scope()
        scope["error"] = {
            "name": error.name,
            "status": known.status,
            "code": known.code,
            "number": known.numbers.get(call.operation or "") or known.numbers["default"],
            "text": to_text(render(known.text, {**error.values, "path": error.path})),
            "path": error.path,
        }
        every = self.interface.every_error
        body = render(every.body, scope)
        if error.name == "path-unknown" and self._debug_headers and isinstance(body, dict):
            body = {**body, "sandbox": self._diagnosis(error, call)}
        headers = render_headers((*every.headers, *known.headers, *self.interface.every_answer.headers), scope)
        if "allow" in error.values:
            headers.append(("Allow", error.values["allow"]))
        return Response(known.status, with_content_type(headers, JSON), to_json(body))

    def _diagnosis(self, error: BankError, call: Call) -> dict[str, object]:
        hint = error.values.get("hint") or "no operation and no rule has this path; these come nearest"
        return {"message": hint, "nearest": nearest(self.interface, call.request.method, call.segments)}

    def _failed(self, request: Request, outcome: _Outcome) -> Response:
        """What went wrong is in the log."""
        outcome.delay = 0.0
        error = BankError("internal", reason="the sandbox failed on this request, its log says why")
        outcome.source, outcome.rule = "sandbox", None
        try:
            return self._say(error, self._stateless(request, split_target(request.target)))
        except Exception:
            # Whatever in the request broke the answer: it has no part in this one.
            return self._say(error, self._stateless(Request(request.method, "/"), split_target("/")))

    def _check_ready(self) -> None:
        try:
            self.store.read("default", "_ready", "_ready")
        except StoreUnavailable:
            raise BankError("busy") from None
