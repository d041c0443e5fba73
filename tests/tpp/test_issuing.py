"""The certificates are those of ETSI EN 319 412 and TS 119 495, as pkilint judges."""

from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import ca, issued
from tests.support.linted import findings
from xs2a_sandbox.tpp.issuing import Issued

QSEAL = "NCP-LEGAL-PERSON-CERTIFICATE"


def standards(codes: set[str]) -> set[str]:
    """Without the rules for web sites, which go beyond those of the standards."""
    return {code for code in codes if not code.startswith("cabf.")}


@pytest.mark.parametrize("key", ["rsa", "ec"])
def test_nothing_is_wrong_with_a_qwac(key: str) -> None:
    assert standards(findings(issued(key=key))) == set()


def test_a_qwac_is_known_as_one_for_payment_services() -> None:
    pytest.importorskip("pkilint")
    from pkilint import etsi, loader
    from pkilint.etsi.etsi_constants import CertificateType

    loaded = loader.load_certificate(issued().certificate.public_bytes(Encoding.DER), "qwac")
    assert etsi.determine_certificate_type(loaded) is CertificateType.QEVCP_W_PSD2_EIDAS_FINAL_CERTIFICATE


def test_nothing_is_wrong_with_a_qseal() -> None:
    assert standards(findings(issued("QSEAL"), QSEAL)) == set()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"roles": ()}, "etsi.ts_119_495.gen-5.2.2-1.roles_of_psp_empty"),
        ({"organisation_identifier": "AT-123"}, "etsi.ts_119_495.gen-5.2.1-3.invalid_psd_organization_id_format"),
        ({"is_qualified": False}, "etsi.en_319_412_5.qcs-5.01.qc_compliance_qualified_statement_absent"),
    ],
)
def test_pkilint_names_what_is_wrong(changes: dict[str, Any], code: str) -> None:
    assert code in findings(issued(**changes))


def test_the_issuer_has_signed_it() -> None:
    made: Issued = issued()

    made.certificate.verify_directly_issued_by(ca().certificate)
    constraints = ca().certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca
