"""The checks that strict banks apply to every request before its content, in order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xs2a_sandbox.bank import client_certificate, presented_token, request_rules, signed_requests
from xs2a_sandbox.bank.client_certificate import ReadTrust
from xs2a_sandbox.bank.handlers import token
from xs2a_sandbox.cassette import Call, Operation
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import digest
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.signatures.rules import SignatureRules


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a plugin on every request to an operation. `judge` returns the error, or None."""

    name: str
    judge: Callable[[Call, Operation], BankError | None]


def check(
    call: Call,
    operation: Operation,
    signatures: SignatureRules,
    trust: ReadTrust,
    schemas: Schemas,
    *,
    issues_tokens: bool,
) -> None:
    """Run all checks. Raises BankError, or records it in the call if the check only warns.

    `trust` decides which certificates are trusted. At a bank that issues no tokens, apps bring tokens of their own,
    which only its dialect can check.
    """
    if operation.is_for_browsers:
        return
    if client_certificate.is_judged(call):
        _object(call, "certificate", [client_certificate.refusal(call, operation, trust)])
    if call.judges("digest"):
        _object(call, "digest", _digest_mistakes(call))
    # Clients use these endpoints without a token: to get one, or to revoke one.
    if operation.behaviour.handler in token.ENDPOINTS or call.segments[:1] == (".well-known",):
        return
    if call.judges("signature"):
        _object(call, "signature", [signed_requests.refusal(call, signatures, trust)])
    if issues_tokens and call.judges("token"):
        _object(call, "token", [presented_token.refusal(call)])
    if call.judges("redirect"):
        _object(call, "redirect", request_rules.redirect_mistakes(call, operation))
    for name in operation.checks:
        if call.judges(name):
            _object(call, name, request_rules.mistakes(call, name, operation, schemas))
    for added in plugins().collect("checks"):
        if call.judges(added.name):
            _object(call, added.name, [added.judge(call, operation)])


def _object(call: Call, check: str, errors: Iterable[BankError | None]) -> None:
    for error in filter(None, errors):
        call.object(check, error)


def _digest_mistakes(call: Call) -> Iterator[BankError]:
    sent = call.request.headers.all("digest")
    # If a signed digest is wrong, the signature check reports it.
    is_signed = call.judges("signature") and signed_requests.is_signed(call.request)
    if sent and not is_signed and (mistake := digest.mistake(sent, call.request.body)):
        yield BankError("digest-wrong", expected=mistake)
