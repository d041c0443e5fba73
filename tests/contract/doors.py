"""A client for all doors of the sandbox."""

import asyncio
import json as jsonlib
import re
import ssl
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import httpcore
import httpx

from tests.contract.answers import check_answer
from xs2a_sandbox.http import Headers, Request

BANK = "xs2a.bank.example"
"""A host name that does not exist."""

MITMPROXY = "mitmproxy-"
LANE = ("proxy", "tls-proxy", "tls")
WIRES = (*LANE, *(f"{MITMPROXY}{door}" for door in LANE), "direct")
"""Ways to the sandbox. The proxy and the TLS port exist twice: with and without mitmproxy."""

DOORS = (*WIRES, "process")
_NOTHING = object()

type Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes

    def json(self) -> Any:
        return jsonlib.loads(self.body)

    @property
    def error(self) -> Mapping[str, Any]:
        """Return the only message of an error."""
        (message,) = self.json()["tppMessages"]
        return message


class Send(Protocol):
    def __call__(self, method: str, target: str, headers: Pairs, body: bytes, *, user: str | None = None) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Bank:
    """One session of the sandbox behind one door."""

    door: str
    send: Send
    session: str | None
    addresses: Any
    prefix: str = ""
    defaults: Mapping[str, str] = field(default_factory=lambda: {"PSU-IP-Address": "192.0.2.7"})

    def request(
        self,
        method: str,
        path: str,
        *,
        consent: str | None = None,
        headers: Mapping[str, str | None] | Iterable[tuple[str, str]] = (),
        json: Any = _NOTHING,
        content: bytes | None = None,
        query: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        user: str | None = None,
        check: bool = True,
    ) -> Answer:
        """Send a request.

        A mapping of `headers` replaces default headers (None removes one); pairs are added to them.
        """
        usual: dict[str, str | None] = {
            "X-Request-ID": str(uuid.uuid4()),
            "X-Sandbox-Session": self.session,
            **self.defaults,
        }
        if json is not _NOTHING:
            content = jsonlib.dumps(json).encode()
        if content is not None:
            usual["Content-Type"] = "application/json"
        if consent is not None:
            usual["Consent-ID"] = consent
        extra: list[tuple[str, str]] = []
        if isinstance(headers, Mapping):
            usual.update(headers)
        else:
            extra = list(headers)
        pairs = [(name, value) for name, value in usual.items() if value is not None] + extra
        target = self.prefix + path + (f"?{urlencode(query)}" if query else "")
        answer = self.send(method, target, pairs, content or b"", user=user)
        if check:
            check_answer(answer, method, [value for name, value in pairs if name.lower() == "x-request-id"])
        return answer

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Answer:
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> Answer:
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.request("DELETE", path, **options)

    def page(self, href: str, **query: str) -> Answer:
        """Open the absolute link like a browser that uses this door, with `query` added."""
        parts = urlsplit(href)
        more = urlencode(query)
        target = f"{parts.path}?{parts.query}{'&' if more else ''}{more}"
        return self.send("GET", target, [("Accept", "text/html")], b"")


def place(bank: Bank, path: str) -> str:
    """Return the target of a request through this door as a client writes it."""
    door = bank.door.removeprefix(MITMPROXY)
    own = {"direct": bank.addresses.direct, "tls": bank.addresses.tls, "proxy": f"http://{BANK}"}
    return own.get(door, f"https://{BANK}") + path


class Wire:
    """A keep-alive client for one door. It uses httpcore, because httpx normalises paths."""

    def __init__(self, base: str, *, proxy: str | None = None, trust: ssl.SSLContext | None = None) -> None:
        scheme, host, port = re.fullmatch(r"(https?)://([^:/]+)(?::(\d+))?", base).groups()  # type: ignore[union-attr]
        self._origin = (scheme.encode(), host.encode(), int(port) if port else None)
        self._proxy = proxy
        self._trust = trust
        self._pools: dict[str | None, httpcore.ConnectionPool] = {}

    def __call__(self, method: str, target: str, headers: Pairs, body: bytes, *, user: str | None = None) -> Answer:
        pool = self._pools.get(user) or self._open(user)
        response = pool.request(
            method,
            httpcore.URL(scheme=self._origin[0], host=self._origin[1], port=self._origin[2], target=target.encode()),
            headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
            content=body or None,
            extensions={"timeout": {"connect": 10, "read": 20, "write": 20, "pool": 10}},
        )
        return Answer(response.status, httpx.Headers(response.headers), response.content)

    def _open(self, user: str | None) -> httpcore.ConnectionPool:
        if self._proxy:
            auth = (user.encode(), b"x") if user else None
            pool: httpcore.ConnectionPool = httpcore.HTTPProxy(self._proxy, proxy_auth=auth, ssl_context=self._trust)
        else:
            pool = httpcore.ConnectionPool(ssl_context=self._trust)
        self._pools[user] = pool
        return pool

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


class InProcess:
    """Call the engine itself in its event loop."""

    def __init__(self, answer: Callable[[Request], Any], loop: asyncio.AbstractEventLoop) -> None:
        self._answer = answer
        self._loop = loop

    def __call__(self, method: str, target: str, headers: Pairs, body: bytes, *, user: str | None = None) -> Answer:
        request = Request(method, target, Headers(headers), body, host=BANK, scheme="https", user=user)
        response = asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result(20)
        return Answer(response.status, httpx.Headers(response.headers), response.body)
