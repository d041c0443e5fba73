"""A sandbox with all its doors in this process, and a bank that stores all requests it receives."""

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, ResponseReceived, StreamReset

from tests.support.doors import DEADLINE, Loop, read_all, trusting
from tests.support.far_bank import FarBank, ok
from tests.support.roads import direct_door, proxy_doors
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.engine import Engine, build

PROXIED = ("plain", "tunnel", "tunnel-tls")
"""Roads on which a request names its destination."""

ROADS = (*PROXIED, "tls", "direct")


@dataclass
class WayOut:
    engine: Engine
    proxy: ProxyDoors
    direct: DirectDoor
    bank: FarBank
    loop: Loop
    confdir: Path

    @property
    def bank_host(self) -> str:
        return f"127.0.0.1:{self.bank.port}"

    def ask(self, road: str, path: str, host: str = "", *headers: str, **options: Any) -> bytes:
        """Return the complete answer. The arguments are those of `sent`."""
        with self.sent(road, path, host, *headers, **options) as way:
            return way if isinstance(way, bytes) else read_all(way)

    @contextmanager
    def sent(
        self,
        road: str,
        path: str,
        host: str = "",
        *headers: str,
        method: str = "GET",
        body: bytes = b"",
        tunnel: str = "",
        target: str = "",
    ) -> Iterator[Any]:
        """Yield the connection on which the request was sent, or the refusal of its tunnel.

        Without `host` the request is for the bank at the proxy, and for the door at other ports. `tunnel` is the
        target of CONNECT. A `target` is sent unchanged instead of the path.
        """
        port = {"tls": self.proxy.tls_port, "direct": self.direct.port}.get(road, self.proxy.proxy_port)
        host = host or (self.bank_host if road in PROXIED else f"127.0.0.1:{port}")
        target = target or (f"http://{host}{path}" if road == "plain" else path)
        lines = [f"{method} {target} HTTP/1.1", *([] if _has_host(headers) else [f"Host: {host}"]), *headers]
        is_chunked = any(header.lower().startswith("transfer-encoding:") for header in headers)
        lines += [f"Content-Length: {len(body)}"] if body and not is_chunked else []
        with ExitStack() as stack:
            raw: Any = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))
            if road.startswith("tunnel"):
                port = 443 if road.endswith("tls") else 80
                there = tunnel or (host if re.search(r":\d+$", host) else f"{host}:{port}")
                raw.sendall(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n".encode())
                refusal = raw.recv(65536)
                if b" 200 " not in refusal:
                    yield bytes(refusal)
                    return
            if road.endswith("tls"):
                raw = stack.enter_context(self._tls.wrap_socket(raw, server_hostname="localhost"))
            raw.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
            yield raw

    def ask_http2(self, fields: list[tuple[str, str]]) -> int | None:
        """Return the status of the answer to an HTTP/2 request at the TLS port, or None if the stream was reset."""
        with self.over_http2() as http2:
            http2.send(1, fields)
            return http2.status(1)

    @contextmanager
    def over_http2(self) -> Iterator["Http2"]:
        """A connection of HTTP/2 to the TLS port."""
        context = self._tls
        context.set_alpn_protocols(["h2"])
        with (
            socket.create_connection(("127.0.0.1", self.proxy.tls_port or 0), timeout=DEADLINE) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as way,
        ):
            # The door must reject wrong fields itself.
            settings = H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
            connection = H2Connection(settings)
            connection.initiate_connection()
            yield Http2(way, connection)

    @property
    def _tls(self) -> ssl.SSLContext:
        context = trusting(self.confdir / "mitmproxy-ca-cert.pem")
        context.check_hostname = False
        return context


@dataclass(frozen=True, slots=True)
class Http2:
    way: socket.socket
    connection: H2Connection

    def send(self, stream: int, fields: list[tuple[str, str]]) -> None:
        self.connection.send_headers(stream, fields, end_stream=True)
        self.way.sendall(self.connection.data_to_send())

    def reset(self, stream: int) -> None:
        self.connection.reset_stream(stream, ErrorCodes.CANCEL)
        self.way.sendall(self.connection.data_to_send())

    def status(self, stream: int) -> int | None:
        """The status of the answer on a stream; None if the stream or the connection was ended instead."""
        while data := self.way.recv(65536):
            for event in self.connection.receive_data(data):
                if isinstance(event, ConnectionTerminated):
                    return None
                if isinstance(event, ResponseReceived | StreamReset) and event.stream_id == stream:
                    is_answer = isinstance(event, ResponseReceived)
                    return int(dict(event.headers)[b":status"]) if is_answer else None
            self.way.sendall(self.connection.data_to_send())
        return None


def _has_host(headers: tuple[str, ...]) -> bool:
    return any(header.lower().startswith("host:") for header in headers)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@contextmanager
def way_out(
    mode: str, directory: Path, *answers: bytes, write: Callable[[FarBank], str] = lambda bank: "", **flags: Any
) -> Iterator[WayOut]:
    """Yield a sandbox in that mode with the bank given with `--bank`. `write` returns the content of
    `xs2a-sandbox.yaml`.
    """
    confdir = ensure_ca(directory / "conf").parent
    with FarBank(*(answers or (ok(b'{"from": "the bank"}'),))) as bank, Loop() as loop:
        (directory / config.FILE).write_text(write(bank))
        usual = {"mode": mode, "bank": bank.url, "state": "memory:", "confdir": str(confdir)}
        usual |= {"to": str(directory / "rec"), **flags}
        settings = config.load({name: value for name, value in usual.items() if value}, {}, directory)

        async def start() -> WayOut:
            engine = build.build(settings)
            proxy = proxy_doors(engine.answer, confdir)
            direct = direct_door(engine.answer)
            await proxy.start()
            await direct.start()
            engine.use(admin_token="the-admin-token")
            engine.use(public_url=f"http://127.0.0.1:{direct.port}")
            return WayOut(engine, proxy, direct, bank, loop, confdir)

        way = loop.run(start())
        try:
            yield way
        finally:
            loop.run(way.direct.drain(1))
            loop.run(way.proxy.drain(1))
            loop.run(way.engine.close())
