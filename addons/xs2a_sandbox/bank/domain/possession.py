"""Finds the key or certificate that a client proves to have, for tokens bound to one (RFC 8705, RFC 9449)."""

import base64
import hashlib

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import REAL

CERTIFICATE, KEY = "x5t#S256", "jkt"
"""The members of a token's `cnf` that name its certificate or key."""

_PROOFS = "_proofs"


class Unproven(Exception):
    """The proof in a request is wrong. The text says why."""


def certificate_of(call: Call) -> str | None:
    """Return the thumbprint of the client certificate (RFC 8705, 3.1), or None if there is none."""
    certificates = call.request.certificates
    return hash_key(certificates[0]) if certificates else None


def key_of(call: Call, token: str | None = None) -> str:
    """Return the thumbprint of the key in the request's DPoP proof, which is valid once and for this token.

    Raises Unproven.
    """
    # Imported at the first proof, because the import is slow.
    from xs2a_sandbox.signatures import dpop

    request = call.request
    try:
        proof = dpop.read(request.headers.all(dpop.HEADER))
        urls = (request.url, call.session.url + call.self_path)
        times = (call.clock.now(), REAL.now())
        dpop.check(proof, request.method, urls, times, None if token is None else hash_key(token.encode()))
    except dpop.WrongProof as mistake:
        raise Unproven(str(mistake)) from None
    id = hash_key(f"{proof.key} {proof.id}".encode())
    if call.state.get(_PROOFS, id):
        raise Unproven("the jti of the DPoP proof was used before; each request needs its own proof")
    call.state.put(_PROOFS, id, {"used": call.clock.now().isoformat()})
    return proof.key


def hash_key(data: bytes) -> str:
    """Return the SHA256 hash in base64url, as the RFCs on tokens define it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
