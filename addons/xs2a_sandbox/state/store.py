"""State: documents by session, collection and id, and the transaction in which a request uses them."""

import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from xs2a_sandbox.http import to_json

log = logging.getLogger("xs2a_sandbox")

Document = dict[str, Any]
"""JSON only. Never changed in place: a new version is a new dict."""

Key = tuple[str, str]
"""Collection and id."""

Collections = Mapping[str, Mapping[str, Document]]

SHARED = "*"
"""The owner of the document that all sessions share. No session can have this name."""
SHARED_DOCUMENT: Key = ("_session", "shared")


def read_document(text: str | bytes) -> Document:
    """Parse a stored JSON document. Decimals keep their digits."""
    document: Document
    try:
        document = _decode(text)
    except ValueError:
        # It reads ten times as slowly, but also NaN and half of a surrogate pair.
        document = json.loads(text, parse_float=Decimal)
    return document


_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def read_stored(text: str | bytes, place: str) -> Document | None:
    """Parse a stored JSON document that another program may have damaged.

    A damaged document is logged and returned as None, as if it had been deleted.
    """
    try:
        document = read_document(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        warn_of_damage(place)
        return None
    return document


@lru_cache(1024)
def warn_of_damage(place: str) -> None:
    """Log the damage, once for each place."""
    log.warning("%s is damaged, so it is skipped: another program has written to the state", place)


class Documents(Protocol):
    """Documents with versions. Version 0 means that the session has never written the document.

    The document None is a deletion, which hides the one in the test data. Every method may raise StoreUnavailable.
    """

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]: ...

    def expect(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        """Like `read`, for a document that will be overwritten regardless of its content."""
        ...

    def announce(self, session: str, keys: Sequence[Key], lists: Sequence[str] = ()) -> None:
        """Announce reads, so that a remote store is asked once for all of them."""
        ...

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        """Return the collection's own version, which every write in it changes, and its documents."""
        ...

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        """Write everything if all documents that were read still have their version. Returns whether it was written."""
        ...

    def reset(self, session: str | None = None) -> None:
        """Delete one session, or all."""
        ...

    def counts(self, session: str | None = None) -> dict[str, int]:
        """Count the documents and deletions in each collection, for one session or for all."""
        ...

    def sessions(self) -> dict[str, dict[str, int]]:
        """Return the counts by collection of every session that has written something."""
        ...


class Store(Documents, Protocol):
    """Documents that need not be awaited."""

    def view(self) -> Documents:
        """Return the current documents, for work that does not yield to other work.

        Raises StoreUnavailable.
        """
        ...

    def settle(self) -> Awaitable[None] | None:
        """Return an awaitable for the end of writes made through views, or None if there are none.

        Raises StoreUnavailable.
        """
        ...

    @property
    def has_other_writers(self) -> bool:
        """Whether another process may be writing, so that a request that writes should wait for its `turn` first."""
        ...

    async def turn(self) -> None:
        """Wait until no other process writes, and keep the turn until the caller awaits again.

        Raises StoreUnavailable if that takes too long.
        """
        ...

    def is_unchanged(self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int]) -> bool:
        """Return whether everything that was read still has the version that it had then."""
        ...

    def check(self) -> None:
        """Check that documents can be written permanently. Raises StoreUnavailable."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """A store in memory (`memory:`), which ends with the process.

    Documents are kept as JSON, which takes a third of the memory and is not scanned by the garbage collector.
    """

    def __init__(self) -> None:
        self._recent: list[tuple[int, Document]] = [(0, {})] * _RECENT
        """Documents written or read recently, with their versions. A version decides the position."""
        self._sessions: dict[str, _Session] = {}
        self.version = 0  # never reset: a version read before a reset cannot occur again after it

    def view(self) -> "MemoryStore":
        return self

    def settle(self) -> None:
        """Nothing has to be awaited."""

    has_other_writers = False

    async def turn(self) -> None:
        """Nothing has to be awaited."""

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        held = self._sessions.get(session, _NOTHING_HELD)
        stored = held.documents.get(collection, _NO_DOCUMENTS).get(id)
        if stored is None:
            return _ABSENT
        version, text = stored
        return version, None if text is None else self._document(version, text)

    expect = read

    def announce(self, session: str, keys: Sequence[Key], lists: Sequence[str] = ()) -> None:
        """Nothing has to be fetched."""

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        held = self._sessions.get(session)
        if held is None:
            return 0, {}
        documents = held.documents.get(collection, {})
        return held.lists.get(collection, 0), {
            id: None if text is None else self._document(version, text) for id, (version, text) in documents.items()
        }

    def is_unchanged(self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int]) -> bool:
        held = self._sessions.get(session) or _NOTHING_HELD
        documents = held.documents
        for (collection, id), version in reads.items():
            if documents.get(collection, _NO_DOCUMENTS).get(id, _ABSENT)[0] != version:
                return False
        return not lists or all(held.lists.get(name, 0) == version for name, version in lists.items())

    def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        began: int | None = None,
    ) -> bool:
        """Write everything if nothing was written since the version `began`, or else if nothing that was read was."""
        if began != self.version and not self.is_unchanged(session, reads, lists):
            return False
        held = self._sessions.get(session) or _Session()
        if writes:
            self._sessions[session] = held
        documents, lists, recent = held.documents, held.lists, self._recent
        for (collection, id), document in writes.items():
            version = self.version = self.version + 1
            text = None
            if document is not None:
                text = to_json(document) if document else _EMPTY_TEXT
                recent[version % _RECENT] = version, document
            documents.setdefault(collection, {})[id] = version, text
            lists[collection] = version
        return True

    def _document(self, version: int, text: bytes) -> Document:
        recent, document = self._recent[version % _RECENT]
        if recent != version:
            document = read_document(text)
            self._recent[version % _RECENT] = version, document
        return document

    def reset(self, session: str | None = None) -> None:
        self.version += 1
        if session is None:
            self._sessions.clear()
        else:
            self._sessions.pop(session, None)

    def counts(self, session: str | None = None) -> dict[str, int]:
        sessions = [self._sessions.get(session)] if session is not None else self._sessions.values()
        counts: Counter[str] = Counter()
        for held in filter(None, sessions):
            counts.update({collection: len(documents) for collection, documents in held.documents.items()})
        return dict(counts)

    def sessions(self) -> dict[str, dict[str, int]]:
        return {name: self.counts(name) for name in sorted(self._sessions)}

    def check(self) -> None:
        """Unlike a file, memory cannot be full or deleted."""

    def close(self) -> None:
        self._sessions.clear()


_RECENT = 256
_ABSENT = (0, None)
_EMPTY_TEXT = to_json({})
"""The text of empty documents, such as notes. They share it, because there is one for each payment."""
_NO_DOCUMENTS: dict[str, tuple[int, bytes | None]] = {}


class _Session:
    __slots__ = ("documents", "lists")

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, tuple[int, bytes | None]]] = {}
        self.lists: dict[str, int] = {}


_NOTHING_HELD = _Session()


_UNWRITTEN: Document = {}
_AS_BEFORE = "_asBefore"
"""The member of a stored document that lists the members whose values are still those of the test data.

They are not stored again.
"""


class Transaction:
    """The documents as one request sees them: the test data, below the session's documents, below its own changes.

    Nothing is written before `commit`, and then everything or nothing. If a document changes one of the test data, only
    the differences are written, so that the other dates in it stay relative. `find` returns the test data at first use.
    What it stores with `put_with_commit` is written only together with other writes. `before_commit` may add to the
    writes.
    """

    __slots__ = (
        "_before_commit", "_began", "_beside", "_changed", "_find", "_lists", "_overwritten", "_reads", "_seen",
        "_shared", "_store", "_testdata", "_writes", "session",
    )  # fmt: skip

    def __init__(
        self,
        store: Documents,
        session: str,
        find: Callable[["Transaction"], Collections],
        before_commit: Callable[["Transaction"], object] = lambda transaction: None,
    ) -> None:
        self._store = store
        self._began = store.version if isinstance(store, MemoryStore) else None
        self._find = find
        self._before_commit = before_commit
        self._testdata: Collections | None = None
        self.session = session
        self._reads: dict[Key, tuple[int, Document | None]] = {}
        self._lists: dict[str, tuple[int, dict[str, Document | None]]] = {}
        self._shared: tuple[int, Document | None] | None = None
        self._writes: dict[Key, Document | None] = {}
        self._beside: dict[Key, Document | None] = {}
        self._changed: list[Key] = []
        self._overwritten: list[tuple[Key, Document | None]] | None = None
        self._seen: dict[Key, Document | None] = {}
        """The documents as `get` returned them last."""

    def beside(self, session: str) -> "Transaction":
        """Return a transaction with documents of another session. Commit it before this one."""
        return Transaction(self._store, session, lambda transaction: {})

    def testdata(self) -> Collections:
        """Return the test data below the session's documents."""
        if self._testdata is None:
            self._testdata = self._find(self)
        return self._testdata

    def get(self, collection: str, id: str) -> Document | None:
        key = (collection, id)
        seen = self._seen.get(key, _UNWRITTEN)
        if seen is not _UNWRITTEN:
            return seen
        # Without further calls, because every request reads some.
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = self._store.read(self.session, collection, id)
        version, document = read
        if version:
            seen = self._restore_whole(key, document) if document and _AS_BEFORE in document else document
        else:
            documents = (self._testdata or self.testdata()).get(collection)
            seen = documents.get(id) if documents else None
        self._seen[key] = seen
        return seen

    def get_each(self, collection: str, ids: Iterable[str]) -> dict[str, Document]:
        """Return those of the documents that exist, by id."""
        ids = list(ids)
        self._store.announce(self.session, [(collection, id) for id in ids])
        return {id: document for id in ids if (document := self.get(collection, id)) is not None}

    def get_own(self, collection: str, id: str) -> Document | None:
        """Return the session's own version of the document, without the test data."""
        key = (collection, id)
        if self._writes and key in self._writes:
            return self._writes[key]
        if self._beside and key in self._beside:
            return self._beside[key]
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = self._store.read(self.session, collection, id)
        document = read[1]
        return self._restore_whole(key, document) if document and _AS_BEFORE in document else document

    def shared(self) -> Document:
        """Return the document that all sessions share, which this transaction cannot change; empty if there is none."""
        if self._shared is None:
            self._shared = self._store.read(SHARED, *SHARED_DOCUMENT)
        return self._shared[1] or {}

    @property
    def shared_version(self) -> int | None:
        """The version of the shared document, or None if it has not been read."""
        return None if self._shared is None else self._shared[0]

    def all(self, collection: str) -> dict[str, Document]:
        documents = {**self.testdata().get(collection, {}), **self._read_own(collection)}
        return {id: document for id, document in documents.items() if document is not None}

    def own(self, collection: str) -> dict[str, Document]:
        """Return the session's own documents, without the test data."""
        return {id: document for id, document in self._read_own(collection).items() if document is not None}

    def collections(self) -> list[str]:
        """Return the names of collections that contain, or contained, anything."""
        kept = (*self.testdata(), *sorted(self._store.counts(self.session)))
        return list(dict.fromkeys((*kept, *(name for name, _ in self._writes))))

    def put(self, collection: str, id: str, document: Document | None) -> None:
        """Write the document. None deletes it."""
        key = (collection, id)
        if key not in self._reads:  # so that a write without a read cannot overwrite another one
            self._reads[key] = self._store.expect(self.session, collection, id)
        if self._overwritten is not None:
            self._overwritten.append((key, self._writes.get(key, _UNWRITTEN)))
        self._writes[key] = self._seen[key] = document
        self._changed.append(key)

    def put_with_commit(self, collection: str, id: str, document: Document) -> None:
        """Write the document together with the next real write; drop it if the request only reads."""
        key = (collection, id)
        self._read(key)
        if key in self._writes:
            self._writes[key] = self._seen[key] = document
        else:
            self._beside[key] = document

    def delete(self, collection: str, id: str) -> None:
        self.put(collection, id, None)

    def restore(self, collection: str, id: str) -> None:
        """Restore the test data's version of the document."""
        key = (collection, id)
        if key in self._writes or self._read(key)[0]:
            self.put(collection, id, self._original(key))

    def written(self, collection: str) -> list[str]:
        """Return the ids of the collection's documents that were written or deleted."""
        return [id for name, id in self._writes if name == collection]

    def created(self, collection: str) -> dict[str, Document]:
        """Return the documents by id that were written and did not exist before."""
        return {
            key[1]: document
            for key, document in self._writes.items()
            if key[0] == collection and document is not None and not (self._reads[key][1] or self._original(key))
        }

    def before(self, collection: str, id: str) -> Document | None:
        """Return the document as it was before this transaction."""
        version, document = self._read((collection, id))
        return self._restore_whole((collection, id), document) if version else self._original((collection, id))

    def changes(self) -> list[Key]:
        """Return the documents that were written or deleted since the last call of `take_changes`, in order."""
        return list(dict.fromkeys(self._changed))

    def take_changes(self) -> list[Key]:
        """Return the documents that were written or deleted since the last call, in order."""
        changed, self._changed = self._changed, []
        return changed

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._writes)

    @property
    def looked_at(self) -> tuple[dict[Key, int], dict[str, int]]:
        """The versions of the documents and collections that were read."""
        reads = {key: version for key, (version, _) in self._reads.items()}
        return reads, {name: version for name, (version, _) in self._lists.items()}

    def trial(self) -> Callable[[], None]:
        """Begin work that may fail. Call the returned function to undo all writes since then."""
        changed = list(self._changed)
        overwritten: list[tuple[Key, Document | None]] = []
        self._overwritten = overwritten

        def undo() -> None:
            for key, document in reversed(overwritten):
                if document is _UNWRITTEN:
                    del self._writes[key]
                else:
                    self._writes[key] = document
            self._changed = changed
            self._seen = dict(self._writes)

        return undo

    def discard(self) -> None:
        """Undo all writes."""
        self._writes, self._beside, self._changed, self._seen = {}, {}, [], {}

    def commit(self) -> bool:
        """Write everything. Returns False, and writes nothing, after a conflict with other writes."""
        if not self._writes:
            return True
        self._before_commit(self)
        testdata = self.testdata()  # the first use may add a write: the day from which dates count
        stored = {**self._beside, **self._writes}
        for key, document in stored.items():
            originals = testdata.get(key[0])
            original = originals.get(key[1]) if originals else None
            if document and original:
                stored[key] = _difference(document, original)
        if isinstance(self._store, MemoryStore):
            return self._store.commit(self.session, *self.looked_at, stored, self._began)
        return self._store.commit(self.session, *self.looked_at, stored)

    def _read_own(self, collection: str) -> dict[str, Document | None]:
        """Return the session's documents and deletions, including those of this transaction."""
        if collection not in self._lists:
            version, documents = self._store.list(self.session, collection)
            whole = {id: self._restore_whole((collection, id), document) for id, document in documents.items()}
            self._lists[collection] = version, whole
        held = self._lists[collection][1]
        writes = {id: document for (name, id), document in self._writes.items() if name == collection}
        return {**held, **writes} if writes else held

    def _original(self, key: Key) -> Document | None:
        """Return the test data's document."""
        collection = self.testdata().get(key[0])
        return collection.get(key[1]) if collection else None

    def _restore_whole(self, key: Key, stored: Document | None) -> Document | None:
        """Return the complete document, or None if the test data no longer contains its base."""
        if stored is None or _AS_BEFORE not in stored:
            return stored
        original = self._original(key)
        if original is None:
            return None
        document = {name: original[name] for name in stored[_AS_BEFORE] if name in original}
        return document | {name: value for name, value in stored.items() if name != _AS_BEFORE}

    def _read(self, key: Key) -> tuple[int, Document | None]:
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = self._store.read(self.session, *key)
        return read


def _difference(document: Document, original: Document) -> Document:
    """Return the form in which a changed document of the test data is stored.

    Unchanged values are the same objects as in the test data.
    """
    as_before = [name for name, value in document.items() if name in original and original[name] is value]
    if not as_before:
        return document
    return {_AS_BEFORE: as_before} | {name: value for name, value in document.items() if name not in as_before}


class StateView(Mapping[str, Mapping[str, Document]]):
    """`state` in expressions: collections by name, read at first use."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __getitem__(self, collection: str) -> "CollectionView":
        return CollectionView(self._transaction, collection)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("`state` cannot be listed: name a collection, such as state.consents")

    def __len__(self) -> int:
        raise TypeError("`state` cannot be counted: name a collection, such as state.consents")

    def __repr__(self) -> str:
        return "state"


class CollectionView(Mapping[str, Document]):
    """One collection by id. A single document is read without the others."""

    def __init__(self, transaction: Transaction, collection: str) -> None:
        self._transaction = transaction
        self._collection = collection

    def __getitem__(self, id: str) -> Document:
        document = self._transaction.get(self._collection, id) if isinstance(id, str) else None
        if document is None:
            raise KeyError(id)
        return document

    def __iter__(self) -> Iterator[str]:
        return iter(self._transaction.all(self._collection))

    def __len__(self) -> int:
        return len(self._transaction.all(self._collection))

    def items(self) -> ItemsView[str, Document]:
        return self._transaction.all(self._collection).items()  # reads all documents at once

    def __repr__(self) -> str:
        return repr(self._transaction.all(self._collection))
