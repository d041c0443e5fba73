"""A worker in this process, with a simulated supervisor."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from tests.support.doors import DEADLINE
from xs2a_sandbox.doors.workers.worker import COUNTS, Worker


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


class Played:
    def __init__(self) -> None:
        self.talk, its_talk = Pipe()
        self.handover, its_handover = socket.socketpair()
        self.counts = mmap(-1, COUNTS.size)
        self.worker = Worker(1, 2, True, date(2026, 11, 21), "a run", None, its_talk, its_handover, self.counts, 0)

    async def hears(self) -> tuple[Any, ...]:
        return await asyncio.to_thread(_within, self.talk)


def _within(talk: Connection) -> tuple[Any, ...]:
    assert talk.poll(DEADLINE)
    message: tuple[Any, ...] = talk.recv()
    return message


@asynccontextmanager
async def played() -> AsyncIterator[Played]:
    one = Played()
    one.worker.report["consent"] = "c"
    one.worker.begin((Echo,))
    assert await one.hears() == ("ready", {"consent": "c"})
    try:
        yield one
    finally:
        one.worker.end()
        one.talk.close()
        one.handover.close()


def test_a_connection_is_accepted_and_counted() -> None:
    async def main() -> None:
        async with played() as supervisor:
            with socket.create_server(("127.0.0.1", 0)) as listening:
                client = socket.create_connection(listening.getsockname())
                accepted, _ = listening.accept()
                socket.send_fds(supervisor.handover, [b"\0"], [accepted.fileno()])
                accepted.close()
                client.sendall(b"hello")
                client.settimeout(DEADLINE)
                assert await asyncio.to_thread(client.recv, 5) == b"hello"
                client.close()
            supervisor.worker.note_open(3)
            assert COUNTS.unpack(supervisor.counts[:]) == (1, 3)

    asyncio.run(main())


def test_a_question_is_answered_by_all_workers() -> None:
    async def main() -> None:
        async with played() as supervisor:
            supervisor.worker.answers["metrics"] = lambda argument: argument + 1
            asked = asyncio.create_task(supervisor.worker.gather("metrics", 1))
            kind, number, question, argument = await supervisor.hears()
            assert (kind, question, argument) == ("gather", "metrics", 1)
            supervisor.talk.send(("ask", 77, question, argument))
            assert await supervisor.hears() == ("reply", 77, 2)
            supervisor.talk.send(("gathered", number, [2, 5]))
            assert await asked == [2, 5]

    asyncio.run(main())


def test_workers_agree_on_changed_files() -> None:
    async def main() -> None:
        async with played() as supervisor:
            assert not await supervisor.worker.have_seen_a_change(0.0)
            supervisor.talk.send(("look",))
            assert await supervisor.worker.have_seen_a_change(DEADLINE)
            agreed = asyncio.create_task(supervisor.worker.agree(None))
            assert await supervisor.hears() == ("vote", None)
            assert not supervisor.worker.look.is_set()
            supervisor.talk.send(("verdict", "another has found a mistake", False))
            assert await agreed == ("another has found a mistake", False)

    asyncio.run(main())


def test_a_worker_ends_without_its_supervisor() -> None:
    async def main() -> None:
        async with played() as supervisor:
            supervisor.talk.close()
            await asyncio.wait_for(supervisor.worker.stop.wait(), DEADLINE)

    asyncio.run(main())


def test_only_the_first_worker_does_one_time_work() -> None:
    one = Played()
    assert one.worker.is_teller
    one.worker.is_first = False
    assert not one.worker.is_teller
