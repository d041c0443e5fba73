"""The header x-jws-signature: a detached JWS over headers, with the members that JAdES adds (ETSI TS 119 182-1).

`sigT` is the time of signing, `sigD` names the headers whose signing string is the payload; `b64` is false (RFC 7797).
"""

import binascii
import json
import re
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.registry import HeaderParameter

from xs2a_sandbox.signatures.keys import EC, PKCS1, PSS, PrivateKey, PublicKey, Scheme, sign
from xs2a_sandbox.signatures.mistakes import SignatureMistake, invalid

HEADER = "x-jws-signature"
HTTP_HEADERS = "http://uri.etsi.org/19182/HttpHeaders"
"""The mechanism by which sigD names headers."""

_SCHEMES: Mapping[str, Scheme] = {
    "RS256": Scheme(PKCS1, "SHA-256"),
    "RS512": Scheme(PKCS1, "SHA-512"),
    "PS256": Scheme(PSS, "SHA-256"),
    "PS512": Scheme(PSS, "SHA-512"),
    "ES256": Scheme(EC, "SHA-256", plain=True),
    "ES384": Scheme(EC, "SHA-384", plain=True),
    "ES512": Scheme(EC, "SHA-512", plain=True),
}
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_CRITICAL = ("sigT", "sigD", "b64")
_BY_ADDRESS = ("jku", "x5u", "jwk")
_KEY_NAME = re.compile(r"[\w .:=,+@%*()'\"-]{1,300}")
_LARGEST = 16 * 1024
_APART = timedelta(minutes=5)
_MEMBERS = {
    name: HeaderParameter(name, lambda _: None) for name in ("sigT", "sigD", "x5t#S256", "x5c", "kid", "alg", "typ")
}


class _Registry(jws.JWSRegistry):
    # A certificate is larger than the library's default limit.
    max_header_length = _LARGEST


_REGISTRY = _Registry(header_registry=_MEMBERS, algorithms=[*_SCHEMES], strict_check_header=False)


@dataclass(frozen=True, slots=True)
class JwsHeader:
    """A JWS without its payload. `headers` are the names of the signed headers, in lower case and in order."""

    protected: str
    members: Mapping[str, Any]
    headers: tuple[str, ...]
    signature: str

    @property
    def scheme(self) -> Scheme:
        return _SCHEMES[self.members["alg"]]

    @property
    def chain(self) -> str | None:
        """The certificate in x5c, if there is one."""
        certificates = self.members.get("x5c")
        return certificates[0] if certificates else None

    def verifies(self, key: PublicKey, text: bytes) -> bool:
        """Return whether the key has signed the text."""
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        kind = RSAKey if self.scheme.is_rsa else ECKey
        try:
            detached = f"{self.protected}..{self.signature}"
            jws.deserialize_compact(detached, kind.import_key(pem), registry=_REGISTRY, payload=text)
        except (JoseError, ValueError, TypeError):
            return False
        return True

    def wrap(self, text: bytes) -> bytes:
        """Return the bytes that are signed for a payload."""
        return self.protected.encode() + b"." + text

    @property
    def raw_signature(self) -> bytes:
        return urlsafe_b64decode(self.signature + "==")


def read(text: str) -> JwsHeader | SignatureMistake:
    """Return the parts of the header, or the mistake in it."""
    parts = text.strip().split(".")
    if len(text) > _LARGEST or len(parts) != 3:
        return invalid(f"the header {HEADER} must be a JWS of three parts, the middle one empty: HEADER..SIGNATURE")
    protected, payload, signature = parts
    if payload:
        return invalid(f"the JWS in {HEADER} must be detached, with nothing between its two dots")
    for name, part in (("header", protected), ("signature", signature)):
        if not re.fullmatch(r"[A-Za-z0-9_-]+", part):
            return invalid(f"the {name} of the JWS must be base64url without = at its end")
    try:
        members = json.loads(urlsafe_b64decode(protected + "=="))
        urlsafe_b64decode(signature + "==")
    except (ValueError, binascii.Error, RecursionError):
        return invalid("the header of the JWS must be JSON in base64url, and the signature must be base64url")
    if not isinstance(members, dict):
        return invalid("the header of the JWS must be a JSON object")
    if mistake := _member_mistake(members):
        return invalid(mistake)
    return JwsHeader(protected, members, tuple(name.lower() for name in members["sigD"]["pars"]), signature)


def _member_mistake(members: Mapping[str, Any]) -> str | None:
    """Describe the first mistake in the members of the JWS header."""
    algorithm = members.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _SCHEMES:
        return f"the alg of the JWS must be one of {', '.join(_SCHEMES)}, not {str(algorithm)[:40]!r}"
    for name in _BY_ADDRESS:
        if name in members:
            return (
                f"the JWS identifies its key with {name}, but the bank neither fetches keys nor reads them from "
                "a JWS; send x5c"
            )
    kid = members.get("kid")
    if kid is not None and not (isinstance(kid, str) and _KEY_NAME.fullmatch(kid) and ".." not in kid):
        return "the kid of the JWS must be the name of a key, without slashes; the bank does not look up a key by it"
    chain = members.get("x5c")
    if chain is not None and not (
        isinstance(chain, list) and chain and all(isinstance(certificate, str) for certificate in chain)
    ):
        return "the x5c of the JWS must be a list of certificates in base64, starting with the TPP's own"
    if members.get("b64") is not False:
        return "the JWS must contain b64: false, because its payload is signed without encoding (RFC 7797)"
    critical = members.get("crit")
    if not isinstance(critical, list) or not set(_CRITICAL) <= {name for name in critical if isinstance(name, str)}:
        return f"the crit of the JWS must list {', '.join(_CRITICAL)}"
    if others := [extension for extension in critical if extension not in _CRITICAL]:
        return f"the crit of the JWS lists {str(others[0])[:40]!r}, which the sandbox does not support"
    data = members.get("sigD")
    names = data.get("pars") if isinstance(data, dict) else None
    if not isinstance(data, dict) or data.get("mId") != HTTP_HEADERS:
        return f"the sigD of the JWS must be an object with mId {HTTP_HEADERS}"
    if not isinstance(names, list) or not names or not all(isinstance(header, str) for header in names):
        return "the sigD of the JWS must have pars, a list of header names"
    if len({header.lower() for header in names}) != len(names):
        return "the sigD of the JWS lists a header twice under pars"
    return None


def time_mistake(members: Mapping[str, Any], times: Collection[datetime]) -> str | None:
    """Describe the mistake in the time of signing, which must be near one of these times."""
    text = members.get("sigT")
    try:
        signed = datetime.fromisoformat(text) if isinstance(text, str) and "T" in text else None
    except ValueError:
        signed = None
    if signed is None or signed.tzinfo is None:
        return f"the sigT of the JWS must be a time such as 2026-11-21T10:15:00Z, not {str(text)[:40]!r}"
    if all(abs(signed - moment) > _APART for moment in times):
        now = next(iter(times)).astimezone(UTC)
        return f"the sigT of the JWS is {text}, more than 5 minutes from {now:%Y-%m-%dT%H:%M:%SZ}, the time at the bank"
    return None


def thumbprint_mistake(members: Mapping[str, Any], certificate: x509.Certificate) -> str | None:
    """Describe the difference between x5t#S256, if it is there, and the certificate."""
    hashed = members.get("x5t#S256")
    own = thumbprint(certificate)
    if hashed is None or hashed == own:
        return None
    return f"the x5t#S256 of the JWS must be {own}, as in the certificate, not {str(hashed)[:60]!r}"


def thumbprint(certificate: x509.Certificate) -> str:
    return _to_text(certificate.fingerprint(hashes.SHA256()))


def write(key: PrivateKey, certificate: x509.Certificate, names: tuple[str, ...], text: bytes, now: datetime) -> str:
    """Return the detached JWS over the text."""
    curve = getattr(key, "curve", None)
    members = {
        "alg": _CURVES[curve.name] if curve else "RS256",
        "x5t#S256": thumbprint(certificate),
        "sigT": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "sigD": {"pars": list(names), "mId": HTTP_HEADERS},
        "b64": False,
        "crit": list(_CRITICAL),
    }
    whole = jws.serialize_compact(members, text, _signing(key), registry=_REGISTRY)
    return f"{whole.partition('.')[0]}..{whole.rpartition('.')[2]}"


def write_detached(key: PrivateKey, certificate: x509.Certificate, members: Mapping[str, Any], body: bytes) -> str:
    """Return the detached JWS over a body (RFC 7515, appendix F), with these members in its header."""
    protected, _, signature = write_compact(key, certificate, members, body).split(".")
    return f"{protected}..{signature}"


def write_compact(key: PrivateKey, certificate: x509.Certificate, members: Mapping[str, Any], body: bytes) -> str:
    """Return the JWS over a body in the compact form, with these members in its header."""
    curve = getattr(key, "curve", None)
    algorithm = _CURVES[curve.name] if curve else "PS256"
    header = json.dumps({"alg": algorithm, "kid": thumbprint(certificate), **members}).encode()
    signed = f"{_to_text(header)}.{_to_text(body)}"
    return f"{signed}.{_to_text(sign(key, _SCHEMES[algorithm], signed.encode()))}"


def public_jwk(certificate: x509.Certificate) -> dict[str, Any]:
    """Return the certificate's key as a JWK, with the certificate in x5c."""
    key = certificate.public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    kind = RSAKey if isinstance(key, rsa.RSAPublicKey) else ECKey
    chain = [b64encode(certificate.public_bytes(Encoding.DER)).decode()]
    return {**kind.import_key(pem).as_dict(private=False), "kid": thumbprint(certificate), "use": "sig", "x5c": chain}


def _to_text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


@lru_cache(maxsize=16)
def _signing(key: PrivateKey) -> ECKey | RSAKey:
    """Convert the key. Cached, because the library checks each key that it reads, which takes longer than signing."""
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return RSAKey.import_key(pem) if isinstance(key, rsa.RSAPrivateKey) else ECKey.import_key(pem)
