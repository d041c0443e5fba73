"""A loop retries transactions that lost against other writers."""

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from xs2a_sandbox.errors import StoreBusy, StoreUnavailable
from xs2a_sandbox.state import Documents, MemoryStore, Transaction, attempts
from xs2a_sandbox.state.attempts import TRIES, commit, run_transaction
from xs2a_sandbox.state.session import DEFAULT


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    # Only in this module: sandboxes of other tests may run in threads of this process.
    monkeypatch.setattr(attempts, "asyncio", SimpleNamespace(sleep=sleep))
    return waited


def begun(store: MemoryStore) -> Transaction:
    return Transaction(store, DEFAULT, lambda _: {})


def counter(store: MemoryStore, others: int) -> tuple[list[int], Callable[[Documents], int]]:
    """Increment a document, while another writer changes it before each of the first commits."""
    tried: list[int] = []

    def attempt(documents: Documents) -> int:
        state = begun(store)
        count = (state.get("things", "a") or {"count": 0})["count"]
        state.put("things", "a", {"count": count + 1})
        tried.append(count)
        if len(tried) <= others:
            other = begun(store)
            other.put("things", "a", {"count": count + 100})
            assert other.commit()
        commit(state)
        return count + 1

    return tried, attempt


def test_a_transaction_gives_up_after_eight_attempts(waits: list[float], caplog: pytest.LogCaptureFixture) -> None:
    tried, attempt = counter(MemoryStore(), 100)

    with pytest.raises(StoreUnavailable, match="other processes changed it at each of 8 attempts"):
        asyncio.run(run_transaction(MemoryStore(), attempt))
    assert len(tried) == TRIES == 8
    assert len(waits) == TRIES - 1
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [
        (logging.WARNING, "the state cannot be used: other processes changed it at each of 8 attempts")
    ]


def test_a_busy_store_is_waited_for(waits: list[float]) -> None:
    store, turns = MemoryStore(), []

    async def turn() -> None:
        turns.append(len(turns))

    store.turn = turn  # type: ignore[method-assign]

    def attempt(documents: Documents) -> str:
        if len(turns) < 3:
            raise StoreBusy("locked")
        return "kept"

    assert asyncio.run(run_transaction(store, attempt)) == "kept"
    assert not waits


def test_other_errors_are_not_retried(waits: list[float]) -> None:
    def attempt(documents: Documents) -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        asyncio.run(run_transaction(MemoryStore(), attempt))
    assert not waits
