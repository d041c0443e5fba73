"""The check of the certificate that a client has shown, and of clients and resources of another TPP."""

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
    """Trusts no issuer, as where there is no test trust service."""
    from xs2a_sandbox.tpp.trust_service import Trust

    return Trust()


def is_judged(call: Call) -> bool:
    """Says whether the check is made of a client that can show a certificate, or is asked for one by name."""
    can_show = call.request.certificates is not None or "certificate" in call.checks.demanding
    return can_show and call.judges("certificate")


def refusal(call: Call, operation: Operation, trust: ReadTrust) -> BankError | None:
    """The error of a client certificate that is missing or not good enough, or of another TPP's client or resource."""
    # Imported by who judges one: it takes its time.
    from xs2a_sandbox.tpp import judgement

    if error := judgement.mistake(call.request.certificates or (), trust(), call.clock.now(), operation.roles):
        return error
    tpp = tpp_of(call)
    if tpp is None:
        return None
    return _check_client(call, operation, tpp) or next(owners.find_foreign(call, "tpp", tpp), None)


def _check_client(call: Call, operation: Operation, tpp: str) -> BankError | None:
    """The error of who comes as a client, or with the token of one, that another TPP has registered."""
    names_itself = operation.behaviour.handler in token.ENDPOINTS
    client = token.client_id(call) if names_itself else presented_token.client_of(call)
    owner = owners.organisation(call, client)
    if owner is None or owner == tpp:
        return None
    of = "the client_id" if names_itself else "the client of the token,"
    text = f"the client certificate is that of {tpp}, {of} {client} that of {owner}"
    return BankError("token-client-unknown" if names_itself else "token-unproven", expected=text)


def tpp_of(call: Call) -> str | None:
    """The organisation identifier of the TPP whose certificate is judged."""
    return call.client.organisation_identifier if is_judged(call) and call.client else None
