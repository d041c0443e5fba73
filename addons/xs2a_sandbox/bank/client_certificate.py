"""The check of the client's certificate, and of clients and resources that belong to another TPP."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xs2a_sandbox.bank import owners, presented_token
from xs2a_sandbox.bank.handlers import token
from xs2a_sandbox.cassette import Call, Operation
from xs2a_sandbox.errors import BankError

if TYPE_CHECKING:
    from xs2a_sandbox.tpp.trust_service import Trust

type ReadTrust = Callable[[], Trust]


def trust_nobody() -> "Trust":
    """Return a Trust without issuers, for use without a test trust service."""
    from xs2a_sandbox.tpp.trust_service import Trust

    return Trust()


def is_judged(call: Call) -> bool:
    """Return whether the check applies: the client can send a certificate, or the settings demand one."""
    can_show = call.request.certificates is not None or "certificate" in call.checks.demanding
    return can_show and call.judges("certificate")


def refusal(call: Call, operation: Operation, trust: ReadTrust) -> BankError | None:
    """Return the error if the certificate is missing or invalid, or if another TPP owns the client or resource."""
    # Imported only when needed, because the import is slow.
    from xs2a_sandbox.tpp import judgement

    if error := judgement.mistake(call.request.certificates or (), trust(), call.clock.now(), operation.roles):
        return error
    tpp = tpp_of(call)
    if tpp is None:
        return None
    return _check_client(call, operation, tpp) or next(owners.find_foreign(call, "tpp", tpp), None)


def _check_client(call: Call, operation: Operation, tpp: str) -> BankError | None:
    """Return the error if the client, or the client of the token, was registered by another TPP."""
    names_itself = operation.behaviour.handler in token.ENDPOINTS
    client = token.client_id(call) if names_itself else presented_token.client_of(call)
    owner = owners.organisation(call, client)
    if owner is None or owner == tpp:
        return None
    of = "the client_id" if names_itself else "the client of the token,"
    text = f"the client certificate belongs to {tpp}, {of} {client} to {owner}"
    return BankError("token-client-unknown" if names_itself else "token-unproven", expected=text)


def tpp_of(call: Call) -> str | None:
    """Return the organisation identifier in the client certificate, if certificates are checked."""
    return call.client.organisation_identifier if is_judged(call) and call.client else None
