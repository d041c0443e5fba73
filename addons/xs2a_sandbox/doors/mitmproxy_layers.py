"""HTTP in mitmproxy's layers for the proxy and the TLS door, with limits on the size of requests."""

# mitmproxy is only partly typed.
# mypy: allow-untyped-calls

import logging
import re
from contextlib import suppress
from time import time
from typing import Any

import h2.events
import h11
from h2.connection import ConnectionState as Http2State
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from hpack import HPACKError, OversizedHeaderListError
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.net.http import http1
from mitmproxy.net.http.status_codes import RESPONSES
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator, Layer
from mitmproxy.proxy.layers import ClientTLSLayer, HttpLayer, ServerTLSLayer, modes
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server, make_body_reader
from mitmproxy.proxy.layers.http._http2 import Http2Server
from mitmproxy.proxy.tunnel import LayerStack
from OpenSSL import SSL

from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connection
from xs2a_sandbox.doors.door import RefusalHandler
from xs2a_sandbox.doors.frame_budget import Excess, FrameBudget
from xs2a_sandbox.doors.proxy_log import drop_quoted
from xs2a_sandbox.doors.wrong_protocol import HANDSHAKE, HTTP2, PROXY, TLS_PORT, TUNNEL, Endpoint, recognise
from xs2a_sandbox.http import Headers, Request, Response, request_head
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.http.origin import PORTS

_HEAD = re.compile(rb"(\r\n)*[!-~]+ [!-~]+ HTTP/1\.[01]\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n)*\r\n")
"""The head of a request by RFC 9112. mitmproxy accepts others, too."""

logger = logging.getLogger(__name__)


def choose(context: Context, start: bytes, connection: Connection, tell: RefusalHandler) -> Layer | None:
    """Return the layer for a connection that starts with `start`, or None in a mode of mitmproxy's own."""
    stack = LayerStack()
    match context.layers:
        case [modes.HttpProxy()]:
            place, mode = PROXY, HTTPMode.regular
        case [modes.ReverseProxy()]:
            place, mode = TLS_PORT, HTTPMode.transparent
        case [modes.HttpProxy(), *_]:
            place, mode = TUNNEL, HTTPMode.transparent
        case _:
            return None
    if start.startswith(HANDSHAKE) and not isinstance(context.layers[-1], ClientTLSLayer):
        if place is TUNNEL:
            stack /= ServerTLSLayer(context)
            stack /= ClientTls(context)
            return stack[0]
        stack /= ClientTls(context)
    elif context.client.alpn != b"h2" and (wrong := recognise(start)):
        logger.warning("%s speaks %s to %s", door.client_at(context.client.peername), wrong.name, place.speaks)
        return Last(context, wrong.answer)
    elif place is TLS_PORT:
        logger.warning("%s speaks plain HTTP to %s", door.client_at(context.client.peername), place.speaks)
        refusal = tell(
            door.unread_request(place.door), door.malformed(f"it was sent without TLS to {place.speaks}"), 0.0, None
        )
        return Last(context, door.as_http1(refusal))
    stack /= Http(context, mode, place, connection, tell)
    return stack[0]


class Last(Layer):
    """Sends a last message and drops data that still arrive, because closing at once could lose the message."""

    _has_data = False
    _lingers = 0

    def __init__(self, context: Context, message: bytes) -> None:
        super().__init__(context)
        self._message = message

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        client = self.context.client
        if isinstance(event, events.Start):
            yield commands.SendData(client, self._message)
            if not any(isinstance(layer, HttpStream) for layer in self.context.layers):
                yield commands.CloseTcpConnection(client, half_close=True)
            yield commands.RequestWakeup(door.LINGER)
        elif isinstance(event, events.DataReceived):
            self._has_data = True
        elif isinstance(event, events.Wakeup) and self._has_data and self._lingers < door.LINGERS:
            self._has_data, self._lingers = False, self._lingers + 1
            yield commands.RequestWakeup(door.LINGER)
        elif isinstance(event, events.Wakeup | events.ConnectionClosed):
            yield commands.CloseConnection(client)


class ClientTls(ClientTLSLayer):
    """Ends TLS before the connection, and the connection after a TLS error, where mitmproxy would go on reading."""

    def receive_data(self, data: bytes) -> CommandGenerator[None]:
        if data:
            self.tls.bio_write(data)
        plain, has_ended, failure = bytearray(), False, None
        try:
            while True:
                plain += self.tls.recv(65535)
        except SSL.WantReadError:
            pass
        except SSL.ZeroReturnError:
            has_ended = True
        except SSL.Error as error:
            failure = error
        yield from self.tls_interact()
        if plain:
            yield from self.event_to_child(events.DataReceived(self.conn, bytes(plain)))
        if failure:
            yield commands.Log(f"TLS Error: {failure}", logging.WARNING)
            yield commands.CloseConnection(self.tunnel_connection)
        elif has_ended:
            self.conn.state &= ~ConnectionState.CAN_READ
            yield from self.event_to_child(events.ConnectionClosed(self.conn))

    def send_close(self, command: commands.CloseConnection) -> CommandGenerator[None]:
        with suppress(SSL.Error):
            self.tls.shutdown()
        yield from self.tls_interact()
        yield from super().send_close(command)


class Http(HttpLayer):
    """Reads requests with our own layers."""

    def __init__(
        self, context: Context, mode: HTTPMode, place: Endpoint, connection: Connection, tell: RefusalHandler
    ) -> None:
        super().__init__(context, mode)
        self.place, self.connection, self._tell = place, connection, tell

    def report_refusal(self, refusal: Response, stream_id: int) -> Response:
        """Log a request that is rejected here, possibly without a complete head, and return the bank's answer."""
        stream, way_in = self.streams.get(stream_id), self.place.door
        request = outline(stream.flow.request, way_in) if stream else door.unread_request(way_in)
        return self._tell(request, refusal, 0.0, None)

    def leave(self, stream_id: int) -> None:
        """Note that the client has reset its stream: mitmproxy tells the addon only after the answer."""
        stream = self.streams.get(stream_id)
        patience = self.connection.waits.get(stream.flow.id) if stream else None
        if patience:
            patience.leave()

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        reader = Http2 if self.context.client.alpn == b"h2" else Http1
        self.connections[self.context.client] = reader(self.context.fork(), self)
        self._handle_event = super()._handle_event  # type: ignore[method-assign]
        yield from self._handle_event(event)


class Http1(Http1Server):
    """Reads HTTP/1 with limits on its size, without trailers, and rejects requests with the sandbox's own errors."""

    def __init__(self, context: Context, parent: Http) -> None:
        super().__init__(context)
        self._parent = parent
        self._limits = parent.connection.limits
        self._length = 0
        """Bytes of the body so far."""

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        if not isinstance(event, events.DataReceived):
            yield from super().read_headers(event)
            return
        received = bytes(self.buf)
        while (lines := self.buf.maybe_extract_lines()) == []:
            pass  # empty lines before a request
        if not lines:
            if len(self.buf) > self._limits.head:
                line_is_open = b"\n" not in bytes(self.buf)
                yield from self._refuse(door.head_too_large(self._limits, line_is_open=line_is_open))
            return
        if lines[0][:4] == b"PRI ":
            logger.warning(
                "%s speaks %s to %s", door.client_at(self.conn.peername), HTTP2.name, self._parent.place.speaks
            )
            yield from self._end(HTTP2.answer)
            return
        try:
            self.request = http1.read_request_head([bytes(line) for line in lines])
            size = http1.expected_http_body_size(self.request)
        except ValueError as error:
            yield from self._refuse(door.malformed(drop_quoted(str(error))))
            return
        head = received[: len(received) - len(self.buf)]
        if mistake := self._mistake(head, self.request):
            yield from self._refuse(door.malformed(mistake))
            return
        self.body_reader = Chunks() if size is None else make_body_reader(size)
        self.state = self.read_body
        self._length = 0
        yield ReceiveHttp(RequestHeaders(self.stream_id, self.request, size == 0))
        if self.state == self.read_body:
            yield from self.read_body(event)

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        if not isinstance(event, events.DataReceived):
            yield from super().read_body(event)
            return
        while True:
            try:
                part = self.body_reader(self.buf)
            except h11.ProtocolError as error:
                yield from self._refuse(door.malformed(drop_quoted(str(error))))
                return
            if part is None:
                if isinstance(self.body_reader, Chunks) and self.body_reader.has_long_line(self.buf, self._limits):
                    yield from self._refuse(door.LONG_CHUNK_LINE)
                elif len(self.buf) > self._limits.head:
                    yield from self._refuse(door.head_too_large(self._limits, line_is_open=False))
                return
            if isinstance(part, h11.EndOfMessage):
                if self.request and self.request.method != "CONNECT":
                    yield ReceiveHttp(RequestEndOfMessage(self.stream_id))
                yield from self.mark_done(request=True)
                return
            data, room = bytes(part.data), self._limits.body + 1 - self._length
            self._length += len(data)
            if self._length > self._limits.swallowed:
                yield from self._refuse(door.body_too_large(self._limits))
                return
            if data and room > 0:
                yield ReceiveHttp(RequestData(self.stream_id, data[:room]))

    def wait(self, event: events.Event) -> CommandGenerator[None]:
        yield from super().wait(event)
        if len(self.buf) > self._limits.head:
            logger.warning(
                "%s sends too much while it waits for an answer: its connection is closed",
                door.client_at(self.conn.peername),
            )
            yield commands.CloseConnection(self.conn)

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if not self.response and (refusal := refusal_for(event, self._limits)):
            yield from self._refuse(refusal)
        else:
            yield from super().send(event)

    def _mistake(self, head: bytes, request: http.Request) -> str | None:
        if not _HEAD.fullmatch(head):
            return "its head is not valid HTTP/1.1"
        if request.method == "CONNECT":
            # Many clients omit its Host, and the data after it are not its body.
            return request_head.mistake(headers_of(request), "1.0")
        scheme = request.data.scheme.decode("latin-1")
        if self._parent.place is not PROXY and scheme not in ("", "https" if self.conn.tls else "http"):
            return "the scheme of its target does not match its connection"
        if scheme not in ("", *PORTS):
            return "its target must be a path, or an http or https URL"
        return request_head.mistake(headers_of(request), request.http_version.removeprefix("HTTP/"))

    def _refuse(self, refusal: Response) -> CommandGenerator[None]:
        """Answer instead of the engine."""
        refusal = self._parent.report_refusal(refusal, self.stream_id)
        if self.request:
            yield ReceiveHttp(RequestProtocolError(self.stream_id, "refused", ErrorCode.GENERIC_CLIENT_ERROR))
        yield from self._end(door.as_http1(refusal))

    def _end(self, message: bytes) -> CommandGenerator[None]:
        """Stop reading this connection."""
        self.buf = ReceiveBuffer()
        last = Last(self.context, message)
        self._handle_event = last.handle_event  # type: ignore[method-assign]
        yield from last.handle_event(events.Start())


class Chunks(ChunkedReader):
    """Reads a chunked body and drops its trailers, as RFC 9110 allows (section 6.5.1)."""

    def __call__(self, buf: ReceiveBuffer) -> Any:
        part = super().__call__(buf)
        return h11.EndOfMessage() if isinstance(part, h11.EndOfMessage) else part

    def has_long_line(self, buf: ReceiveBuffer, limits: Limits) -> bool:
        """Return whether the buffer holds only the beginning of a line that is too long."""
        return not self._reading_trailer and len(buf) > limits.chunk_line


class Http2(Http2Server):
    """Reads HTTP/2 with the same limits, and with further limits for frames that only cause work."""

    def __init__(self, context: Context, parent: Http) -> None:
        super().__init__(context)
        self._parent = parent
        self._limits = parent.connection.limits
        self._lengths: dict[int, int] = {}
        self._budget = FrameBudget(self._limits, self.h2_conn.max_inbound_frame_size)
        parent.connection.held = self._count_unsent
        # Headers are read up to this size, so that larger ones get an answer.
        self.h2_conn.decoder.max_header_list_size = self._limits.head

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(event, HttpEvent):
            yield from self._send(event)
        elif isinstance(event, events.DataReceived) and (excess := self._budget.read(event.data)):
            yield from self._end(excess)
        else:
            yield from super()._handle_event(event)

    def _send(self, event: HttpEvent) -> CommandGenerator[None]:
        stream_id, is_open = event.stream_id, self.is_open_for_us(event.stream_id)
        if (refusal := refusal_for(event, self._limits)) and self._awaits_an_answer(stream_id):
            refusal = self._parent.report_refusal(refusal, stream_id)
            yield from super()._handle_event(ResponseHeaders(stream_id, to_mitmproxy(refusal, "GET")))
            yield from super()._handle_event(ResponseData(stream_id, refusal.body))
            yield from super()._handle_event(ResponseEndOfMessage(stream_id))
        else:
            yield from super()._handle_event(event)
        if is_open and isinstance(event, ResponseData):
            self._budget.note_sent(len(event.data))
            if self._count_unsent() > self._limits.unsent and len(self.h2_conn.stream_buffers) > 1:
                yield from self._end(Excess(ErrorCodes.ENHANCE_YOUR_CALM, "requests without reading the answers"))
        elif is_open and isinstance(event, ResponseEndOfMessage | ResponseProtocolError):
            self._budget.note_answered()
            if self.is_closed(stream_id):
                # If a request has ended before its answer, mitmproxy would keep the data of the stream.
                self.streams.pop(stream_id, None)

    def handle_h2_event(self, event: h2.events.Event) -> CommandGenerator[bool]:
        if isinstance(event, h2.events.DataReceived):
            length = self._lengths.get(event.stream_id, 0)
            whole = self._lengths[event.stream_id] = length + len(event.data)
            event.data = event.data[: max(self._limits.body + 1 - length, 0)]
            if length <= self._limits.swallowed < whole:
                yield from self._handle_event(ResponseProtocolError(event.stream_id, "", ErrorCode.REQUEST_TOO_LARGE))
                error = RequestProtocolError(event.stream_id, "refused", ErrorCode.GENERIC_CLIENT_ERROR)
                yield ReceiveHttp(error)
        elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
            self._lengths.pop(event.stream_id, None)
            if isinstance(event, h2.events.StreamReset):
                self._parent.leave(event.stream_id)
        elif isinstance(event, h2.events.RequestReceived) and event.stream_ended and _announces_a_body(event):
            # h2 counts the bytes of a body only if there are DATA frames.
            self.h2_conn.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
            return False
        elif isinstance(event, ProtocolError) and _is_badly_compressed(event):
            # h2 has prepared a GOAWAY with a general protocol error.
            self.h2_conn.clear_outbound_data_buffer()
            self.h2_conn.close_connection(ErrorCodes.COMPRESSION_ERROR)
        return (yield from super().handle_h2_event(event))

    def protocol_error(self, message: str, error_code: int = ErrorCodes.PROTOCOL_ERROR) -> CommandGenerator[None]:
        yield commands.Log(f"{door.client_at(self.conn.peername)}: {message}")
        yield from self._say_goodbye(error_code, message)

    def _end(self, excess: Excess) -> CommandGenerator[None]:
        """Stop reading from a client that floods."""
        logger.warning(
            "%s sends %s over HTTP/2: its connection is closed", door.client_at(self.conn.peername), excess.reason
        )
        yield from self._say_goodbye(excess.code, excess.reason)

    def _say_goodbye(self, code: int, message: str) -> CommandGenerator[None]:
        """Send the reason why the connection ends, unless h2 has done so, and give up its streams."""
        if self.h2_conn.state_machine.state is not Http2State.CLOSED:
            self.h2_conn.close_connection(code)
        last = Last(self.context, self.h2_conn.data_to_send())
        self._handle_event = last.handle_event  # type: ignore[method-assign]
        self.h2_conn.stream_buffers.clear()
        for stream_id in self.streams:
            yield ReceiveHttp(RequestProtocolError(stream_id, message, ErrorCode.GENERIC_CLIENT_ERROR))
        self.streams.clear()
        yield from last.handle_event(events.Start())

    def _count_unsent(self) -> int:
        return sum(len(part.data) for parts in self.h2_conn.stream_buffers.values() for part in parts)

    def _awaits_an_answer(self, stream_id: int) -> bool:
        return self.is_open_for_us(stream_id) and not self.h2_conn.streams[stream_id].state_machine.headers_sent


def _is_badly_compressed(error: ProtocolError) -> bool:
    """Return whether headers cannot be decoded. If they are too large, h2 itself reports that to the client."""
    return isinstance(error.__cause__, HPACKError) and not isinstance(error.__cause__, OversizedHeaderListError)


def _announces_a_body(event: h2.events.RequestReceived) -> bool:
    return any(name == b"content-length" and value.strip(b"0") for name, value in event.headers)


def refusal_for(event: HttpEvent, limits: Limits) -> Response | None:
    """Return our answer if mitmproxy would send its own page."""
    if not isinstance(event, ResponseProtocolError):
        return None
    match event.code.http_status_code():
        case None:
            return None
        case 413:
            return door.body_too_large(limits)
        case 400 if "an HTTP CONNECT request" in event.message:
            return door.NO_PROXY
        case 400:
            # mitmproxy says "Received … from client, refusing …", and how to switch that off.
            return door.malformed(drop_quoted(event.message.removeprefix("Received ").partition(" from client, ")[0]))
        case _:
            return door.FAILED


def headers_of(request: http.Request) -> Headers:
    return Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.data.headers.fields)


def outline(request: http.Request, way_in: Door) -> Request:
    """Return the method and path of any request, even a malformed one."""
    data = request.data
    method, path = (part.decode("latin-1") for part in (data.method or b"-", data.path or data.authority or b"-"))
    return Request(method, path, door=way_in)


def to_mitmproxy(response: Response, method: str) -> http.Response:
    pairs = door.frame_headers(response, method)
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    content = b"" if method == "HEAD" else response.body
    reason = RESPONSES.get(response.status, "").encode()
    now = time()
    return http.Response(b"HTTP/1.1", response.status, reason, http.Headers(fields), content, None, now, now)
