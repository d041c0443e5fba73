"""A session of the bundled bank at a given time, as a client, a payment user and a tester see it."""

import asyncio
import json as jsonlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from tests.contract import bodies
from tests.support.admin import TOKEN, governed
from tests.support.engine_client import NO_BODY, Answer
from xs2a_sandbox.clock import BANK_ZONE, Clock, read_time
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.state import Store

APART = {"TPP-Explicit-Authorisation-Preferred": "true"}
REDIRECT = {"TPP-Redirect-Preferred": "true"}
EMBEDDED = {"TPP-Redirect-Preferred": "false"}
DECOUPLED = {"TPP-Decoupled-Preferred": "true"}
REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"

_LOOP = asyncio.new_event_loop()


@dataclass(frozen=True, slots=True)
class Thing:
    """A resource that can be authorised. `link` is the link to its page."""

    kind: str
    path: str
    link: str | None = None

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]


def an_engine_at(time: str, store: Store | None = None, **options: Any) -> Engine:
    """Return an engine whose sessions start at this time, in the bank's time zone by default, with a frozen clock."""
    return governed(store=store, clock=Clock(frozen=read_time(time)), **options)


@dataclass
class TimedBank:
    engine: Engine
    session: str = "default"
    now: datetime = field(init=False)
    log: list[tuple[str, str, int]] = field(default_factory=list)
    _watcher: str | None = None

    def __post_init__(self) -> None:
        self.now = datetime.fromisoformat(self.control("GET", "clock").json()["now"])

    # -- requests

    def ask(
        self,
        method: str,
        target: str,
        *,
        json: Any = NO_BODY,
        headers: Mapping[str, str | None] | None = None,
        consent: str | None = None,
        door: Door = "process",
    ) -> Answer:
        """Send a request. `headers` change the default ones; None removes one."""
        fields: dict[str, str | None] = {
            "X-Request-ID": REQUEST_ID,
            "PSU-IP-Address": "192.0.2.7",
            "X-Sandbox-Session": self.session,
            "Consent-ID": consent,
            **(headers or {}),
        }
        body = b"" if json is NO_BODY else jsonlib.dumps(json).encode()
        pairs = [(name, value) for name, value in fields.items() if value is not None]
        request = Request(method, target, Headers(pairs), body, host="bank.example", door=door)
        response = _LOOP.run_until_complete(self.engine.answer(request))
        assert isinstance(response, Response)
        self.log.append((method, target, response.status))
        return Answer(response.status, {n.lower(): v for n, v in response.headers}, response.body)

    def get(self, target: str, **options: Any) -> Any:
        """Return the body of an answer with status 200."""
        answer = self.ask("GET", target, **options)
        assert answer.status == 200, (target, answer.status, answer.body)
        return answer.json()

    def control(self, method: str, path: str, json: Any = NO_BODY) -> Answer:
        return self.ask(method, f"/_sandbox/{path}", json=json, headers={"Authorization": f"Bearer {TOKEN}"})

    # -- the time

    def at(self, time: str | datetime, **more: Any) -> "TimedBank":
        """Freeze the clock at this time, optionally with a `seed`."""
        moment = read_time(time) if isinstance(time, str) else time
        return self._set("PUT", {"frozen": moment.isoformat(), **more})

    def run(self, seconds: int) -> "TimedBank":
        """Let the clock run with this shift from the real time."""
        return self._set("PUT", {"shift": seconds})

    def move(self, seconds: int) -> "TimedBank":
        """Move the clock. A running clock keeps running; a frozen one stays frozen."""
        return self._set("POST", {"move": seconds})

    def _set(self, method: str, body: Mapping[str, Any]) -> "TimedBank":
        answer = self.control(method, "clock", body)
        assert answer.status == 200, answer.body
        self.now = datetime.fromisoformat(answer.json()["now"])
        return self

    def wait(self, **by: int) -> "TimedBank":
        """Let this time pass in real hours, also on days with a clock change."""
        return self.at((self.now.astimezone(UTC) + timedelta(**by)).astimezone(BANK_ZONE))

    def day(self, days: int = 0) -> str:
        return (self.now.astimezone(BANK_ZONE).date() + timedelta(days=days)).isoformat()

    # -- creation

    def payment(self, debtor: str, product: str = bodies.SEPA, *, wishes: Any = APART, **changes: Any) -> Thing:
        body = bodies.payment(product, **{"debtor": debtor, "amount": "12.50", **changes})
        answer = self.ask("POST", f"/v1/{product}", json=body, headers=wishes)
        assert answer.status == 200, answer.body
        links = answer.json()["_Left"]
        return Thing("payment", links["self"]["href"], _local(links["scaRedirect"]["href"]))

    def consent(self, *ibans: str, wishes: Any = APART, **changes: Any) -> Thing:
        """Create a consent, by default for all accounts."""
        body = bodies.consent(*ibans, **{"validUntil": "9999-12-31", **changes})
        answer = self.ask("POST", "/v1/consents", json=body, headers=wishes)
        assert answer.status == 200, answer.body
        links = answer.json()["_links"]
        return Thing("consent", links["self"]["href"], _local(links["scaRedirect"]["href"]))

    def basket(self, *members: Thing) -> Thing:
        ids: dict[str, list[str]] = {}
        for member in members:
            ids.setdefault(f"{member.kind}Ids", []).append(member.id)
        answer = self.ask("POST", "/v1/signing-baskets", json=ids)
        assert answer.status == 201, answer.body
        return Thing("basket", answer.json()["_links"]["self"]["href"])

    def cancellation(self, payment: Thing) -> Thing:
        """Delete a payment that needs an authorised cancellation (202)."""
        answer = self.ask("DELETE", payment.path)
        assert answer.status == 202, answer.body
        return Thing("cancellation", payment.path)

    def delete(self, thing: Thing) -> int:
        return self.ask("DELETE", thing.path).status

    # -- authorisation

    def start(self, thing: Thing, psu: str | None = None, wishes: Mapping[str, str] = REDIRECT) -> Answer:
        family = "cancellation-authorisations" if thing.kind == "cancellation" else "authorisations"
        return self.ask("POST", f"{thing.path}/{family}", headers={"PSU-ID": psu, **wishes})

    def begin(self, thing: Thing, psu: str | None = None, wishes: Mapping[str, str] = REDIRECT) -> str:
        """Start an authorisation, and return its path."""
        answer = self.start(thing, psu, wishes)
        assert answer.status == 201, answer.body
        return answer.headers["location"]

    def decide(self, authorisation: str, decision: str = "approve") -> Answer:
        """Decide through the control interface."""
        return self.control("POST", f"sca/{authorisation.rpartition('/')[2]}", {"decide": decision})

    def sign(self, thing: Thing, *psus: str) -> str:
        """Return the status in the answer to the last decision."""
        status = ""
        for psu in psus:
            answer = self.decide(self.begin(thing, psu))
            assert answer.status == 200, answer.body
            status = answer.json()["resourceStatus"]
        return status

    def open(self, link: str, **more: str) -> Answer:
        """Return the page as a browser gets it."""
        return self.ask("GET", link + "".join(f"&{name}={value}" for name, value in more.items()), door="direct")

    # -- reading

    def status(self, thing: Thing) -> str:
        value = self.get(f"{thing.path}/status")
        return str(value["consentStatus" if thing.kind == "consent" else "transactionStatus"])

    def sca(self, authorisation: str) -> str:
        return str(self.get(authorisation)["scaStatus"])

    def listed(self, thing: Thing) -> list[str]:
        """Return the ids of its authorisations."""
        family = "cancellation-authorisations" if thing.kind == "cancellation" else "authorisations"
        return list(self.get(f"{thing.path}/{family}")["authorisationIds"])

    def kept(self, collection: str, id: str | None = None) -> Any:
        """Return the document that the control interface shows."""
        answer = self.control("GET", f"state/{collection}" + (f"/{id}" if id else ""))
        assert answer.status == 200, answer.body
        return answer.json()

    def balances(self, iban: str) -> dict[str, Any]:
        """Return balances by type."""
        balances_listed = self.get(f"/v1/accounts/{iban}/balances", consent=self.watcher)["balances"]
        return {balance["balanceType"]: balance for balance in balances_listed}

    def amount(self, iban: str, kind: str = "interimAvailable") -> str:
        return str(self.balances(iban)[kind]["balanceAmount"]["amount"])

    def entries(self, iban: str, kind: str = "booked", **query: str) -> list[Mapping[str, Any]]:
        filters = "".join(f"&{name}={value}" for name, value in query.items())
        path = f"/v1/accounts/{iban}/transactions?bookingStatus={kind}{filters}"
        return list(self.get(path, consent=self.watcher)["transactions"][kind] or [])

    @property
    def watcher(self) -> str:
        """Return the id of a consent for all accounts. It is created on first use."""
        if self._watcher is None:
            self._watcher = self.consent(recurringIndicator=False).id
        return self._watcher


def _local(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"
