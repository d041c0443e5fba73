"""The steps that each request passes, built from the parts of the engine."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.bank import Answer, Banks, TestData
from xs2a_sandbox.cassette.call import Sign
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.config.modes import MODES
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.front_page import FrontPage
from xs2a_sandbox.control.pages import FilesStatus, Pages
from xs2a_sandbox.engine.destinations.own import (
    AddedDestination,
    AddedPages,
    ControlInterface,
    FrontPages,
    OwnPages,
    is_control,
)
from xs2a_sandbox.engine.destinations.record import Forward, Record
from xs2a_sandbox.engine.destinations.sca_page import ScaPage
from xs2a_sandbox.engine.destinations.simulate import Simulate, Spy
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.engine.holds import Holds
from xs2a_sandbox.engine.refusals import Refusals
from xs2a_sandbox.engine.route import Destination, Route, Step
from xs2a_sandbox.engine.routing import Routing, Takes
from xs2a_sandbox.engine.steps.finishing import Finishing, Seal
from xs2a_sandbox.engine.steps.holding import Holding
from xs2a_sandbox.engine.steps.journaling import Journaling, Listener, PassTime, sleep
from xs2a_sandbox.engine.steps.landing import Landing
from xs2a_sandbox.engine.steps.refusing import Refusing
from xs2a_sandbox.engine.steps.response_cache import ResponseCache
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.journal.metrics import Metrics
from xs2a_sandbox.journal.tracing import Tracing
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state import RemoteStore, Store

if TYPE_CHECKING:
    from xs2a_sandbox.control.api import ControlledSandbox
    from xs2a_sandbox.engine.destinations.compare import Compare
    from xs2a_sandbox.engine.destinations.live_comparison import LiveComparison


@dataclass(frozen=True, slots=True)
class Parts:
    """All parts of an engine.

    - `clock`: the first clock of sessions; the default session's dates count from the day when the engine `started`
    - `comparing`: set for mode compare
    - `display`: redacts exchanges in log and journal
    - `host`: the address that the sandbox listens on; `public_url`: the URL for browsers
    - `static_data`: accounts stay as they are in the test data
    - `debug_headers`: answers name their source; `prefer`: X-Sandbox-Prefer is read
    - `allow_origin`: origins whose pages may use the way to a bank
    - `seal`: signs answers, and `sign` tokens; `bank_keys` returns the public keys of the signatures, as a JWK Set
    - `pass_time`: waits for delays
    - `admin_token`: without one nobody controls the sandbox
    - `front_page`: the page at the base URL; `pages`: those that parts of a run add, by name
    - `on_exchange`: called with every exchange
    - `on_answer`: awaited with the answer to each request before it is sent
    - `holds`: the exchanges that breakpoints hold
    - `files`: when everything was read, and the mistakes found since
    """

    banks: Banks
    store: Store | RemoteStore
    testdata: TestData
    limits: Limits
    clock: Clock = REAL
    started: date | None = None
    egress: Egress = field(default_factory=Egress)
    comparing: "LiveComparison | None" = None
    display: Display | None = None
    host: str = "127.0.0.1"
    public_url: str = "http://127.0.0.1:8081"
    static_data: bool = False
    debug_headers: bool = True
    prefer: bool = True
    ca_file: Path = Path("mitmproxy-ca-cert.pem")
    journal: Journal = field(default_factory=Journal)
    metrics: Metrics = field(default_factory=Metrics)
    allow_origin: Collection[Origin] = ()
    seal: Seal | None = None
    sign: Sign | None = None
    bank_keys: Callable[[], dict[str, Any]] | None = None
    pass_time: PassTime = sleep
    admin_token: str | None = None
    front_page: FrontPage | None = None
    pages: Mapping[str, AddedPages] = field(default_factory=dict)
    on_exchange: Listener | None = None
    on_answer: Callable[[Route, Answer], Awaitable[None]] | None = None
    tracing: Tracing | None = None
    holds: Holds = field(default_factory=Holds)
    files: FilesStatus = field(default_factory=lambda: FilesStatus(REAL.now()))

    @property
    def may_be_personal(self) -> bool:
        """Whether requests or answers may contain data of real people."""
        return self.banks.are_personal or self.egress.can_forward


class Stack:
    """The steps, from the top. The control interface controls the `sandbox`."""

    def __init__(self, parts: Parts, sandbox: "ControlledSandbox") -> None:
        banks = parts.banks
        self.guard = Guard(parts.admin_token, parts.host, parts.public_url, frozenset(parts.allow_origin))
        self.transactions = Transactions(
            parts.store,
            parts.testdata,
            parts.clock,
            parts.started,
            parts.metrics,
            public_url=parts.public_url,
            is_static=parts.static_data,
            sign=parts.sign,
        )
        self.refusals = Refusals(banks.default, self.transactions)
        self.refusing = Refusing(self.refusals)
        self.landing = Landing(parts.front_page, self.guard)
        finishing = Finishing(self.refusing, self.landing, parts.seal, parts.display, parts.debug_headers)
        holding: Step = finishing
        # A remote store has no data of real people without redaction, so nothing is held that would be listed there.
        if not isinstance(parts.store, RemoteStore) or (parts.holds.are_shared and not parts.may_be_personal):
            holding = Holding(finishing, parts.holds, parts.store, self.guard, lambda edited: self.routing.find(edited))
        listeners = [*([parts.on_exchange] if parts.on_exchange else []), *plugins().collect("listeners")]
        self.journaling = Journaling(
            holding,
            lambda route, failure: finishing.finish(route, self.refusals.failure(route, failure)),
            parts.journal,
            parts.metrics,
            listeners,
            parts.tracing,
            parts.display,
            parts.pass_time,
        )
        # A remote store does not report writes by others.
        watched = None if isinstance(parts.store, RemoteStore) else parts.store
        self.cache = ResponseCache(watched, self.journaling.tell_again, varies_by_id=banks.vary_by_request_id)

        self._parts, self._simulate = parts, Simulate(self.transactions, parts.prefer)
        self.routing = Routing(
            banks,
            parts.limits,
            parts.egress.forwards if parts.egress.can_forward else None,
            Forward(parts.egress, self.guard, self.transactions),
            tuple(self._own(parts, sandbox)),
            {
                "simulate": self._simulate,
                "spy": Spy(self._simulate, parts.egress, self.guard, self.refusals),
                "record": Record(parts.egress, self.guard, self.transactions),
                **({"compare": self.compare} if any("compare" in bank.real.all_modes for bank in banks.all) else {}),
                **dict(self._added_modes(parts)),
            },
            ScaPage(self.transactions, lambda page: self.routing.at_bank(page)),
            parts.public_url,
            parts.prefer,
            parts.may_be_personal,
        )

    @cached_property
    def compare(self) -> "Compare":
        # Imported for the first comparison: most runs compare nothing, and a start need not wait for it.
        from xs2a_sandbox.engine.destinations.compare import Compare, SandboxTwin

        parts = self._parts
        sandbox = SandboxTwin(self._answer_as_twin, parts.banks, self.transactions)
        return Compare(self._simulate, sandbox, parts.egress, self.guard, parts.comparing)

    async def answer(self, request: Request) -> Response:
        """Answer the request. Raises TimeoutError if a delay is longer than any client waits."""
        route = self.routing.find(request)
        answer = await self.journaling(route)
        if self._parts.on_answer:
            await self._parts.on_answer(route, answer)
        self.cache.keep(request, answer)
        return answer.response

    async def _answer_as_twin(self, request: Request) -> Answer:
        return await self.refusing(self.routing.find(request, is_twin=True))

    def _added_modes(self, parts: Parts) -> Iterator[tuple[str, Destination]]:
        """Yield the modes of plugins.

        Raises ConfigError if one cannot be created, or has a name that the sandbox uses.
        """
        for mode in plugins().collect("modes"):
            if mode.name in MODES:
                raise ConfigError(f"a plugin adds the mode {mode.name}, but this name is already taken")
            try:
                yield mode.name, mode.make(parts, self)
            except Exception as error:
                raise ConfigError(f"the plugin's mode {mode.name} failed to load: {error}") from error

    def _own(self, parts: Parts, sandbox: "ControlledSandbox") -> Iterator[tuple[Takes, Destination]]:
        """Yield the destinations below `/_sandbox/`, each with the requests that it takes."""
        for added in parts.pages.values():
            yield added.takes, AddedDestination(self.transactions, added)
        pages = Pages(parts.ca_file, parts.store, parts.egress.recording, parts.bank_keys)
        yield pages.has, OwnPages(self.transactions, pages)
        if parts.front_page:
            yield self.landing.takes, FrontPages(self.transactions, parts.front_page)
        yield is_control, ControlInterface(self.transactions, sandbox, self.guard, parts.banks)
        for name, makes in plugins().collect_by_plugin("paths").items():
            for make in makes:
                try:
                    yield make(parts, self)
                except Exception as error:
                    raise ConfigError(f"the plugin {name} failed to add its paths: {error}") from error
