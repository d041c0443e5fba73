"""Every invalid certificate is refused with the right code and reason. The valid one is accepted."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import ca, particulars
from tests.tpp.linted import findings
from xs2a_sandbox.features.certificates.mistakes import MISTAKES
from xs2a_sandbox.features.certificates.specimens import MAKERS, Order, Presented, as_ordered
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.judgement import mistake
from xs2a_sandbox.tpp.trust_service import Provider, Trust

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
REASONS = {
    "expires-tomorrow": "",
    "not-yet-valid": "is not valid before",
    "unknown-issuer": "O=Other CA,C=AT, which is not trusted",
    "forged-issuer": "with a key different from that authority's",
    "self-signed": "CN=tpp.example.org",
    "tampered": "with a key different from that authority's",
    "wrong-role": "needs the role AISP; it has the roles ASPSP",
    "unspecified-role": "needs the role AISP; it has the roles none",
    "no-role": "names no role",
    "unknown-role": "which does not exist",
    "misnamed-role": "the correct name is PSP_PI",
    "wrong-name": "is registered as 'My TPP', not as 'Somebody Else'",
    "qseal": "does not allow digital signatures",
    "wrong-type": "it is a QSEAL, not a QWAC",
    "sha1": "signed with SHA1",
    "weak-key": "has 1024 bits",
    "weak-curve": "has 192 bits",
    "malformed-id": "'AT-FMA-123456' must have the form",
    "vat-id": "'VATAT-U12345678' must have the form",
    "no-id": "it has no organisation identifier",
    "other-authority": "does not belong to its authority, 'DE-BAFIN'",
    "not-qualified": "QcCompliance",
    "no-statements": "no QcStatements",
    "no-psd2": "no statement about payment services",
    "broken-statements": "do not have the form of ETSI TS 119 495",
    "ca": "the certificate of a CA",
    "server-only": "does not allow TLS clients",
    "no-signatures": "key usage",
    "critical-extension": "its critical extension 1.3.6.1.4.1.55555.2",
    "long-chain": "51 certificates were sent",
    "huge": "the maximum is 16384",
    "truncated": "not a readable X.509",
    "garbage": "not a readable X.509",
    "empty": "not a readable X.509",
}


def order() -> Order:
    return Order(particulars(), ca(), "ec", NOW)


def trust(one: Presented, standing: str | None) -> Trust:
    revoked = frozenset[tuple[str, int]]()
    if standing == "revoked":
        read = certificate.read(one.chain[0])
        revoked = frozenset([(read.issuer, read.parsed.serial_number)])
    return Trust((ca().certificate,), revoked, {"PSDAT-FMA-123456": Provider("My TPP", standing == "blocked")})


def test_there_are_enough_specimens() -> None:
    assert len(MISTAKES) >= 25
    assert list(MAKERS) == list(MISTAKES)


def test_a_valid_certificate_is_accepted() -> None:
    one = as_ordered(order())

    assert mistake(one.chain, trust(one, None), NOW, ["AISP"]) is None


@pytest.mark.parametrize("name", MISTAKES)
def test_an_invalid_certificate_is_refused_for_its_mistake(name: str) -> None:
    wrong, one = MISTAKES[name], MAKERS[name](order())
    error = mistake(one.chain, trust(one, wrong.standing), NOW + 2 * DAY * (name == "expires-tomorrow"), ["AISP"])

    assert error
    assert error.name == wrong.error, error.values
    assert (one.issued is not None) is wrong.has_key
    assert REASONS.get(name, "") in error.values.get("expected", "")


def test_a_certificate_that_expires_tomorrow_is_accepted_today() -> None:
    one = MAKERS["expires-tomorrow"](order())

    assert mistake(one.chain, trust(one, None), NOW) is None


def test_a_missing_certificate_is_an_error() -> None:
    error = mistake((), Trust(), NOW)

    assert error
    assert error.name == "certificate-missing"


def test_a_chain_must_end_at_a_trusted_ca() -> None:
    chain = MAKERS["long-chain"](order()).chain
    short = MAKERS["long-chain"](order())

    assert len(chain) == 51
    top = certificate.read(short.chain[5]).parsed
    assert mistake(short.chain[:6], Trust((top,)), NOW) is None
    assert top.public_bytes(Encoding.DER) == short.chain[5]
    error = mistake(short.chain[:4], Trust((top,)), NOW)
    assert error
    assert error.name == "certificate-invalid"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no-role", "etsi.ts_119_495.gen-5.2.2-1.roles_of_psp_empty"),
        ("unknown-role", "etsi.ts_119_495.gen-5.2-2.invalid_psp_oid"),
        ("misnamed-role", "etsi.ts_119_495.gen-5.2.2-5.psp_role_mismatch"),
        ("malformed-id", "etsi.ts_119_495.gen-5.2.1-3.invalid_psd_organization_id_format"),
        ("vat-id", "etsi.ts_119_495.gen-5.2.1-3.invalid_psd_organization_id_format"),
        ("wrong-type", "etsi.en_319_412_5.gen-4.2.3.qc_type_mismatch"),
        ("not-qualified", "etsi.en_319_412_5.qcs-5.01.qc_compliance_qualified_statement_absent"),
        ("broken-statements", "itu.invalid_asn1_syntax"),
        ("sha1", "etsi.en_319_412_2.gen-4.2.2-1.discouraged_signature_algorithm"),
        ("weak-key", "ts_119_312.8.4.rsa_small_modulus"),
        ("weak-curve", "etsi.en_319_412_2.gen-4.2.5-1.discouraged_public_key_type"),
        ("ca", "cabf.serverauth.subscriber_basic_constraints_ca_bit_set"),
    ],
)
def test_pkilint_finds_the_mistake(name: str, code: str) -> None:
    one = MAKERS[name](order()).issued

    assert one
    assert code in findings(one)
