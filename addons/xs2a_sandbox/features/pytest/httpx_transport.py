"""The engine as a transport of httpx, for its sync and async clients."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx

from xs2a_sandbox.doors.door import Application, frame_headers
from xs2a_sandbox.features.pytest.in_process import NOT_HTTP, LoopThread, ask, take_sent_part
from xs2a_sandbox.http import Headers, Request, Response


class HttpxTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Every host is the bank. Threads and event loops may share it."""

    def __init__(self, answer: Application, loop: LoopThread) -> None:
        self._answer = answer
        self._loop = loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        patience = _patience(request)
        coming = ask(self._answer, _request(request, request.read()), patience)
        try:
            response = self._loop.run(coming, patience)
        except TimeoutError:
            raise _late(request) from None
        return _response(request, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        patience = _patience(request)
        coming = ask(self._answer, _request(request, await request.aread()), patience)
        future = asyncio.wrap_future(self._loop.submit(coming))
        try:
            response = await asyncio.wait_for(future, patience)
        except TimeoutError:
            raise _late(request) from None
        return _response(request, response)


class _Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks before its end."""

    def __init__(self, request: httpx.Request, body: bytes, promised: int) -> None:
        self._request = request
        self._body = body
        self._promised = promised

    def __iter__(self) -> Iterator[bytes]:
        if self._body:
            yield self._body
        text = "peer closed connection without sending complete message body "
        text += f"(received {len(self._body)} bytes, expected {self._promised})"
        raise httpx.RemoteProtocolError(text, request=self._request)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def _request(request: httpx.Request, body: bytes) -> Request:
    return Request(
        method=request.method,
        target=request.url.raw_path.decode("ascii"),
        headers=Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw),
        body=body,
        host=request.url.host,
        scheme=request.url.scheme,
    )


def _response(request: httpx.Request, response: Response) -> httpx.Response:
    if response.fault == "reset":
        raise httpx.ReadError("[Errno 104] Connection reset by peer", request=request)
    if response.fault == "drop":
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
    if response.fault == "malformed":
        raise httpx.RemoteProtocolError(f"illegal status line: {bytearray(NOT_HTTP)!r}", request=request)
    headers = frame_headers(response, request.method)
    body = take_sent_part(response)
    stream: httpx.ByteStream | _Cut = httpx.ByteStream(body)
    if response.fault == "truncate":
        stream = _Cut(request, body, len(response.body) or 1)
    return httpx.Response(
        response.status,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        stream=stream,
        extensions={"http_version": b"HTTP/1.1"},
        request=request,
    )


def _patience(request: httpx.Request) -> float | None:
    timeout: float | None = request.extensions.get("timeout", {}).get("read")
    return timeout


def _late(request: httpx.Request) -> httpx.ReadTimeout:
    return httpx.ReadTimeout("The read operation timed out", request=request)
