"""Verifies the signatures of answers, for tests of apps."""

from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from xs2a_sandbox.clock import REAL
from xs2a_sandbox.errors import UserMistake, WrongSignature
from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures import verification
from xs2a_sandbox.signatures.mistakes import SignatureMistake
from xs2a_sandbox.signatures.rules import OF_ANSWERS
from xs2a_sandbox.signatures.signing_string import SignedMessage


def verify(headers: Headers, body: bytes, ca: Path | None = None) -> None:
    """Raise WrongSignature if the signature is missing or wrong, or if `ca` has not issued the seal."""
    message = SignedMessage(headers, body)
    if not verification.is_signed(message):
        raise WrongSignature("the answer is not signed: it has neither the header Signature nor x-jws-signature")
    authorities = _read(ca) if ca else None
    mistake = verification.mistake(message, OF_ANSWERS, [REAL.now()], lambda seal: _check_issuer(seal, authorities))
    if mistake:
        raise WrongSignature("\n".join(text for text in (mistake.text, mistake.log_text) if text))


def _read(file: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(file.read_bytes())
    except OSError as error:
        raise UserMistake(f"{file}: {error.strerror}") from None
    except ValueError:
        raise UserMistake(f"{file} contains no CA certificate in PEM format") from None


def _check_issuer(seal: x509.Certificate, authorities: list[x509.Certificate] | None) -> SignatureMistake | None:
    if authorities is None or any(_has_issued(authority, seal) for authority in authorities):
        return None
    return SignatureMistake("certificate-invalid", "the signing certificate was not issued by any of the given CAs")


def _has_issued(authority: x509.Certificate, seal: x509.Certificate) -> bool:
    try:
        seal.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True
