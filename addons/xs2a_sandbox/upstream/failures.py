"""Describes failures on the way to a bank, never with headers, bodies or queries."""

import errno
import os
import ssl

from aiohttp import (
    ClientConnectorDNSError,
    ClientOSError,
    ClientPayloadError,
    ClientResponseError,
    ConnectionTimeoutError,
    InvalidURL,
    ServerDisconnectedError,
    SocketTimeoutError,
)

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError

_UNTRUSTED = {18, 19, 20, 21}
"""OpenSSL error codes for a certificate with an unknown issuer."""

_LAX = range(79, 95)
"""OpenSSL error codes that only occur with VERIFY_X509_STRICT."""


class PrivateAddress(Exception):
    """A name resolves to this address, which is not public."""


class Strange(Exception):
    """Unrequested data arrived on a connection."""


def failure(error: Exception, name: str, bank: RealBank) -> BankError:
    """Return the error to answer with. `name` is the bank's `host[:port]`."""
    kind = "bank-unreachable"
    match error:
        case PrivateAddress():
            return BankError("bank-private", bank=name, address=str(error))
        case ConnectionTimeoutError():
            kind, reason = "bank-late", f"connect timeout: no connection within {bank.connect_timeout:g} s"
        case SocketTimeoutError():
            kind, reason = "bank-late", f"read timeout: nothing received for {bank.read_timeout:g} s"
        case TimeoutError() if error.errno is None:
            kind, reason = "bank-late", f"total timeout: no complete answer within {bank.total_timeout:g} s"
        case ClientPayloadError():
            kind, reason = "bank-garbled", "its answer is shorter than announced, or is not chunked correctly"
        case ClientResponseError():
            kind, reason = "bank-garbled", "its response is not HTTP"
        case Strange():
            kind, reason = "bank-garbled", "it sent an answer before it was asked"
        case InvalidURL():
            reason = "this is not a host name"
        case ClientConnectorDNSError():
            reason = "its host name is unknown"
        case ValueError() if not isinstance(error, OSError):
            reason = "the request contains characters that HTTP does not allow"
        case _:
            reason = _why(error, bank)
    return BankError(kind, bank=name, reason=reason)


def _why(error: BaseException, bank: RealBank) -> str:
    # aiohttp wraps the error of the operating system or OpenSSL, once or twice.
    inner = error
    while isinstance(inner, ClientOSError) and inner.__cause__ is not None:
        inner = inner.__cause__
    match inner:
        case ssl.SSLCertVerificationError():
            return _distrust(inner, bank)
        case ssl.SSLError():
            return _handshake(inner.reason or "", bank)
        case ServerDisconnectedError():
            return "it closed the connection without an answer"
        case ConnectionResetError() | OSError(errno=errno.ECONNRESET):
            return "it reset the connection"
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
    return type(inner).__name__


def _distrust(error: ssl.SSLCertVerificationError, bank: RealBank) -> str:
    text = f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
    if error.verify_code in _UNTRUSTED:
        return f"{text}; set `ca` to the CA that issued it"
    if error.verify_code in _LAX and bank.tls_strict:
        return f"{text}; `tls_strict: false` accepts it"
    return text


def _handshake(reason: str, bank: RealBank) -> str:
    """Describe an OpenSSL reason such as `TLSV13_ALERT_CERTIFICATE_REQUIRED`."""
    if reason.endswith("CERTIFICATE_REQUIRED"):
        return "it requires a client certificate; set `client_cert`"
    if "ALERT" in reason and ("CERTIFICATE" in reason or reason.endswith(("UNKNOWN_CA", "ACCESS_DENIED"))):
        return f"it does not accept the client certificate: {_words(reason)}"
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return "it does not speak TLS on this port"
    if reason.endswith("HANDSHAKE_FAILURE") and bank.client_cert is None:
        return "TLS failed: handshake failure; if it requires a client certificate, set `client_cert`"
    return f"TLS failed: {_words(reason)}"


def _words(reason: str) -> str:
    return (reason.partition("ALERT_")[2] or reason).replace("_", " ").lower() or "no reason given"
