"""Proofs that a client has the key to which a token is bound: the header DPoP (RFC 9449)."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.tpp.weak_keys import rsa_weakness

HEADER = "DPoP"
ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "Ed25519")
"""Asymmetric signatures: no MACs, and not `none`."""

_TYPE = "dpop+jwt"
_KINDS = ("EC", "RSA", "OKP")
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_LARGEST = 8 * 1024
_LONGEST = 80
_PART = re.compile(r"[A-Za-z0-9_-]+")
_APART = timedelta(minutes=5)


class _Registry(jws.JWSRegistry):
    # A key is larger than the library's default limit.
    max_header_length = _LARGEST
    max_payload_length = _LARGEST


_REGISTRY = _Registry(algorithms=[*ALGORITHMS], strict_check_header=False)


class WrongProof(Exception):
    """A proof is wrong. The text says why."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof with a valid signature. `key` is the thumbprint of its key (RFC 7638), `id` its jti.

    `token_hash` is its ath, the hash of the access token that it was made for.
    """

    key: str
    id: str
    method: str
    url: str
    made: float
    token_hash: str | None


def read(values: Sequence[str]) -> Proof:
    """Return the proof in the only header of that name. Raises WrongProof."""
    if len(values) != 1:
        times = f"is sent {len(values)} times" if values else "is missing"
        raise WrongProof(f"the header {HEADER} {times}; it must contain one proof, made for this request (RFC 9449)")
    parts = values[0].split(".")
    if len(values[0]) > _LARGEST or len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise WrongProof(f"the header {HEADER} must be a JWS of three parts in base64url without = at the end")
    header, claims = _members(parts[0], "header"), _members(parts[1], "payload")
    if header.get("typ") != _TYPE:
        raise WrongProof(f"the typ of the DPoP proof must be {_TYPE}, not {_quote(header.get('typ'))}")
    if (algorithm := header.get("alg")) not in ALGORITHMS:
        raise WrongProof(f"the alg of the DPoP proof must be one of {', '.join(ALGORITHMS)}, not {_quote(algorithm)}")
    if "crit" in header:
        raise WrongProof("the DPoP proof must not contain crit: the sandbox supports no critical extensions")
    key = read_key(header.get("jwk"), algorithm)
    if not verifies(key, values[0]):
        raise WrongProof("the DPoP proof is not signed with the key in its jwk")
    return Proof(
        key.thumbprint(),
        _text(claims, "jti"),
        _text(claims, "htm"),
        _text(claims, "htu"),
        _seconds(claims.get("iat")),
        _text(claims, "ath") if "ath" in claims else None,
    )


def check(
    proof: Proof, method: str, urls: Sequence[str], times: Collection[datetime], token_hash: str | None = None
) -> None:
    """Check that the proof is for this request at one of these URLs, times, and this token. Raises WrongProof."""
    if proof.method != method:
        raise WrongProof(f"the htm of the DPoP proof must be {method}, not {_quote(proof.method)}")
    if _place(proof.url) not in map(_place, urls):
        raise WrongProof(f"the htu of the DPoP proof must be {urls[0]}, not {_quote(proof.url)}")
    if all(abs(proof.made - one.timestamp()) > _APART.total_seconds() for one in times):
        now = next(iter(times))
        raise WrongProof(
            f"the iat of the DPoP proof is {proof.made:.0f}, more than 5 minutes from {now.timestamp():.0f}, "
            f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}, the time at the bank"
        )
    if token_hash is not None and proof.token_hash != token_hash:
        mistake = f"is {_quote(proof.token_hash)}" if proof.token_hash else "is missing"
        raise WrongProof(
            f"the ath of the DPoP proof {mistake}; it must be the SHA-256 hash of the access token, {token_hash}"
        )


def _members(part: str, name: str) -> dict[str, Any]:
    try:
        members = json.loads(urlsafe_b64decode(part + "=="))
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise WrongProof(f"the {name} of the DPoP proof must be a JSON object in base64url")
    return members


def read_key(members: object, algorithm: str) -> Key:
    """Return the public key of a JWK for this algorithm. Raises WrongProof."""
    if not isinstance(members, dict) or members.get("kty") not in _KINDS:
        raise WrongProof(f"the jwk of the DPoP proof must be a public key, with one of {', '.join(_KINDS)} as kty")
    if _PRIVATE & members.keys():
        raise WrongProof(
            "the jwk of the DPoP proof contains the private key: send only the public key, and create a new key pair"
        )
    if purpose := _other_purpose(members, algorithm):
        raise WrongProof(f"the jwk of the DPoP proof is not a key for signing with {algorithm}: its {purpose}")
    # Other members next to the key itself, such as kid, do not matter.
    own = {name: members[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in members}
    try:
        key = JWKRegistry.import_key(own)
        public = key.get_op_key("verify")
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        raise WrongProof("the jwk of the DPoP proof cannot be read") from None
    if isinstance(public, rsa.RSAPublicKey) and (weakness := rsa_weakness(public)):
        raise WrongProof(f"the RSA key in the jwk of the DPoP proof {weakness}")
    return key


def _other_purpose(members: dict[str, Any], algorithm: str) -> str | None:
    """Return the member of a JWK which says that it is for another purpose (RFC 7517 4.2 to 4.4)."""
    use, operations, own = members.get("use"), members.get("key_ops"), members.get("alg")
    if use not in (None, "sig"):
        return f"use is {_quote(use)}"
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        return f"key_ops is {_quote(operations)}"
    if own not in (None, algorithm):
        return f"alg is {_quote(own)}"
    return None


def verifies(key: Key, text: str) -> bool:
    """Return whether the key has signed the compact JWS."""
    try:
        jws.deserialize_compact(text, key, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError):
        return False
    return True


def _text(claims: dict[str, Any], name: str) -> str:
    text = claims.get(name)
    if not isinstance(text, str) or not text:
        raise WrongProof(f"the DPoP proof must have {name}, a string")
    return text


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11:
        return float(value)
    raise WrongProof(f"the iat of the DPoP proof must be its time in seconds since 1970, not {_quote(value)}")


def _place(url: str) -> tuple[Origin | None, str] | None:
    """Return the normalised parts of a URL that count: origin and path."""
    try:
        return Origin.parse(url), unquote(urlsplit(url).path) or "/"
    except ValueError:
        return None


def _quote(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
