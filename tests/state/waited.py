"""An asynchronous store with a synchronous interface, for tests that run against every store."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from xs2a_sandbox.state import Document, RemoteStore, attempts
from xs2a_sandbox.state.attempts import check, run_transaction
from xs2a_sandbox.state.store import Key


class Waited:
    def __init__(self, make: Any) -> None:
        self._runner = asyncio.Runner()

        async def made() -> RemoteStore:
            return make()

        self.store: RemoteStore = self._runner.run(made())

    def _do(self, work: Any) -> Any:
        # On a busy machine too: the contract is about the answers, not about their time.
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(attempts, "_PATIENCE", 60)
            return self._runner.run(run_transaction(self.store, work))

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        return self._do(lambda documents: documents.read(session, collection, id))

    expect = read

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        return self._do(lambda documents: documents.list(session, collection))

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        async def commit() -> bool:
            return await self.store.commit(session, reads, lists, writes, asyncio.get_running_loop().time() + 60)

        return self._runner.run(commit())

    def reset(self, session: str | None = None) -> None:
        self._do(lambda documents: documents.reset(session))

    def counts(self, session: str | None = None) -> dict[str, int]:
        return self._do(lambda documents: documents.counts(session))

    def sessions(self) -> dict[str, dict[str, int]]:
        return self._do(lambda documents: documents.sessions())

    def check(self) -> None:
        self._runner.run(check(self.store))

    def close(self) -> None:
        self._runner.run(self.store.close())
        self._runner.close()
