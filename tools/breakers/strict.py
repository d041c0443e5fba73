"""Broken checks of the strict profile: what they have to refuse is taken, or what they have to take is refused."""

from collections.abc import Mapping, Sequence
from uuid import uuid4

from tools.breakers.breaker import (
    REMOVED,
    Breaker,
    Change,
    Operation,
    When,
    bad,
    forgives,
    header,
    limits,
    misnames,
    query,
    refuses,
    says,
    sends,
)
from tools.breakers.operations import (
    BALANCES,
    CONSENT,
    CONSENT_STATUS,
    CREATE_CONSENT,
    LIST,
    SEPA,
    TRANSACTIONS,
    initiate,
)

EVERY = Operation("*", "*")
PRECONFIGURED = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


def sending(name: str, beginning: str = "") -> When:
    words = f"with {name}: {beginning}…" if beginning else f"with {name}"
    return When(words, lambda request: bool(sent := header(request, name)) and sent.startswith(beginning))


def without(name: str) -> When:
    return When(f"without {name}", lambda request: not header(request, name))


def lets_pass(*codes: str, of: Operation = EVERY) -> list[Breaker]:
    """A product for each of the codes, which answers as if nothing were wrong."""
    return [forgives(of, [code], 200, {}) for code in codes]


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    "reading-strict-documented": [
        refuses(TRANSACTIONS, without("Authorization"), 401, "TOKEN_UNKNOWN"),
        refuses(TRANSACTIONS, without("PSU-IP-Address"), 429, "ACCESS_EXCEEDED"),
        refuses(TRANSACTIONS, status=401, code="CONSENT_INVALID"),
        limits(TRANSACTIONS, 1),
        sends(TRANSACTIONS, "X-Sandbox-Strict", "401 TOKEN_UNKNOWN: always"),
    ],
    "reading-strict-profile": lets_pass(
        "TOKEN_UNKNOWN", "CONSENT_INVALID", "FORMAT_ERROR", "ACCESS_EXCEEDED", "CONSENT_EXPIRED"
    ),
    "reading-strict-frequency": [
        *lets_pass("ACCESS_EXCEEDED"),
        refuses(LIST, sending("PSU-IP-Address"), 429, "ACCESS_EXCEEDED"),
        refuses(LIST, without("PSU-IP-Address"), 429, "ACCESS_EXCEEDED"),
    ],
    "reading-strict-one-off": [
        *lets_pass("CONSENT_EXPIRED"),
        says(CONSENT_STATUS, "/consentStatus", "valid"),
        refuses(LIST, status=401, code="CONSENT_EXPIRED"),
    ],
    "reading-strict-rights": [
        *lets_pass("CONSENT_INVALID", of=BALANCES),
        *lets_pass("CONSENT_INVALID", of=TRANSACTIONS),
        refuses(BALANCES, status=401, code="CONSENT_INVALID"),
        refuses(TRANSACTIONS, status=401, code="CONSENT_INVALID"),
        says(LIST, "/accounts/*/balances", [{}], when=When("with balances", lambda r: "withBalance" in query(r))),
    ],
    "reading-strict-token": [
        *lets_pass("TOKEN_UNKNOWN"),
        refuses(EVERY, sending("Authorization", "Bearer"), 401, "TOKEN_UNKNOWN"),
        misnames("XS2A931E", to="TOKEN_INVALID"),
    ],
    "reading-strict-token-expired": [
        *lets_pass("TOKEN_EXPIRED"),
        misnames("XS2A932E", to="TOKEN_UNKNOWN"),
        refuses(LIST, status=401, code="TOKEN_EXPIRED"),
    ],
    "reading-strict-token-bound": [
        *lets_pass("TOKEN_INVALID"),
        misnames("XS2A934E", "text", "another certificate"),
        refuses(LIST, status=401, code="TOKEN_INVALID"),
    ],
    "reading-strict-token-key": [
        *lets_pass("TOKEN_INVALID"),
        sends(EVERY, "WWW-Authenticate", REMOVED, of=bad),
        sends(EVERY, "WWW-Authenticate", "Bearer", of=bad),
        refuses(LIST, sending("Authorization", "DPoP"), 401, "TOKEN_INVALID"),
    ],
    "reading-strict-digest": [
        *lets_pass("FORMAT_ERROR"),
        refuses(EVERY, without("Digest")),
        refuses(EVERY, sending("Digest", "SHA-256")),
        refuses(EVERY, sending("Digest", "SHA-512")),
        misnames("XS2A930E", "text", "another digest"),
    ],
    "reading-strict-signature": [
        *lets_pass("SIGNATURE_MISSING", "SIGNATURE_INVALID"),
        refuses(EVERY, sending("Signature"), 401, "SIGNATURE_INVALID"),
        refuses(EVERY, sending("x-jws-signature"), 401, "SIGNATURE_INVALID"),
        says(EVERY, "/sandbox", REMOVED, of=bad),
    ],
    "reading-strict-certificate": [
        *lets_pass("CERTIFICATE_MISSING", "CERTIFICATE_INVALID"),
        refuses(LIST, status=401, code="CERTIFICATE_INVALID"),
    ],
    "reading-strict-certificate-status": [
        *lets_pass("CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED", "CERTIFICATE_BLOCKED"),
        misnames("XS2A952E", to="CERTIFICATE_INVALID"),
    ],
    "reading-strict-certificate-role": [
        *lets_pass("ROLE_INVALID"),
        misnames("XS2A955E", to="CERTIFICATE_INVALID"),
        misnames("XS2A955E", status=403),
    ],
    "reading-strict-certificate-client": [
        *lets_pass("TOKEN_INVALID"),
        refuses(Operation("POST", "/as/token.oauth2")),
        says(Operation("POST", "/as/token.oauth2"), "/error_description", "no", of=bad),
    ],
    "reading-strict-certificate-tpp": [
        *lets_pass("CONSENT_UNKNOWN", "RESOURCE_UNKNOWN"),
        refuses(CONSENT, status=403, code="CONSENT_UNKNOWN"),
    ],
    "reading-strict-certificate-rotation": [
        *lets_pass("CERTIFICATE_INVALID", "CERTIFICATE_EXPIRED"),
        refuses(LIST, status=401, code="CERTIFICATE_INVALID"),
    ],
    "reading-strict-idempotency": [
        *lets_pass("FORMAT_ERROR"),
        says(initiate(SEPA), "/paymentId", Change("another each time", lambda _: str(uuid4()))),
    ],
    "reading-strict-redirect": [
        *lets_pass("FORMAT_ERROR"),
        refuses(EVERY, sending("TPP-Redirect-URI")),
    ],
    "reading-strict-validity": [
        *lets_pass("FORMAT_ERROR", "SESSIONS_NOT_SUPPORTED"),
        refuses(CREATE_CONSENT, sending("PSU-Geo-Location", "GEO:")),
    ],
    "reading-strict-history": [
        *lets_pass("PERIOD_INVALID", "CONSENT_EXPIRED"),
        refuses(TRANSACTIONS, status=400, code="PERIOD_INVALID"),
    ],
    "reading-strict-client": [
        *lets_pass("CONSENT_UNKNOWN", "RESOURCE_UNKNOWN"),
        refuses(LIST, status=403, code="CONSENT_UNKNOWN"),
    ],
    "reading-strict-new-consent": [
        says(CREATE_CONSENT, "/consentId", PRECONFIGURED),
        says(CONSENT_STATUS, "/consentStatus", "valid"),
    ],
    "reading-strict-warn": [
        sends(EVERY, "X-Sandbox-Strict", REMOVED),
        sends(EVERY, "X-Sandbox-Strict", "401 TOKEN_UNKNOWN: always"),
        refuses(LIST, without("Authorization"), 401, "TOKEN_UNKNOWN"),
    ],
}
