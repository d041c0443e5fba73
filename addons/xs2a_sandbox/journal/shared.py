"""The journal of several sandboxes: each sends its exchanges to a stream, and all read them from there.

Answers do not wait until their exchange is sent. Exchanges that involve a real bank are redacted for sending, as for
a recording.
"""

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections import OrderedDict, deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec import structs

from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.journal import Journal, Journaled, KeptExchange, Peers, entry_of, pack, without_content
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.outcome import Outcome
from xs2a_sandbox.state.store import warn_of_damage
from xs2a_sandbox.state.stream import Inbox, Item, Outbox, Stream, Tail, deadline

log = logging.getLogger("xs2a_sandbox")

_PAUSE = 0.25
"""Seconds for which exchanges are collected before they are sent."""
_TAKE = "journal"
_FORMAT = 4
_VERDICTS = 10_000
"""The most verdicts that are remembered: more than any journal has exchanges."""


@dataclass(slots=True)
class SharedJournal(Journal):
    """It keeps only entries that have not been sent, up to the normal limits if the stream is unavailable."""

    stream: Stream = field(kw_only=True)
    _sending: "asyncio.Task[None] | None" = None
    _taken: list[KeptExchange] = field(default_factory=list)
    """Entries that are being converted. They are kept here because the caller may be cancelled in the meantime."""
    _in_turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seen: deque[KeptExchange] = field(default_factory=deque)
    _verdicts: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Verdicts by the number of the exchange, or by the key of its outcome."""
    _outbox: Outbox = field(init=False)
    _inbox: Inbox = field(init=False)

    def __post_init__(self) -> None:
        self._outbox, self._inbox = Outbox(self.stream), Inbox(self.stream)

    def share(self, peers: Peers) -> None:
        """Give readers the unsent entries of this sandbox's other processes, too."""
        self._peers = peers
        peers.answers[_TAKE] = lambda _: self._take()

    def add(self, request: Request, response: Response, exchange: LogEntry, outcome: Outcome | None = None) -> int:
        """Add an entry. The stream gives it another number than the returned one."""
        number = Journal.add(self, request, response, exchange, outcome)
        if outcome:
            outcome.when_settled(lambda settled: self._send_verdict(exchange.session, settled.key, settled.verdict))
        self._begin_sending()
        return number

    async def note_verdict(self, entry: Journaled, verdict: str) -> None:
        self._send_verdict(entry.session, str(entry.number), verdict)

    def _send_verdict(self, session: str, of: str, verdict: str | None) -> None:
        """Send the verdict of a comparison, which ends after its exchange was sent."""
        content = json.dumps({"format": _FORMAT, "of": of, "verdict": verdict}).encode()
        self._outbox.put(Item(session, len(content), content))
        self._begin_sending()

    def _begin_sending(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_soon())

    async def read_whole(self, since: int = 0) -> Journal:
        """Wait until our own entries are sent, then return the whole stream. Raises StoreUnavailable."""
        for part in await self._peers.gather(_TAKE) if self._peers else ():
            self._adopt(part or ())
        async with self._in_turn:
            await self._send()
            self._follow(*await self._inbox.read())
            return Journal(
                self.count, self.bytes, self.show, deque(self._seen), sum(entry.size for entry in self._seen)
            )

    async def settle(self, whole: Journal) -> None:
        for session in whole.cleared:
            await self.stream.remove(session, deadline())

    async def close(self) -> None:
        """Send the remaining entries, if the stream is available."""
        if self._sending:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        with suppress(StoreUnavailable):
            await self._send()

    async def _send_soon(self) -> None:
        while self._is_unsent():
            await asyncio.sleep(_PAUSE)
            # Requests that use the state report that it is unavailable.
            with suppress(StoreUnavailable):
                async with self._in_turn:
                    await self._send()

    def _is_unsent(self) -> bool:
        return bool(self._kept or self._taken or self._outbox)

    async def _send(self) -> None:
        while self._is_unsent():
            if not self._outbox:
                self._taken = self._taken or self._take()
                if any(entry.exchange.personal for entry in self._taken):
                    # Large answers are slow to convert.
                    items = await asyncio.to_thread(self._items, self._taken)
                else:
                    items = self._items(self._taken)
                self._outbox.put(*items)
                self._taken = []
            await self._outbox.send()

    def _items(self, kept: Iterable[KeptExchange]) -> list[Item]:
        entries = (self._without_people(entry) if entry.exchange.personal else entry for entry in kept)
        return [Item(entry.exchange.session, entry.size, _write(entry)) for entry in entries]

    def _without_people(self, kept: KeptExchange) -> KeptExchange:
        entry = entry_of(kept)
        try:
            displayed = self.displayed(entry)
        except Exception as error:
            # The text or traceback of the error could quote data that must not be shown.
            log.error("an exchange of the journal could not be redacted (%s)", type(error).__name__)
            displayed = without_content(entry, personal=True)
        return structs.replace(
            kept,
            target=displayed.target,
            headers=pack(displayed.headers.pairs)[0],
            body=displayed.body,
            answer_headers=pack(displayed.answer_headers.pairs)[0],
            answer_body=displayed.answer_body,
            is_shown=True,
        )

    def _take(self) -> list[KeptExchange]:
        with self._lock:
            taken = list(self._kept)
            self._kept.clear()
            self._size = 0
        return taken

    def _adopt(self, kept: Iterable[KeptExchange]) -> None:
        with self._lock:
            self._kept = deque(sorted((*self._kept, *kept), key=lambda entry: entry.ended))
            self._size = sum(entry.size for entry in self._kept)
            self._drop_oldest()

    def _follow(self, tail: Tail, is_new: bool) -> None:
        if is_new:
            self._seen.clear()
            self._verdicts.clear()
        found = len(self._verdicts)
        for number, written in tail.items:
            try:
                if (verdict := _read_verdict(written)) is not None:
                    self._verdicts |= verdict
                    continue
                kept = _read(number, written)
            except (ValueError, LookupError, TypeError, RecursionError):
                warn_of_damage(f"the item {number} of the stream of the journal")
                continue
            if kept:
                self._seen.append(kept)
        while self._seen and self._seen[0].number < tail.first:
            self._seen.popleft()
        if self._verdicts and (len(self._verdicts) > found or tail.items):
            self._seen = deque(map(self._with_verdict, self._seen))
        while len(self._verdicts) > _VERDICTS:
            self._verdicts.popitem(last=False)

    def _with_verdict(self, kept: KeptExchange) -> KeptExchange:
        verdicts, key = self._verdicts, kept.outcome.key if kept.outcome else ""
        verdict = verdicts.get(str(kept.number)) or verdicts.get(key)
        if verdict is None or verdict == kept.verdict:
            return kept
        return structs.replace(kept, outcome=Outcome(verdict, key))


def _write(kept: KeptExchange) -> bytes:
    """Return a line of JSON, followed by the two bodies."""
    head = {
        name: value
        for name, value in structs.asdict(kept).items()
        if name not in ("number", "exchange", "body", "answer_body", "outcome")
    }
    if kept.outcome:
        head["outcome"] = [kept.outcome.verdict, kept.outcome.key]
    if kept.certificates is not None:
        head["certificates"] = [b64encode(certificate).decode() for certificate in kept.certificates]
    line = {"format": _FORMAT, "exchange": structs.asdict(kept.exchange), "body": len(kept.body), "kept": head}
    return b"".join((json.dumps(line).encode(), b"\n", kept.body, kept.answer_body))


def _read_verdict(written: bytes) -> dict[str, str] | None:
    """Return the verdict of a comparison by the exchange that it is of, or None if the item is an exchange."""
    if b"\n" in written:
        return None
    line = json.loads(written)
    return {line["of"]: line["verdict"]} if line["format"] == _FORMAT else {}


def _read(number: int, written: bytes) -> KeptExchange | None:
    """Parse an entry, or return None if a sandbox of another version wrote it in an unknown format."""
    text, _, bodies = written.partition(b"\n")
    line = json.loads(text)
    if line["format"] != _FORMAT:
        return None
    exchange, head, length = line["exchange"], line["kept"], line["body"]
    for name in ("warnings", "amended"):
        exchange[name] = tuple(exchange[name])
    if "outcome" in head:
        head["outcome"] = Outcome(*head["outcome"])
    if head["certificates"] is not None:
        head["certificates"] = tuple(map(b64decode, head["certificates"]))
    for name in ("headers", "answer_headers"):
        if not isinstance(head[name], str):
            head[name] = tuple((field, value) for field, value in head[name])
    return KeptExchange(
        number=number, exchange=LogEntry(**exchange), body=bodies[:length], answer_body=bodies[length:], **head
    )
