"""Learn a dialect from exchanges that a test writes, and send requests to it."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx

from tests.support.taping import START
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.rehearsal import read_dialect
from xs2a_sandbox.features.derive.unknown.learned_dialect import learn_dialect
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.state import MemoryStore


def learn_text(exchanges: Iterable[Exchange]) -> str:
    entries = tuple(exchanges)
    places = tuple(f"tape, exchange {number}" for number in range(1, len(entries) + 1))
    return learn_dialect("mine", Tape(Path("tape"), entries, (None,) * len(entries), places), SCHEMAS).text


class LearnedApp:
    """An app of the bank that the dialect in `text` answers for, at `now`."""

    def __init__(self, text: str, now: datetime = START) -> None:
        bank = Banks(Bank(read_dialect(text, SCHEMAS), SCHEMAS))
        self._engine = Engine(Parts(bank, MemoryStore(), TestData({}, ()), USUAL, Clock(frozen=now), admin_token="t"))

    def send(self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Return the status and the document of the answer."""
        response = self.answer(method, target, body, headers)
        return response.status, json.loads(response.body) if response.body else None

    def answer(self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        own = {**({"Content-Type": "application/json"} if sent else {}), **(headers or {})}
        return asyncio.run(self._engine.answer(Request(method, target, Headers(own.items()), sent)))

    def wait(self, to: datetime) -> None:
        self.send("PUT", "/_sandbox/clock", {"frozen": to.isoformat()}, {"Authorization": "Bearer t"})


class EngineTransport(httpx.BaseTransport):
    """Lets an httpx client send requests to an engine, without a port. `Date` is the time of its clock."""

    def __init__(self, interface: Interface, now: datetime) -> None:
        bank = Banks(Bank(interface, SCHEMAS, diagnose=False))
        self._engine = Engine(Parts(bank, MemoryStore(), TestData({}, ()), USUAL, Clock(frozen=now), admin_token="t"))
        self._now = now
        self._loop = asyncio.new_event_loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        target = request.url.raw_path.decode()
        answered = self._ask(Request(request.method, target, Headers(headers), request.read()))
        shown = [pair for pair in answered.headers if pair[0].lower() not in ("content-length", "date")]
        shown.append(("Date", format_datetime(self._now, usegmt=True)))
        return httpx.Response(answered.status, headers=shown, content=answered.body)

    def wait(self, time: timedelta) -> None:
        """Move the clock of the engine forward."""
        self._now += time
        headers = Headers([("Authorization", "Bearer t"), ("Content-Type", "application/json")])
        sent = json.dumps({"frozen": self._now.isoformat()}).encode()
        assert self._ask(Request("PUT", "/_sandbox/clock", headers, sent)).status < 300

    def close(self) -> None:
        self._loop.close()

    def _ask(self, request: Request) -> Response:
        return self._loop.run_until_complete(self._engine.answer(request))
