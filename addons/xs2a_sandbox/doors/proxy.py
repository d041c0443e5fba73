"""The proxy door and the TLS door: one mitmproxy master that loads only what they need."""

# mitmproxy is only half typed.
# mypy: allow-untyped-calls

import asyncio
import inspect
import logging
import os
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

from mitmproxy.addonmanager import AddonManager, safecall, traverse
from mitmproxy.addons.block import Block
from mitmproxy.addons.core import Core
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.certs import CertStore
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook
from mitmproxy.master import Master
from mitmproxy.options import CONF_BASENAME, KEY_SIZE, Options
from mitmproxy.proxy.mode_servers import ServerInstance

from xs2a_sandbox.documents.files import ensure_folder, read_file
from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.door import Answer, Tell
from xs2a_sandbox.doors.mitmproxy_addon import SandboxAddon
from xs2a_sandbox.doors.proxy_log import LOGGER, ProxyLog
from xs2a_sandbox.errors import ConfigError

NOWHERE = "http://127.0.0.1:9"
"""The place that the TLS door would forward to: the discard port, so that even a bug cannot reach a bank."""


_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class ProxyDoors:
    """Listens from `start` to `drain`; ports are the real ones from then on. One per process: mitmproxy has globals."""

    def __init__(
        self,
        answer: Answer,
        *,
        host: str,
        proxy_port: int,
        tls_port: int | None,
        confdir: Path,
        proxy_auth: str | None,
        tell: Tell,
        connections: Connections,
    ) -> None:
        self.host = host
        self.proxy_port = proxy_port
        self.tls_port = tls_port
        self.confdir = confdir
        self.sandbox = SandboxAddon(answer, proxy_auth=proxy_auth, tell=tell, connections=connections)
        self._listening: list[ServerInstance[Any]] = []

    async def start(self) -> None:
        """Raises ConfigError for a port that cannot be had; then neither door listens."""
        log = logging.getLogger(LOGGER)
        self._quiet, self._log = log.level, ProxyLog(ensure_ca(self.confdir))
        log.addFilter(self._log)
        log.setLevel(logging.INFO)
        self._master = Master(Options())
        self._master.addons = _Listeners(self._master)
        self._proxyserver = Proxyserver()
        self._master.addons.add(Core(), Block(), self._proxyserver, self.sandbox, NextLayer(), TlsConfig())
        self._master.options.update(
            **self.sandbox.forced,
            confdir=str(self.confdir),
            http3=False,
            listen_host=self.host,
            mode=[],
            request_client_cert=True,
        )
        await self._master.running()
        try:
            self.proxy_port = await self._listen("regular", self.proxy_port, "--proxy-port")
            if self.tls_port is not None:
                self.tls_port = await self._listen(f"reverse:{NOWHERE}", self.tls_port, "--tls-port")
        except BaseException:
            await self.drain(0)
            raise

    async def _listen(self, mode: str, port: int, flag: str) -> int:
        server: ServerInstance[Any] = ServerInstance.make(f"{mode}@{port}", self._proxyserver)
        try:
            await server.start()
        except OSError as error:
            raise door.no_port(self.host, port, flag, error) from None
        self._listening.append(server)
        return int(server.listen_addrs[0][1])

    async def drain(self, grace: float = 10.0) -> None:
        """Stops listening, lets the requests under way be answered for `grace` seconds, closes all connections."""
        self.sandbox.draining = True
        for server in self._listening:
            await server.stop()
        self._listening.clear()
        await _until(lambda: not self.sandbox.busy, grace)
        door.stop(self.sandbox.waiting)
        await _until(lambda: not self.sandbox.busy, 1)
        connections = self._proxyserver.connections
        for connection in list(connections.values()):
            io = connection.transports.get(connection.client)
            if io and io.handler:
                io.handler.cancel("the sandbox stops")
        await _until(lambda: not connections, 1)
        await self._master.done()
        log = logging.getLogger(LOGGER)
        log.removeFilter(self._log)
        log.setLevel(self._quiet)


class _Listeners(AddonManager):
    """Looks up once which addons listen to a hook, where mitmproxy asks each of them for every event."""

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


def ensure_ca(confdir: Path) -> Path:
    """The certificate a TPP app has to trust; made, with its key, when there is none yet."""
    key = confdir / f"{CONF_BASENAME}-ca.pem"
    certificate = confdir / f"{CONF_BASENAME}-ca-cert.pem"
    try:
        ensure_folder(confdir)
        if not os.path.lexists(key):
            with TemporaryDirectory(dir=confdir) as workshop:
                name = f"xs2a-sandbox CA ({platform.node()})"[:64]
                CertStore.create_store(Path(workshop), CONF_BASENAME, KEY_SIZE, organization="xs2a-sandbox", cn=name)
                # Of several processes that start at once the first one wins.
                with suppress(FileExistsError):
                    os.link(Path(workshop) / key.name, key)
        # Before anybody else looks at it: it is closed to others, if it is a key.
        pem = read_file(key, "key of the CA", lambda text: "PRIVATE KEY-----" in text) or ""
        CertStore.from_store(confdir, CONF_BASENAME, KEY_SIZE)
        # Wherever the key stands in the file, it is not for others.
        _write(certificate, "".join(f"{one}\n" for one in _CERTIFICATE.findall(pem)).encode())
    except OSError as error:
        raise ConfigError(
            f"cannot keep the CA in {confdir}: {error.strerror}. Name another directory: --confdir DIR"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"{key} is not a CA with its key ({error}). Remove it: a new one is made at the next start"
        ) from error
    return certificate


def _write(path: Path, content: bytes) -> None:
    """Replaces the file all at once, for whoever reads it at the same moment."""
    if path.exists() and path.read_bytes() == content:
        return
    with NamedTemporaryFile(dir=path.parent, delete=False) as made:
        made.write(content)
    Path(made.name).chmod(0o644)
    os.replace(made.name, path)


async def _until(done: Callable[[], bool], seconds: float) -> None:
    """mitmproxy does not tell when the last byte is out: ask, every few milliseconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not done():  # noqa: ASYNC110
                await asyncio.sleep(0.005)
