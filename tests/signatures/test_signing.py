"""Seals as files, and the headers that a signature adds."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.support.seals import NOW, key, seal
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures import signature_header
from xs2a_sandbox.signatures.rules import SignatureRules
from xs2a_sandbox.signatures.signing import Seal, signed_headers
from xs2a_sandbox.signatures.signing_string import SignedMessage

CERTIFICATE = seal().certificate.public_bytes(Encoding.PEM)


def pem(own: object = None, password: str = "") -> bytes:
    private = own or seal().key
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # type: ignore[attr-defined]


def file(tmp_path: Path, content: bytes, name: str = "seal.pem") -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def test_certificate_and_key_can_be_in_one_file_or_in_two(tmp_path: Path) -> None:
    both = Seal.read(file(tmp_path, CERTIFICATE + pem()))
    apart = Seal.read(file(tmp_path, CERTIFICATE, "certificate.pem"), file(tmp_path, pem(), "key.pem"))
    for read in (both, apart):
        assert read.certificate == seal().certificate
        assert read.key.public_key() == seal().key.public_key()


def test_a_key_can_have_a_password(tmp_path: Path) -> None:
    locked = file(tmp_path, CERTIFICATE + pem(password="open sesame"))
    assert Seal.read(locked, password="open sesame").key.public_key() == seal().key.public_key()
    for wrong in ("open wheat", None):
        with pytest.raises(UserMistake, match="no readable private key in PEM format"):
            Seal.read(locked, password=wrong)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (pem(), "contains no certificate in PEM format"),
        (CERTIFICATE, "contains no readable private key in PEM format"),
        (CERTIFICATE + pem(key("rsa", 1)), "the key does not belong to the certificate"),
        (CERTIFICATE + pem(ed25519.Ed25519PrivateKey.generate()), "a seal needs an RSA key or an elliptic curve key"),
    ],
)
def test_an_invalid_seal_file_is_a_mistake(tmp_path: Path, content: bytes, text: str) -> None:
    with pytest.raises(UserMistake, match=text):
        Seal.read(file(tmp_path, content))


def test_a_mistake_names_its_file(tmp_path: Path) -> None:
    certificate = file(tmp_path, CERTIFICATE)
    with pytest.raises(UserMistake, match=r"none\.pem: No such file"):
        Seal.read(certificate, tmp_path / "none.pem")
    with pytest.raises(UserMistake, match=r"key\.pem contains no readable private key"):
        Seal.read(certificate, file(tmp_path, b"nothing", "key.pem"))


def names_of(headers: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of the headers covered by a Signature header."""
    header = signature_header.read(dict(headers)["Signature"])
    assert isinstance(header, signature_header.SignatureHeader)
    return header.headers


def test_required_headers_and_optional_ones_that_are_sent_are_signed() -> None:
    rules = SignatureRules(signed=("digest", "date"), signed_if_sent=("psu-id", "tpp-redirect-uri"))
    message = SignedMessage(Headers([("Date", "today"), ("PSU-ID", "anna"), ("X-Request-ID", "1")]), b"{}", "POST", "/")
    assert names_of(signed_headers(message, seal(), NOW, rules=rules)) == ("digest", "date", "psu-id")
    assert names_of(signed_headers(message, seal(), NOW, rules=rules, names=("x-request-id",))) == ("x-request-id",)


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("signature", ["Digest", "TPP-Signature-Certificate", "Signature"]),
        ("jws", ["Digest", "TPP-Signature-Certificate", "x-jws-signature"]),
    ],
)
def test_an_existing_signature_is_replaced(form: str, names: list[str]) -> None:
    message = SignedMessage(Headers([("X-Request-ID", "1")]), b"{}", "POST", "/")
    first = signed_headers(message, seal("ec"), NOW)
    again = SignedMessage(Headers([*message.headers, *first, ("x-jws-signature", "old")]), b"[]", "POST", "/")
    added = signed_headers(again, seal(), NOW, form=form)  # type: ignore[arg-type]
    assert [name for name, _ in added] == names
    assert added[:2] == signed_headers(SignedMessage(message.headers, b"[]", "POST", "/"), seal(), NOW)[:2]


@pytest.mark.parametrize(
    ("kind", "algorithm", "written"),
    [("rsa", "SHA-256", "rsa-sha256"), ("rsa", "SHA-512", "rsa-sha512"), ("ec", "SHA-256", "ecdsa-sha256")],
)
def test_the_header_names_the_algorithm(kind: str, algorithm: str, written: str) -> None:
    message = SignedMessage(Headers([("X-Request-ID", "1")]), b"{}", "POST", "/")
    headers = dict(signed_headers(message, seal(kind), NOW, algorithm=algorithm))
    assert f'algorithm="{written}"' in headers["Signature"]
    assert headers["Digest"].startswith(f"{algorithm}=")
