"""The whole product: a request in, the bank's answer out."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from xs2a_sandbox.bank import Bank, Outcome
from xs2a_sandbox.call import Call, Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.control import Control, is_control
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.exchange_log import Exchange
from xs2a_sandbox.guard import Guard
from xs2a_sandbox.handlers import RAISES, sca
from xs2a_sandbox.handlers.pages import Pages
from xs2a_sandbox.index import Found, Index
from xs2a_sandbox.interface import ENGINE_ERRORS, Interface
from xs2a_sandbox.messages import MAX_BODY, Headers, Request, Response, is_field_value
from xs2a_sandbox.pattern import Target, split_target
from xs2a_sandbox.sca_page import show
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.session import DEFAULT, session_name, session_time
from xs2a_sandbox.store import Collections, MemoryStore, Store, Transaction
from xs2a_sandbox.testdata import TestData

log = logging.getLogger("xs2a_sandbox")

COMMIT_TRIES = 8
MAX_HEADERS = 64 * 1024
"""Bytes of names and values."""
_RETRY_SECONDS = 0.02
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


class Engine:
    """Answers requests. It keeps no state of its own: that is the store's.

    `on_exchange` is told of every request once it is answered; `public_url` is where browsers reach our pages;
    nobody controls the sandbox before `admin_token` is set.
    """

    def __init__(
        self,
        interface: Interface,
        schemas: Schemas,
        store: Store,
        testdata: TestData,
        *,
        host: str = "127.0.0.1",
        public_url: str = "http://127.0.0.1:8081",
        hosts: Sequence[str] = (),
        base_path: str = "",
        static_data: bool = False,
        debug_headers: bool = True,
        ca_file: Path = Path("mitmproxy-ca-cert.pem"),
    ) -> None:
        self.interface = interface
        self.schemas = schemas
        self.store = store
        self.testdata = testdata
        self.public_url = public_url
        self.on_exchange: Callable[[Exchange], None] | None = None
        self.admin_token: str | None = None
        self._started = Clock().today()
        self._host = host
        self._hosts = frozenset(host.lower() for host in hosts)
        self._base = split_target(base_path).segments
        self._static = static_data
        self._debug_headers = debug_headers
        self._index = Index(interface)
        self._bank = Bank(interface, schemas, diagnose=debug_headers)
        self._pages = Pages(ca_file, self._check_ready)
        self._sca_options = {
            options["family"]: options
            for operation in interface.operations.values()
            if operation.behaviour.handler == "authorisations.start" and (options := operation.behaviour.options)
        }
        self._control = Control(store, self._begin_anew)

    async def answer(self, request: Request) -> Response:
        """Never raises, unless it is cancelled."""
        started = time.perf_counter()
        outcome = Outcome()
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

    async def _answer(self, request: Request, outcome: Outcome) -> Response:
        target = split_target(request.target)
        call: Call | None = None
        seen = False  # by the payment user, in a browser
        try:
            outcome.session, segments = session_name(request, target.segments)
            if mistake := _header_mistake(request.headers):
                request = replace(request, headers=Headers(pair for pair in request.headers if is_field_value(pair[1])))
                raise BankError("format-error", expected=mistake)
            if len(request.body) > MAX_BODY:
                raise BankError("body-too-large", limit=MAX_BODY)
            if page := self._pages.answer(request, segments):
                return page
            if is_control(request, segments):
                guard = Guard(self.admin_token, self._host, self.public_url)
                return await self._control.answer(
                    request, segments, guard, lambda: self._call(request, target, outcome)
                )
            seen = segments[:1] == (sca.PAGES,)
            found = None if seen else self._find(request, segments)
            target = Target(found.segments if found else segments, target.query)
            for attempt in range(COMMIT_TRIES):
                if attempt:
                    await asyncio.sleep(_RETRY_SECONDS * attempt)
                outcome.source, outcome.rule, outcome.delay = "sandbox", None, 0.0
                try:
                    call = self._call(request, target, outcome)
                    try:
                        response = self._bank.answer(call, found, outcome) if found else self._page(call)
                    except BankError as error:
                        if not error.keep or call.state.commit():
                            raise
                        continue
                    if (seen and request.method == "HEAD") or call.state.commit():
                        return response
                except StoreUnavailable as error:
                    log.warning("the state cannot be used: %s", error)
            call, outcome.delay = None, 0.0
            raise BankError("busy")
        except BankError as error:
            if outcome.rule is None or error.name in _OWN_ERRORS:
                outcome.source, outcome.rule = "sandbox", None
            say = self._bank.show if seen else self._bank.say
            return say(error, call or self._stateless(request, target, outcome.session))

    def _call(self, request: Request, target: Target, outcome: Outcome) -> Call:
        name = outcome.session
        transaction = Transaction(self.store, name, lambda: base())
        clock, anchor = session_time(transaction, self._started)

        def base() -> Collections:
            return self.testdata.at(anchor())

        session, sca_options = self._session(name), self._sca_options
        call = Call(request, target, session, clock, transaction, base, static=self._static, sca=sca_options)
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

    def _page(self, call: Call) -> Response:
        shown = sca.serve(call, self._sca_options)
        if isinstance(shown, Response):
            return shown
        return show(shown, self.interface.errors[shown.error.name].status) if shown.error else show(shown)

    def _failed(self, request: Request, outcome: Outcome) -> Response:
        """What went wrong is in the log."""
        outcome.delay = 0.0
        error = BankError("internal", reason="the sandbox failed on this request, its log says why")
        outcome.source, outcome.rule = "sandbox", None
        try:
            return self._bank.say(error, self._stateless(request, split_target(request.target)))
        except Exception:
            # Whatever in the request broke the answer: it has no part in this one.
            return self._bank.say(error, self._stateless(Request(request.method, "/"), split_target("/")))

    def _begin_anew(self, session: str | None) -> None:
        if session in (None, DEFAULT):
            self._started = Clock().today()

    def _check_ready(self) -> None:
        try:
            self.store.read("default", "_ready", "_ready")
        except StoreUnavailable:
            raise BankError("busy") from None
