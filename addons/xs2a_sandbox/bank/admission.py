"""Checks that strict banks make of every request before they look at what it is for: digest, signature, token."""

from datetime import datetime

from xs2a_sandbox.bank import signed_requests
from xs2a_sandbox.bank.handlers import token
from xs2a_sandbox.cassette import Call, Operation
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import digest
from xs2a_sandbox.signatures.rules import SignatureRules

_NAMED_IN_PATHS = ("consentId", "paymentId", "basketId")


def check(call: Call, operation: Operation, signatures: SignatureRules) -> None:
    """Raises BankError, or has the call note it where a check only warns."""
    sent = call.request.headers.all("digest")
    # A digest that is signed is wrong as its signature is.
    is_signed = call.judges("signature") and signed_requests.is_signed(call.request)
    if sent and not is_signed and call.judges("digest") and (mistake := digest.mistake(sent, call.request.body)):
        call.object("digest", BankError("digest-wrong", expected=mistake))
    # Clients without a token come here to get one.
    is_open = operation.behaviour.handler == token.issue.name or call.segments[:1] == (".well-known",)
    if not is_open and call.judges("signature") and (error := signed_requests.refusal(call, signatures)):
        call.object("signature", error)
    if not is_open and call.judges("token") and (error := _refusal(call)):
        call.object("token", error)


def _refusal(call: Call) -> BankError | None:
    """The error of a token that is missing, unknown, too old, or for something else."""
    headers = call.request.headers.all("authorization")
    if len(headers) != 1:
        times = f"is sent {len(headers)} times" if headers else "is missing"
        return BankError(
            "token-unknown", expected=f"the header Authorization {times}; it must have a token of the scheme Bearer"
        )
    scheme, _, secret = headers[0].partition(" ")
    if scheme.lower() != "bearer":
        return BankError("token-unknown", expected="the header Authorization must have a token of the scheme Bearer")
    kept = call.state.get(token.TOKENS, secret.strip())
    if kept is None:
        return BankError("token-unknown", expected="the token endpoint has given no such token in this session")
    if datetime.fromisoformat(kept["expires"]) <= call.clock.now():
        return BankError("token-expired", expires=kept["expires"])
    bound = (kept.get("scope") or "").partition(":")[2]
    names = [*(call.path.get(name) for name in _NAMED_IN_PATHS), call.headers.get("consent-id")]
    if bound and bound.lower() not in [name.lower() for name in names if name]:
        return BankError("token-invalid", scope=kept["scope"])
    return None
