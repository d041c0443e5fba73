"""DPoP proofs built by hand according to RFC 9449, without the library that the sandbox uses to read them."""

import base64
import hashlib
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def hashed(text: str) -> str:
    return encoded(hashlib.sha256(text.encode()).digest())


def a_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True)
class Prover:
    """A client with its own key."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=a_key)

    @property
    def jwk(self) -> dict[str, str]:
        """Return the public JWK with its members in RFC 7638 order."""
        public = self.key.public_key().public_numbers()
        x, y = (encoded(number.to_bytes(32, "big")) for number in (public.x, public.y))
        return {"crv": "P-256", "kty": "EC", "x": x, "y": y}

    @property
    def thumbprint(self) -> str:
        return hashed(json.dumps(self.jwk, separators=(",", ":")))

    def proof(
        self,
        method: str,
        url: str,
        token: str | None = None,
        *,
        header: Mapping[str, Any] = {},
        claims: Mapping[str, Any] = {},
    ) -> str:
        """Return the proof for a request. `header` and `claims` change its members; None removes one."""
        usual = {"jti": str(uuid.uuid4()), "htm": method, "htu": url, "iat": int(time.time())}
        bound = {"ath": hashed(token)} if token else {}
        first = _json({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk, **header})
        return self.signed(f"{first}.{_json({**usual, **bound, **claims})}")

    def signed(self, text: str) -> str:
        numbers = decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{encoded(b''.join(number.to_bytes(32, 'big') for number in numbers))}"


def _json(members: Mapping[str, Any]) -> str:
    return encoded(json.dumps({name: value for name, value in members.items() if value is not None}).encode())
