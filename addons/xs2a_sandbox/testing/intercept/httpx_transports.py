"""httpx, whose clients send all over a transport."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from xs2a_sandbox.testing.intercept.lines import Find


@contextmanager
def hook(find: Find) -> Iterator[None]:
    try:
        import httpx
    except ImportError:
        yield
        return
    handle, handle_async = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def handle_request(self: Any, request: httpx.Request) -> httpx.Response:
        lines = None if _is_unix(self) else find(request.url.host)
        response: httpx.Response = handle(self, request) if lines is None else lines.transport.handle_request(request)
        return response

    async def handle_async_request(self: Any, request: httpx.Request) -> httpx.Response:
        lines = None if _is_unix(self) else find(request.url.host)
        response: httpx.Response = await (
            handle_async(self, request) if lines is None else lines.transport.handle_async_request(request)
        )
        return response

    with (
        patch.object(httpx.HTTPTransport, "handle_request", handle_request),
        patch.object(httpx.AsyncHTTPTransport, "handle_async_request", handle_async_request),
    ):
        yield


def _is_unix(transport: Any) -> bool:
    return getattr(transport._pool, "_uds", None) is not None
