"""A loop in another thread than the caller's."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.doors import DEADLINE, wait_until
from xs2a_sandbox.features.pytest.in_process import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


async def name() -> str:
    return threading.current_thread().name


async def late() -> None:
    await asyncio.sleep(DEADLINE * 10)


def test_a_timeout_is_raised_and_cancels_the_work(loop: LoopThread) -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            await late()
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        loop.run(work(), 0.01)
    assert ended.wait(DEADLINE)


def test_closing_cancels_running_work_and_ends_the_thread() -> None:
    others = set(threading.enumerate())
    loop = LoopThread()
    future = loop.submit(late())
    loop.close()
    assert future.cancelled()
    loop.close()
    assert set(threading.enumerate()) <= others
    assert loop.run(name()) == "xs2a-sandbox"
    loop.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_loop_starts_again_after_a_fork(loop: LoopThread) -> None:
    loop.run(name())
    child = os.fork()
    if child == 0:
        os._exit(0 if loop.run(name(), DEADLINE) == "xs2a-sandbox" else 1)
    status: list[int] = []

    def ended() -> bool:
        pid, code = os.waitpid(child, os.WNOHANG)
        status.extend([code] if pid else [])
        return bool(pid)

    wait_until(ended, 2 * DEADLINE)
    assert status == [0]


def test_waiting_takes_no_cpu_time(loop: LoopThread) -> None:
    before = time.process_time()
    with pytest.raises(TimeoutError):
        loop.run(late(), 0.2)
    assert time.process_time() - before < 0.15
