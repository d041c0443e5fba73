"""Sends the recorded requests to a learned dialect, with the ids that it makes itself, and compares the answers."""

import asyncio
import json
from collections.abc import Collection, Iterator, Sequence
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
from xs2a_sandbox.features.derive.unknown.renamed import rename_request
from xs2a_sandbox.features.derive.unknown.seen import SeenExchange, answer_values, as_seen, parts
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.state import MemoryStore

_SHORTEST = 3
"""The shortest id. Shorter texts are rather numbers of pages."""


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
    told = _find_told(seen)

    async def play() -> list[Rehearsed]:
        tried: list[Rehearsed] = []
        now = start
        for entry, one in zip(entries, seen, strict=True):
            if one.time != now:
                now = one.time
                await engine.answer(_clock(token, now))
            request = rename_request(entry, renamed)
            response = await engine.answer(request)
            answer = Exchange.of(request, response, "", one.time, 0.0)
            _learn_names(one, as_seen(one.number, one.place, answer), told[one.number], renamed)
            unlike = tuple(differences(entry, answer, states))
            tried.append(Rehearsed(entry, answer, None, unlike, not unlike))
        return tried

    with without_tracebacks():
        return asyncio.run(play())


def _clock(token: str, time: datetime) -> Request:
    headers = Headers((("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")))
    return Request("PUT", "/_sandbox/clock", headers, json.dumps({"frozen": time.isoformat()}).encode())


def _find_told(seen: Sequence[SeenExchange]) -> dict[int, set[str]]:
    """Return the texts that an answer is the first to have, and that later requests have, by the exchange's number."""
    last_sent = {text: one.number for one in seen for text in _sent(one)}
    known: set[str] = set()
    told: dict[int, set[str]] = {}
    for one in seen:
        known |= set(_sent(one))
        texts = {text for _, value in answer_values(one) for text in parts(value)} - known
        told[one.number] = {text for text in texts if len(text) >= _SHORTEST and last_sent.get(text, 0) > one.number}
        known |= texts
    return told


def _sent(one: SeenExchange) -> Iterator[str]:
    yield from one.path
    yield from (text for _, value in one.slots() for text in parts(value))


def _learn_names(
    recorded: SeenExchange, answered: SeenExchange, told: Collection[str], renamed: dict[str, str]
) -> None:
    new = dict(answer_values(answered))
    for place, value in answer_values(recorded):
        for old, other in zip(parts(value), parts(new.get(place)), strict=False):
            if old in told and old != other:
                renamed[old] = other
