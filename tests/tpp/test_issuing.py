"""The certificates conform to ETSI EN 319 412 and TS 119 495, according to pkilint."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import ca, issued
from tests.tpp.linted import findings
from xs2a_sandbox.tpp.issuing import Issued

QSEAL = "NCP-LEGAL-PERSON-CERTIFICATE"


def standards(codes: set[str]) -> set[str]:
    """Leave out rules for web sites, which are stricter than the standards."""
    return {code for code in codes if not code.startswith("cabf.")}


@pytest.mark.parametrize("key", [pytest.param("rsa", marks=pytest.mark.slow), "ec"])
def test_pkilint_finds_no_problem_in_a_qwac(key: str) -> None:
    assert standards(findings(issued(key=key))) == set()


def test_a_qwac_is_recognised_as_one_for_payment_services() -> None:
    pytest.importorskip("pkilint")
    from pkilint import etsi, loader
    from pkilint.etsi.etsi_constants import CertificateType

    loaded = loader.load_certificate(issued().certificate.public_bytes(Encoding.DER), "qwac")
    assert etsi.determine_certificate_type(loaded) is CertificateType.QEVCP_W_PSD2_EIDAS_FINAL_CERTIFICATE


def test_pkilint_finds_no_problem_in_a_qseal() -> None:
    assert standards(findings(issued("QSEAL"), QSEAL)) == set()


def test_the_certificate_is_signed_by_the_issuer() -> None:
    made: Issued = issued()

    made.certificate.verify_directly_issued_by(ca().certificate)
    constraints = ca().certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca
