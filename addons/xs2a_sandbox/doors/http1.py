"""HTTP/1.1 on any transport, parsed by httptools. The engine answers each request, within the limits."""

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from email.utils import formatdate
from functools import lru_cache
from time import time

import httptools
import msgspec

from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connection, Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler, Repeat, Waiting, unkept
from xs2a_sandbox.doors.wrong_protocol import Endpoint, recognise
from xs2a_sandbox.errors import SandboxError
from xs2a_sandbox.http import Headers, Request, Response, request_head
from xs2a_sandbox.http.origin import split_authority
from xs2a_sandbox.http.patience import Patience
from xs2a_sandbox.journal import reason

_OWN_FIELDS = door.SET_BY_DOORS | {"date"}

_ORIGIN = re.compile(r"(https?)://([!-~]+)", re.IGNORECASE)
_NO_TARGET = door.malformed("its target must be a path, or an http or https URL without a user name")
_VERSIONS = frozenset({"1.0", "1.1"})

logger = logging.getLogger(__name__)


class Service:
    """The shared state of all connections of a door: the engine, and the connections themselves.

    If it `gathers`, an answer is sent only when it is complete. Otherwise large answers are streamed.
    """

    def __init__(
        self,
        answer: Application,
        *,
        tell: RefusalHandler,
        connections: Connections,
        repeat: Repeat = unkept,
        gathers: bool = False,
    ) -> None:
        self.answer = answer
        self.repeat = repeat
        self.tell = tell
        self.connections = connections
        self.waiting: Waiting = set()
        self.draining = False
        self.clients: set[HttpConnection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        """Answers that need a wait."""
        self.large = asyncio.Semaphore(2) if gathers else None

    async def drain(self, grace: float) -> None:
        """Let running requests finish for `grace` seconds, and close all connections."""
        self.draining = True
        for client in list(self.clients):
            client.close_unless_busy()
        end = asyncio.get_running_loop().call_later(grace, door.stop, self.waiting)
        # One second more for sending the last answers.
        await door.until(lambda: not (self.clients or self.tasks), grace + 1)
        end.cancel()
        for task in list(self.tasks):
            task.cancel()
        for client in list(self.clients):
            client.transport.abort()


class RequestTarget(msgspec.Struct, frozen=True):
    """The target of a request, as in its head."""

    target: str
    host: str
    port: int | None
    scheme: str


class ParsedRequest(msgspec.Struct, frozen=True):
    """A request that has been read. After its answer the connection `goes_on` or is closed; HTTP/1.0 has no chunks."""

    method: str
    place: RequestTarget
    headers: Headers
    body: bytes
    goes_on: bool
    takes_chunks: bool


class NotAnswered(Exception):
    """Raised to stop the parser. `refusal` is the last answer to the client."""

    def __init__(self, refusal: Response) -> None:
        self.refusal = refusal


class HttpConnection(asyncio.Protocol):
    """Reads HTTP/1 with limits on the size of a request, without trailers and upgrades.

    Answers are sent in the order of their requests. Subclasses of the doors define what requests mean, and at which
    `endpoint` they arrive.
    """

    endpoint: Endpoint
    transport: asyncio.Transport

    def __init__(self, service: Service, connection: Connection | None = None) -> None:
        self.service = service
        self._limits = limits = service.connections.limits
        self._most_silent = limits.head, limits.chunk_line
        """The most bytes of a head, and of a line between chunks."""
        self._loop = asyncio.get_running_loop()
        self._is_new = connection is None
        self._connection = connection or Connection(self._limits)
        self._turns: deque[ParsedRequest] = deque()
        self._task: asyncio.Task[None] | None = None
        """The task of the answer in progress."""
        self._can_take = asyncio.Event()
        """Set while the client can take more data."""
        self._patience = Patience()
        self._can_take.set()
        self._last: bytes | None = None
        """The last message. Nothing more is read after it."""
        self._silent = 0
        """Bytes since the parser last completed anything."""
        self._has_begun = self._has_data = False
        self._lingers = 0
        self._read_anew()

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        """Return the target of a request line and headers. Raises NotAnswered if they have none."""
        raise NotImplementedError

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        """Return the request for the engine, or the answer if the engine must not see it."""
        raise NotImplementedError

    def connect(self, authority: str, headers: Headers, goes_on: bool, rest: bytes) -> None:
        """Handle a CONNECT request. `rest` is the data received after it."""
        self.refuse(door.NO_PROXY)

    def _read_anew(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._wishes: list[tuple[str, str]] = []
        """The headers of an upgrade that is ignored."""
        self._begin()

    def _begin(self) -> None:
        self._version = ""
        self._url = b""
        self._pairs: list[tuple[str, str]] = []
        self._body = bytearray()
        self._length = 0
        """Bytes of the body so far."""
        self._in_body = self._in_trailers = self._expects_100 = False

    # Methods called by the transport.

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
        self._patience.leave()

    def pause_writing(self) -> None:
        self._can_take.clear()

    def resume_writing(self) -> None:
        self._can_take.set()

    def data_received(self, data: bytes) -> None:
        if self._last is not None:
            self._has_data = True
            return
        self._feed(data)
        self._take_turns()

    # Methods called by a door.

    def close_unless_busy(self) -> None:
        if not (self.is_busy or self._in_body):
            self.transport.close()

    @property
    def is_busy(self) -> bool:
        return bool(self._task or self._turns)

    def leave(self) -> Connection:
        """Give up the connection, which something else continues to use."""
        self.service.clients.discard(self)
        return self._connection

    # Methods called by the parser.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # Headers after the body are dropped, as RFC 9110 allows (section 6.5.1).
        if not self._in_body:
            self._pairs.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._has_begun = self._in_body = True
        self._silent = 0
        self._connection.reads()
        if self._connection.crowded:
            raise NotAnswered(door.TOO_MANY_CONNECTIONS)
        if len(self._turns) > (most := self._limits.pipelined):
            raise NotAnswered(door.malformed(f"more than {most} other requests are waiting on its connection"))
        version = self._version = self._parser.get_http_version()
        if version not in _VERSIONS:
            raise NotAnswered(door.malformed("only HTTP/1.1 and HTTP/1.0 are supported here"))
        if self._parser.should_upgrade():
            return
        headers = self._headers = Headers(self._pairs)
        if mistake := request_head.mistake(headers, version):
            raise NotAnswered(door.malformed(mistake))
        self._place = self.place(self._url, headers)
        if int(headers.first.get("content-length", 0)) > self._limits.swallowed:
            raise NotAnswered(door.body_too_large(self._limits))
        if "expect" in headers.first:
            self._expects_100 = "100-continue" in map(str.lower, headers.all("expect"))

    def on_chunk_header(self) -> None:
        # Reset when data follow; none follow the last chunk.
        self._in_trailers = True

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        self._in_trailers = False
        room = max(self._limits.body + 1 - self._length, 0)
        self._length += len(body)
        if self._length > self._limits.swallowed:
            raise NotAnswered(door.body_too_large(self._limits))
        self._body += body[:room]

    def on_message_complete(self) -> None:
        self._silent = 0
        if self._parser.should_upgrade():
            return
        is_1_1 = self._version == "1.1"
        turn = ParsedRequest(
            self._parser.get_method().decode("latin-1"),
            self._place,
            Headers([*self._pairs, *self._wishes]) if self._wishes else self._headers,
            bytes(self._body),
            goes_on=is_1_1 and self._parser.should_keep_alive(),
            takes_chunks=is_1_1,
        )
        self._turns.append(turn)
        self._wishes = []
        self._begin()

    def _feed(self, data: bytes) -> None:
        # Feed in pieces, so that a long line between chunks cannot hide before the data after it.
        length = self._limits.chunk_line
        for start in range(0, len(data), length):
            if self._last is not None:
                return
            try:
                self._feed_piece(data[start : start + length])
            except httptools.HttpParserUpgrade as upgrade:
                self._stay(data[start + upgrade.args[0] :])
                return

    def _feed_piece(self, data: bytes) -> None:
        """Feed data to the parser. Raises HttpParserUpgrade."""
        self._silent += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise
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
            of_head, of_line = self._most_silent
            if self._in_body and not self._in_trailers and self._silent > of_line:
                self.refuse(door.LONG_CHUNK_LINE)
            elif self._silent > of_head:
                line_is_open = not self._in_body and not self._pairs
                self.refuse(door.head_too_large(self._limits, line_is_open=line_is_open))

    def _stay(self, rest: bytes) -> None:
        """Parse a request with an upgrade again without it, so that it is answered over HTTP/1.1."""
        method, version, url = self._parser.get_method(), self._parser.get_http_version(), self._url
        if method == b"CONNECT":
            headers, goes_on = Headers(self._pairs), version == "1.1" and self._parser.should_keep_alive()
            # Many clients omit the Host of a CONNECT, and the data after it are not its body.
            mistake = request_head.mistake(headers, "1.0")
            if mistake:
                self.refuse(door.malformed(mistake))
                return
            self._read_anew()
            self.connect(url.decode("latin-1"), headers, goes_on, rest)
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
        """Return the method and path of a request, if they could be read."""
        if 0 < len(self._url) <= self._limits.target:
            with suppress(httptools.HttpParserInvalidURLError):
                path = (httptools.parse_url(self._url).path or b"/").decode("latin-1")
                return Request(self._parser.get_method().decode("latin-1"), path, door=self.endpoint.door)
        return door.unread_request(self.endpoint.door)

    # Answers

    def _take_turns(self) -> None:
        """Answer complete requests, until an answer takes time."""
        while self._turns and not self._task and not self.transport.is_closing():
            turn = self._turns.popleft()
            request, response = self._begin_answer(turn)
            if response is not None and self._can_take.is_set():
                # Repeated requests are answered without a task, which would take as long as everything else together.
                self._send(response, turn)
                self._connection.waits_for_next()
            else:
                self._answer_in_task(turn, request, response)
        if self._turns:
            self.transport.pause_reading()
        elif self._last is not None and not self._task and not self.transport.is_closing():
            self._end(self._last)
        elif self._expects_100 and not self._task:
            self._expects_100 = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _finish_answer(self, task: asyncio.Task[None]) -> None:
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

    def _begin_answer(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        """Return the request, and its answer if that needs no wait."""
        service = self.service
        try:
            request, refusal = self.request(turn)
            if refusal:
                return request, service.tell(request, refusal, 0.0, None)
            return request, service.repeat(request)
        except Exception as error:
            request = Request(turn.method, turn.place.target, door=self.endpoint.door)
            return request, door.answer_failure(request, error, service.tell)

    def _answer_in_task(self, turn: ParsedRequest, request: Request, response: Response | None) -> None:
        # Most answers need no wait: an eagerly started task has then finished here.
        task = asyncio.Task(self._answer(turn, request, response), loop=self._loop, eager_start=True)
        if task.done():
            self._settle(task)
        else:
            self._task = task
            self.service.tasks.add(task)
            task.add_done_callback(self._finish_answer)

    async def _answer(self, turn: ParsedRequest, request: Request, response: Response | None) -> None:
        service = self.service
        with self._connection:
            try:
                if response is None:
                    seconds = self._limits.answer_time
                    response = await door.ask(
                        service.answer, request, seconds, service.tell, service.waiting, self._patience
                    )
                    if service.large:
                        response = await door.gather(request, response, service.large, self._limits, service.tell)
            except Exception as error:
                response = door.answer_failure(request, error, service.tell)
            if response.rest is None:
                self._send(response, turn)
            else:
                await self._send_in_pieces(response, response.rest, turn)
            if not (self._can_take.is_set() or self.transport.is_closing()):
                await self._can_take.wait()

    def _send(self, response: Response, turn: ParsedRequest) -> None:
        if self.transport.is_closing():  # uvloop does not write to it any more
            return
        goes_on = turn.goes_on and not self.service.draining
        head = _head(response, turn, goes_on=goes_on)
        if response.fault:
            self._fail(response, head)
        else:
            self.transport.write(head if turn.method == "HEAD" else head + response.body)
        if not goes_on:
            self.transport.close()

    async def _send_in_pieces(self, response: Response, rest: AsyncGenerator[bytes], turn: ParsedRequest) -> None:
        """Send as fast as the client reads. An answer that fails half-way is truncated there."""
        if response.fault or turn.method == "HEAD" or self.transport.is_closing():
            self._send(response, turn)
            await rest.aclose()
            return
        goes_on = turn.goes_on and not self.service.draining
        chunked = _is_chunked(response, turn)
        self.transport.write(_head(response, turn, goes_on=goes_on))
        try:
            async with aclosing(rest):
                self._send_piece(response.body, chunked)
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
        if not goes_on:
            self.transport.close()

    def _send_piece(self, piece: bytes, chunked: bool) -> None:
        if piece:
            self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)

    def _fail(self, response: Response, head: bytes) -> None:
        """Apply `response.fault` to the connection."""
        match response.fault:
            case "reset":
                door.reset(self.transport)
            case "truncate":
                self.transport.write(head + response.body[: len(response.body) // 2])
            case "malformed":
                self.transport.write(b"This is not HTTP\r\n\r\n")
        self.transport.close()

    def _end(self, last: bytes) -> None:
        """Send the last message, and drop data that still arrive, because closing at once could lose the message."""
        self.transport.resume_reading()
        self.transport.write(last)
        self.transport.write_eof()
        self._loop.call_later(door.LINGER, self._linger)

    def _linger(self) -> None:
        if self._has_data and self._lingers < door.LINGERS:
            self._has_data, self._lingers = False, self._lingers + 1
            self._loop.call_later(door.LINGER, self._linger)
        else:
            self.transport.close()


def split_url(url: bytes) -> tuple[str, str, str]:
    """Return scheme, authority and target of an absolute URL. For a path, scheme and authority are empty."""
    text = url.decode("latin-1")
    if text.startswith("/") or text == "*":
        return "", "", text
    end = text.find("/", len("https://"))
    scheme, authority = _origin(text if end < 0 else text[:end])
    return scheme, authority, "/" if end < 0 else text[end:]


@lru_cache(64)  # apps use the same few hosts again and again
def _origin(text: str) -> tuple[str, str]:
    """Return scheme and authority of the part before the path."""
    match = _ORIGIN.fullmatch(text)
    if match is None or split_authority(match[2]) is None:
        raise NotAnswered(_NO_TARGET)
    return match[1].lower(), match[2]


def _head(response: Response, turn: ParsedRequest, *, goes_on: bool) -> bytes:
    if turn.method != "HEAD" and response.rest is None and not response.fault and goes_on:
        form = _form(response.status, tuple([name for name, _ in response.headers]))
        if form:
            values = [value for _, value in response.headers]
            return (form % (*values, len(response.body), _date(int(time())))).encode("latin-1")
    fields = door.frame_headers(response, turn.method)
    # A real bank has set its own.
    if "date" not in [name.lower() for name, _ in fields]:
        fields.append(("Date", _date(int(time()))))
    if _is_chunked(response, turn):
        fields.append(("Transfer-Encoding", "chunked"))
    if not goes_on:
        fields.append(("Connection", "close"))
    return door.head(response.status, fields)


def _is_chunked(response: Response, turn: ParsedRequest) -> bool:
    has_length = "content-length" in [name.lower() for name, _ in response.headers]
    return response.rest is not None and turn.takes_chunks and not has_length


@lru_cache(512)
def _form(status: int, names: tuple[str, ...]) -> str | None:
    """Return a template for the head of answers with these header names: few answers differ in more than values.

    None if a door sets one of the headers itself, or leaves it out.
    """
    if status in (204, 304) or not _OWN_FIELDS.isdisjoint(map(str.lower, names)):
        return None
    fields = [(name.replace("%", "%%"), "%s") for name in (*names, "Content-Length", "Date")]
    return door.head(status, fields).decode("latin-1")


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
