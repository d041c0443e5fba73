"""Certificates and signatures of 100 kB, and chains of fifty, sent to a real `serve`: refused at once, and not
quoted.
"""

import base64
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.certificates import ca, der, issued, with_long_names
from tests.support.serving import Serving, served

HEADER = "X-SSL-Client-Cert"
BEHIND_PROXY = {"client_cert_header": HEADER, "client_cert_from": ["127.0.0.1"]}
LARGE, LONG = "A" * 100_000, "A" * 40_000
SIGNED = {
    "Signature": 'keyId="SN=1,CA=CN=x",algorithm="rsa-sha256",headers="digest x-request-id",signature="AAAA"',
    "Digest": "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
}
LISTED = " ".join(f"h{number}" for number in range(6000))


def certificate(size: int) -> str:
    return base64.b64encode(with_long_names(size)).decode()


def chain() -> str:
    """Return fifty CAs, each issued by the next, as PEM in a header."""
    pem = "".join(issued(is_ca=True).certificate.public_bytes(Encoding.PEM).decode() for _ in range(50))
    return quote(pem, safe="")


SENT: Mapping[str, Mapping[str, str]] = {
    "a certificate of 100 kB behind a proxy": {HEADER: LARGE},
    "a certificate of nothing but names": {HEADER: certificate(90)},
    "names of 20 kB": {HEADER: certificate(200)},
    "a chain of fifty behind a proxy": {HEADER: chain()},
    "a seal of 100 kB": {**SIGNED, "TPP-Signature-Certificate": LARGE},
    "a seal of 40 kB": {**SIGNED, "TPP-Signature-Certificate": LONG},
    "a seal of nothing but names": {**SIGNED, "TPP-Signature-Certificate": certificate(90)},
    "a signature of 100 kB": {**SIGNED, "Signature": LARGE},
    "a signature of 40 kB": {**SIGNED, "Signature": LONG},
    "a key of 40 kB": {**SIGNED, "Signature": SIGNED["Signature"].replace("CN=x", LONG)},
    "thousands of headers": {**SIGNED, "Signature": SIGNED["Signature"].replace("digest ", f"{LISTED} digest ")},
    "a JWS of 100 kB": {"x-jws-signature": LARGE},
    "a JWS of 40 kB": {"x-jws-signature": f"{LONG}..{LONG}"},
    "a digest of 40 kB": {"Digest": f"SHA-256={LONG}"},
    "a proof of 40 kB": {"Authorization": f"DPoP {LONG}", "DPoP": LONG},
}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("large"), settings=BEHIND_PROXY) as serving:
        yield serving


def ask(serving: Serving, session: str, check: str, headers: Mapping[str, str]) -> httpx.Response:
    """Return the answer in a session with only this check."""
    fields = {"X-Sandbox-Session": session, "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
    control = {**fields, "Authorization": f"Bearer {serving.token}"}
    put = f"{serving.direct}/_sandbox/checks"
    assert httpx.put(put, json={"checks": [check]}, headers=control, trust_env=False).is_success
    return httpx.get(f"{serving.direct}/v1/accounts", headers={**fields, **headers}, trust_env=False)


@pytest.mark.parametrize("check", ["certificate", "signature", "digest", "token"])
@pytest.mark.parametrize("what", SENT)
def test_a_large_header_is_refused_and_not_quoted(serving: Serving, check: str, what: str) -> None:
    session = f"{check}-{list(SENT).index(what)}"
    answer = ask(serving, session, check, SENT[what])
    assert answer.status_code in (400, 401, 403, 431)
    assert len(answer.text) < 6000, "the signing string is shown up to 4,000 characters"
    line = serving.line(f" {session} GET /v1/accounts")
    assert str(answer.status_code) in line
    assert len(line) < 1500
    assert serving.warnings.count("Traceback") == 0


@pytest.mark.parametrize("what", ["100 kB", "a chain of fifty"])
def test_over_tls_large_certificates_are_refused_at_once(serving: Serving, tmp_path: Path, what: str) -> None:
    own = issued()
    others = [with_long_names(1300)] if what == "100 kB" else [der(ca(f"CA {number}")) for number in range(50)]
    key = own.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    pem = "".join(ssl.DER_cert_to_PEM_cert(one) for one in (der(own), *others))
    (tmp_path / "shown.pem").write_text(key + pem)
    trust = ssl.create_default_context(cafile=serving.ca_file)
    trust.load_cert_chain(tmp_path / "shown.pem")
    path = "/s/tls/v1/accounts"
    try:
        answer = httpx.get(serving.tls + path, headers=SIGNED, verify=trust, trust_env=False, timeout=10)
    except (httpx.ReadError, httpx.RemoteProtocolError, httpx.ConnectError):
        assert what == "100 kB", "TLS itself limits the size"
    else:
        assert answer.status_code == 400, "only X-Request-ID is missing"
    assert httpx.get(f"{serving.direct}/_sandbox/health", trust_env=False).is_success
