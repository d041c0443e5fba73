"""Delivers answers to clients without a connection as if there were one."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from msgspec import structs

from xs2a_sandbox.doors.door import Application
from xs2a_sandbox.http import Request, Response


class LoopThread:
    """A loop in a thread that starts with the first work, and again after a fork, which threads do not survive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def submit[T](self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Schedule work, and return its future, for the caller to wait for or cancel."""
        return asyncio.run_coroutine_threadsafe(work, self._start())

    def run[T](self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Run work and return its result. Raises TimeoutError after `seconds`."""
        future = self.submit(work)
        try:
            return future.result(seconds)
        except BaseException:
            future.cancel()
            raise

    def is_current(self) -> bool:
        """Return whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None or self._process != os.getpid():
            return
        asyncio.run_coroutine_threadsafe(_end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                # A daemon, so that the process can end even if it is not closed.
                self._thread = threading.Thread(target=self._loop.run_forever, name="xs2a-sandbox", daemon=True)
                self._thread.start()
            return self._loop


async def _end() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


NOT_HTTP = b"This is not HTTP"
"""The bytes that the fault `malformed` sends."""


PATIENCE: ContextVar[float | None] = ContextVar("patience", default=None)
"""The seconds that the client of a request waits for its answer."""


async def ask(answer: Application, request: Request, patience: float | None = None) -> Response:
    """Return the complete answer.

    Raises TimeoutError if it takes longer, on the bank's clock, than the client waits.
    """
    PATIENCE.set(patience)
    response = await answer(request)
    if response.rest is None:
        return response
    async with aclosing(response.rest) as rest:
        pieces = [piece async for piece in rest]
    return structs.replace(response, body=b"".join([response.body, *pieces]), rest=None)


def take_sent_part(response: Response) -> bytes:
    """Return the part of the body that is sent before the connection breaks."""
    return response.body[: len(response.body) // 2] if response.fault == "truncate" else response.body
