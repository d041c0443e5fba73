"""Runs work on the state, and runs it again after a conflict with another process or a short outage of the state."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial, wraps
from typing import cast

from xs2a_sandbox.errors import SandboxError, StoreBusy, StoreUnavailable, Unreadable
from xs2a_sandbox.state.snapshot import RemoteStore, RequestKind, Snapshot, SnapshotConflict, run_waiting
from xs2a_sandbox.state.store import SHARED, SHARED_DOCUMENT, Documents, Store, Transaction

log = logging.getLogger("xs2a_sandbox")

TRIES = 8
_SECONDS = 0.02
"""Seconds before the second try. The wait grows with each further try."""
_PATIENCE = 0.7
"""Seconds for all tries together, if the store is remote."""


_RESULTS = 256
"""The number of cached results for each slow function."""


class Unprepared(Exception):
    """Raised if an attempt needs a slow result. `prepare` computes it in a thread, for the next attempt."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self.prepare = prepare


def in_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Cache the results of a slow function. A call whose result is not cached yet raises Unprepared."""
    results: OrderedDict[object, R | Unreadable] = OrderedDict()

    def prepare(key: object, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            results[key] = function(*args, **kwargs)
        except Unreadable as error:
            results[key] = error
        while len(results) > _RESULTS:
            results.popitem(last=False)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(kwargs.items()))
        if key not in results:
            raise Unprepared(partial(prepare, key, *args, **kwargs))
        result = results[key]
        if isinstance(result, Unreadable):
            raise Unreadable(result.problems)
        return result

    return call


async def run_transaction[R](
    store: Store | RemoteStore,
    attempt: Callable[[Documents], R],
    reader: RequestKind | None = None,
    *,
    writes: bool = False,
) -> R:
    """Run attempts until one completes, and return its result. Each has its own transaction and ends with `commit`.

    If a `reader` is given, the documents that such requests usually read are fetched ahead. If it probably `writes`, an
    attempt does not begin while other processes write, because its work would be lost. Raises StoreUnavailable if no
    attempt completes.
    """
    if isinstance(store, RemoteStore):
        return await run_prepared(partial(_run_in_turn if writes else _run_there, store, attempt, reader))
    tries = 0
    try:
        if writes and store.has_other_writers:
            await _take_turn(store)
        while True:
            pause: Awaitable[None]
            try:
                return await try_once(store, attempt)
            except Unprepared as missing:
                pause = asyncio.to_thread(missing.prepare)
            except StoreUnavailable as error:
                tries += 1
                if tries == TRIES:
                    raise
                pause = store.turn() if isinstance(error, StoreBusy) else asyncio.sleep(_SECONDS * tries)
            await pause
    except StoreUnavailable as error:
        log.warning("the state cannot be used: %s", error)
        raise


async def run_prepared[R](work: Callable[[], Awaitable[R]]) -> R:
    """Return the result of `work`. It is started again after each slow result that it needed has been prepared."""
    while True:
        try:
            return await work()
        except Unprepared as missing:
            prepare = missing.prepare
        await asyncio.to_thread(prepare)


async def _take_turn(store: Store) -> None:
    """Wait for the turn to write. Raises StoreBusy; the attempt reports other troubles, and is repeated."""
    try:
        await store.turn()
    except StoreBusy:
        raise
    except StoreUnavailable:
        pass


async def try_once[R](store: Store, attempt: Callable[[Documents], R]) -> R:
    """Run one attempt, without a line in the log if it fails. Raises StoreUnavailable."""
    try:
        return attempt(store.view())
    finally:
        # Reads wait, too: they may have seen documents that are not committed yet.
        if waiting := store.settle():
            await waiting


def commit(state: Transaction) -> None:
    """Commit the transaction. Raises StoreUnavailable, also if others have changed documents that were read."""
    if not state.commit():
        raise StoreUnavailable(_OTHERS)


async def check(store: Store | RemoteStore) -> None:
    """Check that documents can be written permanently. Raises StoreUnavailable."""
    if isinstance(store, RemoteStore):
        await store.check(asyncio.get_running_loop().time() + _PATIENCE)
    else:
        store.check()


_OTHERS = f"other processes changed it at each of {TRIES} attempts"


async def _run_in_turn[R](store: RemoteStore, attempt: Callable[[Documents], R], reader: RequestKind | None) -> R:
    async with store.turns.turn(reader.session) if reader else nullcontext():
        return await _run_there(store, attempt, reader)


async def _run_there[R](store: RemoteStore, attempt: Callable[[Documents], R], reader: RequestKind | None) -> R:
    snapshot = Snapshot(store, asyncio.get_running_loop().time() + _PATIENCE)
    if reader:
        store.habits.tell(reader, snapshot)
        snapshot.announce(SHARED, [SHARED_DOCUMENT])
    try:
        for number in range(1, TRIES + 1):
            await snapshot.begin()
            try:
                result, error = await run_waiting(lambda: _try(snapshot, attempt))
            except SnapshotConflict:
                continue
            if await snapshot.send():
                if reader:
                    store.habits.learn(reader, snapshot)
                if error:
                    raise error
                return cast(R, result)
            await asyncio.sleep(_SECONDS * number)
        raise StoreUnavailable(_OTHERS)
    except StoreUnavailable as unavailable:
        log.warning("the state cannot be used: %s", unavailable)
        raise


def _try[R](documents: Documents, attempt: Callable[[Documents], R]) -> tuple[R | None, SandboxError | None]:
    """Return the result, or the error: documents written before an error are committed, too."""
    try:
        return attempt(documents), None
    except StoreUnavailable:
        raise
    except SandboxError as error:
        return None, error
