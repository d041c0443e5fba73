"""The header Digest (RFC 3230) with the Berlin Group's algorithms, compared with the body as it was received."""

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence

from xs2a_sandbox.http.reencoded_body import body_of

_ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
_LONGEST = 88
"""The length of a SHA-512 in base64."""


def mistake(values: Sequence[str], body: bytes) -> str | None:
    """Describe the mistake in the header, or return None if all digests with known algorithms match the body."""
    digests = [part.strip() for value in values for part in value.split(",")]
    pairs = [
        (name.strip(), text.strip()) for name, equals, text in (digest.partition("=") for digest in digests) if equals
    ]
    judged = [(name, text) for name, text in pairs if name.lower() in _ALGORITHMS]
    if not judged:
        return "the header Digest must have SHA-256=… or SHA-512=…, with the digest of the body in base64"
    return next((text for text in (_mistake(name, text, body) for name, text in judged) if text), None)


def write(algorithm: str, body: bytes) -> str:
    """Return the value of the header for a body."""
    return f"{algorithm}={b64encode(_ALGORITHMS[algorithm.lower()](body).digest()).decode()}"


def _mistake(name: str, text: str, body: bytes) -> str | None:
    digest = _ALGORITHMS[name.lower()](body).digest()
    try:
        sent = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return f"the {name.upper()} of the header Digest is not base64"
    if sent == digest:
        return None
    of = f"the {len(body)} bytes of the body" if body else "an empty body"
    other = body_of(sent, body)
    hint = f", which is the digest of {other}" if other else ""
    return f"the {name.upper()} of {of} is {b64encode(digest).decode()}, not {text[:_LONGEST]}{hint}"
