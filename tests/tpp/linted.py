"""What pkilint, a development dependency, finds in a certificate."""

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from xs2a_sandbox.tpp.issuing import Issued

QWAC = "QEVCP-W-PSD2-EIDAS-FINAL-CERTIFICATE"


def findings(issued: Issued, kind: str = QWAC) -> set[str]:
    """Return the codes of all findings from a notice on. Skip the test if pkilint is not installed."""
    pytest.importorskip("pkilint")
    from pkilint import etsi, finding_filter, loader
    from pkilint.etsi.etsi_constants import CertificateType
    from pkilint.pkix import certificate
    from pkilint.validation import ValidationFindingSeverity

    of_kind = CertificateType.from_option_str(kind)
    validators = etsi.create_decoding_validators(of_kind), etsi.create_validators(of_kind)
    judge = certificate.create_pkix_certificate_validator_container(*validators)
    loaded = loader.load_certificate(issued.certificate.public_bytes(Encoding.DER), "certificate")
    filters = etsi.create_etsi_finding_filters(of_kind)
    results, _ = finding_filter.filter_results(filters, judge.validate(loaded.root))
    return {
        description.finding.code
        for result in results
        for description in result.finding_descriptions
        if description.finding.severity <= ValidationFindingSeverity.NOTICE
    }
