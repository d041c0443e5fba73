"""The ports that clients connect to, and the answers to clients that use another protocol there."""

from dataclasses import dataclass

from xs2a_sandbox.http.messages import Door


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place where clients connect, and the protocol there."""

    door: Door
    speaks: str


DIRECT = Endpoint(
    "direct",
    "the port given with --port, which supports HTTP/1.1 without TLS: use http://, or the port given with "
    "--tls-port for https://",
)
PROXY = Endpoint("proxy", "the proxy port, which supports HTTP/1.1, with or without TLS: configure it as an HTTP proxy")
TUNNEL = Endpoint("proxy", "a tunnel of the proxy port, which supports HTTP/1.1, and HTTP/2 over TLS")
TLS_PORT = Endpoint(
    "tls",
    "the port given with --tls-port, which supports only HTTPS: "
    "use https://, or http:// and the port given with --port",
)


HANDSHAKE = b"\x16"
"""The first byte of TLS."""


@dataclass(frozen=True, slots=True)
class WrongProtocol:
    """A protocol, and an `answer` that makes its client give up at once, without a misleading error."""

    name: str
    answer: bytes


_HTTP_1_1_REQUIRED = b"HTTP/2 is spoken over TLS alone: use HTTP/1.1 here"

TLS = WrongProtocol("TLS", b"\x15\x03\x01\x00\x02\x02\x28")
"""A fatal alert, `handshake_failure`."""

HTTP2 = WrongProtocol(
    "HTTP/2 without TLS",
    # SETTINGS, and GOAWAY with the error HTTP_1_1_REQUIRED
    b"\0\0\0\4\0\0\0\0\0"
    + (8 + len(_HTTP_1_1_REQUIRED)).to_bytes(3)
    + b"\7\0\0\0\0\0\0\0\0\0\0\0\0\x0d"
    + _HTTP_1_1_REQUIRED,
)
SOCKS4 = WrongProtocol("SOCKS4", b"\0\x5b\0\0\0\0\0\0")
"""Request rejected."""

SOCKS5 = WrongProtocol("SOCKS5", b"\5\xff")
"""No acceptable methods."""


def recognise(start: bytes) -> WrongProtocol | None:
    """Return the wrong protocol that starts with these bytes, or None for any other."""
    if start.startswith(b"PRI * HTTP/2.0\r\n"):
        return HTTP2
    return {HANDSHAKE[0]: TLS, 0x04: SOCKS4, 0x05: SOCKS5}.get(start[0]) if start else None
