"""Checks signatures with public keys: whether a signature matches a string, and whether the key made it at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

Kind = Literal["RSASSA-PKCS1-v1_5", "RSASSA-PSS", "ECDSA"]
PKCS1: Kind = "RSASSA-PKCS1-v1_5"
PSS: Kind = "RSASSA-PSS"
EC: Kind = "ECDSA"

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

HASHES: Mapping[str, hashes.HashAlgorithm] = {
    "SHA-256": hashes.SHA256(),
    "SHA-384": hashes.SHA384(),
    "SHA-512": hashes.SHA512(),
    "SHA-1": hashes.SHA1(),
}


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to sign.

    Signatures with an elliptic curve are a DER structure, or two `plain` numbers one after the other.
    """

    kind: Kind
    hash: str
    plain: bool = False

    def __str__(self) -> str:
        return f"{self.kind} with {self.hash}{' (r and s side by side)' if self.plain else ''}"

    @property
    def is_rsa(self) -> bool:
        return self.kind != EC

    def is_for(self, key: PublicKey) -> bool:
        """Return whether the scheme is for this type of key."""
        return self.is_rsa is isinstance(key, rsa.RSAPublicKey)


def verifies(key: PublicKey, scheme: Scheme, signature: bytes, text: bytes) -> bool:
    """Return whether the key has signed the text with this scheme, which must be for the key."""
    algorithm = HASHES[scheme.hash]
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, text, _padding(scheme), algorithm)
        else:
            key.verify(_der(key, signature) if scheme.plain else signature, text, ec.ECDSA(algorithm))
    except (InvalidSignature, ValueError):
        return False
    return True


def sign(key: PrivateKey, scheme: Scheme, text: bytes) -> bytes:
    """Return the signature of the text, in DER for an elliptic curve."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(text, _padding(scheme), HASHES[scheme.hash])
    return key.sign(text, ec.ECDSA(HASHES[scheme.hash]))


def _padding(scheme: Scheme) -> padding.AsymmetricPadding:
    if scheme.kind == PSS:
        return padding.PSS(padding.MGF1(HASHES[scheme.hash]), padding.PSS.DIGEST_LENGTH)
    return padding.PKCS1v15()


def _der(key: ec.EllipticCurvePublicKey, signature: bytes) -> bytes:
    """Convert plain numbers to DER. Raises ValueError unless they are two of the curve's length (RFC 7518 3.4)."""
    half = (key.curve.key_size + 7) // 8
    if len(signature) != 2 * half:
        raise ValueError(f"the signature must have {2 * half} bytes")
    return encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))


def signed_hash(key: PublicKey, signature: bytes) -> tuple[str, bytes] | None:
    """Return the name and value of the hash in an RSASSA-PKCS1-v1_5 signature, or None if the key has not made it."""
    if not isinstance(key, rsa.RSAPublicKey):
        return None
    for name, algorithm in HASHES.items():
        try:
            return name, key.recover_data_from_signature(signature, padding.PKCS1v15(), algorithm)
        except (InvalidSignature, ValueError):
            continue
    return None
