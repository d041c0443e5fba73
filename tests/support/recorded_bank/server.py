"""The sockets of the bank: two ports with TLS and required client certificates, and its failures."""

import base64
import gzip
import hashlib
import socket
import ssl
import struct
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.recorded_bank.ledger import Answer, BankRequest, Ledger
from tests.support.recorded_bank.planted import plant

PREFIX = "/psd2"
HUGE = 50 * 1024 * 1024
"""Size of the largest answer in bytes. `huge_piece` returns its content."""

_SIGNATURE = plant("signature", "answer header Signature")
_CERTIFICATE = plant("certificate", "answer header TPP-Signature-Certificate")
_TROUBLED = plant("iban", "path of requests that the bank does not answer well")
TROUBLED = _TROUBLED
ELSEWHERE = f"https://elsewhere.example/landing?iban={plant('iban', 'answer header Location, of a redirect')}"


def huge_piece(number: int) -> bytes:
    """Return the 64 KiB of the largest answer at this position."""
    return hashlib.sha256(b"%d" % number).digest() * 2048


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect or have no certificate."""


def serve(tls: ssl.SSLContext, ports: tuple[int, int]) -> tuple[_Server, _Server]:
    """Yield the bound servers of the interface and of tokens, which do not serve yet."""
    lock = Lock()
    interface, login = _listening(tls, ports[0]), _listening(tls, ports[1])
    ledger = Ledger(f"https://localhost:{interface.server_port}{PREFIX}", f"https://127.0.0.1:{login.server_port}")

    def answer(request: BankRequest) -> Answer:
        with lock:
            return ledger.answer(request)

    def token(request: BankRequest) -> Answer:
        with lock:
            return ledger.token(request)

    interface.RequestHandlerClass = type("Interface", (_Handler,), {"answer": staticmethod(answer), "prefix": PREFIX})
    login.RequestHandlerClass = type("Login", (_Handler,), {"answer": staticmethod(token), "prefix": ""})
    return interface, login


def _listening(tls: ssl.SSLContext, port: int) -> _Server:
    server = _Server(("127.0.0.1", port), _Handler)
    # The handshake runs in the handler's thread, so a slow client does not block others.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "Bank/7"
    timeout = 60
    # Otherwise small answers in small packets would wait for each other.
    disable_nagle_algorithm = True
    answer: Callable[[BankRequest], Answer]
    prefix: str

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _handle(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = url.path.removeprefix(self.prefix)
        if path.startswith("/trouble/"):
            _TROUBLE[path.split("/")[2]](self)
            return
        if path.startswith("/fast/"):
            self._say(
                200,
                [("Content-Type", "application/json")],
                b'{"balanceAmount": {"currency": "EUR", "amount": "%s.25"}}' % path[6:].encode(),
            )
            return
        request = BankRequest(
            self.command,
            tuple(unquote(part) for part in path.strip("/").split("/")),
            dict(parse_qsl(url.query)),
            {name.lower(): value for name, value in self.headers.items()},
            body,
        )
        self._say(*self.answer(request))

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def _say(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        names = {name for name, _ in headers}
        takes_gzip = "gzip" in (self.headers.get("Accept-Encoding") or "") and len(body) > 2000
        if takes_gzip and "Content-Encoding" not in names and ("Content-Type", "application/json") in headers:
            body, headers = gzip.compress(body), [*headers, ("Content-Encoding", "gzip")]
        self.send_response(status)
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        for name, value in [
            *headers,
            ("X-Request-ID", self.headers.get("X-Request-ID") or str(uuid.uuid4())),
            ("X-B3-TraceId", uuid.uuid4().hex),
            ("traceparent", f"00-{uuid.uuid4().hex}-{uuid.uuid4().hex[:16]}-01"),
            ("Digest", f"SHA-256={digest}"),
            ("Signature", f'keyId="SN=5",algorithm="rsa-sha256",headers="digest",signature="{_SIGNATURE}"'),
            ("TPP-Signature-Certificate", _CERTIFICATE),
        ]:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def write(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.wfile.write(piece)
        self.wfile.flush()

    def leave(self) -> None:
        """Close the connection after the written data has been sent."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # These files keep the socket open, too.
        self.rfile.close()
        self.connection.close()


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def _slow(handler: _Handler) -> None:
    body = b'{"slowly": true}'
    handler.write(_HEAD % len(body))
    for n in range(len(body)):
        handler.write(body[n : n + 1])
        time.sleep(0.02)


def _hang(handler: _Handler) -> None:
    handler.connection.recv(1)
    handler.leave()


def _hang_inside(handler: _Handler) -> None:
    handler.write(_HEAD % 1000, b'{"half":')
    _hang(handler)


def _reset(handler: _Handler) -> None:
    handler.write(_HEAD % 1000, b'{"half":')
    handler.reset()


def _short(handler: _Handler) -> None:
    handler.write(_HEAD % 1000, b'{"iban": "%s"}' % TROUBLED.encode())
    handler.leave()


def _long(handler: _Handler) -> None:
    handler.write(_HEAD % 2, b"{}", b"and much more than that" * 10)
    handler.leave()


def _twice(handler: _Handler) -> None:
    handler.write(_HEAD % 2 + b"{}" + _HEAD % 7 + b'"wrong"')


def _garbage(handler: _Handler) -> None:
    handler.write(b"\x00\x16\x03 no HTTP %s\r\n\r\n" % TROUBLED.encode())
    handler.leave()


def _chunks(handler: _Handler) -> None:
    handler.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
    handler.leave()


def _huge(handler: _Handler) -> None:
    handler.write(_HEAD % HUGE, *(huge_piece(n) for n in range(HUGE // 65536)))


def _huge_reset(handler: _Handler) -> None:
    handler.write(_HEAD % HUGE, *(huge_piece(n) for n in range(64)))
    handler.reset()


def _huge_lie(handler: _Handler) -> None:
    handler.write(_HEAD % HUGE, *(huge_piece(n) for n in range(64)))
    handler.leave()


def _redirect(handler: _Handler) -> None:
    handler._say(302, [("Location", ELSEWHERE)], b"")


_TROUBLE: dict[str, Callable[[_Handler], None]] = {
    "slow": _slow,
    "hang": _hang,
    "hang-inside": _hang_inside,
    "silent-close": _Handler.leave,
    "reset-first": _Handler.reset,
    "reset": _reset,
    "short": _short,
    "long": _long,
    "twice": _twice,
    "garbage": _garbage,
    "chunks": _chunks,
    "huge": _huge,
    "huge-reset": _huge_reset,
    "huge-lie": _huge_lie,
    "redirect": _redirect,
}
