"""The header in which a proxy in front of the sandbox passes the client certificate."""

from base64 import b64encode
from ipaddress import ip_network
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import der, issued
from xs2a_sandbox.doors.client_header import ClientHeader
from xs2a_sandbox.http import Headers

HEADER = ClientHeader("x-cert", [ip_network("10.0.0.0/8"), ip_network("::1")])
PROXY = ("10.1.2.3", 4711)


@pytest.fixture(scope="module")
def good() -> tuple[bytes, str]:
    made = issued()
    return der(made), made.certificate.public_bytes(Encoding.PEM).decode()


def test_all_common_encodings_are_decoded(good: tuple[bytes, str]) -> None:
    raw, pem = good
    base64 = b64encode(raw).decode()
    ways = {
        "nginx": quote(pem),
        "Apache": pem.replace("\n", " "),
        "Traefik": quote("".join(pem.splitlines()[1:-1])),
        "HAProxy": base64,
        "RFC 9440": f":{base64}:",
        "Envoy": f'By=spiffe://a;Hash=0f;Cert="{quote(pem, safe="")}";Subject="O=My TPP"',
    }
    for name, value in ways.items():
        assert HEADER.take(Headers([("X-Cert", value)]), PROXY)[1] == (raw,), name


def test_the_header_is_removed(good: tuple[bytes, str]) -> None:
    headers = Headers([("A", "1"), ("x-CERT", quote(good[1])), ("B", "2")])

    for peer in (PROXY, ("192.0.2.1", 1)):
        assert HEADER.take(headers, peer)[0].pairs == (("A", "1"), ("B", "2"))


@pytest.mark.parametrize(
    ("peer", "is_believed"),
    [
        (("10.255.0.1", 1), True),
        (("::1", 1, 0, 0), True),
        (("::ffff:10.0.0.1", 1, 0, 0), True),
        (("11.0.0.1", 1), False),
        (("fe80::1%eth0", 1, 0, 3), False),
        (None, False),
        ("", False),
    ],
)
def test_the_header_is_trusted_only_from_configured_addresses(
    good: tuple[bytes, str], peer: object, is_believed: bool
) -> None:
    assert bool(HEADER.take(Headers([("x-cert", good[1])]), peer)[1]) is is_believed


@pytest.mark.parametrize("value", ["%%%", "not base64!", "-----BEGIN CERTIFICATE-----", "ÿ", 'Cert="', "AAA"])
def test_an_invalid_value_is_passed_to_the_bank_which_refuses_it(value: str) -> None:
    assert len(HEADER.take(Headers([("x-cert", value)]), PROXY)[1]) == 1


def test_without_the_header_there_is_no_certificate() -> None:
    headers = Headers([("A", "1")])

    assert HEADER.take(headers, PROXY) == (headers, ())
    assert HEADER.take(Headers([("x-cert", "")]), PROXY)[1] == ()


def test_the_feature_is_off_unless_configured() -> None:
    assert ClientHeader.of(None, []) is None
