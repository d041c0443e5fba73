"""Sends the recorded requests to a learned dialect, with the ids that it makes itself, and compares the answers."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, differences, without_tracebacks
from xs2a_sandbox.features.derive.unknown.names import is_id
from xs2a_sandbox.features.derive.unknown.seen import SeenExchange, answer_values, as_seen, parts
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.state import MemoryStore


def read_dialect(text: str, schemas: Schemas) -> Interface:
    """Return the dialect with this content. Raises Unreadable."""
    with TemporaryDirectory() as directory:
        folder = Path(directory) / "derived"
        folder.mkdir()
        (folder / "dialect.yaml").write_text(text, encoding="utf-8")
        return layers.read([[folder]], schemas, collect_handlers())


def try_dialect(
    entries: Sequence[Exchange],
    seen: Sequence[SeenExchange],
    interface: Interface,
    schemas: Schemas,
    states: Collection[str],
) -> list[Rehearsed]:
    """Send all requests in order. The clock of the sandbox is moved to the bank's time before each."""
    start = seen[0].time
    token = token_hex(8)
    bank = Banks(Bank(interface, schemas, diagnose=False))
    engine = Engine(Parts(bank, MemoryStore(), TestData({}, ()), USUAL, Clock(frozen=start), admin_token=token))
    renamed: dict[str, str] = {}

    async def play() -> list[Rehearsed]:
        tried: list[Rehearsed] = []
        now = start
        for entry, one in zip(entries, seen, strict=True):
            if one.time != now:
                now = one.time
                await engine.answer(_clock(token, now))
            request = _request(entry, renamed)
            response = await engine.answer(request)
            answer = Exchange.of(request, response, "", one.time, 0.0)
            _learn_names(one, as_seen(one.number, one.place, answer), renamed)
            unlike = tuple(differences(entry, answer, states))
            tried.append(Rehearsed(entry, answer, None, unlike, not unlike))
        return tried

    with without_tracebacks():
        return asyncio.run(play())


def _clock(token: str, time: datetime) -> Request:
    headers = Headers((("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")))
    return Request("PUT", "/_sandbox/clock", headers, json.dumps({"frozen": time.isoformat()}).encode())


def _request(entry: Exchange, renamed: Mapping[str, str]) -> Request:
    def change(text: str) -> str:
        for old, new in renamed.items():
            text = text.replace(old, new)
        return text

    body = entry.body
    with suppress(UnicodeDecodeError):
        body = change(body.decode()).encode()
    pairs = tuple((name, change(value)) for name, value in entry.headers.pairs if name.lower() != "content-length")
    return Request(method=entry.method, target=change(entry.target), headers=Headers(pairs), body=body)


def _learn_names(recorded: SeenExchange, answered: SeenExchange, renamed: dict[str, str]) -> None:
    new = dict(answer_values(answered))
    for place, value in answer_values(recorded):
        if place not in new:
            continue
        before, after = parts(value), parts(new[place])
        for old, other in zip(before, after, strict=False):
            if old != other and len(old) >= 4 and is_id(old) and "/" not in old:
                renamed[old] = other
