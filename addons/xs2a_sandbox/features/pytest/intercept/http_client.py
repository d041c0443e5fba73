"""Hooks http.client, on which urllib, urllib3 and requests are based."""

import http.client
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from xs2a_sandbox.features.pytest.intercept import way_out
from xs2a_sandbox.features.pytest.intercept.lines import Caller, Find
from xs2a_sandbox.http.origin import PORTS, Origin


class ClientEnd(socket.socket):
    """The client's end of a line. Once it is `late`, reading fails as after a timeout."""

    late = False

    def recv_into(self, *where: Any) -> int:
        count = super().recv_into(*where)
        if self.late:
            raise TimeoutError("timed out")
        return count

    def give_up(self) -> None:
        self.late = True


@contextmanager
def hook(find: Find) -> Iterator[None]:
    classes: list[Any] = [http.client.HTTPConnection, http.client.HTTPSConnection]
    try:
        from urllib3 import connection
    except ImportError:
        pass
    else:
        classes += [connection.HTTPConnection, connection.HTTPSConnection]
    with ExitStack() as hooks:
        for connection_class in classes:
            hooks.enter_context(patch.object(connection_class, "connect", _connect(connection_class.connect, find)))
        put = http.client.HTTPConnection.putrequest
        hooks.enter_context(patch.object(http.client.HTTPConnection, "putrequest", _putrequest(put, find)))
        if pool := sys.modules.get("urllib3.connectionpool"):
            validate = pool.HTTPConnectionPool._validate_conn
            hooks.enter_context(patch.object(pool.HTTPConnectionPool, "_validate_conn", _validate(validate, find)))
        yield


def _connect(original: Callable[[Any], None], find: Find) -> Callable[[Any], None]:
    def connect(self: Any) -> None:
        host = _bank(self)
        if (lines := find(host)) is None or host is None:
            original(self)
            return
        is_tls = self.default_port == PORTS["https"] or self._tunnel_host is not None
        scheme = "https" if is_tls else "http"
        port = (self._tunnel_port if self._tunnel_host else self.port) or PORTS[scheme]
        ends: list[ClientEnd] = []
        caller = Caller(lambda: ends[0].gettimeout(), lambda: ends[0].give_up())
        with way_out.closed(but=True):
            ends.append(ClientEnd(fileno=lines.open(Origin(scheme, host, port), caller).detach()))
        (self.sock,) = ends
        timeout = self.timeout
        self.sock.settimeout(timeout if isinstance(timeout, int | float) or timeout is None else None)
        # For urllib3: avoids its warning about a connection without TLS, and its blame of a proxy for errors of the
        # bank.
        self.is_verified = self._has_connected_to_proxy = True

    return connect


def _putrequest(original: Callable[..., None], find: Find) -> Callable[..., None]:
    def putrequest(self: Any, method: str, url: str, *more: Any, **options: Any) -> None:
        # A request to a proxy contains the host.
        self._xs2a_host = urlsplit(url).hostname if "://" in url.partition("?")[0] else None
        connection = self.sock
        if isinstance(connection, socket.socket) and connection.family in (socket.AF_INET, socket.AF_INET6):
            is_ours = isinstance(connection, ClientEnd)
            if is_ours != (find(_bank(self)) is not None):
                # Kept alive from before the interception, or from within it. urllib3's own close would forget the
                # request.
                http.client.HTTPConnection.close(self)
        _take(self, find)
        original(self, method, url, *more, **options)

    return putrequest


def _validate(original: Callable[[Any, Any], None], find: Find) -> Callable[[Any, Any], None]:
    def validate(self: Any, connection: Any) -> None:
        _take(connection, find)  # before urllib3 connects
        original(self, connection)

    return validate


def _take(connection: Any, find: Find) -> None:
    """Hook a connection whose class has its own `connect`."""
    own: Callable[[Any], None] = type(connection).connect
    if find(_bank(connection)) is None or "connect" in vars(connection) or own.__module__ == __name__:
        return
    answered = _connect(own, find)

    def connect() -> None:
        try:
            with way_out.closed():
                own(connection)
        except way_out.Closed:
            answered(connection)

    connection.connect = connect


def _bank(connection: Any) -> str | None:
    """Return the target host, even if there is a proxy."""
    host: str | None = getattr(connection, "_xs2a_host", None) or connection._tunnel_host or connection.host
    return host
