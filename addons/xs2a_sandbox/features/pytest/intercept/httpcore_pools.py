"""Hooks httpcore, whose connection pools httpx and some other clients use."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from xs2a_sandbox.features.pytest.intercept.lines import Find

if TYPE_CHECKING:
    import httpcore
    import httpx


@contextmanager
def hook(find: Find) -> Iterator[None]:
    try:
        import httpcore
        import httpx  # answers are built with it
    except ImportError:
        yield
        return
    del httpx
    handle, handle_async = httpcore.ConnectionPool.handle_request, httpcore.AsyncConnectionPool.handle_async_request

    def handle_request(self: Any, request: "httpcore.Request") -> "httpcore.Response":
        if self._uds is not None or (lines := find(_host(request))) is None:
            return handle(self, request)
        body = b"".join(request.stream) if isinstance(request.stream, Iterable) else b""
        with _as_of_httpcore():
            return _response(lines.transport.handle_request(_request(request, body)))

    async def handle_async_request(self: Any, request: "httpcore.Request") -> "httpcore.Response":
        if self._uds is not None or (lines := find(_host(request))) is None:
            return await handle_async(self, request)
        body = b"".join([piece async for piece in request.stream]) if isinstance(request.stream, AsyncIterable) else b""
        with _as_of_httpcore():
            return _response(await lines.transport.handle_async_request(_request(request, body)))

    with (
        patch.object(httpcore.ConnectionPool, "handle_request", handle_request),
        patch.object(httpcore.AsyncConnectionPool, "handle_async_request", handle_async_request),
    ):
        yield


class _Content:
    """The body of an answer, which may break off."""

    def __init__(self, response: "httpx.Response") -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _as_of_httpcore():
            yield from self._response.iter_raw()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def _host(request: "httpcore.Request") -> str:
    return request.url.host.decode("ascii")


def _request(request: "httpcore.Request", body: bytes) -> "httpx.Request":
    import httpx

    url = request.url
    return httpx.Request(
        request.method.decode("ascii"),
        httpx.URL(scheme=url.scheme.decode(), host=url.host.decode(), port=url.port, raw_path=url.target),
        headers=request.headers,
        content=body,
        extensions=request.extensions,
    )


def _response(response: "httpx.Response") -> "httpcore.Response":
    import httpcore

    return httpcore.Response(
        response.status_code,
        headers=response.headers.raw,
        content=_Content(response),
        extensions={"http_version": b"HTTP/1.1", "reason_phrase": response.reason_phrase.encode("ascii")},
    )


@contextmanager
def _as_of_httpcore() -> Iterator[None]:
    """Convert httpx's exceptions to httpcore's of the same names."""
    import httpcore
    import httpx

    try:
        yield
    except httpx.TransportError as error:
        raise getattr(httpcore, type(error).__name__)(str(error)) from None
