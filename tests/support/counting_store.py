"""A store that records what is read from it."""

from typing import Any

from xs2a_sandbox.state import MemoryStore


class CountingStore(MemoryStore):
    """Count the documents that are read, and record which collections are listed."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.lists = 0, set[str]()

    def read(self, session: str, collection: str, id: str) -> tuple[int, Any]:
        self.reads += 1
        return super().read(session, collection, id)

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Any]]:
        self.lists.add(collection)
        return super().list(session, collection)
