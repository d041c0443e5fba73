"""JSON Web Tokens in requests, in the compact form (RFC 7519): their content, and the check of their signatures."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from joserfc.registry import HeaderParameter

from xs2a_sandbox.http import body
from xs2a_sandbox.signatures.dpop import ALGORITHMS, WrongProof, read_key

LARGEST = 64 * 1024
"""The most characters of a token."""
MOST_KEYS = 10
"""The most keys that are tried for a signature."""

_MOST_PARTS = 500
"""The maximum number of objects and lists in a header or claims, because deeper nesting cannot be written."""
_PART = re.compile(r"[A-Za-z0-9_-]*")
_PUBLIC = ("kty", "crv", "x", "y", "n", "e", "use", "key_ops", "alg")


class _Registry(jws.JWSRegistry):
    max_header_length = LARGEST
    max_payload_length = LARGEST

    def get_alg(self, name: str) -> Any:
        return super().get_alg(_usual_name(name))


_REGISTRY = _Registry(algorithms=[*ALGORITHMS], strict_check_header=False)


def read(text: object) -> dict[str, Any] | None:
    """Return the header and the claims of a token without checking its signature, or None if it is not a token."""
    parts = text.split(".") if isinstance(text, str) and len(text) <= LARGEST else []
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        return None
    header, claims = map(_members, parts[:2])
    return {"header": header, "claims": claims} if header is not None and claims is not None else None


def is_signed_by(text: object, keys: object) -> bool:
    """Return whether one of the keys has signed the token. `keys` are a JWK Set, a JWK, or a certificate or key as PEM.

    Of a set, only keys for the algorithm count that have the `kid` of the token or none.
    """
    token = read(text)
    if token is None or "crit" in token["header"]:
        return False
    return _is_verified(token["header"], keys, partial(jws.deserialize_compact, str(text), registry=_REGISTRY))


def read_detached(text: str) -> dict[str, Any] | None:
    """Return the header of a detached JWS without checking its signature, or None if it is not one."""
    protected, _, signature = text.partition("..")
    token = read(f"{protected}.e30.{signature}")
    return token["header"] if token else None


def has_signed(text: str, payload: bytes, keys: object, understood: Collection[str]) -> bool:
    """Return whether one of the keys has signed the payload with this detached JWS (RFC 7515, appendix F).

    `keys` have the same forms as for `is_signed_by`. `understood` are the header members that `crit` may list.
    """
    header = read_detached(text)
    critical = header.get("crit", []) if header else None
    if header is None or not isinstance(critical, list) or not all(name in understood for name in critical):
        return False
    parameters = {name: HeaderParameter(name, lambda _: None) for name in understood}
    registry = _Registry(parameters, algorithms=[*ALGORITHMS], strict_check_header=False)
    verify = partial(jws.deserialize_compact, text, registry=registry, payload=payload)
    return _is_verified(header, keys, verify)


def _is_verified(header: Mapping[str, Any], keys: object, verify: Callable[[Key], object]) -> bool:
    """Return whether `verify` accepts a key for the algorithm and key id of the header."""
    algorithm, name = _usual_name(header.get("alg")), header.get("kid")
    if algorithm not in ALGORITHMS:
        return False
    fitting = [key for key in _members_of_keys(keys) if name is None or key.get("kid") in (None, name)]
    return any(_accepts(verify, key, algorithm) for key in fitting[:MOST_KEYS])


def _usual_name(algorithm: Any) -> Any:
    """Return the name of the algorithm in RFC 9864, which replaces EdDSA with names of curves."""
    return "Ed25519" if algorithm == "EdDSA" else algorithm


def _members(part: str) -> dict[str, Any] | None:
    try:
        content = urlsafe_b64decode(part + "==")
    except ValueError:
        return None
    if content.count(b"{") + content.count(b"[") > _MOST_PARTS:
        return None
    value = body.read(content).value
    return value if isinstance(value, dict) else None


def _members_of_keys(keys: object) -> Iterator[Mapping[str, Any]]:
    """Yield the keys as JWKs."""
    if isinstance(keys, str):
        key = _read_pem(keys)
        if key is not None:
            yield key.as_dict(private=False)
    elif isinstance(keys, Mapping):
        listed = keys.get("keys", [keys])
        yield from (key for key in (listed if isinstance(listed, list) else []) if isinstance(key, Mapping))


def _read_pem(text: str) -> Key | None:
    try:
        if "CERTIFICATE" in text:
            public = x509.load_pem_x509_certificate(text.encode()).public_key()
            text = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    except ValueError:
        return None
    for kind in (RSAKey, ECKey, OKPKey):
        try:
            return kind.import_key(text)
        except (JoseError, ValueError, TypeError):
            continue
    return None


def _accepts(verify: Callable[[Key], object], members: Mapping[str, Any], algorithm: str) -> bool:
    public = {name: members[name] for name in _PUBLIC if name in members}
    if "alg" in public:
        public["alg"] = _usual_name(public["alg"])
    try:
        verify(read_key(public, algorithm))
    except (WrongProof, JoseError, ValueError, TypeError):
        return False
    return True
