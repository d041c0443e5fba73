"""Opens the sockets that listen on a port."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable

from xs2a_sandbox.doors import door

_BACKLOG = 2048
"""The most connections that wait to be accepted, for each socket."""


def listen(host: str, port: int, flag: str) -> list[socket.socket]:
    """Return a socket for each address of the host, all on the same port.

    Raises ConfigError if the port is not available.
    """
    listening: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            # If the name has several addresses and the port is 0, the first address gets a free port and the others use
            # the same.
            shared = listening[0].getsockname()[1] if listening else port
            try:
                listening.append(_bind(family, kind, protocol, (address[0], shared, *address[2:])))
            except OSError as error:
                # For example localhost, which is also ::1 on machines without IPv6.
                if not listening or error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
    except OSError as error:
        for bound in listening:
            bound.close()
        raise door.no_port(host, port, flag, error) from None
    return listening


def number(listening: list[socket.socket]) -> int:
    return int(listening[0].getsockname()[1])


async def serve(
    protocol_factory: Callable[[], asyncio.Protocol], listening: list[socket.socket]
) -> list[asyncio.Server]:
    """Return servers in the running loop for these sockets."""
    loop = asyncio.get_running_loop()
    return [await loop.create_server(protocol_factory, sock=bound, backlog=_BACKLOG) for bound in listening]


def _bind(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would allow two sockets on one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made
