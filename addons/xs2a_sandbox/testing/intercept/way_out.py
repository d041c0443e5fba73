"""Sockets that would take HTTP out of the process: those of clients that nobody else has hooked."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

WEB_PORTS = frozenset({80, 443, 3128, 8000, 8008, 8080, 8443, 8888})
"""The ports where HTTP is spoken; a database has others."""


@contextmanager
def hook(refuse: Callable[[str, int], None]) -> Iterator[None]:
    """`refuse` is told of every host and port of the web before it is connected to, and may raise."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def hooked(self: socket.socket, address: Any, /) -> None:
        _look(self, address, refuse)
        connect(self, address)

    def hooked_ex(self: socket.socket, address: Any, /) -> int:
        _look(self, address, refuse)
        return connect_ex(self, address)

    with patch.object(socket.socket, "connect", hooked), patch.object(socket.socket, "connect_ex", hooked_ex):
        yield


def _look(connection: socket.socket, address: Any, refuse: Callable[[str, int], None]) -> None:
    if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
        host, port, *_ = address
        if port in WEB_PORTS:
            refuse(host, port)
