"""TLS without a socket: server certificates and supported protocols."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.support.doors import trusting
from xs2a_sandbox.doors.proxy import ensure_ca
from xs2a_sandbox.doors.tls import Certificates, Tls

HOST = "bank.example"


@pytest.fixture(scope="module")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf"))


@pytest.fixture(scope="module")
def certificates(ca_file: Path) -> Certificates:
    return Certificates(ca_file)


class Wire:
    """A connection that records all callbacks."""

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def shaken(
    certificates: Certificates, context: ssl.SSLContext, host: str = HOST, name: str | None = HOST
) -> tuple[ssl.SSLObject, list[bytes]]:
    """Run a client's handshake in a tunnel to `host`. Return the client, or its bytes if it was passed on."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    wire, passed_on = Wire(), list[bytes]()
    server = Tls(host, certificates, asyncio.Protocol(), lambda _, start: passed_on.append(start))
    server.connection_made(cast("asyncio.Transport", wire))
    for _ in range(10):
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
            break
        output = outgoing.read()
        server.data_received(output)
        if passed_on:
            assert passed_on == [output]
            break
        incoming.write(wire.written)
        wire.written.clear()
    return client, passed_on


@pytest.mark.parametrize("name", [HOST, "elsewhere.example", None])
@pytest.mark.parametrize("host", [HOST, "127.0.0.1", "xn--bnk-qla.example"])
def test_the_certificate_contains_the_server_name_and_the_host(
    certificates: Certificates, ca_file: Path, host: str, name: str | None
) -> None:
    context = trusting(ca_file)
    context.check_hostname = name is not None
    client, _ = shaken(certificates, context, host, name)
    assert [value for _, value in client.getpeercert()["subjectAltName"]] == list(
        dict.fromkeys(filter(None, [name, host]))
    )  # type: ignore[index]


def test_the_certificate_is_created_once(certificates: Certificates) -> None:
    assert certificates.context(HOST) is certificates.context(HOST)


@pytest.mark.parametrize(
    ("ciphers", "kind"), [("DEFAULT", ec.EllipticCurvePublicKey), ("ECDHE-RSA-AES128-GCM-SHA256", rsa.RSAPublicKey)]
)
def test_clients_get_an_elliptic_curve_key_if_they_support_it(
    certificates: Certificates, ca_file: Path, ciphers: str, kind: type
) -> None:
    context = trusting(ca_file)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    certificate = shaken(certificates, context)[0].getpeercert(binary_form=True)
    assert certificate
    assert isinstance(x509.load_der_x509_certificate(certificate).public_key(), kind)


@pytest.mark.parametrize(
    ("offered", "chosen"), [((), None), (("http/1.1",), "http/1.1"), (("http/1.0", "http/1.1"), "http/1.1")]
)
def test_http_1_is_handled_here(
    certificates: Certificates, ca_file: Path, offered: tuple[str, ...], chosen: str | None
) -> None:
    context = trusting(ca_file)
    if offered:
        context.set_alpn_protocols(list(offered))
    client, passed_on = shaken(certificates, context)
    assert (client.selected_alpn_protocol(), passed_on) == (chosen, [])


def test_a_client_that_offers_http_2_is_passed_on_with_all_its_bytes(certificates: Certificates, ca_file: Path) -> None:
    context = trusting(ca_file)
    context.set_alpn_protocols(["http/1.1", "h2"])
    assert shaken(certificates, context)[1]
