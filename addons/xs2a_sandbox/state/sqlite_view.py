"""A process's cache of a SQLite file. Only documents that other processes may have changed are read again."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xs2a_sandbox.state.store import Document, Key

if TYPE_CHECKING:
    from xs2a_sandbox.state.sqlite import SqliteStore

_COUNT, _LONGEST = 1024, 100
"""The most cached documents, the most cached lists, and the most documents in a cached list."""

Place = tuple[str, str, str]
"""Session, collection and id."""


class SqliteView:
    """The documents as of the last `refresh`, for work that does not yield to other work.

    To read a document, SQLite locks and unlocks the file, which takes ten times as long as a cached read.
    """

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store
        self._header: bytes | None = None
        self._written: int | None = None
        self.has_other_writers = False
        """Whether another process has written since this one began."""
        self._documents: OrderedDict[Place, tuple[int, Document | None]] = OrderedDict()
        self._lists: dict[tuple[str, str], tuple[int, dict[str, Document | None]]] = {}

    def refresh(self) -> "SqliteView":
        """Empty the cache if others have written. Raises StoreUnavailable."""
        # Read the header first: then the next call notices a write in between.
        header = self._store.header()
        if header is None or header != self._header:
            written = self._store.read_version()
            if written != self._written:
                self.has_other_writers = self.has_other_writers or self._written is not None
                self.forget()
                self._written = written
            self._header = header
        return self

    def forget(self) -> None:
        self._written = None
        self._documents.clear()
        self._lists.clear()

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        place = session, collection, id
        document = self._documents.get(place)
        return self._remember(place, self._store.find(*place)) if document is None else document

    expect = read

    def announce(self, session: str, keys: Sequence[Key], lists: Sequence[str] = ()) -> None:
        """Nothing has to be fetched."""

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        place = session, collection
        document = self._lists.get(place)
        if document is None:
            document = self._store.find_all(*place)
            if len(self._lists) >= _COUNT:
                self._lists.clear()
            if len(document[1]) <= _LONGEST:
                self._lists[place] = document
        return document

    def is_unchanged(self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int]) -> bool:
        for key, version in reads.items():
            if (self._documents.get((session, *key)) or self.read(session, *key))[0] != version:
                return False
        return not lists or all(self.list(session, name)[0] == version for name, version in lists.items())

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        return self._store.commit_together(session, reads, lists, writes)

    def reset(self, session: str | None = None) -> None:
        self._store.reset(session)

    def counts(self, session: str | None = None) -> dict[str, int]:
        return self._store.counts(session)

    def sessions(self) -> dict[str, dict[str, int]]:
        return self._store.sessions()

    def note_written(self, session: str, versions: Mapping[Key, tuple[int, Document | None]]) -> None:
        """Cache the documents that this process has written."""
        for (collection, id), document in versions.items():
            self._remember((session, collection, id), document)
            self._lists.pop((session, collection), None)

    def _remember(self, place: Place, document: tuple[int, Document | None]) -> tuple[int, Document | None]:
        if len(self._documents) >= _COUNT:
            self._documents.popitem(last=False)
        self._documents[place] = document
        return document
