"""Signed requests reach the bank unchanged. Signatures are neither recorded nor matched."""

import base64
import hashlib
import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from tests.support.doors import DEADLINE
from tests.support.far_bank import Authority, FarBank, ok
from tests.support.serving import Serving, served

SIGNED = ("digest", "x-request-id", "psu-id", "date")
CONSENT = b'{ "access" : {"accounts":[]},\n  "recurringIndicator":false }'
ROADS = ("base URL", "TLS base URL", "proxy")


@dataclass
class App:
    """A TPP's app that signs requests."""

    key: rsa.RSAPrivateKey
    proof: ec.EllipticCurvePrivateKey

    @classmethod
    def new(cls) -> "App":
        return cls(rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1()))

    def consent(self, number: int) -> dict[str, str]:
        """Return headers with a signature over some of them (draft-cavage), a detached JWS and a proof of
        possession.
        """
        headers = {
            "Content-Type": "application/json",
            "Digest": "SHA-256=" + base64.b64encode(hashlib.sha256(CONSENT).digest()).decode(),
            "X-Request-ID": f"99391c7e-ad88-49ec-a2ad-99ddcb1f77{number:02}",
            "PSU-ID": "PSU-1234",
            "Date": "Sun, 22 Nov 2026 10:00:00 GMT",
        }
        text = "\n".join(f"{name}: {value}" for name, value in lowered(headers).items() if name in SIGNED)
        signature = base64.b64encode(self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())).decode()
        names = " ".join(name for name in lowered(headers) if name in SIGNED)
        return headers | {
            "Signature": f'keyId="SN=9FA1,CA=CN=Test",algorithm="rsa-sha256",headers="{names}",signature="{signature}"',
            "TPP-Signature-Certificate": base64.b64encode(self.public).decode(),
            "X-JWS-Signature": self.jws({"alg": "ES256", "b64": False}, CONSENT, detached=True),
            "DPoP": self.jws({"typ": "dpop+jwt", "alg": "ES256"}, b'{"htm":"POST"}'),
        }

    def token(self) -> bytes:
        """Return a token request with a client assertion."""
        assertion = self.jws({"alg": "ES256"}, b'{"iss":"app"}')
        return urlencode(
            {"grant_type": "client_credentials", "client_id": "app", "client_assertion": assertion}
        ).encode()

    def jws(self, head: Mapping[str, object], payload: bytes, *, detached: bool = False) -> str:
        first, second = encoded(json.dumps(head).encode()), encoded(payload)
        signature = encoded(self.proof.sign(f"{first}.{second}".encode(), ec.ECDSA(hashes.SHA256())))
        return f"{first}.{'' if detached else second}.{signature}"

    @property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def verify(self, seen: bytes) -> None:
        """Verify a received request as the bank would. Raises InvalidSignature."""
        head, _, body = seen.partition(b"\r\n\r\n")
        pairs = [line.decode().split(": ", 1) for line in head.split(b"\r\n")[1:]]
        sent = {name.lower(): value for name, value in pairs}
        assert len(sent) == len(pairs)
        fields = dict(part.split("=", 1) for part in sent["signature"].split(","))
        assert sent["digest"] == "SHA-256=" + base64.b64encode(hashlib.sha256(body).digest()).decode()
        text = "\n".join(f"{name}: {sent[name]}" for name in fields["headers"].strip('"').split())
        signature = base64.b64decode(fields["signature"].strip('"'))
        self.key.public_key().verify(signature, text.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.verify_jws(sent["x-jws-signature"], body)
        self.verify_jws(sent["dpop"])

    def verify_jws(self, jws: str, detached: bytes = b"") -> None:
        first, second, signature = jws.split(".")
        text = f"{first}.{encoded(detached) if detached else second}".encode()
        self.proof.public_key().verify(decoded(signature), text, ec.ECDSA(hashes.SHA256()))


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Tape:
    app: App
    bank: FarBank
    home: Path


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tape]:
    home = tmp_path_factory.mktemp("signed")
    authority = Authority(home)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*authority.issue("bank", "localhost", "127.0.0.1"))
    answers = [
        ok(b'{"consentStatus":"received"}', b"Content-Type: application/json"),
        ok(b'{"n":1}', b"Content-Type: application/json"),
    ]
    app = App.new()
    with FarBank(*answers * len(ROADS), tls=tls) as bank:
        entry = {"url": bank.named("localhost"), "ca": str(authority.file), "private": True}
        with served(home, "--mode", "record", "--to", "tape", settings={"banks": [entry]}) as sandbox:
            for number, road in enumerate(ROADS):
                walk(app, road, sandbox, bank.named("localhost"), number)
            assert sandbox.stop() == 0, sandbox.output
        yield Tape(app, bank, home)


def walk(app: App, road: str, sandbox: Serving, bank: str, number: int) -> list[int]:
    session = requests.Session()
    session.trust_env = False
    session.verify = str(sandbox.ca_file)
    base = {"base URL": sandbox.direct, "TLS base URL": sandbox.tls, "proxy": bank}[road]
    if road == "proxy":
        session.proxies = {"https": sandbox.proxy}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    first = session.post(f"{base}/v1/consents", CONSENT, headers=app.consent(number), timeout=DEADLINE)
    second = session.post(f"{base}/token", app.token(), headers=form, timeout=DEADLINE)
    assert (first.json(), second.json()) == ({"consentStatus": "received"}, {"n": 1})
    return [first.status_code, second.status_code]


def test_the_bank_can_verify_requests_from_every_door(tape: Tape) -> None:
    consents, tokens = tape.bank.seen[::2], tape.bank.seen[1::2]
    assert len(consents) == len(tokens) == len(ROADS)
    for seen in consents:
        tape.app.verify(seen)
    for seen in tokens:
        tape.app.verify_jws(seen.rpartition(b"client_assertion=")[2].decode())


def test_no_signature_is_recorded(tape: Tape) -> None:
    written = b"".join(file.read_bytes() for file in (tape.home / "tape").rglob("*") if file.is_file())
    for number in range(len(ROADS)):
        headers = tape.app.consent(number)
        assert b"consents" in written
        for name in ("Digest", "Signature", "TPP-Signature-Certificate", "X-JWS-Signature", "DPoP"):
            assert headers[name].encode() not in written
            assert name.lower().encode() not in written.lower()
    assert b"eyJ" not in written


def test_an_app_with_other_keys_gets_the_same_answers(tape: Tape, tmp_path: Path) -> None:
    cassettes, confdir = tape.home / "tape/cassettes", tape.home / "conf"
    count = len(tape.bank.seen)
    with served(tmp_path, "--cassettes", str(cassettes), "--confdir", str(confdir)) as sandbox:
        for road in ROADS:
            sandbox.confdir = confdir
            assert walk(App.new(), road, sandbox, tape.bank.named("localhost"), 77) == [200, 200]
    assert len(tape.bank.seen) == count
