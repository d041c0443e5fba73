"""The parent process of `--workers`: it listens, hands over connections, and replaces workers that die.

It knows nothing about HTTP. It forks the workers while it is small and has only one thread. Each worker is a complete
sandbox. The worker with the fewest connections gets the next one, so that the load is even.
"""

import gc
import logging
import os
import secrets
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from xs2a_sandbox.doors.workers.worker import COUNTS, Worker
from xs2a_sandbox.engine.engine import BEGIN_ANEW
from xs2a_sandbox.errors import ConfigError, UserMistake
from xs2a_sandbox.journal.metrics import METRICS

_SECONDS_TO_AGREE = 30.0
_SECONDS_TO_ANSWER = 3.0
_SECONDS_TO_DRAIN = 15.0
_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Seconds before a dead worker is replaced. They grow with each death since a worker was last well."""

_WELL = 5.0
"""Seconds after which a worker is considered well."""

log = logging.getLogger("xs2a_sandbox")

type Work = Callable[[Worker], object]
"""Serves until the worker has to stop, and returns its last message. Raises UserMistake."""


@dataclass(slots=True, eq=False)
class _Member:
    number: int
    process: int
    talk: Connection
    handover: socket.socket
    born: float
    handovers: int = 0
    turn: float = 0.0
    """The time when the worker last got a connection."""
    is_ready: bool = False
    last: dict[str, Any] = field(default_factory=dict)
    """Its last answers to questions about counters."""


@dataclass(slots=True, eq=False)
class _Question:
    asker: _Member
    number: int
    name: str
    waiting: set[_Member]
    until: float
    answers: list[Any] = field(default_factory=list)


class Supervisor:
    """Keeps `count` workers at `work`.

    `listening` are the sockets of the doors, in the order of the `ways_in` of `Worker.begin`.
    """

    def __init__(
        self, count: int, listening: Sequence[Sequence[socket.socket]], addresses: Any, started: date, work: Work
    ) -> None:
        self._count = count
        self._listening = listening
        self.addresses = addresses
        self._started = started
        self._run = secrets.token_hex(16)
        self._work = work
        self._members: dict[int, _Member] = {}
        self._selector = selectors.DefaultSelector()
        self._counts = mmap(-1, COUNTS.size * (count + 1))
        self._due: dict[int, float] = {}
        """The time when missing workers will be started."""
        self._deaths = 0
        self._questions: dict[int, _Question] = {}
        self._last_question = 0
        self._votes: dict[_Member, str | None] = {}
        self._voters: set[_Member] = set()
        self._vote_ends = 0.0
        self._gone: list[Any] = []
        self._last_words: list[Any] = []
        self._is_announced = self._is_open = self._is_draining = False
        self._mistake: str | None = None
        """The mistake that kept the last worker from starting."""

    def run(self, ready: Callable[[dict[str, Any]], None]) -> list[Any]:
        """Run until all workers have drained, and return their last messages.

        `ready` is called with the first one's report.

        The first worker starts before the others, so that mistakes are reported once and first-start files are created
        once. Raises ConfigError if a worker cannot start.
        """
        # Objects that exist now stay in memory that all workers share.
        gc.freeze()
        with self._hearing_signals() as signals:
            try:
                first = self._start_first(signals)
                for number in range(2, self._count + 1):
                    self._begin(number, is_first=True)
                while not self._is_draining and not all(self._is_there(n) for n in range(1, self._count + 1)):
                    self._step(signals)
                if not self._is_draining:
                    ready(first)
                    self._is_announced = True
                    self._open()
                while not self._is_draining:
                    self._step(signals)
                self._drain(signals)
            finally:
                self._end()
        return self._last_words

    def _start_first(self, signals: socket.socket) -> dict[str, Any]:
        self._begin(1, is_first=True)
        while not self._is_draining and not self._is_there(1):
            self._step(signals)
        return self._members[1].last if 1 in self._members else {}

    def _is_there(self, number: int) -> bool:
        """Return whether the worker is ready. Raises ConfigError if it cannot start."""
        if number in self._due:
            raise ConfigError(self._mistake or f"worker {number} died before it could answer")
        return self._members[number].is_ready

    def _begin(self, number: int, *, is_first: bool = False) -> None:
        talk, its_talk = Pipe()
        handover, its_handover = socket.socketpair()
        handover.setblocking(False)
        place = COUNTS.size * number
        COUNTS.pack_into(self._counts, place, 0, 0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        process = os.fork()
        if process == 0:
            # In the fork, close the sockets and pipes of the other workers.
            for member in self._members.values():
                member.talk.close()
                member.handover.close()
            talk.close()
            handover.close()
            self._close_ports()
            self._selector.close()
            worker = Worker(
                number=number,
                workers=self._count,
                is_first=is_first,
                started=self._started,
                run=self._run,
                addresses=self.addresses,
                talk=its_talk,
                handover=its_handover,
                counts=self._counts,
                place=place,
            )
            _live(worker, self._work)
        its_talk.close()
        its_handover.close()
        member = self._members[number] = _Member(number, process, talk, handover, monotonic())
        self._selector.register(talk, selectors.EVENT_READ, partial(self._hear, member))

    def _open(self) -> None:
        if self._is_open:
            return
        for door, listening in enumerate(self._listening):
            for bound in listening:
                self._selector.register(bound, selectors.EVENT_READ, partial(self._accept, bound, bytes([door])))
        self._is_open = True

    def _close(self) -> None:
        """Stop accepting, so that clients wait."""
        if self._is_open:
            for bound in (bound for listening in self._listening for bound in listening):
                self._selector.unregister(bound)
        self._is_open = False

    def _close_ports(self) -> None:
        for bound in (bound for listening in self._listening for bound in listening):
            bound.close()

    def _step(self, signals: socket.socket) -> None:
        now = monotonic()
        for number in [number for number, due in self._due.items() if due <= now]:
            del self._due[number]
            self._begin(number)
        for question in [due for due in self._questions.values() if due.until <= now]:
            question.waiting.clear()
            self._answer(question)
        if self._voters and self._vote_ends <= now:
            self._voters = set(self._votes)
            self._count_votes()
        moments = [*self._due.values(), *(waiting.until for waiting in self._questions.values())]
        moments += [self._vote_ends] if self._voters else []
        for key, _ in self._selector.select(max(0.0, min(moments) - now) if moments else None):
            if key.data:
                key.data()
            else:
                self._is_draining |= bool(signals.recv(64))

    def _accept(self, listening: socket.socket, door: bytes) -> None:
        for _ in range(32):
            try:
                connection, _ = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # For example, too many open files. Waiting clients are accepted as soon as files are closed.
                log.warning("could not accept a connection: %s", error.strerror)
                return
            with connection:
                self._hand_over(connection, door)

    def _hand_over(self, connection: socket.socket, door: bytes) -> None:
        """Hand a connection over to the worker with the fewest. A worker that does not take it is skipped."""
        for member in sorted((ready for ready in self._members.values() if ready.is_ready), key=self._load):
            try:
                socket.send_fds(member.handover, [door], [connection.fileno()])
            except OSError:
                continue
            member.handovers, member.turn = member.handovers + 1, monotonic()
            return

    def _load(self, member: _Member) -> tuple[int, float]:
        taken, is_open = COUNTS.unpack_from(self._counts, COUNTS.size * member.number)
        # With equal numbers, the worker that has waited longest gets it.
        return member.handovers - taken + is_open, member.turn

    def _hear(self, member: _Member) -> None:
        try:
            kind, *message = member.talk.recv()
        except (EOFError, OSError):
            self._bury(member)
            return
        match kind:
            case "ready":
                member.is_ready, (member.last,) = True, message
                self._mistake = None
                if self._is_announced:
                    self._open()
            case "failed":
                (self._mistake,) = message
            case "vote":
                self._vote(member, message[0])
            case "gather":
                self._ask(member, *message)
            case "reply":
                number, answer = message
                if question := self._questions.get(number):
                    if question.name == METRICS:
                        member.last[METRICS] = answer
                    question.answers.append(answer)
                    question.waiting.discard(member)
                    self._answer(question)
            case "ended":
                self._last_words.append(message[0])

    def _tell(self, member: _Member, *message: Any) -> None:
        with suppress(OSError):  # it has died, which is noticed soon
            member.talk.send(message)

    # -- questions to all workers

    def _ask(self, asker: _Member, number: int, name: str, argument: Any) -> None:
        self._last_question += 1
        if name == BEGIN_ANEW:
            self._started = argument
        waiting = {member for member in self._members.values() if member.is_ready}
        question = _Question(asker, number, name, waiting, monotonic() + _SECONDS_TO_ANSWER)
        question.answers += self._gone if name == METRICS else ()
        self._questions[self._last_question] = question
        for member in waiting:
            self._tell(member, "ask", self._last_question, name, argument)

    def _answer(self, question: _Question) -> None:
        if not question.waiting:
            self._tell(question.asker, "gathered", question.number, question.answers)
            self._questions = {
                number: open_question
                for number, open_question in self._questions.items()
                if open_question is not question
            }

    # -- agreement on changed files

    def _vote(self, member: _Member, mistake: str | None) -> None:
        if not self._voters:
            self._voters = {member for member in self._members.values() if member.is_ready}
            self._votes = {}
            self._vote_ends = monotonic() + _SECONDS_TO_AGREE
            for other in self._voters - {member}:
                self._tell(other, "look")
        self._votes[member] = mistake
        self._count_votes()

    def _count_votes(self) -> None:
        if not self._voters or self._voters - self._votes.keys():
            return
        mistake = next((text for text in self._votes.values() if text is not None), None)
        speaks = min(self._votes, key=lambda member: member.number)
        for member in self._votes:
            self._tell(member, "verdict", mistake, member is speaks)
        self._voters = set()

    # -- the end of a worker, and of all

    def _bury(self, member: _Member) -> None:
        self._selector.unregister(member.talk)
        member.talk.close()
        member.handover.close()
        _, status = os.waitpid(member.process, 0)
        del self._members[member.number]
        if METRICS in member.last:
            self._gone.append(member.last[METRICS])
        for question in list(self._questions.values()):
            question.waiting.discard(member)
            self._answer(question)
        self._voters.discard(member)
        self._votes.pop(member, None)
        self._count_votes()
        if self._is_draining:
            return
        if not any(member.is_ready for member in self._members.values()):
            self._close()
        was_well = member.is_ready and monotonic() - member.born > _WELL
        self._deaths = 0 if was_well else self._deaths + 1
        pause = _PAUSES[min(self._deaths, len(_PAUSES) - 1)]
        self._due[member.number] = monotonic() + pause
        if not self._is_announced:
            return  # nothing has been announced: the caller that waits for it reports the reason
        why = self._mistake or f"was ended by {_cause(status)}"
        log.error("worker %d (process %d) %s: a new worker replaces it", member.number, member.process, why)
        if not self._members and self._mistake:
            raise ConfigError(self._mistake)

    def _drain(self, signals: socket.socket) -> None:
        self._close()
        self._close_ports()
        self._due.clear()
        for member in self._members.values():
            self._tell(member, "drain")
        ends = monotonic() + _SECONDS_TO_DRAIN
        while self._members and (left := ends - monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if key.data:
                    key.data()
                else:
                    signals.recv(64)

    def _end(self) -> None:
        """Stop all remaining workers."""
        self._is_draining = True
        self._close()
        self._close_ports()
        for member in list(self._members.values()):
            with suppress(ProcessLookupError):
                os.kill(member.process, signal.SIGKILL)
            self._bury(member)
        self._selector.close()

    @contextmanager
    def _hearing_signals(self) -> Iterator[socket.socket]:
        """Return a socket that is readable after a signal to stop. A second ^C reaches Python's own handler."""
        signals, wakes = socket.socketpair()
        signals.setblocking(False)
        wakes.setblocking(False)
        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)

        def wake(number: int, _: object) -> None:
            if number == signal.SIGINT:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            with suppress(OSError):
                wakes.send(b"!")

        before = {number: signal.signal(number, wake) for number in numbers}
        self._selector.register(signals, selectors.EVENT_READ)
        try:
            yield signals
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signals.close()
            wakes.close()


def _live(worker: Worker, work: Work) -> None:
    """Run the worker in the forked process. Never returns."""
    status = 1
    try:
        # Until the loop handles signals, only the parent process is told to stop.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            end = work(worker)
            status = 0
            # A supervisor that was killed cannot receive it.
            with suppress(BrokenPipeError):
                worker.talk.send(("ended", end))
        except UserMistake as mistake:
            worker.talk.send(("failed", str(mistake)))
    except BaseException:
        log.exception("worker %d failed", worker.number)
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _cause(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"itself, with status {os.waitstatus_to_exitcode(status)}"
