"""Sends callbacks to apps, each over its own connection, to an address that has been checked before."""

import asyncio
from collections.abc import Collection, Iterable
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.upstream import tls

CONNECT, TOTAL = 5.0, 10.0
"""The seconds for a connection, and for the whole exchange."""


class CallbackClient:
    """Redirects are not followed, and environment variables do not matter.

    `own_ports` are those of the sandbox, to which nothing is sent on this machine. `ca` replaces the system's CAs.
    """

    def __init__(self, ca: Path | None = None) -> None:
        self.own_ports: Collection[int] = ()
        self._app = RealBank(
            ca=ca, private=True, connect_timeout=CONNECT, read_timeout=TOTAL, total_timeout=TOTAL, tls_strict=False
        )
        if ca:
            tls.context(self._app)

    async def send(self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> Response:
        """Return the app's answer, without the part that is too large for memory.

        Raises BankError with the reason if there is none.
        """
        # In a thread, because the import is slow and other answers must not wait for it.
        connections = await asyncio.to_thread(import_module, "xs2a_sandbox.upstream.connections")
        parts = urlsplit(url)
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        own = [("Host", parts.netloc), ("Content-Length", str(len(body)))]
        session = connections.BankSession(self._app, resolve=self._choose)
        try:
            answer: Response = await session.exchange(
                parts.netloc, f"{parts.scheme}://{parts.netloc}", method, target, [*own, *headers], body
            )
            if answer.rest is not None:
                await answer.rest.aclose()
            return Response(answer.status, answer.headers, answer.body)
        finally:
            await session.close()

    def _choose(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """Check the addresses of a name. The connection goes to one of them. Raises BankError."""
        for address in addresses:
            is_here = is_loopback(address)
            if host == "localhost" and not is_here:
                raise BankError("bank-private", bank=host, reason=f"localhost is the other machine {address} here")
            if is_here and port in self.own_ports:
                raise BankError("bank-private", bank=host, reason=f"{host}:{port} is the sandbox itself")


def is_loopback(address: str) -> bool:
    """Return whether the text is an address of this machine's loopback interface. A name is not."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return (mapped or ip).is_loopback
