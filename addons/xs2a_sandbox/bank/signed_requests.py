"""The check of a request's signature: against the dialect's rules, and whose seal it is."""

from typing import TYPE_CHECKING

from xs2a_sandbox.bank import owners
from xs2a_sandbox.bank.client_certificate import ReadTrust
from xs2a_sandbox.bank.presented_token import client_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.signatures.rules import SignatureRules

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from xs2a_sandbox.signatures.mistakes import SignatureMistake

_JWS = "x-jws-signature"
_HEADERS = ("signature", _JWS)


def is_signed(request: Request) -> bool:
    return any(name in request.headers.first for name in _HEADERS)


def refusal(call: Call, rules: SignatureRules, trust: ReadTrust) -> BankError | None:
    """Return the error if the signature is wrong, or missing although it is demanded."""
    if rules.requests == "detached":
        return _refusal_of_detached(call, rules)
    if not is_signed(call.request):
        if "signature" in call.checks.demanding or rules.demanded:
            text = f"the header Signature is missing; the signature must cover {', '.join(rules.signed)}"
            return BankError("signature-missing", expected=text)
        return None
    # Imported at the first signature, because the import is slow.
    from xs2a_sandbox.signatures import verification
    from xs2a_sandbox.signatures.signing_string import SignedMessage

    request = call.request
    message = SignedMessage(request.headers, request.body, request.method, request.target, request.url)
    times = (call.clock.now(), REAL.now())
    mistake = verification.mistake(message, rules, times, lambda certificate: _objection(call, certificate, trust))
    if mistake is None:
        return None
    if mistake.log_text:
        call.warnings.append(mistake.log_text)
    return BankError(mistake.error, **{**mistake.values, "expected": mistake.text}, signature=mistake.described)


def _refusal_of_detached(call: Call, rules: SignatureRules) -> BankError | None:
    """Return the error unless a key of the token's client has signed the body, where bodies are signed."""
    if not call.request.body or not rules.covers(call.segments):
        return None
    signature = call.headers.get(_JWS)
    if signature is None:
        is_demanded = "signature" in call.checks.demanding or rules.demanded
        text = f"the header {_JWS} is missing; the signature must cover the body"
        return BankError("signature-missing", expected=text) if is_demanded else None
    from xs2a_sandbox.signatures import jwt

    name = client_of(call)
    client = call.state.get("clients", name) if name else None
    if client is None:
        return None  # The token is checked next.
    if not (keys := client.get("jwks") or client.get("certificate")):
        text = f"the bank knows no key of the client {name}: add its jwks or certificate to the test data"
        return BankError("signature-invalid", expected=text)
    if jwt.read_detached(signature) is None:
        return BankError("signature-malformed", expected=f"the header {_JWS} must be a detached JWS, HEADER..SIGNATURE")
    if not jwt.has_signed(signature, call.request.body, keys, rules.understood):
        text = f"{_JWS} is not a signature of this body with a key of the client {name}"
        return BankError("signature-invalid", expected=text)
    return None


def _objection(call: Call, certificate: "Certificate", trust: ReadTrust) -> "SignatureMistake | None":
    """Return the mistake if the seal is not trusted, or if its TPP is not the one of the certificate or token."""
    from cryptography.hazmat.primitives.serialization import Encoding

    from xs2a_sandbox.signatures.mistakes import SignatureMistake, invalid
    from xs2a_sandbox.signatures.sealing_certificate import organisation
    from xs2a_sandbox.tpp import judgement

    certificates = (certificate.public_bytes(Encoding.DER),)
    if error := judgement.mistake(certificates, trust(), call.clock.now(), kind="QSEAL"):
        text = error.values.get("expected", "").replace("client certificate", "certificate of the signature")
        return SignatureMistake(error.name, text, values=error.values)
    sealed = organisation(certificate)
    of_token = owners.organisation(call, client_of(call))
    for what, owner in (
        ("client certificate", _organisation_of_client(call)),
        ("token", of_token),
    ):
        if owner is not None and owner != sealed:
            return invalid(f"the certificate of the signature belongs to {sealed}, but the {what} belongs to {owner}")
    return None


def _organisation_of_client(call: Call) -> str | None:
    return call.client.organisation_identifier if call.client else None
