"""Hooks aiohttp, whose sessions get their connections from a connector."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

from xs2a_sandbox.features.pytest.intercept.lines import Caller, Find
from xs2a_sandbox.http.origin import Origin


@contextmanager
def hook(find: Find) -> Iterator[None]:
    import aiohttp

    connect, create = aiohttp.TCPConnector.connect, aiohttp.TCPConnector._create_connection
    callers: WeakSet[Any] = WeakSet()

    async def hooked_connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - its name at aiohttp
        is_ours = find(req.url.host) is not None
        for idle, _ in self._conns.get(req.connection_key, ()):
            if (idle in callers) != is_ours:
                idle.close()  # kept alive from before the interception, or from within it
        connection = await connect(self, req, traces, timeout)
        protocol: Any = connection.protocol
        if protocol in callers:
            protocol.xs2a_limits = timeout
        return connection

    async def hooked_create(self: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - its name at aiohttp
        if (lines := find(req.url.host)) is None:
            return await create(self, req, traces, timeout)
        protocols: list[Any] = []

        def patience() -> float | None:
            now = protocols[0].xs2a_limits
            return min((limit for limit in (now.total, now.sock_read) if limit), default=None)

        def give_up() -> None:
            late = aiohttp.SocketTimeoutError("Timeout on reading data from socket")
            self._loop.call_soon_threadsafe(protocols[0].set_exception, late)

        origin = Origin(req.url.scheme, req.url.host or "", req.url.port or 0)
        near = lines.open(origin, Caller(patience, give_up))
        near.setblocking(False)
        _, protocol = await self._loop.create_connection(self._factory, sock=near)
        protocol.xs2a_limits = timeout
        protocols.append(protocol)
        callers.add(protocol)
        return protocol

    with (
        patch.object(aiohttp.TCPConnector, "connect", hooked_connect),
        patch.object(aiohttp.TCPConnector, "_create_connection", hooked_create),
    ):
        yield
