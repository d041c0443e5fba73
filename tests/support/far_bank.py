"""A bank behind a real connection with predefined answers. It records its requests."""

import datetime
import ipaddress
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.doors import DEADLINE
from xs2a_sandbox.http.origin import url

type Behaviour = Callable[[socket.socket], None]


class FarBank:
    """Give the answers in turn, and repeat the last one. An answer is the bytes to write, or a function."""

    def __init__(self, *answers: bytes | Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers) or [ok()]
        self.tls = tls
        self.seen: list[bytes] = []
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "FarBank":
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        # close() does not wake the thread that waits in accept().
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(DEADLINE)

    @property
    def url(self) -> str:
        return self.named("127.0.0.1")

    def named(self, host: str) -> str:
        return url("https" if self.tls else "http", host, self.port)

    @property
    def head(self) -> list[bytes]:
        """Return the lines of the last request before its body."""
        return self.seen[-1].partition(b"\r\n\r\n")[0].split(b"\r\n")

    def sent(self, name: str) -> list[bytes]:
        """Return the values of this header in the last request."""
        pairs = [line.split(b": ", 1) for line in self.head[1:]]
        return [value for other, value in pairs if other.lower() == name.lower().encode()]

    @property
    def body(self) -> bytes:
        return self.seen[-1].partition(b"\r\n\r\n")[2]

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            self._start(self._talk, connection)

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(DEADLINE)
        with suppress(OSError):
            if self.tls:
                self._open.discard(connection)
                connection = _greeted(self.tls, connection)
                self._open.add(connection)
            while request := _read(connection):
                self.seen.append(request)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                else:
                    answer(connection)
        self._open.discard(connection)
        connection.close()


def _greeted(tls: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
    talk = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        talk.do_handshake()
    except ssl.SSLError:
        # If the connection were closed with unread data, it would be reset and the client would not see the alert.
        talk.shutdown(socket.SHUT_WR)
        while socket.socket.recv(talk, 65536):
            pass
        talk.close()
        raise
    return talk


def _read(connection: socket.socket) -> bytes:
    """Read one request. Returns an empty one at the end of the connection."""
    received = b""
    while True:
        head, end, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if end and len(body) >= (int(length[1]) if length else 0):
            return received
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        received += chunk


def ok(body: bytes = b"{}", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def hang(first: bytes = b"") -> Behaviour:
    """Send `first`, and then nothing until the client disconnects."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        connection.recv(1)

    return behave


def hang_up(first: bytes = b"") -> Behaviour:
    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        connection.shutdown(socket.SHUT_RDWR)

    return behave


def reset(first: bytes = b"", after: threading.Event | None = None) -> Behaviour:
    """End the connection with RST. Wait `after` seconds, because RST can overtake written data."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        if after is not None:
            after.wait(DEADLINE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return behave


def repeated(chunk: bytes, times: int, first: bytes) -> Behaviour:
    """Send `first`, and then more than a client should store."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        for _ in range(times):
            connection.sendall(chunk)

    return behave


class Authority:
    """A certificate authority.

    With `strict` it follows RFC 5280, otherwise it resembles those of some banks' sandboxes.
    """

    def __init__(self, directory: Path, name: str = "far-bank", *, strict: bool = True) -> None:
        self.directory = directory
        self.strict = strict
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = name
        self.file = directory / f"{name}.pem"
        self.certificate = self._certify(name, self.key, [])
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, *hosts: str, clients: bool = False) -> ssl.SSLContext:
        """Return a TLS context for a server. With `clients` it requires a client certificate of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(hosts[0], *hosts))
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context

    def issue(self, name: str, *hosts: str, password: str | None = None) -> tuple[Path, Path]:
        """Create files with a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, secret = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        certificate.write_bytes(self._certify(name, key, hosts).public_bytes(serialization.Encoding.PEM))
        hidden = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        shape = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
        secret.write_bytes(key.private_bytes(*shape))
        return certificate, secret

    def _certify(self, name: str, key: ec.EllipticCurvePrivateKey, hosts: Iterable[str]) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        is_ca = key is self.key
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if names := [_general(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if is_ca:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        if self.strict:
            own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
            above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
            builder = builder.add_extension(own, critical=False).add_extension(above, critical=False)
        return builder.sign(self.key, hashes.SHA256())


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
