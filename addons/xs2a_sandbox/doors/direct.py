"""The direct door: plain HTTP on the base URL, with uvicorn in the running loop."""

import asyncio
import contextlib
import logging
import math
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from email.utils import formatdate
from functools import partial
from typing import Any, cast

import httptools
import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connection, Connections
from xs2a_sandbox.doors.door import Answer, Tell, Waiting
from xs2a_sandbox.doors.wrong_protocol import recognise
from xs2a_sandbox.errors import SandboxError
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.origin import asked_for
from xs2a_sandbox.journal import reason

PLACE = "the port of --port, which speaks HTTP/1.1 without TLS: use http://, or the port of --tls-port for https://"

_TRANSPORT = "transport"
_CONNECTION = "connection"

logger = logging.getLogger(__name__)


class DirectDoor:
    """Listens from `start` to `drain`; `port` is the real one from then on."""

    def __init__(self, answer: Answer, *, host: str, port: int, tell: Tell, connections: Connections) -> None:
        self.answer = answer
        self.tell = tell
        self.host = host
        self.port = port
        self._waiting: Waiting = set()
        self._connections = connections
        self._limits = connections.limits

    async def start(self) -> None:
        """Raises ConfigError for a port that cannot be had."""
        try:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            self._socket = socket.create_server((self.host, self.port), family=family, backlog=2048)
            # uvicorn writes head and body apart: with Nagle's algorithm the body waits 40 ms for the client's ACK.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise door.no_port(self.host, self.port, "--port", error) from None
        self.port = self._socket.getsockname()[1]
        self._server = _Server(
            uvicorn.Config(
                self._app,
                http=cast("type[_Protocol]", partial(_Protocol, self.tell, self._connections)),
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=int(self._limits.idle_time),
            )
        )
        self._serving = asyncio.create_task(self._server.serve([self._socket]))
        await self._server.up.wait()

    async def drain(self, grace: float = 10.0) -> None:
        """Stops listening, lets the requests under way be answered for `grace` seconds, closes all connections."""
        # After its grace uvicorn would answer with a bare 500: ours comes before.
        self._server.config.timeout_graceful_shutdown = math.ceil(grace) + 1
        end = asyncio.get_running_loop().call_later(grace, door.stop, self._waiting)
        self._server.should_exit = True
        await self._serving
        end.cancel()
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()

    async def _app(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message["body"]
            more = message["more_body"]
        with scope["state"][_CONNECTION]:
            await self._answer(scope, bytes(body), receive, send)

    async def _answer(
        self, scope: HTTPScope, body: bytes, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        try:
            request, seconds = _request(scope, body), self._limits.answer_time
            response = await door.ask(self.answer, request, seconds, self.tell, self._waiting)
            fields = _fields(response, scope["method"])
        except Exception as error:
            response = door.answer_failure(Request(scope["method"], scope["path"], door="direct"), error, self.tell)
            fields = _fields(response, scope["method"])
        if response.fault:
            await _fail(response, fields, scope, receive, send)
            return
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        await send({"type": "http.response.body", "body": response.body, "more_body": response.rest is not None})
        if response.rest is not None:
            await _send_rest(response.rest, scope, send)


def _request(scope: HTTPScope, body: bytes) -> Request:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    host, port = asked_for("", headers)
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    return Request(
        method=scope["method"],
        target=(scope["raw_path"] + query).decode("latin-1"),
        headers=Headers(headers),
        body=body,
        host=host,
        port=port,
        scheme=scope["scheme"],
        door="direct",
    )


def _fields(response: Response, method: str) -> list[tuple[bytes, bytes]]:
    fields = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in door.framed_headers(response, method)]
    # A real bank has said its own.
    if not any(name.lower() == b"date" for name, _ in fields):
        fields.append((b"Date", formatdate(usegmt=True).encode()))
    return fields


async def _send_rest(rest: AsyncGenerator[bytes], scope: HTTPScope, send: ASGISendCallable) -> None:
    """Sends no faster than the client reads; an answer that breaks off is cut where it broke off."""
    try:
        async with aclosing(rest):
            async for piece in rest:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    except SandboxError as error:
        logger.warning("an answer broke off: %s", reason.of_failure(error))
        transport: asyncio.Transport = scope["state"][_TRANSPORT]
        transport.abort()
        return
    await send({"type": "http.response.body", "body": b""})


async def _fail(
    response: Response,
    fields: list[tuple[bytes, bytes]],
    scope: HTTPScope,
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
) -> None:
    """Does to the connection what `response.fault` says."""
    transport: asyncio.Transport = scope["state"][_TRANSPORT]
    if response.fault == "reset":
        door.reset(transport)
    elif response.fault == "truncate":
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        await send({"type": "http.response.body", "body": response.body[: len(response.body) // 2], "more_body": True})
    elif response.fault == "malformed":
        transport.write(b"This is not HTTP\r\n\r\n")
    transport.close()
    # uvicorn would answer 500 in our place if the application ended before the connection is gone.
    while (await receive())["type"] != "http.disconnect":
        pass


class _Refused(Exception):
    """Raised inside the parser, which stops there."""

    def __init__(self, refusal: Response) -> None:
        self.refusal = refusal


class _Protocol(HttpToolsProtocol):
    """Reads HTTP/1 with an end to what is kept of a request, without trailers and upgrades.

    It shows the application its connection, which a fault needs.
    """

    def __init__(self, tell: Tell, connections: Connections, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._tell = tell
        self._connections = connections
        self._limits = connections.limits
        self._connection = Connection(self._limits)
        self._in_body = False
        self._length = 0
        """Bytes of the body so far."""
        self._silent = 0
        """Bytes since the parser last came to the end of anything."""
        self._refused = False
        self._heard = False
        self._lingers = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if connection := self._connections.open(transport):
            self._connection = connection
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.close(self._connection)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"] |= {_TRANSPORT: self.transport, _CONNECTION: self._connection}
        self._in_body, self._length = False, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes after the body is dropped, as RFC 9110 allows (section 6.5.1).
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_body, self._silent = True, 0
        self._connection.reads()
        if self._connection.crowded:
            raise _Refused(door.CROWDED)
        if len(self.pipeline) > (most := self._limits.pipelined):
            raise _Refused(door.malformed(f"more than {most} others are before it on its connection"))
        super().on_headers_complete()
        length = next((value for name, value in self.headers if name == b"content-length"), b"0")
        if int(length) > self._limits.swallowed:
            raise _Refused(door.body_too_large(self._limits))

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        room = max(self._limits.body + 1 - self._length, 0)
        self._length += len(body)
        if self._length > self._limits.swallowed:
            raise _Refused(door.body_too_large(self._limits))
        super().on_body(body[:room])

    def on_message_complete(self) -> None:
        self._silent = 0
        super().on_message_complete()

    def _should_upgrade(self) -> bool:
        """Leaves a request that asks for an upgrade to `data_received`."""
        return True

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._refused:
            self._heard = True
            return
        self._silent += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _Refused):
                self._refuse(error.__context__.refusal)
            elif self.cycle is None and (wrong := recognise(data)):
                logger.warning("%s speaks %s to %s", door.client_at(self.client), wrong.name, PLACE)
                self._end(wrong.answer)
            else:
                self._refuse(door.malformed(str(error)))
        else:
            if self._silent > self._limits.head:
                line_is_open = not self._in_body and not self.headers
                self._refuse(door.head_too_large(self._limits, line_is_open=line_is_open))

    def _stay(self, rest: bytes) -> None:
        """Reads a request that asks for an upgrade again, as one that does not: it is answered over HTTP/1.1."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            self._refuse(door.NO_PROXY)
            return
        wishes = [field for field in self.headers if field[0] == b"upgrade"]
        lines = [b"%s %s HTTP/%s" % (method, self.url, version)]
        lines += [b"%s: %s" % field for field in self.headers if field not in wishes]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join([*lines, b"", b""]))
        self.headers += wishes
        if rest:
            self.data_received(rest)

    def _refuse(self, refusal: Response) -> None:
        request = door.unread_request("direct")
        if self._in_body:
            request = Request(self.parser.get_method().decode(), self.url.decode("latin-1"), door="direct")
        self._tell(request, refusal, 0.0, None)
        self._end(door.as_http1(refusal))

    def _end(self, last: bytes) -> None:
        """Says one last thing, and drops what still comes: closed at once, a connection may lose what was said."""
        self._refused = True
        self.flow.resume_reading()
        if self.pipeline:
            self.transport.close()
            return
        if self.cycle and not self.cycle.response_complete:
            if not self.cycle.more_body:
                # What is refused came behind a request that is being answered.
                self.cycle.keep_alive = False
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(last)
        self.transport.write_eof()
        self.loop.call_later(door.LINGER, self._linger)

    def _linger(self) -> None:
        if self._heard and self._lingers < door.LINGERS:
            self._heard, self._lingers = False, self._lingers + 1
            self.loop.call_later(door.LINGER, self._linger)
        else:
            self.transport.close()


class _Server(uvicorn.Server):
    """Leaves the signals to the process, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()
