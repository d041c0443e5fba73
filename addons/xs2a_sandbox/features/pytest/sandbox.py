"""A sandbox in the process of a test: a bank for one test, called without a socket and controlled without a token."""

import json
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from msgspec import structs

from xs2a_sandbox.bank import Bank, Banks, TestData, loading
from xs2a_sandbox.bank.domain.signing import Family
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.sca_pages import PAGES
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.addressing import address, put
from xs2a_sandbox.cassette.dialect import layer_files, layers
from xs2a_sandbox.cassette.dialect.request_ids import NAME as REQUEST_ID
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.rule_text import read_rules
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.doors.door import Application
from xs2a_sandbox.engine import Engine, Parts, build, redacting
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.callbacks.delivery import Delivery
from xs2a_sandbox.features.pytest.bank_data import BankData
from xs2a_sandbox.features.pytest.calls import Calls, is_unmatched
from xs2a_sandbox.features.pytest.controls import Controls
from xs2a_sandbox.features.pytest.in_process import PATIENCE, LoopThread, ask
from xs2a_sandbox.http import Headers, Request, Response, own_path, to_json
from xs2a_sandbox.journal.assertions import messages
from xs2a_sandbox.journal.journal import Journal, read_json
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import Document, MemoryStore, Store
from xs2a_sandbox.state.session import PREFIX


@dataclass(frozen=True, slots=True, repr=False)
class Blueprint:
    """`layers` are the cassettes from which `interface` was made."""

    settings: Settings
    layers: Sequence[Sequence[Cassette]]
    interface: Interface
    schemas: Schemas
    testdata: TestData

    @classmethod
    def read(cls, settings: Settings) -> "Blueprint":
        """Read the files of the settings. Raises UserMistake with all mistakes in all files."""
        files = loading.read(settings)
        interface, testdata = files.require_all()
        return cls(settings, layer_files.cassettes(files.layers, files.schemas), interface, files.schemas, testdata)

    def extend(self, more: Sequence[Sequence[Cassette]]) -> Interface:
        """Return the interface with more layers over those of the files. Raises Unreadable."""
        return layers.read([*self.layers, *more], self.schemas, collect_handlers())

    def with_recording(self, recorded: Path) -> "Blueprint":
        """Return the blueprint with the rules of a recording over all others. Raises Unreadable."""
        layer = layer_files.cassettes([[recorded]], self.schemas)
        return replace(self, layers=[*self.layers, *layer], interface=self.extend(layer))

    def egress(self, to: Path) -> Egress:
        """Return a way to the bank of the settings, with a new recording of its traffic. Raises ConfigError."""
        settings, banks = replace(self.settings, to=to), self._banks(self.interface)
        return build.egress_of(settings, banks, redacting.redactor_of(settings, banks), redact=True)

    def _banks(self, interface: Interface) -> Banks:
        settings = self.settings
        real = settings.real_banks()[-1]
        replay = redacting.replay_of(settings, interface, self.schemas, real)
        return Banks(Bank(interface, self.schemas, real, base_path=settings.base_path, replay=replay))

    def engine(self, interface: Interface, store: Store, journal: Journal, **options: Any) -> Engine:
        """Return an engine with these files. `options` are further parts."""
        settings = self.settings
        parts = Parts(
            self._banks(interface),
            store,
            self.testdata,
            USUAL,
            settings.clock,
            public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
            static_data=settings.static_data,
            ca_file=settings.confdir / build.CA_FILE,
            journal=journal,
        )
        return Engine(replace(parts, **options))


if TYPE_CHECKING:
    import httpx
    import requests

    from xs2a_sandbox.features.pytest.httpx_transport import HttpxTransport
    from xs2a_sandbox.features.pytest.intercept import Interception
    from xs2a_sandbox.features.pytest.requests_adapter import RequestsAdapter

BASE_URL = "https://bank.example"
NO_BODY: Any = object()


@dataclass(frozen=True, slots=True, repr=False)
class SandboxResponse:
    """The answer of `Sandbox.request`. `fault` is the fault that a door would apply to the connection."""

    status: int
    headers: Headers
    body: bytes
    fault: str | None = None

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Parse the body. Raises ValueError if it is not JSON."""
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<SandboxResponse {self.status} {self.text[:200]}>"


class Sandbox(Controls):
    """A bank with its own state, clock, rules and journal, separate from other sandboxes.

    Files that added rules name are in `directory`. With `virtual_time`, delays of rules take no time: the bank's clock
    moves instead, and a client with a shorter time limit gets its timeout at once. A real bank is asked over the
    `egress`.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        loop: LoopThread,
        directory: Path | None = None,
        *,
        virtual_time: bool = False,
        egress: Egress | None = None,
    ) -> None:
        super().__init__(self._control, self._start_authorisation)
        self._blueprint = blueprint
        self._loop = loop
        self._directory = directory or Path()
        self._store = MemoryStore()
        self._journal = Journal()
        self._added: list[list[Cassette]] = []
        self._required: list[str] = []
        self._log: list[LogEntry] = []
        self._token = secrets.token_urlsafe(16)
        self._options: dict[str, Any] = {"pass_time": self._pass_time} if virtual_time else {}
        if egress:
            self._options["egress"] = egress
        self._owed = 0.0
        """The fraction of a second by which the clock has still to be moved."""
        self._delivery = Delivery(lambda: self._engine)
        self._engine = self._engine_of(blueprint.interface)
        self.base_url = BASE_URL + blueprint.settings.base_path
        self.journal = Calls(self._journal)
        self.testdata = BankData(blueprint.testdata, blueprint.settings.clock.today())

    async def answer(self, request: Request) -> Response:
        return await self._engine.answer(request)

    # -- clients

    @property
    def transport(self) -> "HttpxTransport":
        """A transport for httpx, sync and async. Raises UserMistake if httpx is not installed."""
        return httpx_transport(self.answer, self._loop)

    def client(self, **options: Any) -> "httpx.Client":
        """Return a client of httpx whose requests are all sent here."""
        transport = self.transport
        import httpx

        return httpx.Client(**{"transport": transport, "base_url": self.base_url, **options})

    def async_client(self, **options: Any) -> "httpx.AsyncClient":
        transport = self.transport
        import httpx

        return httpx.AsyncClient(**{"transport": transport, "base_url": self.base_url, **options})

    def mount(self, session: "requests.Session") -> "requests.Session":
        """Send every request of this session to this sandbox from now on."""
        adapter = requests_adapter(self.answer, self._loop)
        session.adapters.clear()  # an adapter with a longer prefix would win
        session.mount("https://", adapter)
        session.mount("http://", adapter)
        return session

    def session(self) -> "requests.Session":
        """Return a mounted session of requests. Raises UserMistake if requests is not installed."""
        requests_adapter(self.answer, self._loop)
        import requests

        return self.mount(requests.Session())

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = NO_BODY,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
        query: Mapping[str, Any] | None = None,
        consent: str | None = None,
    ) -> SandboxResponse:
        """Send a request. The id in `consent` is put where the dialect expects it.

        A request id and the customer's IP address are added unless `headers` contain them. None there leaves a header
        out.
        """
        usual = self._usual_headers()
        if json is not NO_BODY:
            usual["Content-Type"] = "application/json"
            body = to_json(json)
        own = {name.lower() for name in headers or ()}
        fields = {**{n: v for n, v in usual.items() if n.lower() not in own}, **(headers or {})}
        parameters = urlencode({name: to_text(value) for name, value in (query or {}).items() if value is not None})
        request = Request(
            method=method,
            target=f"{path}{'&' if '?' in path else '?'}{parameters}" if parameters else path,
            headers=Headers((name, value) for name, value in fields.items() if value is not None),
            body=body,
            host="bank.example",
            scheme="https",
        )
        if consent is not None:
            request = self._with_consent(request, consent, own)
        response = self._loop.run(ask(self.answer, request))
        return SandboxResponse(response.status, Headers(response.headers), response.body, response.fault)

    def _usual_headers(self) -> dict[str, str]:
        """Return the headers that most requests need."""
        present = self._engine.interface.things["customer"].present
        names = [header_name(place.name) for place in present if place.part == "headers"]
        return {header_name(REQUEST_ID): str(uuid4()), **dict.fromkeys(names, "192.0.2.1")}

    def _with_consent(self, request: Request, consent: str, own: Collection[str]) -> Request:
        """Return the request with the consent, unless one of its `own` headers names one."""
        places = [place for place in self._engine.interface.things["consent"].sent if place.part != "path"]
        if not places:
            raise UserMistake("in this dialect the consent id is part of the path: put it there, and remove consent=")
        return request if places[0].part == "headers" and places[0].name in own else put(request, places[0], consent)

    @contextmanager
    def intercept(self) -> Iterator["Interception"]:
        """Answer all HTTP clients in this process, and block HTTP to other hosts, within the context.

        Connections to this machine and other protocols are not affected. If nested, the innermost one answers.
        """
        from xs2a_sandbox.features.pytest.intercept import Interception

        with Interception(
            self.answer, lambda *refusal: self._engine.report_refusal(*refusal), self._loop
        ) as interception:
            yield interception

    # -- control

    def add_rule(self, *rules: Mapping[str, Any] | str, optional: bool = False) -> list[str]:
        """Add rules in the form of cassettes, as mappings or YAML text, above all others, and return their ids.

        They are expected to be hit, unless they are `optional`.

        Raises:
            Unreadable: with every mistake and its line; no rule is added then.
        """
        first = sum(map(len, self._added)) + 1
        layer = [
            read_rules(rule, self._directory / f"<rule {number}>", self._blueprint.schemas, f"added-{number}")
            for number, rule in enumerate(rules, first)
        ]
        extended = self._blueprint.extend([*self._added, layer])
        self._engine = self._engine_of(extended)
        self._added.append(layer)
        ids = [rule.id for cassette in layer for rule in cassette.rules]
        self._required += () if optional else ids
        return ids

    @property
    def unused_rules(self) -> list[str]:
        """The ids of added rules that have not been hit, without optional ones."""
        hit = {id for exchange in self._log if not exchange.cause for id in (exchange.rule, *exchange.amended)}
        return [id for id in dict.fromkeys(self._required) if id not in hit]

    @property
    def unmatched(self) -> list[LogEntry]:
        """The requests that no rule and no operation matched, oldest first."""
        return list(filter(is_unmatched, self._log))

    @property
    def asked(self) -> list[LogEntry]:
        """All requests to the bank, oldest first, including those cleared from the journal."""
        return [exchange for exchange in self._log if not (exchange.cause or own_path.is_own(exchange.path))]

    def __repr__(self) -> str:
        return f"<Sandbox {len(self._journal)} exchanges, {sum(map(len, self._added))} rules added>"

    def _engine_of(self, interface: Interface) -> Engine:
        options = {**self._options, "admin_token": self._token, "on_exchange": self._log.append}
        if interface.callbacks:
            options["on_answer"] = self._delivery.on_answer
        return self._blueprint.engine(interface, self._store, self._journal, **options)

    async def _pass_time(self, seconds: float, session: str) -> None:
        """Move the bank's clock by the delay, or by the time that the client waits.

        Raises TimeoutError if that is shorter.
        """
        patience = PATIENCE.get()
        whole, self._owed = divmod(self._owed + (seconds if patience is None else min(seconds, patience)), 1)
        if whole:
            headers = Headers([("Authorization", f"Bearer {self._token}")])
            target = f"/{PREFIX}/{session}/_sandbox/clock"
            await self._engine.control(Request("POST", target, headers, to_json({"move": int(whole)})))
        if patience is not None and seconds > patience:
            raise TimeoutError

    def _control(self, method: str, path: tuple[str, ...], body: Any = None) -> Any:
        target = "/_sandbox/" + "/".join(quote(part, safe="") for part in path)
        headers = Headers([("Authorization", f"Bearer {self._token}")])
        request = Request(method, target, headers, b"" if body is None else to_json(body))
        response = self._loop.run(ask(self.answer, request))
        value: Any = json.loads(response.body) if response.body else None
        if response.status >= 300:
            raise UserMistake(value["message"])
        return value

    def _start_authorisation(self, family: Family, id: str, document: Document) -> None:
        """Start an authorisation by the bank's own operation, or open its page if there is none. Raises UserMistake.

        It is not a request of the app, so it is not in the journal.
        """
        interface = self._engine.interface
        request = self._starting_request(family, id, document)
        if request is None:
            return
        aside = self._blueprint.engine(interface, self._store, Journal())
        response = self._loop.run(aside.answer(request))
        # A page shows errors to the customer in HTML.
        if response.status >= 300:
            said = messages(read_json(response.body)) if request.method == "POST" else ()
            raise UserMistake(": ".join([f"the bank does not start an authorisation of {id}", *said]))

    def _starting_request(self, family: Family, id: str, document: Document) -> Request | None:
        interface = self._engine.interface
        values = {name: value for name, value in document.items() if isinstance(value, str)}
        thing = "payment" if family.name == "cancellation" else family.name
        for operation in interface.operations.values():
            if operation.does == Act("create", "authorisation", family.name):
                request = address(operation, interface.things, {thing: id}, values)
                if request is not None:
                    target = self._blueprint.settings.base_path + request.target
                    headers = Headers((*self._usual_headers().items(), *request.headers))
                    return structs.replace(request, target=target, headers=headers)
        authorised = interface.authorisation.of.get(family.name)
        if authorised is None or authorised.page is None:
            return None
        return Request("GET", f"/{PAGES}/{authorised.page.fill(id, document)}", Headers([]))


def httpx_transport(answer: Application, loop: LoopThread) -> "HttpxTransport":
    """Return a transport for `httpx.Client` and `httpx.AsyncClient`. Raises UserMistake without httpx."""
    with _install("httpx"):
        from xs2a_sandbox.features.pytest.httpx_transport import HttpxTransport
    return HttpxTransport(answer, loop)


def requests_adapter(answer: Application, loop: LoopThread) -> "RequestsAdapter":
    """Return the adapter for `requests.Session().mount("https://", …)`. Raises UserMistake without requests."""
    with _install("requests"):
        from xs2a_sandbox.features.pytest.requests_adapter import RequestsAdapter
    return RequestsAdapter(answer, loop)


@contextmanager
def _install(package: str) -> Iterator[None]:
    """Convert the ImportError of a missing client library to UserMistake."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in (package, "urllib3", "httpcore"):
            raise
        text = f"{package} is not installed here: install it where the tests run, or use another client"
        raise UserMistake(text) from None
