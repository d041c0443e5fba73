"""x-jws-signature as Open Banking has it since 3.1.4: a detached JWS over the body, `header..signature`, by PS256.

An answer's header has a `kid`, and no `b64`; `crit` names the three members of Open Banking; the issuer is an
organisation's id, 18 letters and digits. Its key is that of the first certificate (`x5c`) of the key with this `kid`
in the bank's JWKS.
"""

import json
import re
import time
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_der_x509_certificate

HEADER = "x-jws-signature"
IAT, ISS, TAN = (f"http://openbanking.org.uk/{name}" for name in ("iat", "iss", "tan"))
ANCHOR = "openbanking.org.uk"
TPP = "0014H00003ARnVZQA1/3ffb98UvsMeDpu1NsExmpl"


class Signer:
    """An app with its own key."""

    kid = "obie-runner"

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def signature(self, body: bytes, without: Collection[str] = ()) -> str:
        """`without` are members to leave out, by their short names."""
        members = {
            "typ": "JOSE",
            "alg": "PS256",
            "kid": self.kid,
            "cty": "application/json",
            IAT: int(time.time()),
            ISS: TPP,
            TAN: ANCHOR,
            "crit": [IAT, ISS, TAN],
        }
        left = {name: value for name, value in members.items() if name.rpartition("/")[2] not in without}
        header, _, signature = self._signed(left, body).split(".")
        return f"{header}..{signature}"

    def jwt(self, claims: Mapping[str, Any]) -> str:
        return self._signed({"alg": "PS256", "kid": self.kid, "typ": "JWT"}, json.dumps(claims).encode())

    def _signed(self, protected: Mapping[str, Any], payload: bytes) -> str:
        signed = f"{_text(json.dumps(protected).encode())}.{_text(payload)}"
        signature = self._key.sign(signed.encode(), PSS(MGF1(SHA256()), SHA256.digest_size), SHA256())
        return f"{signed}.{_text(signature)}"


def mistakes(signature: str, body: bytes, keys: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return what is wrong with the signature of an answer."""
    try:
        protected, payload, signed = signature.split(".")
        header = json.loads(_bytes(protected))
    except ValueError:
        yield f"{HEADER} is not a detached JWS: {signature!r}"
        return
    if payload:
        yield f"{HEADER} contains the payload"
    for name, allowed in (("typ", ("JOSE", None)), ("alg", ("PS256",)), ("cty", ("json", "application/json", None))):
        if header.get(name) not in allowed:
            yield f"{name} is {header.get(name)!r}"
    if "b64" in header:
        yield "b64 must be absent"
    if sorted(header.get("crit", [])) != sorted((IAT, ISS, TAN)):
        yield f"crit is {header.get('crit')}"
    if not isinstance(header.get(IAT), int | float):
        yield f"{IAT} is {header.get(IAT)!r}"
    if header.get(TAN) != ANCHOR:
        yield f"{TAN} is {header.get(TAN)!r}"
    if not re.fullmatch("[a-zA-Z0-9]{18}", str(header.get(ISS))):
        yield f"{ISS} is {header.get(ISS)!r}"
    certificate = next((key["x5c"][0] for key in keys if key.get("kid") == header.get("kid") and key.get("x5c")), None)
    if certificate is None:
        yield f"the bank's JWKS has no key {header.get('kid')!r} with a certificate"
        return
    key = load_der_x509_certificate(b64decode(certificate)).public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        yield f"the bank's key {header.get('kid')!r} is not one of RSA"
        return
    try:
        key.verify(_bytes(signed), f"{protected}.{_text(body)}".encode(), PSS(MGF1(SHA256()), PSS.AUTO), SHA256())
    except InvalidSignature:
        yield f"{HEADER} does not sign this body"


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
