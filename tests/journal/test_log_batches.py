"""Passing exchanges to the log: all of them, in order, and quickly."""

import asyncio
from collections.abc import Callable

from xs2a_sandbox.journal.log_batches import Batch, LogBatches
from xs2a_sandbox.journal.log_line import LogEntry

PROMPT = 0.1
"""Seconds after which a line must be written."""


def exchange(number: int) -> LogEntry:
    return LogEntry("default", "GET", f"/v1/{number}", 200, 1.0, "rule")


def collect(work: Callable[[LogBatches], None]) -> list[Batch]:
    """Return the batches that have arrived when `work` is done."""
    taken: list[Batch] = []

    async def run() -> None:
        work(LogBatches(taken.append))

    asyncio.run(run())
    return taken


def test_exchanges_that_arrive_together_are_passed_on_together_in_order() -> None:
    def work(batches: LogBatches) -> None:
        for number in range(3):
            batches.add(exchange(number))
        batches.flush()
        batches.flush()
        batches.add(exchange(3))
        batches.flush()

    taken = collect(work)
    assert [[entry.path for entry, _ in batch] for batch in taken] == [["/v1/0", "/v1/1", "/v1/2"], ["/v1/3"]]
    instants = [answered for batch in taken for _, answered in batch]
    assert instants == sorted(instants)


def test_exchanges_are_passed_on_without_a_flush() -> None:
    async def work() -> float:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[float] = loop.create_future()
        batches = LogBatches(lambda batch: arrived.set_result(loop.time()))
        started = loop.time()
        batches.add(exchange(1))
        batches.add(exchange(2))
        return await asyncio.wait_for(arrived, 10) - started

    # Take the fastest of several attempts, because a busy machine can be late.
    assert min(asyncio.run(work()) for _ in range(5)) < PROMPT


def test_an_exchange_added_during_a_batch_is_in_the_next_one() -> None:
    taken: list[str] = []

    async def work() -> None:
        def take(batch: Batch) -> None:
            taken.extend(entry.path for entry, _ in batch)
            if len(taken) == 1:
                batches.add(exchange(2))

        batches = LogBatches(take)
        batches.add(exchange(1))
        batches.flush()
        batches.flush()

    asyncio.run(work())
    assert taken == ["/v1/1", "/v1/2"]
