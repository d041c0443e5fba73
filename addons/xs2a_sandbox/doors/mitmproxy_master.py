"""A mitmproxy master for the proxy door and the TLS door, with only the addons that they need."""

# mitmproxy is only partly typed.
# mypy: allow-untyped-calls

import inspect
import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mitmproxy.addonmanager import AddonManager, safecall, traverse
from mitmproxy.addons.block import Block
from mitmproxy.addons.core import Core
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook
from mitmproxy.master import Master
from mitmproxy.options import Options
from mitmproxy.proxy.mode_servers import ServerInstance

from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler
from xs2a_sandbox.doors.mitmproxy_addon import SandboxAddon
from xs2a_sandbox.doors.proxy_log import LOGGER, ProxyLog


class SandboxMaster:
    """Serves accepted connections until `drain`. `ca_file` is the certificate that clients have to trust."""

    def __init__(
        self,
        answer: Application,
        *,
        proxy_auth: str | None,
        tell: RefusalHandler,
        connections: Connections,
        ca_file: Path,
    ) -> None:
        self.sandbox = SandboxAddon(answer, proxy_auth=proxy_auth, tell=tell, connections=connections)
        self._ca_file = ca_file

    async def start(self) -> None:
        log = logging.getLogger(LOGGER)
        self._quiet, self._log = log.level, ProxyLog(self._ca_file)
        log.addFilter(self._log)
        log.setLevel(logging.INFO)
        self._master = Master(Options())
        self._master.addons = _Listeners(self._master)
        self._proxyserver = Proxyserver()
        self._master.addons.add(Core(), Block(), self._proxyserver, self.sandbox, NextLayer(), TlsConfig())
        self._master.options.update(
            **self.sandbox.forced,
            confdir=str(self._ca_file.parent),
            http3=False,
            mode=[],
            request_client_cert=True,
        )
        await self._master.running()

    async def serve(self, mode: str, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve a connection in one of mitmproxy's modes."""
        instance: ServerInstance[Any] = ServerInstance.make(mode, self._proxyserver)
        await instance.handle_stream(reader, writer)

    async def drain(self, grace: float) -> None:
        """Let running requests finish for `grace` seconds, and close all connections."""
        self.sandbox.draining = True
        await door.until(lambda: not self.sandbox.busy, grace)
        door.stop(self.sandbox.waiting)
        await door.until(lambda: not self.sandbox.busy, 1)
        connections = self._proxyserver.connections
        for connection in list(connections.values()):
            io = connection.transports.get(connection.client)
            if io and io.handler:
                io.handler.cancel("the sandbox stops")
        await door.until(lambda: not connections, 1)
        await self._master.done()
        log = logging.getLogger(LOGGER)
        log.removeFilter(self._log)
        log.setLevel(self._quiet)


class _Listeners(AddonManager):
    """Looks up the addons for a hook only once, unlike mitmproxy, which asks each addon at every event."""

    def __init__(self, master: Master) -> None:
        super().__init__(master)
        self._hooks: dict[str, list[Callable[..., Any]]] = {}

    def register(self, addon: object) -> object:
        self._hooks.clear()
        return super().register(addon)

    async def trigger_event(self, event: Hook) -> None:
        hooks = self._hooks.get(event.name)
        if hooks is None:
            listeners = (getattr(addon, event.name, None) for addon in traverse(self.chain))
            hooks = self._hooks[event.name] = [hook for hook in listeners if hook]
        for hook in hooks:
            try:
                with safecall():
                    result = hook(*event.args())
                    if inspect.isawaitable(result):
                        await result
            except AddonHalt:
                return
