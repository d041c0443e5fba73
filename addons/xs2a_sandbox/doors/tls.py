"""TLS for clients, with certificates of the sandbox's CA for the requested host."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL, crypto

from xs2a_sandbox.doors import door, proxy_log

_SPOKEN = (b"http/1.1", b"http/1.0")

_PIECE = 64 * 1024

logger = logging.getLogger(__name__)


class Certificates:
    """The TLS contexts with the sandbox's certificates, one for the names of each host."""

    def __init__(self, ca_file: Path) -> None:
        self.ca_file = ca_file
        self._small_key = ec.generate_private_key(ec.SECP256R1())
        self.context = lru_cache(256)(self._new_context)

    def _new_context(self, *names: str) -> SSL.Context:
        """Return a context for clients that may have asked for any of these names."""
        alternatives = _general_names(names)
        common_name = next((str(name.value) for name in alternatives), None)
        entry = self._store().get_cert(common_name, alternatives)
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
        context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_COMPRESSION)
        if entry.chain_file:
            context.load_verify_locations(str(entry.chain_file))
        certificate = entry.cert.to_cryptography()
        context.use_certificate(certificate)
        context.use_privatekey(entry.privatekey)
        # A second certificate for clients that accept it. Each handshake needs a signature, and one with this key takes
        # a tenth of the time.
        context.use_certificate(self._of_small_key(certificate))
        context.use_privatekey(self._small_key)
        # A client may send any certificate, or none.
        context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        context.set_alpn_select_callback(_choose)
        context.set_tlsext_servername_callback(_heed_name)
        # Without a session id context OpenSSL ends a resumed handshake when the server requests client certificates.
        context.set_session_id(b"xs2a-sandbox")
        return context

    def _of_small_key(self, certificate: x509.Certificate) -> x509.Certificate:
        """Return the same certificate for `_small_key`."""
        builder = x509.CertificateBuilder(
            certificate.issuer,
            certificate.subject,
            self._small_key.public_key(),
            x509.random_serial_number(),
            certificate.not_valid_before_utc,
            certificate.not_valid_after_utc,
            list(certificate.extensions),
        )
        return builder.sign(self._store().default_privatekey, hashes.SHA256())

    @lru_cache(1)  # noqa: B019
    def _store(self) -> Any:
        from mitmproxy.certs import CertStore

        folder = self.ca_file.parent
        return CertStore.from_files(folder / "mitmproxy-ca.pem", folder / "mitmproxy-dhparam.pem")


class NotForHere(Exception):
    """Raised inside OpenSSL for a client that prefers HTTP/2."""


class Tls(asyncio.Protocol, asyncio.Transport):
    """The protocol of the connection below, and the transport of the protocol above.

    `inner` is the protocol above; it is connected after the handshake. The client means `host`, unless it names another
    host. `pass_on` takes the connection of a client that is not served here, with its data.
    """

    def __init__(
        self,
        host: str,
        certificates: Certificates,
        inner: asyncio.Protocol,
        pass_on: Callable[[asyncio.Transport, bytes], None],
    ) -> None:
        super().__init__()
        self.host = host
        self.certificates = certificates
        self._inner = inner
        self._pass_on = pass_on
        self._start = bytearray()
        """All data that the client has sent before it was answered."""
        self.has_spoken = False
        self._is_established = False
        self._is_closing = False
        self._has_failed = False
        self._has_ended = False
        self._certificates: tuple[bytes, ...] = ()

    # Methods as the protocol of the connection below.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast("asyncio.Transport", transport)
        self._tls = SSL.Connection(self.certificates.context(self.host))
        self._tls.set_app_data(self)
        self._tls.set_accept_state()

    def data_received(self, data: bytes) -> None:
        self._tls.bio_write(data)
        if not self._is_established:
            if not self.has_spoken:
                self._start += data
            if not self._shake_hands():
                return
        self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._inner.connection_lost(exc)
        if not (self._is_established or self._has_failed):
            proxy_log.warn_of_leaving(self._client(), self._name(), self.certificates.ca_file)
        self._forget()

    def eof_received(self) -> bool:
        return bool(self._is_established and self._inner.eof_received())

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def _shake_hands(self) -> bool:
        """Continue the handshake. Returns whether it is complete."""
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            self._flush()
            return False
        except (NotForHere, SSL.Error) as error:
            self._has_failed = True
            if not self.has_spoken:
                # There was no answer yet, so the other reader starts at the beginning.
                self._pass_on(self._raw, bytes(self._start))
                self._forget()
            else:
                self._flush()
                proxy_log.warn_of_handshake(self._client(), self._name(), str(error), self.certificates.ca_file)
                self._raw.close()
            return False
        self._start.clear()
        self._is_established = True
        self._certificates = _certificates_of(self._tls)
        self._inner.connection_made(self)
        self._flush()
        return True

    def _read(self) -> None:
        """Pass on the data that can be read."""
        try:
            while not self._is_closing:
                self._inner.data_received(self._tls.recv(_PIECE))
        except SSL.WantReadError:
            pass
        except SSL.ZeroReturnError:
            self.close()
        except SSL.Error as error:
            proxy_log.warn_of_alert(self._client(), str(error), self.certificates.ca_file)
            self.abort()

    def _flush(self) -> None:
        """Send the data that OpenSSL has produced."""
        while True:
            try:
                data = self._tls.bio_read(_PIECE)
            except SSL.WantReadError:
                return
            self.has_spoken = True
            if not self._has_ended:
                self._raw.write(data)
            if len(data) < _PIECE:
                return

    def _forget(self) -> None:
        """Free OpenSSL's data of the connection.

        It is in reference cycles, and the garbage collector does not see its size.
        """
        self._is_closing = True
        del self._tls

    def _client(self) -> str:
        return door.client_at(self._raw.get_extra_info("peername"))

    def _name(self) -> str | None:
        name = self._tls.get_servername()
        return name.decode("latin-1") if name else None

    # Methods as the transport of the protocol above.

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        try:
            for start in range(0, len(data), _PIECE):
                self._tls.sendall(data[start : start + _PIECE])
                self._flush()
        except SSL.Error:
            # The client has ended or broken TLS: nothing more reaches it.
            self.abort()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._is_closing:
            return
        self._say_goodbye()
        self._has_ended = True
        if not self._raw.is_closing():
            self._raw.write_eof()

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._say_goodbye()
            self._raw.close()

    def _say_goodbye(self) -> None:
        with suppress(SSL.Error):
            self._tls.shutdown()
        self._flush()

    def abort(self) -> None:
        self._is_closing = True
        self._raw.abort()

    def is_closing(self) -> bool:
        return self._is_closing or self._raw.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._certificates if name == door.CERTIFICATES else self._raw.get_extra_info(name, default)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._inner

    def get_write_buffer_size(self) -> int:
        return self._raw.get_write_buffer_size()

    def is_reading(self) -> bool:
        return self._raw.is_reading()

    def pause_reading(self) -> None:
        self._raw.pause_reading()

    def resume_reading(self) -> None:
        self._raw.resume_reading()


def _choose(connection: SSL.Connection, offered: list[bytes]) -> Any:
    if b"h2" in offered and not connection.get_app_data().has_spoken:
        raise NotForHere
    return next((protocol for protocol in _SPOKEN if protocol in offered), SSL.NO_OVERLAPPING_PROTOCOLS)


def _certificates_of(connection: SSL.Connection) -> tuple[bytes, ...]:
    own = connection.get_peer_certificate()
    if own is None:
        return ()
    certificates = (own, *(connection.get_peer_cert_chain() or ()))
    return tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate) for certificate in certificates)


def _heed_name(connection: SSL.Connection) -> None:
    """Use the certificate for the name that the client sends, if it is another one."""
    tls, name = connection.get_app_data(), connection.get_servername()
    if name and name.decode("latin-1") != tls.host:
        connection.set_context(tls.certificates.context(name.decode("latin-1"), tls.host))


def _general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Return the names in the form of a certificate, without those that are not possible."""
    general: dict[x509.GeneralName, None] = {}
    for name in names:
        try:
            general[x509.IPAddress(ip_address(name))] = None
        except ValueError:
            with suppress(UnicodeError):
                general[x509.DNSName(name.encode("idna").decode())] = None
    return list(general)
