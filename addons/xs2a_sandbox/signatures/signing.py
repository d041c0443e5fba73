"""Signs messages: makes the headers that must be sent with them."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers, digest
from xs2a_sandbox.signatures import jws, keys, sealing_certificate, signature_header
from xs2a_sandbox.signatures.keys import PrivateKey, Scheme
from xs2a_sandbox.signatures.rules import Form, SignatureRules, bundled_rules
from xs2a_sandbox.signatures.signing_string import SignedMessage, signing_string


@dataclass(frozen=True, slots=True)
class Seal:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: PrivateKey

    @classmethod
    def read(cls, file: Path, key_file: Path | None = None, password: str | None = None) -> "Seal":
        """Return the seal in a PEM file, whose key may be in another file. Raises UserMistake."""
        try:
            pem = file.read_bytes()
            key_pem = key_file.read_bytes() if key_file else pem
        except OSError as error:
            raise UserMistake(f"{error.filename}: {error.strerror}") from None
        try:
            certificate = x509.load_pem_x509_certificate(pem)
        except ValueError:
            raise UserMistake(f"{file} contains no certificate in PEM format (-----BEGIN CERTIFICATE-----)") from None
        try:
            key = load_pem_private_key(key_pem, password.encode() if password else None)
        except (ValueError, TypeError) as error:
            place = key_file or file
            raise UserMistake(f"{place} contains no readable private key in PEM format: {error}") from None
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise UserMistake(f"{key_file or file}: a seal needs an RSA key or an elliptic curve key")
        if key.public_key() != certificate.public_key():
            raise UserMistake(f"{file}: the key does not belong to the certificate")
        return cls(certificate, key)


def signed_headers(
    message: SignedMessage,
    seal: Seal,
    now: datetime,
    *,
    form: Form = "signature",
    algorithm: str = "SHA-256",
    rules: SignatureRules | None = None,
    names: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Return the headers to add: digest, certificate, and a signature of what the rules require, or of `names`.

    The default for `rules` are those of the bundled dialect.
    """
    rules = rules or bundled_rules()
    added = [("Digest", digest.write(algorithm, message.body))]
    kept = Headers(pair for pair in message.headers if pair[0].lower() not in ("digest", *_OWN))
    whole = replace(message, headers=Headers([*kept, *added]))
    sent = [name for name in rules.signed_if_sent if whole.headers.get(name) is not None]
    listed = tuple(names) or (*rules.signed, *sent)
    text = signing_string(listed, whole).encode("latin-1")
    added.append((sealing_certificate.header_of(message), sealing_certificate.write(seal.certificate)))
    if form == "jws":
        return [*added, (jws.HEADER, jws.write(seal.key, seal.certificate, listed, text, now))]
    kind, name = (keys.PKCS1, "rsa") if isinstance(seal.key, rsa.RSAPrivateKey) else (keys.EC, "ecdsa")
    signature = keys.sign(seal.key, Scheme(kind, algorithm), text)
    key_id = sealing_certificate.key_id(seal.certificate)
    spelled = f"{name}-{algorithm.lower().replace('-', '')}"
    return [
        *added,
        ("Signature", signature_header.write(key_id, spelled, listed, b64encode(signature).decode())),
    ]


_OWN = ("signature", jws.HEADER, sealing_certificate.HEADER.lower())
