"""Snapshots: the documents that a request reads from a remote store, as of one moment, and its writes.

The code that handles a request does not await anything. It runs in a greenlet. When it reads something that is not here
yet, the loop continues with other requests until that is fetched. The sandbox learns what each kind of request reads,
and fetches it ahead.
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
from xs2a_sandbox.state.turns import Turns


class Wanted(NamedTuple):
    """Documents and whole collections with the versions that the caller already has; -1 is none."""

    documents: Mapping[Key, int]
    lists: Mapping[str, int]


class Contents(NamedTuple):
    """Documents and whole collections with their versions, except those that the caller already has in this version."""

    documents: Mapping[Key, tuple[int, Document | None]]
    lists: Mapping[str, tuple[int, dict[str, Document | None]]]


def _count_nothing(seconds: float) -> None:
    """Default for a store without metrics."""


class RemoteStore(ABC):
    """A Store that has to be awaited, at most until `deadline`, in seconds of the loop's clock.

    Every method may raise StoreUnavailable. A commit then is either complete or has changed nothing.
    """

    def __init__(self) -> None:
        self.habits = Prefetcher()
        self.turns = Turns()
        self.on_fetch: Callable[[float], None] = _count_nothing
        self.on_commit: Callable[[float], None] = _count_nothing
        """Called with the duration in seconds of each successful fetch or commit."""

    @abstractmethod
    async def fetch(self, wanted: Mapping[str, Wanted], deadline: float) -> dict[str, Contents]:
        """Return what is wanted of each session, everything as of one moment."""

    @abstractmethod
    async def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        deadline: float,
    ) -> bool:
        """Write everything if all documents that were read still have their version. Returns whether it was written."""

    @abstractmethod
    async def reset(self, session: str | None, deadline: float) -> None:
        """Delete one session, or all."""

    @abstractmethod
    async def counts(self, session: str | None, deadline: float) -> dict[str, int]:
        """Count the documents and deletions in each collection, for one session or for all."""

    @abstractmethod
    async def sessions(self, deadline: float) -> dict[str, dict[str, int]]:
        """Return the counts by collection of every session that has written something."""

    @abstractmethod
    async def check(self, deadline: float) -> None:
        """Check that documents can be written permanently. Raises StoreUnavailable."""

    @abstractmethod
    def stream(self, name: str, count: int, bytes: int) -> Stream:
        """Return the stream of that name, with these limits. All users of this store share it."""

    @abstractmethod
    async def close(self) -> None:
        """Close its connections."""


class SnapshotConflict(BaseException):
    """Stops work that conflicts with other writes. A BaseException, so that no handler catches it on the way."""


_UNFETCHED = -1
_KINDS = 512
_EXPECTED = 64


@dataclass(slots=True)
class _Session:
    """The fetched part of one session, with the reads and writes of the work."""

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
    """The documents for the work on one request. Its writes are sent when the work is done."""

    def __init__(self, store: RemoteStore, deadline: float) -> None:
        self._store = store
        self._deadline = deadline
        self._sessions: dict[str, _Session] = {}
        self._written = 0
        self._resets_all = False

    async def begin(self) -> None:
        """Fetch the current version of everything that was read before or is expected. Raises StoreUnavailable."""
        self._resets_all = False
        for session in self._sessions.values():
            session.begin_anew()
        expected = {name: session for name, session in self._sessions.items() if session.documents or session.lists}
        if expected:
            await self._fetch(expected)

    async def send(self) -> bool:
        """Send the writes. Returns False after a conflict with other writes. Raises StoreUnavailable."""
        # Those of the sandbox itself, whose names start with *, come first.
        for name, session in sorted(self._sessions.items()):
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
        """Assume that a document which is written without reading is new. If not, the commit fails and it is read."""
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
        """Record a commit, which always succeeds: conflicts show when it is sent. Several commits are sent as one."""
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

    def announce(self, session: str, keys: Sequence[Key], lists: Sequence[str] = ()) -> None:
        """Fetch these together with the next fetch."""
        here = self._of(session)
        here.documents.update((key, _NOT_HERE) for key in keys if key not in here.documents)
        here.lists.update((name, _NO_LIST) for name in lists if name not in here.lists)

    def seen(self, session: str) -> tuple[Mapping[Key, int], Mapping[str, int]]:
        """Return the documents and lists of the session that the work has read, with their versions."""
        here = self._of(session)
        return here.seen, here.seen_lists

    def _fetch_now(self, name: str, session: _Session) -> None:
        wait(self._fetch({name: session}))
        if session.is_overtaken:
            raise SnapshotConflict

    async def _commit(self, name: str, session: _Session) -> bool:
        started = perf_counter()
        is_kept = await self._store.commit(name, session.reads, session.read_lists, session.writes, self._deadline)
        self._store.on_commit(perf_counter() - started)
        return is_kept

    async def _fetch(self, sessions: Mapping[str, _Session]) -> None:
        started = perf_counter()
        wanted = {
            name: Wanted(
                {key: version for key, (version, _) in session.documents.items()},
                {collection: version for collection, (version, _) in session.lists.items()},
            )
            for name, session in sessions.items()
        }
        found = await self._store.fetch(wanted, self._deadline)
        self._store.on_fetch(perf_counter() - started)
        for name, session in sessions.items():
            session.documents.update(found[name].documents)
            session.lists.update(found[name].lists)

    def _of(self, session: str) -> _Session:
        return self._sessions.setdefault(session, _Session())


_NOT_HERE: tuple[int, None] = (_UNFETCHED, None)
_NO_LIST: tuple[int, dict[str, Document | None]] = (_UNFETCHED, {})


class RequestKind(NamedTuple):
    """The session of a request, its kind, and the ids in it. The number of ids depends only on the kind."""

    session: str
    kind: object
    ids: tuple[str, ...]


_Place = tuple[str, str | int]
"""A collection with an id, or with the position of the id among the ids of a request."""


@dataclass(slots=True)
class _Habit:
    documents: set[_Place] = field(default_factory=set)
    lists: tuple[str, ...] = ()
    last: frozenset[_Place] = frozenset()


class Prefetcher:
    """Remembers what each kind of request reads."""

    def __init__(self) -> None:
        self._kinds: dict[object, _Habit] = {}

    def tell(self, reader: RequestKind, snapshot: Snapshot) -> None:
        """Make the snapshot fetch the documents that requests of this kind have read before."""
        if habit := self._kinds.get(reader.kind):
            keys = [(name, id if isinstance(id, str) else reader.ids[id]) for name, id in habit.documents]
            snapshot.announce(reader.session, keys, habit.lists)

    def learn(self, reader: RequestKind, snapshot: Snapshot) -> None:
        """Remember the documents that the work has read."""
        if reader.kind not in self._kinds and len(self._kinds) >= _KINDS:
            self._kinds.clear()
        habit = self._kinds.setdefault(reader.kind, _Habit())
        documents, lists = snapshot.seen(reader.session)
        read = frozenset((name, reader.ids.index(id) if id in reader.ids else id) for name, id in documents)
        # An id that is not in the request is fetched ahead only after two reads, because most are read only once.
        habit.documents |= {place for place in read if isinstance(place[1], int) or place in habit.last}
        habit.last = read
        if len(habit.documents) > _EXPECTED:
            habit.documents.clear()
        # Lists may be long, so do not fetch lists that the last request did not read.
        habit.lists = tuple(lists)


def wait[R](work: Coroutine[Any, Any, R]) -> R:
    """Wait for a coroutine from code that runs in `run_waiting`, and return its result."""
    from greenlet import getcurrent

    parent = getcurrent().parent
    if parent is None:
        work.close()
        raise RuntimeError("nothing waits here")
    result: R = parent.switch(work)
    return result


async def run_waiting[R](work: Callable[[], R]) -> R:
    """Run synchronous code that may call `wait`, and return its result."""
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
