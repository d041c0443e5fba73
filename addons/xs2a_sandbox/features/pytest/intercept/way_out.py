"""Refuses connections for HTTP out of the process, for clients that no other module here hooks."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from unittest.mock import patch

WEB_PORTS = frozenset({80, 443, 3128, 8000, 8008, 8080, 8443, 8888})
"""The usual ports of HTTP. Databases use others."""


_is_closed = ContextVar("is_closed", default=False)


class Closed(BaseException):
    """Raised for a forbidden connection. Not a connection error, so that no client catches it and tries again."""


@contextmanager
def closed(*, but: bool = False) -> Iterator[None]:
    """Forbid connections in this thread or task; `but` allows them within. Forbidden ones raise Closed."""
    before = _is_closed.set(not but)
    try:
        yield
    finally:
        _is_closed.reset(before)


@contextmanager
def hook(refuse: Callable[[str, int], None]) -> Iterator[None]:
    """Call `refuse` with host and port of every connection to a web port before it is made; it may raise."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def hooked(self: socket.socket, address: Any, /) -> None:
        _look(self, address, refuse)
        connect(self, address)

    def hooked_ex(self: socket.socket, address: Any, /) -> int:
        _look(self, address, refuse)
        return connect_ex(self, address)

    with ExitStack() as hooks:
        hooks.enter_context(patch.object(socket.socket, "connect", hooked))
        hooks.enter_context(patch.object(socket.socket, "connect_ex", hooked_ex))
        with suppress(ImportError):
            import uvloop

            hooks.enter_context(patch.object(uvloop.Loop, "create_connection", _of_uvloop(uvloop, refuse)))
        yield


def _of_uvloop(uvloop: Any, refuse: Callable[[str, int], None]) -> Callable[..., Any]:
    """Hook uvloop, whose connections are not Python sockets."""
    create = uvloop.Loop.create_connection

    async def create_connection(
        self: Any, factory: Any, host: str | None = None, port: int | None = None, **options: Any
    ) -> Any:
        if host is not None and port is not None and int(port) in WEB_PORTS:
            refuse(host, int(port))
        return await create(self, factory, host, port, **options)

    return create_connection


def _look(connection: socket.socket, address: Any, refuse: Callable[[str, int], None]) -> None:
    if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
        if _is_closed.get():
            raise Closed
        host, port, *_ = address
        if port in WEB_PORTS:
            refuse(host, port)
