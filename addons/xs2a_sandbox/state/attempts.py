"""Work on the state that is tried again where others were quicker, or where the state was away for a moment."""

import asyncio
import logging
from collections.abc import Callable

from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.store import Transaction

log = logging.getLogger("xs2a_sandbox")

TRIES = 8
_SECONDS = 0.02
"""Before the second try; before each further one that much longer."""


async def kept[R](attempt: Callable[[], R]) -> R:
    """The result of the first attempt that ends, each with a transaction of its own that it commits with `keep`.

    Raises StoreUnavailable where none does.
    """
    for number in range(1, TRIES + 1):
        try:
            return attempt()
        except StoreUnavailable as error:
            if number == TRIES:
                log.warning("the state cannot be used: %s", error)
                raise
        await asyncio.sleep(_SECONDS * number)
    raise ValueError("nothing was tried")


def keep(state: Transaction) -> None:
    """Commits. Raises StoreUnavailable, also where others have changed what was read."""
    if not state.commit():
        raise StoreUnavailable(f"others changed it each of {TRIES} times")
