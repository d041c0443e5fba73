"""Protocols that clients speak by mistake to a port that speaks HTTP/1, and the last word in each of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrongProtocol:
    """A protocol, and the `answer` that makes its client give up at once, and not for a reason that misleads."""

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
    """The wrong protocol whose first bytes are `start`; None for any other."""
    if start.startswith(b"PRI * HTTP/2.0\r\n"):
        return HTTP2
    return {0x16: TLS, 0x04: SOCKS4, 0x05: SOCKS5}.get(start[0]) if start else None
