"""Of slow work with the same key only the newest counts."""

import asyncio
import threading

from xs2a_sandbox.features.language_server.newest import Newest


def test_replaced_work_has_no_result_and_waiting_work_does_not_start() -> None:
    started, may_end = threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str, *, waits: bool = False) -> str:
        done.append(name)
        if waits:
            started.set()
            assert may_end.wait(60)
        return name

    async def run() -> list[str | None]:
        newest: Newest[str] = Newest()
        first = asyncio.create_task(newest.run("file", lambda: work("first", waits=True)))
        await asyncio.to_thread(started.wait, 60)
        others = [
            asyncio.create_task(newest.run(key, lambda name=name: work(name)))  # type: ignore[misc]
            for key, name in (("file", "second"), ("other", "other"), ("file", "third"))
        ]
        asyncio.get_running_loop().call_soon(may_end.set)  # after the others have begun to wait
        return [await task for task in (first, *others)]

    assert asyncio.run(run()) == [None, None, "other", "third"]
    assert done == ["first", "other", "third"]


def test_a_failure_does_not_block_later_work() -> None:
    async def run() -> int | None:
        newest: Newest[str] = Newest()
        failed = await asyncio.gather(newest.run("file", lambda: 1 // 0), return_exceptions=True)
        assert isinstance(failed[0], ZeroDivisionError)
        return await newest.run("file", lambda: 1)

    assert asyncio.run(run()) == 1
