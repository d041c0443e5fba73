"""Caches answers of pure reads, because TPPs poll. The operation says whether it only reads.

An answer is repeated as long as the request is the same, nothing that it was made of has been written, and no new day
has begun. All of the request counts, except for its X-Request-ID if the cassettes only echo it and check its form.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from xs2a_sandbox.bank import Answer, timeline
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.dialect.request_ids import NAME
from xs2a_sandbox.clock import Clock, WatchedClock, beginning
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import Store
from xs2a_sandbox.state.store import SHARED, SHARED_DOCUMENT, Key

_COUNT = 512
"""The number of cached answers, and of remembered requests. The second answer to the same request is cached."""
_LARGEST, _BYTES = 1024 * 1024, 8 * 1024 * 1024
"""The most bytes of a cached body, and of all together."""
_LARGEST_QUESTION = 4096
"""The most bytes of the body of a request whose answer is cached."""

_SOME_ID = (NAME, "a UUID")
_is_uuid = FORMATS["uuid"]

type Question = tuple[tuple[tuple[str, str], ...], tuple[object, ...]]
"""The headers that count, and the place of the request, which starts with its target."""

type Tell = Callable[[Request, Response, LogEntry, float], None]
"""Records an exchange that repeats an earlier one, with its duration in seconds."""


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An answer with its log entry, and everything that it depends on besides the request.

    `id` is the X-Request-ID of the request, and `echoes` are the positions of headers that repeat it. On its `clock`
    nothing happens between `made` and `ends`.
    """

    response: Response
    entry: LogEntry
    id: str | None
    echoes: tuple[int, ...]
    session: str
    clock: Clock
    made: float
    ends: float
    reads: Mapping[Key, int]
    lists: Mapping[str, int]
    shared: int | None

    def holds(self, store: Store) -> bool:
        """Return whether the answer is still valid. Raises StoreUnavailable."""
        now = self.clock.timestamp()
        return (
            self.made <= now < self.ends
            and store.is_unchanged(self.session, self.reads, self.lists)
            and (self.shared is None or store.is_unchanged(SHARED, {SHARED_DOCUMENT: self.shared}, {}))
        )

    def answer(self, id: str | None) -> Response:
        """Return the answer for a request with that id."""
        if not id or id == self.id or not self.echoes:
            return self.response
        headers = list(self.response.headers)
        for position in self.echoes:
            headers[position] = (headers[position][0], id)
        return Response(self.response.status, tuple(headers), self.response.body)


class ResponseCache:
    """Caches answers. `varies_by_id` says whether they depend on X-Request-ID.

    `tell` is called for each repeated answer. Nothing is cached without a `store` that reports changes at once.
    """

    def __init__(self, store: Store | None, tell: Tell, *, varies_by_id: bool) -> None:
        self._store = store
        self._tell = tell
        self._varies_by_id = varies_by_id
        # Ordered dicts, because a plain one scans its deleted entries to find the first.
        self._kept: OrderedDict[Question, CachedResponse] = OrderedDict()
        self._methods: set[str] = set()
        """The methods of requests whose answers have been cached. Others need no look at their headers and body."""
        self._size = 0
        self._questions: OrderedDict[int, None] = OrderedDict()

    def repeat(self, request: Request) -> Response | None:
        """Return the cached answer to a repeated request, or None. Never waits and never raises."""
        if request.method not in self._methods:
            return None
        started = time.perf_counter()
        question = self.question(request)
        kept = None if question is None else self.find(question)
        if kept is None:
            return None
        response = kept.answer(request.headers.first.get(NAME))
        self._tell(request, response, kept.entry, time.perf_counter() - started)
        return response

    def question(self, request: Request) -> Question | None:
        """Return everything in the request that an answer can depend on, or None if its answer is not cached."""
        if len(request.body) > _LARGEST_QUESTION:
            return None
        pairs = request.headers.pairs
        if not self._varies_by_id and (id := request.headers.first.get(NAME)):
            others = tuple([pair for pair in pairs if pair[1] is not id])
            if len(others) != len(pairs) - 1 or not _is_uuid(id):
                return None
            pairs = (*others, _SOME_ID)
        return pairs, (
            request.target, request.host, request.door, request.scheme, request.port, request.user, request.tunnel,
            request.certificates, request.method, request.body,
        )  # fmt: skip

    def find(self, question: Question) -> CachedResponse | None:
        kept = self._kept.get(question)
        try:
            if kept and self._store and kept.holds(self._store):
                return kept
        except StoreUnavailable:
            # The store reports this again to the step that answers.
            return None
        return None

    def is_repeated(self, question: Question) -> bool:
        """Return whether the same question was asked recently. The answer to a first question is not cached."""
        key = hash(question)
        if key in self._questions:
            return True
        if len(self._questions) >= _COUNT:
            self._questions.popitem(last=False)
        self._questions[key] = None
        return False

    def keep(self, request: Request, answer: Answer) -> None:
        """Cache the answer to a read if the same question was asked before.

        It is not cached if it could change for a reason that would not be noticed.
        """
        call, response, entry = answer.call, answer.response, answer.entry
        # Only the calls of reads have a watched clock.
        if self._store is None or call is None or entry is None or not isinstance(call.clock, WatchedClock):
            return
        if not _is_settled(call, answer):
            return
        question = self.question(request)
        if question is None or not self.is_repeated(question):
            return
        id = request.headers.first.get(NAME)
        echoes = _positions(NAME, id, response) if id and not self._varies_by_id else ()
        if id and not self._varies_by_id and _count(id, request, response) != 1 + len(echoes):
            # The id also occurs elsewhere, so it is unclear which occurrences are echoes.
            return
        began = call.clock.began
        tomorrow = beginning(began.date() + timedelta(days=1)).timestamp()
        clock, ends = Clock(call.clock.shift, call.clock.frozen), min(tomorrow, timeline.quiet_until(call.state))
        reads, lists = call.state.looked_at
        # Insert again, so that the oldest entries are dropped first.
        self._forget(question)
        self._size += len(response.body)
        while len(self._kept) >= _COUNT or self._size > _BYTES:
            self._forget(next(iter(self._kept)))
        self._methods.add(request.method)
        self._kept[question] = CachedResponse(
            response,
            entry,
            id,
            echoes,
            call.session.id,
            clock,
            began.timestamp(),
            ends,
            reads,
            lists,
            call.state.shared_version,
        )

    def has_like(self, request: Request) -> bool:
        """Return whether a cached answer has the same target, with at least these headers."""
        fields = {(name.lower(), value) for name, value in request.headers if name.lower() != NAME}
        return any(
            place[0] == request.target
            and place[-2:] == (request.method, request.body)
            and fields <= {(name.lower(), value) for name, value in pairs}
            for pairs, place in list(self._kept)
            if self.find((pairs, place))
        )

    def _forget(self, question: Question) -> None:
        if kept := self._kept.pop(question, None):
            self._size -= len(kept.response.body)


def _is_settled(call: Call, answer: Answer) -> bool:
    """Return whether the answer can be repeated.

    It can if cassettes made it, if nothing was written or generated, and if only the day was read from the clock.
    """
    response = answer.response
    return answer.is_repeatable and not (
        call.state.is_changed
        or call.drew
        or (isinstance(call.clock, WatchedClock) and call.clock.looks)
        or call.warnings
        or call.objections
        or answer.source not in ("rule", "handler")
        or answer.is_personal
        or answer.delay
        or response.status >= 400
        or response.fault
        or response.rest
        or len(response.body) > _LARGEST
    )


def _positions(name: str, value: str, response: Response) -> tuple[int, ...]:
    """Return the positions of headers with that name and value."""
    return tuple([at for at, pair in enumerate(response.headers) if pair[0].lower() == name and pair[1] == value])


def _count(id: str, request: Request, response: Response) -> int:
    """Return how often the id occurs in the request and its answer."""
    texts = [request.target, *(value for _, value in request.headers), *(value for _, value in response.headers)]
    return sum(text.count(id) for text in texts) + response.body.count(id.encode())
