import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from tests.support.certificates import der, issued
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.certificate import LARGEST, CertificateUnreadable


def test_a_certificate_contains_the_identity_and_the_roles_of_the_tpp() -> None:
    made = issued(roles=("PISP",))
    read = certificate.read(der(made))

    assert (read.name, read.organisation_identifier, read.kind) == ("My TPP", "PSDAT-FMA-123456", "QWAC")
    assert (read.roles, read.country, read.authority, read.mistake) == (("PISP",), "AT", "AT-FMA", None)
    assert read.not_before == made.certificate.not_valid_before_utc < read.not_after
    assert read.fingerprint == made.certificate.fingerprint(hashes.SHA256()).hex()
    assert read.members()["organisation"] == "PSDAT-FMA-123456"


def test_a_qseal_is_distinguished_from_a_qwac() -> None:
    assert certificate.read(der(issued("QSEAL"))).kind == "QSEAL"


def test_a_certificate_without_statements_has_no_kind_and_no_roles() -> None:
    read = certificate.read(der(issued(has_statements=False)))

    assert (read.kind, read.roles) == (None, ())
    assert "not a qualified certificate" in str(read.mistake)


def test_broken_statements_are_reported() -> None:
    assert "do not have the form" in str(certificate.read(der(issued(statements=b"\x30\x03abc"))).mistake)


def test_a_pem_file_is_read_in_order() -> None:
    first, second = issued(), issued("QSEAL")
    text = b"".join(one.certificate.public_bytes(Encoding.PEM) for one in (first, second))

    assert list(certificate.from_pem(text)) == [der(first), der(second)]
    with pytest.raises(ValueError, match="no certificate"):
        certificate.from_pem(b"-----BEGIN NOTHING-----\n-----END NOTHING-----\n")


def test_a_certificate_that_is_too_large_is_not_read() -> None:
    with pytest.raises(CertificateUnreadable, match="100000 bytes"):
        certificate.read(b"0" * 100_000)
    assert len(der(issued(key="rsa"))) < LARGEST / 4


@pytest.fixture(scope="module")
def good() -> bytes:
    return der(issued())


@given(st.binary(min_size=1, max_size=30), st.floats(0, 1), st.booleans())
def test_broken_certificates_are_read_or_refused(good: bytes, noise: bytes, place: float, cut: bool) -> None:
    at = int(place * len(good))
    broken = good[:at] + noise + (b"" if cut else good[at + len(noise) :])
    try:
        assert certificate.read(broken).fingerprint
    except CertificateUnreadable as error:
        assert "not a readable X.509" in str(error)  # noqa: PT017
