"""The certificate in the header, in the forms that clients send, and invalid ones."""

from base64 import b64decode, b64encode
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.seals import NOW, seal
from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures.mistakes import SignatureMistake
from xs2a_sandbox.signatures.sealing_certificate import (
    date_mistake,
    header_of,
    key_id,
    key_of,
    organisation,
    read,
    write,
)
from xs2a_sandbox.signatures.signing_string import SignedMessage

OWN = seal().certificate


def test_a_written_certificate_is_read() -> None:
    assert read(write(OWN), "the header") == OWN


def test_pem_without_line_breaks_is_read() -> None:
    assert read(f"-----BEGIN CERTIFICATE-----{write(OWN)}-----END CERTIFICATE-----", "the header") == OWN


@given(st.text(max_size=50) | st.binary(max_size=50).map(lambda data: b64encode(data).decode()))
def test_any_other_text_gives_an_error_in_words(text: str) -> None:
    mistake = read(text, "the header X")
    assert isinstance(mistake, SignatureMistake)
    assert (mistake.error, mistake.reason[:12]) == ("certificate-invalid", "the header X")


def test_a_name_with_an_invalid_type_is_an_error() -> None:
    der = b64decode(write(OWN))
    organisation_identifier = bytes.fromhex("0603550461")
    broken = der.replace(organisation_identifier + b"\x0c", organisation_identifier + b"\x00")
    assert broken != der
    mistake = read(b64encode(broken).decode(), "the header")
    assert isinstance(mistake, SignatureMistake)
    assert "not a certificate" in mistake.reason


@given(st.integers(0, 2000), st.integers(0, 255))
@example(12, 1)  # an invalid version of X.509
def test_any_changed_byte_is_handled(place: int, byte: int) -> None:
    der = bytearray(b64decode(write(OWN)))
    der[place % len(der)] = byte
    certificate = read(b64encode(der).decode(), "the header")
    if not isinstance(certificate, SignatureMistake):
        assert isinstance(organisation(certificate), str | None)
        assert date_mistake(certificate, NOW) is None or key_of(certificate)


def test_requests_and_answers_have_different_headers() -> None:
    headers = Headers()
    assert header_of(SignedMessage(headers, method="GET", target="/")) == "TPP-Signature-Certificate"
    assert header_of(SignedMessage(headers)) == "ASPSP-Signature-Certificate"


def test_the_owner_is_read_from_the_certificate() -> None:
    assert organisation(OWN) == "PSDAT-FMA-123456"
    assert key_id(OWN) == f"SN=ABC123,CA={OWN.issuer.rfc4514_string()}"


def test_a_certificate_is_valid_from_its_first_to_its_last_second() -> None:
    begins, ends, second = OWN.not_valid_before_utc, OWN.not_valid_after_utc, timedelta(seconds=1)
    assert [date_mistake(OWN, time) for time in (begins, ends)] == [None, None]
    early, late = date_mistake(OWN, begins - second), date_mistake(OWN, ends + second)
    assert (early and early.error, late and late.error) == ("certificate-invalid", "certificate-expired")


@pytest.mark.parametrize(
    ("kind", "words"), [("weak", "has 1024 bits"), ("edwards", "must be an RSA or elliptic curve key")]
)
def test_a_key_that_banks_do_not_accept_is_an_error(kind: str, words: str) -> None:
    certificate = seal("weak").certificate if kind == "weak" else of_edwards()
    mistake = key_of(certificate)
    assert isinstance(mistake, SignatureMistake)
    assert words in mistake.reason


def of_edwards() -> x509.Certificate:
    own, name = ed25519.Ed25519PrivateKey.generate(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(own.public_key())
    dated = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + timedelta(1))
    return dated.sign(seal().key, hashes.SHA256())
