"""HTTP/1.1 on any transport, read by httptools: each request is answered by the engine, within the limits."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import NamedTuple

import httptools

from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connection, Connections
from xs2a_sandbox.doors.door import Answer, Tell, Waiting
from xs2a_sandbox.doors.wrong_protocol import Endpoint, recognise
from xs2a_sandbox.errors import SandboxError
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal import reason

_CHUNKED = ("Transfer-Encoding", "chunked")

logger = logging.getLogger(__name__)


class Service:
    """All that the connections of a door share: who answers, and the connections themselves.

    One that `gathers` sends no answer before it has all of it; the others pass on large ones as they come.
    """

    def __init__(self, answer: Answer, *, tell: Tell, connections: Connections, gathers: bool = False) -> None:
        self.answer = answer
        self.tell = tell
        self.connections = connections
        self.waiting: Waiting = set()
        self.draining = False
        self.clients: set[HttpConnection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        """Answers that did not come at once."""
        self.large = asyncio.Semaphore(2) if gathers else None

    async def drain(self, grace: float) -> None:
        """Lets the requests under way be answered for `grace` seconds, and closes all connections."""
        self.draining = True
        for client in list(self.clients):
            client.close_unless_busy()
        end = asyncio.get_running_loop().call_later(grace, door.stop, self.waiting)
        # A second more, for what the last answers take on their way.
        await door.until(lambda: not (self.clients or self.tasks), grace + 1)
        end.cancel()
        for task in list(self.tasks):
            task.cancel()
        for client in list(self.clients):
            client.transport.abort()


class Place(NamedTuple):
    """The place that a request is for, as its head says it."""

    target: str
    host: str
    port: int | None
    scheme: str


@dataclass(frozen=True, slots=True)
class HttpTurn:
    """A request as it was read. After its answer the connection `goes_on` or is closed; HTTP/1.0 knows no chunks."""

    method: str
    place: Place
    pairs: list[tuple[str, str]]
    body: bytes
    goes_on: bool
    takes_chunks: bool


class NotAnswered(Exception):
    """Raised inside the parser, which stops there: the `refusal` is the last that its client hears."""

    def __init__(self, refusal: Response) -> None:
        self.refusal = refusal


class HttpConnection(asyncio.Protocol):
    """Reads HTTP/1 with an end to what is kept of a request, without trailers and upgrades.

    Answers come one by one, in the order of their requests. A door says in a subclass what its requests mean, and at
    which `endpoint` they come.
    """

    endpoint: Endpoint
    transport: asyncio.Transport

    def __init__(self, service: Service, connection: Connection | None = None) -> None:
        self.service = service
        self._limits = service.connections.limits
        self._loop = asyncio.get_running_loop()
        self._is_new = connection is None
        self._connection = connection or Connection(self._limits)
        self._turns: deque[HttpTurn] = deque()
        self._task: asyncio.Task[None] | None = None
        """The answer that is waited for."""
        self._can_take = asyncio.Event()
        """Set while the client takes what is written."""
        self._can_take.set()
        self._last: bytes | None = None
        """The end of the conversation, which is read no further once this is here."""
        self._silent = 0
        """Bytes since the parser last came to the end of anything."""
        self._has_begun = self._heard = False
        self._lingers = 0
        self._read_anew()

    def place(self, url: bytes, pairs: list[tuple[str, str]]) -> Place:
        """The place that is meant by a request line and headers. Raises NotAnswered where none is."""
        raise NotImplementedError

    def request(self, turn: HttpTurn) -> tuple[Request, Response | None]:
        """The request as the engine sees it, and the answer to one that it is not to see."""
        raise NotImplementedError

    def connect(self, authority: str, pairs: list[tuple[str, str]], goes_on: bool, rest: bytes) -> None:
        """Takes a CONNECT, with what came behind it."""
        self.refuse(door.NO_PROXY)

    def _read_anew(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._wishes: list[tuple[str, str]] = []
        """The fields of an upgrade that stays a wish."""
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._pairs: list[tuple[str, str]] = []
        self._body = bytearray()
        self._length = 0
        """Bytes of the body so far."""
        self._in_body = self._expects_100 = False

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.service.clients.add(self)
        if not self._is_new:
            return
        self._is_new = False
        if (connection := self.service.connections.open(self.transport)) and not self.service.draining:
            self._connection = connection
        else:
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.service.clients.discard(self)
        self.service.connections.close(self._connection)
        self._turns.clear()
        self._can_take.set()

    def pause_writing(self) -> None:
        self._can_take.clear()

    def resume_writing(self) -> None:
        self._can_take.set()

    def data_received(self, data: bytes) -> None:
        if self._last is not None:
            self._heard = True
            return
        self._feed(data)
        self._take_turns()

    # A door calls these.

    def close_unless_busy(self) -> None:
        if not (self.is_busy or self._in_body):
            self.transport.close()

    @property
    def is_busy(self) -> bool:
        return bool(self._task or self._turns)

    def leave(self) -> Connection:
        """Gives up the connection, on which somebody else goes on."""
        self.service.clients.discard(self)
        return self._connection

    # The parser calls these.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes after the body is dropped, as RFC 9110 allows (section 6.5.1).
        if not self._in_body:
            self._pairs.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._has_begun = self._in_body = True
        self._silent = 0
        self._connection.reads()
        if self._connection.crowded:
            raise NotAnswered(door.CROWDED)
        if len(self._turns) > (most := self._limits.pipelined):
            raise NotAnswered(door.malformed(f"more than {most} others are before it on its connection"))
        if self._parser.should_upgrade():
            return
        self._place = self.place(self._url, self._pairs)
        for name, value in self._pairs:
            match name.lower():
                case "content-length" if int(value) > self._limits.swallowed:
                    raise NotAnswered(door.body_too_large(self._limits))
                case "transfer-encoding" if self._parser.get_http_version() != "1.1":
                    raise NotAnswered(door.malformed("Transfer-Encoding belongs to HTTP/1.1"))
                case "expect" if value.lower() == "100-continue":
                    self._expects_100 = True

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        room = max(self._limits.body + 1 - self._length, 0)
        self._length += len(body)
        if self._length > self._limits.swallowed:
            raise NotAnswered(door.body_too_large(self._limits))
        self._body += body[:room]

    def on_message_complete(self) -> None:
        self._silent = 0
        if self._parser.should_upgrade():
            return
        is_1_1 = self._parser.get_http_version() == "1.1"
        turn = HttpTurn(
            self._parser.get_method().decode("latin-1"),
            self._place,
            self._pairs + self._wishes,
            bytes(self._body),
            goes_on=is_1_1 and self._parser.should_keep_alive(),
            takes_chunks=is_1_1,
        )
        self._turns.append(turn)
        self._wishes = []
        self._begin()

    def _feed(self, data: bytes) -> None:
        self._silent += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, NotAnswered):
                self.refuse(error.__context__.refusal)
            elif not self._has_begun and (wrong := recognise(data)):
                peer = self.transport.get_extra_info("peername")
                logger.warning("%s speaks %s to %s", door.client_at(peer), wrong.name, self.endpoint.speaks)
                self._last = wrong.answer
            else:
                self.refuse(door.malformed(str(error)))
        else:
            if self._silent > self._limits.head:
                line_is_open = not self._in_body and not self._pairs
                self.refuse(door.head_too_large(self._limits, line_is_open=line_is_open))

    def _stay(self, rest: bytes) -> None:
        """Reads a request that asks for an upgrade again, as one that does not: it is answered over HTTP/1.1."""
        method, version, url = self._parser.get_method(), self._parser.get_http_version(), self._url
        if method == b"CONNECT":
            pairs, goes_on = self._pairs, version == "1.1" and self._parser.should_keep_alive()
            self._read_anew()
            self.connect(url.decode("latin-1"), pairs, goes_on, rest)
            return
        wishes = [pair for pair in self._pairs if pair[0].lower() == "upgrade"]
        lines = [b"%s %s HTTP/%s" % (method, url, version.encode())]
        lines += [f"{name}: {value}".encode("latin-1") for name, value in self._pairs if (name, value) not in wishes]
        self._read_anew()
        self._wishes = wishes
        self._feed(b"\r\n".join([*lines, b"", b""]) + rest)

    def refuse(self, refusal: Response) -> None:
        self._last = door.as_http1(self.service.tell(self._outline(), refusal, 0.0, None))

    def _outline(self) -> Request:
        """Method and path of a request, as far as it could be read."""
        if 0 < len(self._url) <= self._limits.target:
            with suppress(httptools.HttpParserInvalidURLError):
                path = (httptools.parse_url(self._url).path or b"/").decode("latin-1")
                return Request(self._parser.get_method().decode("latin-1"), path, door=self.endpoint.door)
        return door.unread_request(self.endpoint.door)

    # The answers

    def _take_turns(self) -> None:
        """Answers what is whole, until there is an answer that has to be waited for."""
        while self._turns and not self._task and not self.transport.is_closing():
            # Most answers need no wait: a task that begins at once has ended here.
            task = asyncio.Task(self._answer(self._turns.popleft()), loop=self._loop, eager_start=True)
            if task.done():
                self._settle(task)
            else:
                self._task = task
                self.service.tasks.add(task)
                task.add_done_callback(self._answered)
        if self._turns:
            self.transport.pause_reading()
        elif self._last is not None and not self._task and not self.transport.is_closing():
            self._end(self._last)
        elif self._expects_100 and not self._task:
            self._expects_100 = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        self.service.tasks.discard(task)
        self._settle(task)
        self._take_turns()
        if not self._turns:
            self.transport.resume_reading()

    def _settle(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            peer = self.transport.get_extra_info("peername")
            logger.error("an answer to %s could not be sent", door.client_at(peer), exc_info=error)
            self.transport.abort()

    async def _answer(self, turn: HttpTurn) -> None:
        service, seconds = self.service, self._limits.answer_time
        with self._connection:
            try:
                request, response = self.request(turn)
                if response is None:
                    response = await door.ask(service.answer, request, seconds, service.tell, service.waiting)
                    if service.large:
                        response = await door.gather(request, response, service.large, self._limits, service.tell)
                else:
                    response = service.tell(request, response, 0.0, None)
                fields = _fields(response, turn)
            except Exception as error:
                request = Request(turn.method, turn.place.target, door=self.endpoint.door)
                response = door.answer_failure(request, error, service.tell)
                fields = _fields(response, turn)
            goes_on = turn.goes_on and not service.draining
            if not goes_on:
                fields.append(("Connection", "close"))
            head = door.head(response.status, fields)
            if response.fault:
                self._fail(response, head)
            elif turn.method == "HEAD":
                self.transport.write(head)
                if response.rest is not None:
                    await response.rest.aclose()
            elif response.rest is not None:
                await self._send_in_pieces(head, response.body, response.rest, chunked=_CHUNKED in fields)
            else:
                self.transport.write(head + response.body)
            if not goes_on:
                self.transport.close()
            elif not self._can_take.is_set():
                await self._can_take.wait()

    async def _send_in_pieces(self, head: bytes, body: bytes, rest: AsyncGenerator[bytes], *, chunked: bool) -> None:
        """Sends no faster than the client reads; an answer that breaks off is cut where it broke off."""
        self.transport.write(head)
        try:
            async with aclosing(rest):
                self._send_piece(body, chunked)
                async for piece in rest:
                    await self._can_take.wait()
                    if self.transport.is_closing():
                        return
                    self._send_piece(piece, chunked)
        except SandboxError as error:
            logger.warning("an answer broke off: %s", reason.of_failure(error))
            self.transport.abort()
            return
        if chunked:
            self.transport.write(b"0\r\n\r\n")

    def _send_piece(self, piece: bytes, chunked: bool) -> None:
        if piece:
            self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)

    def _fail(self, response: Response, head: bytes) -> None:
        """Does to the connection what `response.fault` says."""
        match response.fault:
            case "reset":
                door.reset(self.transport)
            case "truncate":
                self.transport.write(head + response.body[: len(response.body) // 2])
            case "malformed":
                self.transport.write(b"This is not HTTP\r\n\r\n")
        self.transport.close()

    def _end(self, last: bytes) -> None:
        """Says one last thing, and drops what still comes: closed at once, a connection may lose what was said."""
        self.transport.resume_reading()
        self.transport.write(last)
        self.transport.write_eof()
        self._loop.call_later(door.LINGER, self._linger)

    def _linger(self) -> None:
        if self._heard and self._lingers < door.LINGERS:
            self._heard, self._lingers = False, self._lingers + 1
            self._loop.call_later(door.LINGER, self._linger)
        else:
            self.transport.close()


def _fields(response: Response, turn: HttpTurn) -> list[tuple[str, str]]:
    fields = door.framed_headers(response, turn.method)
    names = {name.lower() for name, _ in fields}
    # A real bank has said its own.
    if "date" not in names:
        fields.append(("Date", _date(int(time()))))
    if response.rest is not None and turn.takes_chunks and "content-length" not in names:
        fields.append(_CHUNKED)
    return fields


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
