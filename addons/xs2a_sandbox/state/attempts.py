"""Work on the state that is tried again where others were quicker, or where the state was away for a moment."""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from xs2a_sandbox.errors import SandboxError, StoreBusy, StoreUnavailable
from xs2a_sandbox.state.snapshot import DistantStore, Overtaken, Reader, Snapshot, waiting
from xs2a_sandbox.state.store import Documents, Store, Transaction

log = logging.getLogger("xs2a_sandbox")

TRIES = 8
_SECONDS = 0.02
"""Before the second try; before each further one that much longer."""
_PATIENCE = 0.7
"""Seconds for all tries together where the store is somewhere else."""


async def kept[R](store: Store | DistantStore, attempt: Callable[[Documents], R], reader: Reader | None = None) -> R:
    """The result of the first attempt that ends, each with a transaction of its own that it commits with `keep`.

    A `reader` is whose habits tell what it is going to read. Raises StoreUnavailable where no attempt ends.
    """
    if isinstance(store, DistantStore):
        return await _kept_there(store, attempt, reader)
    try:
        for number in range(1, TRIES):
            try:
                return await _kept_here(store, attempt)
            except StoreBusy:
                await store.turn()
            except StoreUnavailable:
                await asyncio.sleep(_SECONDS * number)
        return await _kept_here(store, attempt)
    except StoreUnavailable as error:
        log.warning("the state cannot be used: %s", error)
        raise


async def _kept_here[R](store: Store, attempt: Callable[[Documents], R]) -> R:
    try:
        return attempt(store.view())
    finally:
        # Also what only read may have read what is not yet there.
        if waiting := store.settled():
            await waiting


def keep(state: Transaction) -> None:
    """Commits. Raises StoreUnavailable, also where others have changed what was read."""
    if not state.commit():
        raise StoreUnavailable(_OTHERS)


async def checked(store: Store | DistantStore) -> None:
    """Returns if what is written lasts. Raises StoreUnavailable."""
    if isinstance(store, DistantStore):
        await store.check(asyncio.get_running_loop().time() + _PATIENCE)
    else:
        store.check()


_OTHERS = f"others changed it each of {TRIES} times"


async def _kept_there[R](store: DistantStore, attempt: Callable[[Documents], R], reader: Reader | None) -> R:
    snapshot = Snapshot(store, asyncio.get_running_loop().time() + _PATIENCE)
    if reader:
        store.habits.tell(reader, snapshot)
    try:
        for number in range(1, TRIES + 1):
            await snapshot.begin()
            try:
                result, error = await waiting(lambda: _tried(snapshot, attempt))
            except Overtaken:
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


def _tried[R](documents: Documents, attempt: Callable[[Documents], R]) -> tuple[R | None, SandboxError | None]:
    """The result, or the error: what was kept before that counts as well."""
    try:
        return attempt(documents), None
    except StoreUnavailable:
        raise
    except SandboxError as error:
        return None, error
