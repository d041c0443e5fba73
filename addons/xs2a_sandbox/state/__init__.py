"""The bank's memory: documents by session, collection and id, read lazily and committed all or none."""

from xs2a_sandbox.state.snapshot import RemoteStore
from xs2a_sandbox.state.store import Document, Documents, MemoryStore, Store, Transaction

__all__ = ["Document", "Documents", "MemoryStore", "RemoteStore", "Store", "Transaction"]
