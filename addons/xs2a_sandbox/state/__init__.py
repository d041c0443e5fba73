"""The bank's memory: documents by session, collection and id, read lazily and committed all or none."""

from xs2a_sandbox.state.store import Document, MemoryStore, Store, Transaction

__all__ = ["Document", "MemoryStore", "Store", "Transaction"]
