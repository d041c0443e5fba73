"""The certificate of a seal (QSEAL) in a signed message: in TPP-Signature-Certificate, or in x5c."""

import binascii
import re
from base64 import b64decode, b64encode
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from xs2a_sandbox.signatures.keys import PublicKey
from xs2a_sandbox.signatures.mistakes import SignatureMistake
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp.weak_keys import rsa_weakness

HEADER = "TPP-Signature-Certificate"
OF_ANSWERS = "ASPSP-Signature-Certificate"
"""The headers that contain the certificate, in requests and in answers."""

_LARGEST = 16 * 1024
_ORGANISATION = x509.ObjectIdentifier("2.5.4.97")
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


def mistaken(reason: str, error: str = "certificate-invalid") -> SignatureMistake:
    return SignatureMistake(error, reason)


def header_of(message: SignedMessage) -> str:
    """Return the name of the header with the certificate."""
    return OF_ANSWERS if message.is_answer else HEADER


def read(text: str, place: str) -> x509.Certificate | SignatureMistake:
    """Parse a certificate in base64. Returns the certificate, or the mistake in it."""
    if len(text) > _LARGEST:
        return mistaken(f"{place} is longer than {_LARGEST} characters")
    # Without its line breaks PEM is base64 between two marks, which many clients do not remove.
    if pem := _PEM.fullmatch(text.strip()):
        text = re.sub(r"\s", "", pem[1])
    try:
        der = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return mistaken(f"{place} must be the certificate (DER) in base64, in one line: {_instead(text)}")
    if der.lstrip().startswith(b"-----BEGIN"):
        return mistaken(
            f"{place} is PEM that was encoded in base64 again: send it without its first and last line, and "
            "do not encode it again"
        )
    try:
        certificate = x509.load_der_x509_certificate(der)
        # Parsed here, because cryptography parses them lazily, and later code does not expect its errors.
        _ = certificate.subject, certificate.issuer
        return certificate
    except (ValueError, TypeError, KeyError, x509.InvalidVersion, UnsupportedAlgorithm):
        return mistaken(f"{place} is base64, but not a certificate (X.509 as DER)")


def _instead(text: str) -> str:
    if re.search(r"\s", text):
        return "it contains spaces"
    if re.search(r"%[0-9A-Fa-f]{2}", text):
        return "it has been percent-encoded"
    return "it looks like base64url" if re.search(r"[-_]", text) else "it is not base64"


def key_of(certificate: x509.Certificate) -> PublicKey | SignatureMistake:
    """Return the key for verification, or the reason why banks do not accept it."""
    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return mistaken("the key of the signature's certificate cannot be read")
    if isinstance(key, rsa.RSAPublicKey):
        weakness = rsa_weakness(key)
        return mistaken(f"the RSA key of the signature's certificate {weakness}") if weakness else key
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key
    return mistaken("the key of the signature's certificate must be an RSA or elliptic curve key")


def date_mistake(certificate: x509.Certificate, now: datetime) -> SignatureMistake | None:
    """Return the mistake if the certificate is not valid at that time."""
    try:
        begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except ValueError:
        return mistaken("the dates of the signature's certificate are invalid")
    if now > ends:
        expired = f"the signature's certificate expired on {ends:%Y-%m-%d %H:%M} UTC"
        return SignatureMistake("certificate-expired", expired, values={"expires": ends.isoformat()})
    if now < begins:
        return mistaken(f"the signature's certificate is not valid before {begins:%Y-%m-%d %H:%M} UTC")
    return None


def organisation(certificate: x509.Certificate) -> str | None:
    """Return the organisation identifier of the TPP, such as PSDAT-FMA-123456."""
    try:
        attributes = certificate.subject.get_attributes_for_oid(_ORGANISATION)
    except ValueError:
        return None
    return str(attributes[0].value) if attributes else None


def write(certificate: x509.Certificate) -> str:
    """Return the certificate in the form of the header."""
    return b64encode(certificate.public_bytes(Encoding.DER)).decode()


def key_id(certificate: x509.Certificate) -> str:
    """Return the keyId of the certificate."""
    return f"SN={certificate.serial_number:X},CA={certificate.issuer.rfc4514_string()}"
