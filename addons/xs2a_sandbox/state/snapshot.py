"""Snapshots: all that one request reads of a store somewhere else, of one moment, and what it is going to write there.

The work on a request knows nothing of waiting. It runs in a greenlet, and where it reads what is not here yet, the loop
goes on with others until that is fetched. What kinds of requests read is remembered, and fetched before they begin.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

from xs2a_sandbox.state.store import Document, Key
from xs2a_sandbox.state.stream import Stream


class Contents(NamedTuple):
    """Documents and whole collections, each with its version, without those of the version that was known before."""

    documents: Mapping[Key, tuple[int, Document | None]]
    lists: Mapping[str, tuple[int, dict[str, Document | None]]]


def _count_nothing(seconds: float) -> None:
    """Does nothing: nobody counts."""


class RemoteStore(ABC):
    """Keeps the same as a Store, and has to be waited for: until `deadline`, in seconds of the loop's clock, at most.

    Every method may raise StoreUnavailable. Where it does, all of a commit is made or nothing.
    """

    def __init__(self) -> None:
        self.habits = Prefetcher()
        self.on_fetch: Callable[[float], None] = _count_nothing
        self.on_commit: Callable[[float], None] = _count_nothing
        """Told of the seconds that each took which did not fail."""

    @abstractmethod
    async def fetch(
        self, session: str, documents: Mapping[Key, int], lists: Mapping[str, int], deadline: float
    ) -> Contents:
        """All of it as it is at one moment, but what still has the version that is named here; -1 is no version."""

    @abstractmethod
    async def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        deadline: float,
    ) -> bool:
        """Writes everything, iff all that was read still has the version it was read with."""

    @abstractmethod
    async def reset(self, session: str | None, deadline: float) -> None:
        """Forgets one session, or all."""

    @abstractmethod
    async def counts(self, session: str | None, deadline: float) -> dict[str, int]:
        """Documents by collection, deletions among them, of one session or of all."""

    @abstractmethod
    async def sessions(self, deadline: float) -> dict[str, dict[str, int]]:
        """Every session that has written something, by name, with its counts."""

    @abstractmethod
    async def check(self, deadline: float) -> None:
        """Raises StoreUnavailable where nothing could be written that lasts."""

    @abstractmethod
    def stream(self, name: str, count: int, bytes: int) -> Stream:
        """The stream of that name, bounded so, which all have that use this store."""

    @abstractmethod
    async def close(self) -> None:
        """Ends its connections."""


class SnapshotConflict(BaseException):
    """Ends work that others have overtaken. Like a cancellation it is nobody's to handle on the way."""


_UNFETCHED = -1
_KINDS = 512
_EXPECTED = 64


@dataclass(slots=True)
class _Session:
    """The part of one session that is here, what the work has seen of it, and what it has written."""

    documents: dict[Key, tuple[int, Document | None]] = field(default_factory=dict)
    lists: dict[str, tuple[int, dict[str, Document | None]]] = field(default_factory=dict)
    seen: dict[Key, int] = field(default_factory=dict)
    seen_lists: dict[str, int] = field(default_factory=dict)
    reads: dict[Key, int] = field(default_factory=dict)
    read_lists: dict[str, int] = field(default_factory=dict)
    writes: dict[Key, Document | None] = field(default_factory=dict)
    is_reset: bool = False

    def begin_anew(self) -> None:
        self.seen, self.seen_lists = {}, {}
        self.forget_writes()

    def forget_writes(self) -> None:
        self.reads, self.read_lists, self.writes, self.is_reset = {}, {}, {}, False

    @property
    def is_overtaken(self) -> bool:
        return any(self.documents[key][0] != version for key, version in self.seen.items()) or any(
            self.lists[name][0] != version for name, version in self.seen_lists.items()
        )


class Snapshot:
    """The documents for the work on one request. What it writes is sent once the work is done."""

    def __init__(self, store: RemoteStore, deadline: float) -> None:
        self._store = store
        self._deadline = deadline
        self._sessions: dict[str, _Session] = {}
        self._written = 0
        self._resets_all = False

    async def begin(self) -> None:
        """Makes everything that was read before, or is expected, what it is now. Raises StoreUnavailable."""
        self._resets_all = False
        for name, session in self._sessions.items():
            session.begin_anew()
            if session.documents or session.lists:
                await self._fetch(name, session)

    async def send(self) -> bool:
        """Keeps what the work has written; false where others were quicker. Raises StoreUnavailable."""
        for name, session in self._sessions.items():
            if session.writes and not await self._commit(name, session):
                return False
        if self._resets_all:
            await self._store.reset(None, self._deadline)
        for name, session in self._sessions.items():
            if session.is_reset:
                await self._store.reset(name, self._deadline)
        return True

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        here, key = self._of(session), (collection, id)
        if key in here.writes:
            return self._written, here.writes[key]
        if here.documents.setdefault(key, _NOT_HERE)[0] == _UNFETCHED:
            self._fetch_now(session, here)
        version, document = here.documents[key]
        here.seen[key] = version
        return version, document

    def expect(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        """Takes what is written unread for new: where it is not, that shows at the commit, and then it is read."""
        here, key = self._of(session), (collection, id)
        if key in here.writes:
            return self._written, here.writes[key]
        version, document = here.documents.setdefault(key, _NOT_HERE)
        if version == _UNFETCHED:
            version = 0
        here.seen[key] = version
        return version, document

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        here = self._of(session)
        if here.lists.setdefault(collection, _NO_LIST)[0] == _UNFETCHED:
            self._fetch_now(session, here)
        version, documents = here.lists[collection]
        here.seen_lists[collection] = version
        written = {id: document for (name, id), document in here.writes.items() if name == collection}
        return (self._written, {**documents, **written}) if written else (version, documents)

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        """Always true: whether others were quicker shows once it is sent. Several are sent as one."""
        here = self._of(session)
        for key in reads:
            if key not in here.writes:
                here.reads.setdefault(key, here.seen.get(key, reads[key]))
        for name in lists:
            here.read_lists.setdefault(name, here.seen_lists.get(name, lists[name]))
        here.writes.update(writes)
        self._written -= 1
        return True

    def reset(self, session: str | None = None) -> None:
        for name in list(self._sessions) if session is None else [session]:
            self._of(name).forget_writes()
        if session is None:
            self._resets_all = True
        else:
            self._of(session).is_reset = True

    def counts(self, session: str | None = None) -> dict[str, int]:
        return wait(self._store.counts(session, self._deadline))

    def sessions(self) -> dict[str, dict[str, int]]:
        return wait(self._store.sessions(self._deadline))

    def expecting(self, session: str, keys: Sequence[Key], lists: Sequence[str]) -> None:
        """Has these fetched with the next that is fetched."""
        here = self._of(session)
        here.documents.update((key, _NOT_HERE) for key in keys if key not in here.documents)
        here.lists.update((name, _NO_LIST) for name in lists if name not in here.lists)

    def seen(self, session: str) -> tuple[Mapping[Key, int], Mapping[str, int]]:
        """The documents and the lists of the session that the work has read, with their versions."""
        here = self._of(session)
        return here.seen, here.seen_lists

    def _fetch_now(self, name: str, session: _Session) -> None:
        wait(self._fetch(name, session))
        if session.is_overtaken:
            raise SnapshotConflict

    async def _commit(self, name: str, session: _Session) -> bool:
        started = perf_counter()
        is_kept = await self._store.commit(name, session.reads, session.read_lists, session.writes, self._deadline)
        self._store.on_commit(perf_counter() - started)
        return is_kept

    async def _fetch(self, name: str, session: _Session) -> None:
        started = perf_counter()
        contents = await self._store.fetch(
            name,
            {key: version for key, (version, _) in session.documents.items()},
            {collection: version for collection, (version, _) in session.lists.items()},
            self._deadline,
        )
        self._store.on_fetch(perf_counter() - started)
        session.documents.update(contents.documents)
        session.lists.update(contents.lists)

    def _of(self, session: str) -> _Session:
        return self._sessions.setdefault(session, _Session())


_NOT_HERE: tuple[int, None] = (_UNFETCHED, None)
_NO_LIST: tuple[int, dict[str, Document | None]] = (_UNFETCHED, {})


class RequestKind(NamedTuple):
    """The session of a request, its kind, and the ids that it names, so many for each of the kind."""

    session: str
    kind: object
    ids: tuple[str, ...]


_Place = tuple[str, str | int]
"""A collection with an id, or with the place among the ids of a request where the id stands."""


@dataclass(slots=True)
class _Habit:
    documents: set[_Place] = field(default_factory=set)
    lists: tuple[str, ...] = ()
    last: frozenset[_Place] = frozenset()


class Prefetcher:
    """Memory of what requests of a kind read."""

    def __init__(self) -> None:
        self._kinds: dict[object, _Habit] = {}

    def tell(self, reader: RequestKind, snapshot: Snapshot) -> None:
        """Has the snapshot fetch what such work has read before."""
        if habit := self._kinds.get(reader.kind):
            keys = [(name, id if isinstance(id, str) else reader.ids[id]) for name, id in habit.documents]
            snapshot.expecting(reader.session, keys, habit.lists)

    def learn(self, reader: RequestKind, snapshot: Snapshot) -> None:
        """Remembers what the work has read."""
        if reader.kind not in self._kinds and len(self._kinds) >= _KINDS:
            self._kinds.clear()
        habit = self._kinds.setdefault(reader.kind, _Habit())
        documents, lists = snapshot.seen(reader.session)
        read = frozenset((name, reader.ids.index(id) if id in reader.ids else id) for name, id in documents)
        # An id that is not the request's is a habit once it comes again: most are of this request alone.
        habit.documents |= {place for place in read if isinstance(place[1], int) or place in habit.last}
        habit.last = read
        if len(habit.documents) > _EXPECTED:
            habit.documents.clear()
        # A list may be long: one that is no longer read is no longer fetched.
        habit.lists = tuple(lists)


def wait[R](work: Coroutine[Any, Any, R]) -> R:
    """The result of what has to be waited for, for who runs in `waiting`."""
    from greenlet import getcurrent

    parent = getcurrent().parent
    if parent is None:
        work.close()
        raise RuntimeError("nobody waits here")
    result: R = parent.switch(work)
    return result


async def run_waiting[R](work: Callable[[], R]) -> R:
    """The result of work that nobody has written with a loop in mind, and that waits all the same."""
    from greenlet import greenlet

    inner = greenlet(work)
    inner.gr_context = copy_context()
    step = inner.switch()
    while not inner.dead:
        try:
            value = await step
        except BaseException:
            step = inner.throw(*sys.exc_info())
        else:
            step = inner.switch(value)
    result: R = step
    return result
