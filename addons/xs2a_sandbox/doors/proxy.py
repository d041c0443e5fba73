"""The ports of the proxy door and the TLS door: our own HTTP/1.1 proxy, and mitmproxy, loaded when needed."""

import asyncio
import gc
import logging
import os
import platform
import re
import ssl
import sys
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.documents.files import ensure_folder, read_file
from xs2a_sandbox.doors import ports
from xs2a_sandbox.doors.connections import Connection, Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler, Repeat, unkept
from xs2a_sandbox.doors.http1 import Service
from xs2a_sandbox.doors.http1_proxy import ESTABLISHED, Http1Proxy
from xs2a_sandbox.engine.build import CA_FILE
from xs2a_sandbox.errors import ConfigError

if TYPE_CHECKING:
    from xs2a_sandbox.doors.mitmproxy_master import SandboxMaster
    from xs2a_sandbox.doors.tls import Certificates, Tls

NOWHERE = "http://127.0.0.1:9"
"""The server to which the TLS door would forward: the discard port, so that even a bug cannot reach a bank."""

_REGULAR, _REVERSE = "regular", f"reverse:{NOWHERE}"
"""The names of the modes in mitmproxy."""

_PIECE = 2048
"""The most bytes that mitmproxy reads at a time."""

_MASTER = "xs2a_sandbox.doors.mitmproxy_master"

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

logger = logging.getLogger(__name__)


class ProxyDoors:
    """Listens from `start` to `drain`. After the start, the ports are the real ones.

    Only one per process is possible, because mitmproxy has globals. Our own proxy answers HTTP/1.1, unless `engine` is
    mitmproxy. Other clients wait until mitmproxy is loaded and guarded, which takes half a second and which most apps
    do not need.
    """

    def __init__(
        self,
        answer: Application,
        *,
        host: str,
        proxy_port: int,
        tls_port: int | None,
        confdir: Path,
        proxy_auth: str | None,
        tell: RefusalHandler,
        connections: Connections,
        repeat: Repeat = unkept,
        engine: str = "auto",
    ) -> None:
        self.host = host
        self.proxy_port = proxy_port
        self.tls_port = tls_port
        self.confdir = confdir
        self._addon: dict[str, Any] = {
            "answer": answer,
            "proxy_auth": proxy_auth,
            "tell": tell,
            "connections": connections,
        }
        self._secret = None if proxy_auth is None else proxy_auth.encode()
        self._service = Service(answer, tell=tell, connections=connections, repeat=repeat, gathers=True)
        self._has_own_proxy = engine == "auto"
        self._listening: list[asyncio.Server] = []
        self._passed_on: set[asyncio.Task[None]] = set()
        self._loading: asyncio.Task[SandboxMaster] | None = None
        self._draining = False

    async def start(self) -> None:
        """Start to listen. Raises ConfigError if a port or the CA is not available; then neither door listens."""
        self.prepare()
        try:
            self.proxy_port = await self._listen(self.proxy_protocol_factory, self.proxy_port, "--proxy-port")
            if self.tls_port is not None:
                self.tls_port = await self._listen(self.tls_protocol_factory, self.tls_port, "--tls-port")
        except BaseException:
            await self.drain(0)
            raise

    def prepare(self) -> None:
        """Prepare for the first connection. Raises ConfigError if the CA is not available."""
        self._ca_file = ensure_ca(self.confdir)
        self._own_proxies = {
            mode: Http1Proxy(self._service, self._encrypt, self._secret, partial(self._pass_on, mode))
            for mode in (_REGULAR, _REVERSE)
        }

    def _encrypt(
        self, host: str, inner: asyncio.Protocol, pass_on: Callable[[asyncio.Transport, bytes], None]
    ) -> "Tls":
        # Imported for the first client with TLS: pyOpenSSL and cryptography take 10 MB and a tenth of the start.
        from xs2a_sandbox.doors.tls import Tls

        return Tls(host, self.certificates, inner, pass_on)

    @cached_property
    def certificates(self) -> "Certificates":
        from xs2a_sandbox.doors.tls import Certificates

        return Certificates(self._ca_file)

    def proxy_protocol_factory(self) -> asyncio.Protocol:
        """Return the protocol for a connection to the proxy."""
        return self._own_proxies[_REGULAR].proxy_port() if self._has_own_proxy else self._streams(_REGULAR)

    def tls_protocol_factory(self) -> asyncio.Protocol:
        """Return the protocol for a connection to the TLS port."""
        return self._own_proxies[_REVERSE].tls_port() if self._has_own_proxy else self._streams(_REVERSE)

    async def master(self) -> "SandboxMaster":
        """Return mitmproxy with its guards. The first call starts loading it, and all callers wait for that."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def drain(self, grace: float = 10.0) -> None:
        """Stop listening, let running requests finish for `grace` seconds, and close all connections."""
        self._draining = True
        self._stop_listening()
        await asyncio.gather(self._service.drain(grace), self._drain_mitmproxy(grace))

    async def _drain_mitmproxy(self, grace: float) -> None:
        if self._loading:
            await asyncio.wait([self._loading])
            if not self._loading.exception():
                await self._loading.result().drain(grace)

    async def _listen(self, protocol_factory: Callable[[], asyncio.Protocol], port: int, flag: str) -> int:
        listening = ports.listen(self.host, port, flag)
        self._listening += await ports.serve(protocol_factory, listening)
        return ports.number(listening)

    def _stop_listening(self) -> None:
        for server in self._listening:
            server.close()
        self._listening.clear()

    def _streams(self, mode: str) -> StreamReaderProtocol:
        """Return the protocol that passes a connection to mitmproxy."""
        return StreamReaderProtocol(_Reader(), partial(self._serve, mode))

    def _pass_on(
        self, mode: str, transport: asyncio.Transport, connection: Connection, start: bytes, connect: bytes = b""
    ) -> None:
        loop = asyncio.get_running_loop()
        reader = _Reader()
        protocol = StreamReaderProtocol(reader)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        reader.feed_data(connect + start)
        writer = (_Tunnelled if connect else StreamWriter)(transport, protocol, reader, loop)

        def end(task: asyncio.Task[None]) -> None:
            self._passed_on.discard(task)
            # If mitmproxy was loaded, it has closed the connection itself.
            self._service.connections.close(connection)

        task = loop.create_task(self._serve(mode, reader, writer))
        self._passed_on.add(task)
        task.add_done_callback(end)

    async def _serve(self, mode: str, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            master = await self.master()
        except Exception:  # `_load` has reported it
            writer.transport.abort()
            return
        if self._draining:
            writer.transport.abort()
            return
        await master.serve(mode, reader, writer)

    async def _load(self) -> "SandboxMaster":
        try:
            if _MASTER not in sys.modules:
                # In a thread, so that the direct door keeps answering.
                await asyncio.to_thread(import_module, _MASTER)
                gc.freeze()  # as `serve` does after the start
            from xs2a_sandbox.doors.mitmproxy_master import SandboxMaster

            master = SandboxMaster(ca_file=self._ca_file, **self._addon)
            await master.start()
        except Exception:
            self._stop_listening()
            logger.exception("mitmproxy failed to start, so the proxy port and the TLS port are closed")
            raise
        return master


class _Reader(StreamReader):
    """Returns little data at a time, and lets other tasks run in between.

    mitmproxy reads without a pause while there is data, and 2 KiB of HTTP/2 may be two hundred frames.
    """

    async def read(self, n: int = -1) -> bytes:
        await asyncio.sleep(0)
        return await super().read(min(n, _PIECE) if n > 0 else n)


class _Tunnelled(StreamWriter):
    """Drops mitmproxy's answer to the CONNECT that our own proxy has answered. Another answer ends the connection."""

    _is_open = False

    def write(self, data: Any) -> None:
        if self._is_open:
            super().write(data)
        elif data == ESTABLISHED:
            self._is_open = True
        else:
            self.transport.abort()


def ensure_ca(confdir: Path) -> Path:
    """Return the certificate that a TPP app has to trust. It is created with its key if it does not exist."""
    key, certificate = confdir / "mitmproxy-ca.pem", confdir / CA_FILE
    try:
        ensure_folder(confdir)
        if not os.path.lexists(key):
            from mitmproxy.certs import CertStore
            from mitmproxy.options import CONF_BASENAME, KEY_SIZE

            with TemporaryDirectory(dir=confdir) as workshop:
                name = f"xs2a-sandbox CA ({platform.node()})"[:64]
                CertStore.create_store(Path(workshop), CONF_BASENAME, KEY_SIZE, organization="xs2a-sandbox", cn=name)
                # If several processes start at once, the first one wins.
                with suppress(FileExistsError):
                    os.link(Path(workshop) / key.name, key)
        # `read_file` makes a file with a key private before its content is used.
        pem = read_file(key, "key of the CA", lambda text: "PRIVATE KEY-----" in text) or ""
        _check(key)
        # Write only the certificates: the file can also contain the key, which must not be public.
        _write(certificate, "".join(f"{block}\n" for block in _CERTIFICATE.findall(pem)).encode())
    except ssl.SSLError as error:
        raise ConfigError(
            f"{key} does not contain a CA and its key ({error}). Remove it: the next start creates a new one"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot store the CA in {confdir}: {error.strerror}. Choose another folder with --confdir DIR"
        ) from error
    return certificate


def _check(key: Path) -> None:
    """Check that the file is a certificate with its key, without a password. Raises SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # This is only a check: the strength of the key is the user's choice.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.load_cert_chain(key, password="")


def _write(path: Path, content: bytes) -> None:
    """Replace the file atomically, because others may read it at the same moment."""
    if path.exists() and path.read_bytes() == content:
        return
    with NamedTemporaryFile(dir=path.parent, delete=False) as made:
        made.write(content)
    Path(made.name).chmod(0o644)
    os.replace(made.name, path)
