"""Sends the recorded requests to a learned dialect, with the ids that it makes itself, and compares the answers."""

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from secrets import token_hex

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, differences, without_tracebacks
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, as_seen, parts
from xs2a_sandbox.features.derive.unknown.tried.other_values import AS_RECORDED, OtherValues
from xs2a_sandbox.features.derive.unknown.tried.renamed import rename_request
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.state.store import Document, Key

_SHORTEST = 3
"""The shortest id. Shorter texts are rather numbers of pages."""


def try_dialect(
    entries: Sequence[Exchange],
    seen: Sequence[SeenExchange],
    interface: Interface,
    schemas: Schemas,
    states: Collection[str],
    values: OtherValues = AS_RECORDED,
) -> list[Rehearsed]:
    """Send all requests in order. The clock of the sandbox is moved to the bank's time before each.

    With other values, a mistake is first tried with another value without any effect, and then made as it was recorded:
    if the dialect accepts it, the requests after it still get the answers that they deserve. A customer's wrong secret
    is not sent at all, because the dialect takes the first secret of a new customer for the right one.
    """
    start = seen[0].time
    token = token_hex(8)
    bank, store = Banks(Bank(interface, schemas, diagnose=False)), _Store()
    engine = Engine(Parts(bank, store, TestData({}, ()), USUAL, Clock(frozen=start), admin_token=token))
    names = dict(values.accepted)
    told = _find_told(seen)

    async def answer(entry: Exchange, names: Mapping[str, str], *, has_effect: bool = True) -> Exchange:
        request = rename_request(entry, names)
        store.is_read_only = not has_effect
        return Exchange.of(request, await engine.answer(request), "", entry.time, 0.0)

    async def play() -> list[Rehearsed]:
        tried: list[Rehearsed] = []
        now = start
        for entry, one in zip(entries, seen, strict=True):
            if one.time != now:
                now = one.time
                store.is_read_only = False
                await engine.answer(_clock(token, now))
            wrong = {**values.refused, **names}
            is_mistyped = one.number in values.mistyped
            is_mistake = is_mistyped or rename_request(entry, wrong) != rename_request(entry, names)
            if is_mistake:
                answered = await answer(entry, wrong, has_effect=False)
            if not is_mistyped:
                made = await answer(entry, names)
                _learn_names(one, as_seen(one.number, one.place, made), told[one.number], names)
            if not is_mistake:
                answered = made
            unlike = tuple(differences(entry, answered, states))
            tried.append(Rehearsed(entry, answered, None, unlike, not unlike))
        return tried

    with without_tracebacks():
        return asyncio.run(play())


class _Store(MemoryStore):
    """A store that forgets what requests write while it is read-only."""

    is_read_only = False

    def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        began: int | None = None,
    ) -> bool:
        return self.is_read_only or super().commit(session, reads, lists, writes, began)


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


def _learn_names(recorded: SeenExchange, answered: SeenExchange, told: Collection[str], names: dict[str, str]) -> None:
    new = dict(answer_values(answered))
    for place, value in answer_values(recorded):
        for old, other in zip(parts(value), parts(new.get(place)), strict=False):
            if old in told and old != other:
                names[old] = other
