"""The bank that answers the HTTP clients in this process, and for how long."""

import errno
from contextlib import ExitStack
from threading import RLock
from typing import Self

from xs2a_sandbox.doors.door import Application, RefusalHandler
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.intercept import aiohttp_connector, http_client, httpcore_pools, way_out
from xs2a_sandbox.features.pytest.intercept.lines import Lines
from xs2a_sandbox.http.origin import is_local

_lock = RLock()
_begun: "list[Interception]" = []
"""The active interceptions. The last one answers."""

_hooks = ExitStack()


class Interception:
    """Answers every host except for this machine, within its `with`.

    It answers http.client, and so urllib, urllib3 and requests; httpcore, and so httpx; and aiohttp. Other connections
    to web ports of other hosts are refused, and listed in `refused`.
    """

    def __init__(self, answer: Application, tell: RefusalHandler, loop: LoopThread) -> None:
        self.refused: list[str] = []
        self._loop = loop
        self._lines = Lines(answer, tell, loop)

    def __enter__(self) -> Self:
        with _lock:
            if not _begun:
                for hook in (http_client.hook, httpcore_pools.hook, aiohttp_connector.hook):
                    _hooks.enter_context(hook(_lines_to))
                _hooks.enter_context(way_out.hook(_refuse))
            _begun.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _begun.remove(self)
            if not _begun:
                _hooks.close()
        self._lines.close()

    @property
    def lines(self) -> Lines | None:
        """The open connections, or None on the sandbox's own thread."""
        return None if self._loop.is_current() else self._lines

    def refuse(self, host: str, port: int) -> None:
        """Refuse a connection. Raises ConnectionRefusedError."""
        if self._loop.is_current():
            return
        self.refused.append(f"{host}:{port}")
        text = f"xs2a blocked the connection to {host}:{port}, because it cannot intercept this client,"
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"{text} and does not allow HTTP to other hosts")


def _lines_to(host: str | None) -> Lines | None:
    return None if host is None or _is_here(host) or not _begun else _begun[-1].lines


def _refuse(host: str, port: int) -> None:
    if _begun and not _is_here(host):
        _begun[-1].refuse(host, port)


def _is_here(host: str) -> bool:
    name = host.strip("[]").rstrip(".").partition("%")[0].lower()
    return is_local(name) or name.endswith(".localhost")
