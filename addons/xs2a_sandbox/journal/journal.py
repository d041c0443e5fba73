"""The last exchanges, kept in memory, so that users can look at requests and answers later."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import chain, takewhile
from threading import Lock
from time import monotonic
from typing import Any, Protocol

import msgspec

from xs2a_sandbox.clock import at, instant
from xs2a_sandbox.config.limits import JOURNALED
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.outcome import Outcome
from xs2a_sandbox.state.session import PREFIX

COUNT = JOURNALED
BYTES = COUNT * 25 * 1024
"""The default limit."""
KEPT_BODY = 64 * 1024
"""The most bytes that are kept of each body."""

_BETWEEN = "\0"
_OVERHEAD = 1024
"""The approximate bytes of an entry besides its texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled(Exchange):
    """One exchange with the app.

    `source` and `rule` are those in the answer's X-Sandbox-… headers. `personal` means that it may contain data of real
    people. `reason` is why it failed, as it may be shown; `operation` is the requested one, if known. `is_shown` means
    that it contains no more of a bank's data than may be shown. `client` describes the client certificate. `verdict` is
    that of the comparison with the bank, if there was one.
    """

    number: int
    session: str
    source: str
    rule: str | None
    warnings: tuple[str, ...] = ()
    fault: str | None = None
    amended: tuple[str, ...] = ()
    personal: bool = True
    reason: str | None = None
    is_shown: bool = False
    operation: str | None = None
    door: Door = "process"
    client: Mapping[str, Any] | None = None
    certificates: tuple[bytes, ...] | None = None
    """The certificates that the client has shown, its own first, in DER."""
    verdict: str | None = None
    cause: str | None = None
    """What caused this request of the bank to an app."""

    @property
    def origin(self) -> str:
        """The scheme and host to which the client sent the request, as in `https://bank.example`."""
        return self.bank

    @property
    def path(self) -> str:
        """The path without query, and without the prefix that names a session."""
        return path_of(self.target, self.session)

    @property
    def json(self) -> Any:
        """The request's body as JSON, or None if it is not JSON."""
        return read_json(self.body)

    @property
    def answer_json(self) -> Any:
        """The answer's body as JSON, or None if it is not JSON."""
        return read_json(self.answer_body)


def path_of(target: str, session: str) -> str:
    """Return the path without query, and without the prefix that names the session."""
    path = target.partition("?")[0]
    prefix = f"/{PREFIX}/{session}/"
    return path[len(prefix) - 1 :] if path.startswith(prefix) else path


def path_fits(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern with `*` for anything. Any prefix may precede `/v1/`."""
    path, pattern = path.rstrip("/") or "/", pattern.rstrip("/") or "/"
    # The paths of a bank start at /v1, after any base URL.
    return fnmatchcase(path, pattern) or (pattern.startswith("/v1/") and fnmatchcase(path, f"*{pattern}"))


class Peers(Protocol):
    """The processes that serve together, including this one. `answers` has this process's answers to questions."""

    number: int
    workers: int
    answers: dict[str, Callable[[Any], Any]]

    async def gather(self, question: str, argument: Any = None) -> list[Any]:
        """Return the answers of all processes."""
        ...


class Show(Protocol):
    """Redacts an exchange for display. Gets whether the exchange may contain data of real people."""

    def __call__[E: Exchange](self, exchange: E, personal: bool, /) -> E: ...


def without_content[E: Exchange](entry: E, personal: bool) -> E:
    """Remove query, bodies, and headers except for content types, if no redaction is configured."""
    return replace(
        entry,
        target=entry.target.partition("?")[0],
        headers=_types(entry.headers),
        body=b"",
        answer_headers=_types(entry.answer_headers),
        answer_body=b"",
    )


class KeptExchange(msgspec.Struct, frozen=True, gc=False):
    """Creates the entry of an exchange when it is first read, because most are never read and requests must not wait.

    It consists of few objects, and shares none with the request: the objects of hundreds of requests would take
    hundreds of kilobytes, which every request would push through the processor's cache.
    """

    number: int
    ended: float
    exchange: LogEntry
    scheme: str
    host: str
    method: str
    target: str
    headers: "str | Pairs"
    body: bytes
    answer_headers: "str | Pairs"
    answer_body: bytes
    cut: bool
    size: int
    is_shown: bool = False
    door: Door = "process"
    certificates: tuple[bytes, ...] | None = None
    outcome: Outcome | None = None

    @property
    def verdict(self) -> str | None:
        """The verdict of the comparison with the bank, or None if there was none or it has not ended."""
        return self.outcome.verdict if self.outcome else None


Pairs = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Journal:
    """Limited by `count` and `bytes`: the oldest entries are dropped first. Threads may share it.

    It contains exchanges as they were sent. `show` is for entries that leave this process. If several processes `share`
    one journal, each keeps its own part, and answers do not wait for the others; reading collects the whole.
    """

    count: int = COUNT
    bytes: int = BYTES
    show: Show = without_content
    _kept: deque[KeptExchange] = field(default_factory=deque)
    _size: int = 0
    _last: int = 0
    _lock: Lock = field(default_factory=Lock)
    _peers: Peers | None = None
    cleared: list[str | None] = field(default_factory=list)
    _elsewhere: int = 0
    """The number of entries that stay in other processes."""

    def share(self, peers: Peers) -> None:
        """Make this a part of the journal of several processes."""
        self._peers = peers
        peers.answers |= {"journal": self._part, "forget": self.clear, "note verdict": self._note}

    async def read_whole(self, since: int = 0) -> "Journal":
        """Return the last entries of all processes after that number, or this journal for a single process."""
        if self._peers is None:
            return self
        parts = [part for part in await self._peers.gather("journal", since) if part]
        kept = sorted(chain.from_iterable(newer for newer, _ in parts), key=lambda entry: entry.number)[-self.count :]
        whole = Journal(self.count, self.bytes, self.show, deque(kept), sum(entry.size for entry in kept))
        if since:
            whole._elsewhere = max(0, min(self.count, sum(count for _, count in parts)) - len(kept))
        return whole

    def _part(self, since: int) -> tuple[list[KeptExchange], int]:
        """Return the entries of this process after that number, and the number of all its entries."""
        return self.kept_after(since), len(self._kept)

    async def settle(self, whole: "Journal") -> None:
        """Delete the entries that were cleared in `whole` from all processes."""
        if self._peers:
            for session in whole.cleared:
                await self._peers.gather("forget", session)

    async def close(self) -> None:
        """Nothing has to be closed."""

    async def note_verdict(self, entry: Journaled, verdict: str) -> None:
        """Store the verdict of a later comparison of the exchange."""
        if self._peers:
            await self._peers.gather("note verdict", (entry.number, verdict))
        else:
            self._note((entry.number, verdict))

    def _note(self, noted: tuple[int, str]) -> None:
        number, verdict = noted
        with self._lock:
            for place, kept in enumerate(self._kept):
                if kept.number == number:
                    self._kept[place] = msgspec.structs.replace(kept, outcome=Outcome(verdict))

    def add(self, request: Request, response: Response, exchange: LogEntry, outcome: Outcome | None = None) -> int:
        """Add an entry, and return its number."""
        body, answer_body = request.body, response.body
        if cut := len(body) > KEPT_BODY or len(answer_body) > KEPT_BODY or response.rest is not None:
            body, answer_body = body[:KEPT_BODY], answer_body[:KEPT_BODY]
        (headers, length), (answer_headers, answer_length) = pack(request.headers.pairs), pack(response.headers)
        bodies = len(body) + len(answer_body)
        size = _OVERHEAD + len(request.target) + length + answer_length + bodies
        if request.certificates:
            size += sum(map(len, request.certificates))
        with self._lock:
            self._last = self._last + 1 if self._peers is None else self._find_next(self._peers)
            kept = KeptExchange(
                number=self._last,
                ended=instant(),
                exchange=exchange,
                scheme=request.scheme,
                host=request.host,
                method=request.method,
                target=request.target,
                headers=headers,
                body=body,
                answer_headers=answer_headers,
                answer_body=answer_body,
                cut=cut,
                size=size,
                door=request.door,
                certificates=request.certificates,
                outcome=outcome,
            )
            self._kept.append(kept)
            self._size += size
            self._drop_oldest()
            return self._last

    def entries(self, since: int = 0, limit: int | None = None) -> list[Journaled]:
        """Return the entries after that number, or the last `limit` of them, oldest first."""
        kept = self.kept_after(since)
        return [entry_of(entry) for entry in (kept if limit is None else kept[len(kept) - min(limit, len(kept)) :])]

    def kept_after(self, since: int) -> list[KeptExchange]:
        """Return the entries after that number as they are kept, oldest first."""
        with self._lock:
            if self._kept and self._kept[0].number > since:
                return list(self._kept)
            newer = list(takewhile(lambda entry: entry.number > since, reversed(self._kept)))
        return newer[::-1]

    def get(self, number: int) -> Journaled | None:
        with self._lock:
            kept = next((entry for entry in self._kept if entry.number == number), None)
        return entry_of(kept) if kept else None

    def clear(self, session: str | None = None) -> int:
        """Delete the entries of one session, or all, and return how many. Numbering continues."""
        with self._lock:
            kept = [entry for entry in self._kept if session is not None and entry.exchange.session != session]
            gone = len(self._kept) - len(kept)
            self._kept, self._size = deque(kept), sum(entry.size for entry in kept)
            self.cleared = [session]
        return gone

    def _drop_oldest(self) -> None:
        while len(self._kept) > self.count or self._size > self.bytes:
            self._size -= self._kept.popleft().size

    def _find_next(self, peers: Peers) -> int:
        """Return a number greater than all before, in all processes."""
        # All processes share this clock; the remainder of the division is different in each.
        count, number = peers.workers, peers.number % peers.workers
        return max(self._last + count, int(monotonic() * 1e6) * count + number)

    def displayed(self, entry: Journaled) -> Journaled:
        if entry.is_shown:
            return entry
        # The method and the address are in the log as well.
        return replace(self.show(entry, entry.personal), method=entry.method, bank=entry.bank)

    def __len__(self) -> int:
        return len(self._kept) + self._elsewhere

    def __iter__(self) -> Iterator[Journaled]:
        return iter(self.entries())


def entry_of(kept: KeptExchange) -> Journaled:
    exchange = kept.exchange
    return Journaled(
        number=kept.number,
        time=at(kept.ended - exchange.milliseconds / 1000),
        session=exchange.session,
        bank=f"{kept.scheme}://{kept.host}",
        method=kept.method,
        target=kept.target,
        headers=Headers(_unpack(kept.headers)),
        body=kept.body,
        status=exchange.status,
        answer_headers=Headers(_unpack(kept.answer_headers)),
        answer_body=kept.answer_body,
        source=exchange.source,
        rule=exchange.rule,
        milliseconds=exchange.milliseconds,
        warnings=exchange.warnings,
        fault=exchange.fault,
        amended=exchange.amended,
        cut=kept.cut,
        personal=exchange.personal,
        reason=exchange.reason,
        is_shown=kept.is_shown,
        operation=exchange.operation,
        door=kept.door,
        client=_client(kept.certificates[0]) if kept.certificates else None,
        certificates=kept.certificates,
        verdict=kept.verdict,
        cause=exchange.cause,
    )


def _client(certificate: bytes) -> Mapping[str, Any] | None:
    # Imported only if there is a certificate, because the import is slow.
    from xs2a_sandbox.tpp.certificate import try_read

    own = try_read(certificate)
    return own.identity if own else None


def pack(pairs: Pairs) -> tuple[str | Pairs, int]:
    """Join the pairs to one string, unless one contains the separator. Also return the length."""
    text = _BETWEEN.join(chain.from_iterable(pairs))
    return text if text.count(_BETWEEN) == max(0, 2 * len(pairs) - 1) else pairs, len(text)


def _unpack(packed: str | Pairs) -> Pairs:
    if not isinstance(packed, str):
        return packed
    texts = iter(packed.split(_BETWEEN) if packed else ())
    return tuple(zip(texts, texts, strict=True))


def read_json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _types(headers: Headers) -> Headers:
    return Headers(pair for pair in headers if pair[0].lower() == "content-type")
