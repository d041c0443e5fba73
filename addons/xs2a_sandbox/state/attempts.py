"""Work on the state that is tried again where others were quicker, or where the state was away for a moment."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import cast

from xs2a_sandbox.errors import SandboxError, StoreBusy, StoreUnavailable, Unreadable
from xs2a_sandbox.state.snapshot import RemoteStore, RequestKind, Snapshot, SnapshotConflict, run_waiting
from xs2a_sandbox.state.store import Documents, Store, Transaction

log = logging.getLogger("xs2a_sandbox")

TRIES = 8
_SECONDS = 0.02
"""Before the second try; before each further one that much longer."""
_PATIENCE = 0.7
"""Seconds for all tries together where the store is somewhere else."""


_RESULTS = 256
"""Results of each slow function that are kept."""


class Unprepared(Exception):
    """Raised where an attempt needs a result that takes long: `prepare` makes it, in a thread, for the next attempt."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self.prepare = prepare


def in_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Keep the results of a function that takes long. A call whose result is not there yet raises Unprepared."""
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
    store: Store | RemoteStore, attempt: Callable[[Documents], R], reader: RequestKind | None = None
) -> R:
    """The result of the first attempt that ends, each with a transaction of its own that it ends with `commit`.

    A `reader` is whose habits tell what it is going to read. Raises StoreUnavailable where no attempt ends.
    """
    return await run_prepared(lambda: _run(store, attempt, reader))


async def run_prepared[R](work: Callable[[], Awaitable[R]]) -> R:
    """Return the result of `work`, which is begun again after each thing that it needed has been prepared."""
    while True:
        try:
            return await work()
        except Unprepared as missing:
            prepare = missing.prepare
        await asyncio.to_thread(prepare)


async def _run[R](store: Store | RemoteStore, attempt: Callable[[Documents], R], reader: RequestKind | None) -> R:
    if isinstance(store, RemoteStore):
        return await _run_there(store, attempt, reader)
    try:
        for number in range(1, TRIES):
            try:
                return await _run_here(store, attempt)
            except StoreBusy:
                await store.turn()
            except StoreUnavailable:
                await asyncio.sleep(_SECONDS * number)
        return await _run_here(store, attempt)
    except StoreUnavailable as error:
        log.warning("the state cannot be used: %s", error)
        raise


async def _run_here[R](store: Store, attempt: Callable[[Documents], R]) -> R:
    try:
        return attempt(store.view())
    finally:
        # Also what only read may have read what is not yet there.
        if waiting := store.settle():
            await waiting


def commit(state: Transaction) -> None:
    """Commits. Raises StoreUnavailable, also where others have changed what was read."""
    if not state.commit():
        raise StoreUnavailable(_OTHERS)


async def check(store: Store | RemoteStore) -> None:
    """Returns if what is written lasts. Raises StoreUnavailable."""
    if isinstance(store, RemoteStore):
        await store.check(asyncio.get_running_loop().time() + _PATIENCE)
    else:
        store.check()


_OTHERS = f"others changed it each of {TRIES} times"


async def _run_there[R](store: RemoteStore, attempt: Callable[[Documents], R], reader: RequestKind | None) -> R:
    snapshot = Snapshot(store, asyncio.get_running_loop().time() + _PATIENCE)
    if reader:
        store.habits.tell(reader, snapshot)
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
    """The result, or the error: what was kept before that counts as well."""
    try:
        return attempt(documents), None
    except StoreUnavailable:
        raise
    except SandboxError as error:
        return None, error
