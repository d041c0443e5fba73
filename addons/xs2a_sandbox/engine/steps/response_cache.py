"""Answers of pure reads, kept for who asks the same again: TPPs poll. An operation says whether it only reads.

One is the same as long as the same is asked, nothing is written that it was made of, and no day has begun. All of a
request counts, but for its X-Request-ID, where no cassette heeds more of that than its form: it is echoed.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
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
from xs2a_sandbox.state.store import Key

_COUNT = 512
"""Answers that are kept, and requests that are remembered so that the second one's is."""
_LARGEST, _BYTES = 1024 * 1024, 8 * 1024 * 1024
"""Bytes of a body that is kept, and of all of them."""
_LARGEST_QUESTION = 4096
"""Bytes of the body of a request whose answer is kept."""

_SOME_ID = (NAME, "a UUID")
_is_uuid = FORMATS["uuid"]

type Question = tuple[tuple[tuple[str, str], ...], tuple[object, ...]]
"""The headers that count, and where the request goes, beginning with its target."""

type IsRead = Callable[[Request], bool]
"""Says whether a request is one that changes nothing, at the bank that it is for."""

type Tell = Callable[[Request, Response, LogEntry, float], None]
"""Tells of an exchange that is the same as one before, and took so many seconds."""


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An answer, with its line in the log, and all that it depends on beside the request.

    `id` is the X-Request-ID of the request, and `echoes` are the positions of headers that repeat it. By its `clock`,
    nothing happens from `made` until `ends`.
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

    def holds(self, store: Store) -> bool:
        """Raises StoreUnavailable."""
        now = self.clock.timestamp()
        return self.made <= now < self.ends and store.is_unchanged(self.session, self.reads, self.lists)

    def answer(self, id: str | None) -> Response:
        """The answer to a request with that id."""
        if not id or id == self.id or not self.echoes:
            return self.response
        headers = list(self.response.headers)
        for position in self.echoes:
            headers[position] = (headers[position][0], id)
        return Response(self.response.status, tuple(headers), self.response.body)


class ResponseCache:
    """Keeps answers of banks that heed X-Request-ID, or do not (`varies_by_id`); who is answered so is told of it.

    Of requests by methods other than GET `is_read` says which are reads. Without a `store` that tells at once what has
    changed, nothing is kept.
    """

    def __init__(self, store: Store | None, tell: Tell, is_read: IsRead, *, varies_by_id: bool) -> None:
        self._store = store
        self._tell = tell
        self._is_read = is_read
        self._varies_by_id = varies_by_id
        self._kept: dict[Question, CachedResponse] = {}
        self._size = 0
        self._questions: dict[int, None] = {}

    def repeat(self, request: Request) -> Response | None:
        """The answer to a request that was asked before, where it is kept; it needs no wait. Never raises."""
        started = time.perf_counter()
        question = self.question(request)
        kept = None if question is None else self.find(question)
        if kept is None:
            return None
        response = kept.answer(request.headers.first.get(NAME))
        self._tell(request, response, kept.entry, time.perf_counter() - started)
        return response

    async def answer(self, request: Request, step: Callable[[Request], Awaitable[Answer]]) -> Response:
        """The answer of the step below, which is kept where it is the second one to the same question."""
        question = self.question(request)
        is_repeated = question is not None and self.is_repeated(question)
        answer = await step(request)
        if is_repeated and question is not None:
            self.keep(question, request, answer)
        return answer.response

    def question(self, request: Request) -> Question | None:
        """All of the request that an answer can depend on; None for one whose answer is not kept."""
        if self._store is None or not self._may_be_kept(request):
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

    def _may_be_kept(self, request: Request) -> bool:
        if len(request.body) > _LARGEST_QUESTION:
            return False
        # Most reads are a GET: no more than that is looked at of them here.
        return request.method == "GET" or self._is_read(request)

    def find(self, question: Question) -> CachedResponse | None:
        kept = self._kept.get(question)
        try:
            if kept and self._store and kept.holds(self._store):
                return kept
        except StoreUnavailable:
            # The store says so again to who is answered by it.
            return None
        return None

    def is_repeated(self, question: Question) -> bool:
        """Says whether it was asked before, of late: what is asked once need not be kept."""
        key = hash(question)
        if key in self._questions:
            return True
        if len(self._questions) >= _COUNT:
            self._questions.pop(next(iter(self._questions)), None)
        self._questions[key] = None
        return False

    def keep(self, question: Question, request: Request, answer: Answer) -> None:
        """Keeps the answer, unless it could be another one for reasons that nobody would see."""
        call, response, entry = answer.call, answer.response, answer.entry
        if call is None or entry is None or not isinstance(call.clock, WatchedClock) or not _is_settled(call, answer):
            return
        id = request.headers.first.get(NAME)
        echoes = _positions(NAME, id, response) if id and not self._varies_by_id else ()
        if id and not self._varies_by_id and _count(id, request, response) != 1 + len(echoes):
            # Who can tell what repeats it?
            return
        began = call.clock.began
        tomorrow = beginning(began.date() + timedelta(days=1)).timestamp()
        clock, ends = Clock(call.clock.shift, call.clock.frozen), min(tomorrow, timeline.quiet_until(call.state))
        reads, lists = call.state.looked_at
        # Anew, so that the oldest go first.
        self._forget(question)
        self._size += len(response.body)
        while len(self._kept) >= _COUNT or self._size > _BYTES:
            self._forget(next(iter(self._kept)))
        self._kept[question] = CachedResponse(
            response, entry, id, echoes, call.session.id, clock, began.timestamp(), ends, reads, lists
        )

    def has_like(self, request: Request) -> bool:
        """Says whether an answer is kept to a request for the same, with those headers and perhaps others."""
        if not self._may_be_kept(request):
            return False
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
    """Says whether the cassettes alone said it, nothing was written or made up, and no time looked at but the day."""
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
    """The positions of headers with that name and value."""
    return tuple([at for at, pair in enumerate(response.headers) if pair[0].lower() == name and pair[1] == value])


def _count(id: str, request: Request, response: Response) -> int:
    """The number of times that the id stands anywhere in the request and its answer."""
    texts = [request.target, *(value for _, value in request.headers), *(value for _, value in response.headers)]
    return sum(text.count(id) for text in texts) + response.body.count(id.encode())
