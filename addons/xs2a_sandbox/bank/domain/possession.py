"""Which key or certificate a client shows that it has, for tokens that are bound to one (RFC 8705, RFC 9449)."""

import base64
import hashlib

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import REAL

CERTIFICATE, KEY = "x5t#S256", "jkt"
"""The members of a token's `cnf` that say by what it is bound."""

_PROOFS = "_proofs"


class Unproven(Exception):
    """Its text says what is wrong with the proof that a request brings."""


def certificate_of(call: Call) -> str | None:
    """Returns the thumbprint of the client certificate that tokens are bound to (RFC 8705, 3.1); None without one."""
    certificates = call.request.certificates
    return hash_key(certificates[0]) if certificates else None


def key_of(call: Call, token: str | None = None) -> str:
    """Returns the thumbprint of the key of the request's DPoP proof, which is good once, and for the token.

    Raises Unproven.
    """
    # What reads proofs is loaded when the first one comes.
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
        raise Unproven("the jti of the DPoP proof was used before; each request needs a proof of its own")
    call.state.put(_PROOFS, id, {"used": call.clock.now().isoformat()})
    return proof.key


def hash_key(data: bytes) -> str:
    """The SHA256 hash in base64url, as the RFCs on tokens write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
