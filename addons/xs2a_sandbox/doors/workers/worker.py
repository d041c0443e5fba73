"""One of several processes that serve the same ports, and its messages to the supervisor."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from mmap import mmap
from multiprocessing.connection import Connection
from struct import Struct
from threading import Thread
from typing import Any

COUNTS = Struct("qq")
"""The number of connections that a worker has been given so far, and the number that it has open."""

_AT_ONCE = 64
"""Connections that are taken before other tasks get their turn."""

_PATIENCE = 10.0
"""Seconds in which all workers must answer a question."""

type ProtocolFactory = Callable[[], asyncio.Protocol]


@dataclass(slots=True)
class Worker:
    """Gets connections from the supervisor, and exchanges messages with the other workers.

    `counts` is memory shared with the supervisor; this worker writes at `place`. `started` is the day from which the
    dates of the default session count, in all workers; `run` is a secret that all of them know. `is_first` is false for
    a worker that replaces another.
    """

    number: int
    workers: int
    is_first: bool
    started: date
    run: str
    addresses: Any
    talk: Connection
    handover: socket.socket
    counts: mmap
    place: int
    report: dict[str, Any] = field(default_factory=dict)
    """Data for the caller that waits until the worker is ready."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    look: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another worker has seen that files have changed."""
    answers: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """The functions that answer questions to all workers, by the name of the question."""
    _taken: int = 0
    _open: int = 0
    _questions: dict[int, "asyncio.Future[list[Any]]"] = field(default_factory=dict)
    _verdict: "asyncio.Future[tuple[str | None, bool]] | None" = None
    _tasks: "set[asyncio.Task[Any]]" = field(default_factory=set)

    def begin(self, ways_in: Sequence[ProtocolFactory]) -> None:
        """Start to take connections, each for one of the `ways_in`."""
        loop = asyncio.get_running_loop()
        # Messages to this worker are always read, so that no two workers wait for each other.
        Thread(target=self._listen, args=(loop,), daemon=True).start()
        self.handover.setblocking(False)
        loop.add_reader(self.handover.fileno(), self._take, loop, ways_in)
        self.talk.send(("ready", self.report))

    def end(self) -> None:
        """Stop taking connections."""
        asyncio.get_running_loop().remove_reader(self.handover.fileno())
        self.handover.close()

    def note_open(self, count: int) -> None:
        """Record how many connections are open."""
        self._open = count
        COUNTS.pack_into(self.counts, self.place, self._taken, count)

    @property
    def is_teller(self) -> bool:
        """Whether this worker does the work that must be done only once, at startup."""
        return self.number == 1 and self.is_first

    async def have_seen_a_change(self, seconds: float) -> bool:
        """Wait at most that long until another worker sees that files have changed. Return whether one has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.look.wait()
        return self.look.is_set()

    async def agree(self, mistake: str | None) -> tuple[str | None, bool]:
        """Return the mistake that any worker has seen in the files, and whether this one has to report it.

        Without a mistake all workers switch to the new files at the same time.
        """
        self.look.clear()
        self._verdict = asyncio.get_running_loop().create_future()
        self.talk.send(("vote", mistake))
        return await self._verdict

    async def gather(self, question: str, argument: Any = None) -> list[Any]:
        """Return the answers of all workers, including this one. Workers that do not answer are left out."""
        number = max(self._questions, default=0) + 1
        self._questions[number] = answer = asyncio.get_running_loop().create_future()
        try:
            self.talk.send(("gather", number, question, argument))
            async with asyncio.timeout(_PATIENCE):
                answers: list[Any] = await answer
                return answers
        finally:
            del self._questions[number]

    def tell(self, question: str, argument: Any = None) -> None:
        """Send a message to all workers, without waiting for answers."""
        task = asyncio.get_running_loop().create_task(self.gather(question, argument))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self, loop: asyncio.AbstractEventLoop, ways_in: Sequence[ProtocolFactory]) -> None:
        for _ in range(_AT_ONCE):
            try:
                door, (descriptor, *_), *_ = socket.recv_fds(self.handover, 1, 1)
            except (BlockingIOError, ValueError):  # nothing more to read, or the supervisor is gone
                return
            self._taken += 1
            COUNTS.pack_into(self.counts, self.place, self._taken, self._open)
            connection = socket.socket(fileno=descriptor)
            connection.setblocking(False)
            task = loop.create_task(self._serve(loop, ways_in[door[0]], connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(
        self, loop: asyncio.AbstractEventLoop, protocol_factory: ProtocolFactory, connection: socket.socket
    ) -> None:
        with suppress(OSError):  # the client has disconnected
            await loop.connect_accepted_socket(protocol_factory, connection)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended
            while True:
                try:
                    message = self.talk.recv()
                except (EOFError, OSError):
                    # Without a supervisor no connections arrive, and nothing would stop this process.
                    loop.call_soon_threadsafe(self.stop.set)
                    return
                loop.call_soon_threadsafe(self._hear, *message)

    def _hear(self, kind: str, *message: Any) -> None:
        match kind:
            case "drain":
                self.stop.set()
            case "look":
                self.look.set()
            case "verdict":
                if self._verdict and not self._verdict.done():
                    self._verdict.set_result((message[0], message[1]))
            case "ask":
                number, question, argument = message
                answer = self.answers.get(question)
                self.talk.send(("reply", number, answer(argument) if answer else None))
            case "gathered":
                number, answers = message
                if (waiting := self._questions.get(number)) and not waiting.done():
                    waiting.set_result(answers)
