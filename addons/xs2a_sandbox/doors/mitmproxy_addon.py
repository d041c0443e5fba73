"""The mitmproxy addon. It answers every request, and never lets a connection out."""

# mitmproxy is only partly typed.
# mypy: allow-untyped-calls

import asyncio
import logging
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from weakref import WeakSet

from cryptography.hazmat.primitives.serialization import Encoding
from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader
from mitmproxy.connection import Client
from mitmproxy.exceptions import OptionsError
from mitmproxy.net import tls as net_tls
from mitmproxy.net.http import http1
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.mode_specs import ReverseMode
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import ClientHelloData
from OpenSSL import SSL

from xs2a_sandbox.doors import door, mitmproxy_layers, proxy_log
from xs2a_sandbox.doors.connections import Connection, Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler, Waiting
from xs2a_sandbox.doors.mitmproxy_layers import to_mitmproxy
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers, Request, Response, request_head
from xs2a_sandbox.http.origin import Origin, address, host_and_port, split_authority
from xs2a_sandbox.http.patience import Patience

FORCED: dict[str, Any] = {
    "connection_strategy": "lazy",
    "keep_host_header": True,
    "rawtcp": False,
    "upstream_cert": False,
    "websocket": False,
}
"""Options that need other values than mitmproxy's defaults: set at startup, and protected from later changes."""

REFUSED = ("allow_hosts", "ignore_hosts", "tcp_hosts", "udp_hosts", "stream_large_bodies", "server_replay", "map_local")
"""Options that let mitmproxy forward data or answer without asking us."""

PAGES_URL = "http://xs2a-sandbox.invalid"
"""URL of the payment user's pages if there is no direct door. Only this proxy knows the host, so a browser that does
not use the proxy finds no bank there (RFC 6761).
"""

logger = logging.getLogger(__name__)


class ConnectionGuard:
    """Denies every connection to a server. It stays in place when mitmproxy unloads the script that added it."""

    name = "xs2a-sandbox-guard"

    def server_connect(self, data: ServerConnectionHookData) -> None:
        data.server.error = "xs2a-sandbox does not allow outgoing connections"


class SandboxAddon(ConnectionGuard):
    """Answers every request of the proxy and the TLS door with `answer`.

    `proxy_auth` is USER:PASS, required only at the proxy door. `tell` is called for answers that do not come from
    `answer`.
    """

    name = "xs2a-sandbox"

    def __init__(
        self, answer: Application, *, proxy_auth: str | None, tell: RefusalHandler, connections: Connections
    ) -> None:
        self.answer = answer
        self.tell = tell
        self.draining = False
        self.waiting: Waiting = set()
        self._secret = None if proxy_auth is None else proxy_auth.encode()
        self._tunnels: dict[str, str | None] = {}
        self._connections = connections
        self._limits = connections.limits
        self.forced: dict[str, Any] = FORCED | {"body_size_limit": str(self._limits.swallowed)}
        self._clients: dict[str, Connection] = {}
        self._large = asyncio.Semaphore(2)
        self._flows: WeakSet[http.HTTPFlow] = WeakSet()

    @property
    def busy(self) -> bool:
        """Whether a request is still waiting for the last byte of its answer."""
        return any(flow.live for flow in self._flows)

    def load(self, loader: Loader) -> None:
        if ConnectionGuard.name not in ctx.master.addons.lookup:
            ctx.master.addons.add(ConnectionGuard())
        ctx.options.update_known(**self.forced)
        net_tls.create_client_proxy_context = _make_resumable_context

    def configure(self, updated: Iterable[str]) -> None:
        for name in updated:
            value = getattr(ctx.options, name, None)
            if name in self.forced and value != self.forced[name]:
                raise OptionsError(f"xs2a-sandbox needs the option {name}={self.forced[name]!r}, not {value!r}")
            if name in REFUSED and value:
                raise OptionsError(f"xs2a-sandbox cannot work with the option {name}={value!r}: leave it unset")

    def next_layer(self, next_layer: NextLayer) -> None:
        context, start = next_layer.context, next_layer.data_client()
        connection = self._connection(context.client)
        next_layer.layer = next_layer.layer or mitmproxy_layers.choose(context, start, connection, self.tell)

    def tls_clienthello(self, data: ClientHelloData) -> None:
        """Choose HTTP/2 if the client offers it, as most servers do.

        Mitmproxy would take the first protocol in the offer.
        """
        if ctx.options.http2 and b"h2" in data.client_hello.alpn_protocols:
            data.context.client.alpn = b"h2"

    def client_connected(self, client: Client) -> None:
        if connection := self._connections.open(_transport(client)):
            self._clients[client.id] = connection
        else:
            client.error = "too many connections"

    def http_connect(self, flow: http.HTTPFlow) -> None:
        user, is_admitted = self._login(flow)
        connection = self._connection(flow.client_conn)
        connection.begins()
        if connection.crowded:
            flow.response = to_mitmproxy(self._refuse_crowd(flow), "CONNECT")
        elif is_admitted:
            self._tunnels[flow.client_conn.id] = user
        else:
            authority = flow.request.data.authority.decode("latin-1")
            response = self.tell(Request("CONNECT", authority, door="proxy"), door.PROXY_AUTH_REQUIRED, 0.0, None)
            flow.response = to_mitmproxy(response, "CONNECT")

    def client_disconnected(self, client: Client) -> None:
        self._tunnels.pop(client.id, None)
        if connection := self._clients.pop(client.id, None):
            for patience in connection.waits.values():
                patience.leave()
            self._connections.close(connection)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        self._flows.add(flow)
        self._connection(flow.client_conn).reads()

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.response or flow.error:
            return
        try:
            with self._connection(flow.client_conn) as connection:
                await self._answer(flow, connection.crowded)
        except BaseException as error:
            # If a hook raises an exception, mitmproxy forwards the request, so every exception must be caught here.
            if door.is_ending(error):
                raise
            # This must not fail, even if something is wrong with the flow.
            flow.response = to_mitmproxy(door.answer_failure(_outline(flow), error, self.tell), flow.request.method)

    async def _answer(self, flow: http.HTTPFlow, crowded: bool) -> None:
        request, is_admitted = self._from_mitmproxy(flow)
        if crowded:
            response = self._refuse_crowd(flow)
        elif mistake := flow.request.is_http2 and _mistake(flow.request):
            response = self.tell(request, door.malformed(mistake), 0.0, None)
        elif is_admitted:
            response = await self._ask(flow, request)
            response = await door.gather(request, response, self._large, self._limits, self.tell)
        else:
            response = self.tell(request, door.PROXY_AUTH_REQUIRED, 0.0, None)
        self._perform(flow, response)
        if crowded and flow.response:
            flow.response.headers["Connection"] = "close"

    async def _ask(self, flow: http.HTTPFlow, request: Request) -> Response:
        """Return the engine's answer. If the client disconnects or resets its stream, end the hold of its exchange."""
        patience, waits = Patience(), self._connection(flow.client_conn).waits
        waits[flow.id] = patience
        try:
            seconds = self._limits.answer_time
            return await door.ask(self.answer, request, seconds, self.tell, self.waiting, patience)
        finally:
            del waits[flow.id]

    def _connection(self, client: Client) -> Connection:
        return self._clients.get(client.id) or Connection(self._limits)

    def _refuse_crowd(self, flow: http.HTTPFlow) -> Response:
        return self.tell(_outline(flow), door.TOO_MANY_CONNECTIONS, 0.0, None)

    def response(self, flow: http.HTTPFlow) -> None:
        """Add `Connection: close` if mitmproxy will close the connection, so that the client does not reuse it."""
        request, options = flow.request, flow.request.headers.get("Connection", "").lower()
        # mitmproxy itself recognises the option only in lower case.
        ends = http1.connection_close(request.http_version, request.headers) or "close" in re.split(r"[,\s]+", options)
        if flow.response and ends:
            flow.response.headers["Connection"] = "close"

    def error(self, flow: http.HTTPFlow) -> None:
        """Log a warning for a request that broke off before an answer."""
        if flow.error and not flow.response:
            proxy_log.warn_of_break(flow.error.msg, _outline(flow))

    def _login(self, flow: http.HTTPFlow) -> tuple[str | None, bool]:
        """Return the proxy user, and whether its credentials are right."""
        return door.login(flow.request.headers.get("Proxy-Authorization", ""), self._secret)

    def _from_mitmproxy(self, flow: http.HTTPFlow) -> tuple[Request, bool]:
        """Return the flow as a request for the engine, and whether its proxy user is admitted."""
        data, client = flow.request.data, flow.client_conn
        headers = Headers(
            pair for pair in mitmproxy_layers.headers_of(flow.request) if pair[0].lower() != "proxy-authorization"
        )
        reverse, is_admitted = isinstance(client.proxy_mode, ReverseMode), True
        if reverse or client.id in self._tunnels:
            user = self._tunnels.get(client.id)
            host, port = host_and_port(data.authority.decode("latin-1"), headers)
            scheme = "https" if client.tls else "http"
            # In a tunnel this is the target of the CONNECT; at the TLS door it is a placeholder.
            tunnel = None if reverse else address(data.host, data.port)
        else:
            user, is_admitted = self._login(flow)
            host, port, scheme, tunnel = data.host.lower(), data.port, data.scheme.decode("latin-1"), None
        request = Request(
            method=data.method.decode("latin-1"),
            target=data.path.decode("latin-1"),
            headers=headers,
            body=(data.content or b"")[: self._limits.body + 1],
            host=host,
            scheme=scheme,
            door="tls" if reverse else "proxy",
            user=user,
            port=port,
            tunnel=tunnel,
            certificates=_certificates_of(client),
        )
        return request, is_admitted

    def _perform(self, flow: http.HTTPFlow, response: Response) -> None:
        message, fault = to_mitmproxy(response, flow.request.method), response.fault
        if fault in ("reset", "drop"):
            if fault == "reset":
                door.reset(_transport(flow.client_conn))
            flow.kill()
            return
        if fault or self.draining:
            message.headers["Connection"] = "close"
        if fault == "malformed" and not flow.request.is_http2:
            message.data.http_version = b"This is not HTTP"
        elif fault:
            # A body shorter than announced: truncated in HTTP/1, malformed in HTTP/2.
            message.headers["Content-Length"] = str(len(response.body) or 1)
            message.data.content = response.body[: len(response.body) // 2]
        flow.response = message


def _mistake(request: http.Request) -> str | None:
    """Describe what is wrong with the head of an HTTP/2 request."""
    data, headers = request.data, mitmproxy_layers.headers_of(request)
    authority, host = data.authority.decode("latin-1"), headers.get("Host")
    if not (data.path.startswith(b"/") or data.path == b"*"):
        return "its :path must be a path"
    if not (authority or host):
        return "it names no host"
    if authority and split_authority(authority) is None:
        return "its :authority must be a host, with or without a port"
    if authority and host and Origin.of("https", authority) != Origin.of("https", host):
        return "its Host header does not match its :authority"
    return request_head.mistake(headers, "2")


def _certificates_of(client: Client) -> tuple[bytes, ...] | None:
    if not client.tls:
        return None
    return tuple(certificate.to_cryptography().public_bytes(Encoding.DER) for certificate in client.certificate_list)


class Script(SandboxAddon):
    """Stops mitmdump and mitmweb at a forbidden option.

    They would show it with a traceback, after listening briefly.
    """

    _runs = False

    def running(self) -> None:
        self._runs = True

    def configure(self, updated: Iterable[str]) -> None:
        try:
            super().configure(updated)
        except OptionsError as error:
            if self._runs:  # mitmproxy reports the error of a change while it runs, and keeps the old value
                raise
            sys.exit(str(error))


def from_environment() -> SandboxAddon:
    """Return the addon with the settings of file and environment.

    A failure ends the process, which would otherwise forward requests.
    """
    from xs2a_sandbox.config import load_settings
    from xs2a_sandbox.engine import build

    try:
        settings = load_settings()
        engine = build.build(settings)
        engine.use(public_url=settings.public_url or PAGES_URL)
        connections = Connections(engine.parts.limits)
        return Script(
            engine.answer, proxy_auth=settings.proxy_auth, tell=engine.report_refusal, connections=connections
        )
    except UserMistake as mistake:
        sys.exit(f"xs2a-sandbox: {mistake}")
    except Exception:
        logger.exception("the sandbox cannot start")
        sys.exit(1)


def _transport(client: Client) -> asyncio.Transport:
    """Return the client's connection. This uses mitmproxy's internals, because no public interface gives the socket."""
    handler = ctx.master.addons.get("proxyserver").connections[client.id]
    transport: asyncio.Transport = handler.transports[client].writer.transport
    return transport


_new_context = net_tls.create_client_proxy_context


@lru_cache(256)
def _make_resumable_context(**parameters: Any) -> SSL.Context:
    """Return a TLS context whose sessions can be resumed.

    mitmproxy has one context for all connections, but does not set a session id context. Without that OpenSSL ends a
    resumed handshake when the server requests client certificates.
    """
    context: SSL.Context = _new_context(**parameters)
    context.set_session_id(b"xs2a-sandbox")
    return context


def _outline(flow: http.HTTPFlow) -> Request:
    reverse = isinstance(flow.client_conn.proxy_mode, ReverseMode)
    return mitmproxy_layers.outline(flow.request, "tls" if reverse else "proxy")
