"""Decides instead of the payment user: approves an authorisation, declines it, or makes it fail."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank.domain.documents import changed_state_of, state_of
from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, fail, succeed
from xs2a_sandbox.bank.sca_pages.visit import Visit, check_open
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError, Refused, body_invalid
from xs2a_sandbox.state import Document

DECISIONS = ("approve", "decline", "timeout", "error")


def read(call: Call, id: str) -> Document:
    """Return the authorisation and the status of its resource. Raises Refused."""
    return _describe(_visit(call, id))


def decide(call: Call, id: str, body: Mapping[str, Any]) -> Document:
    """Decide as if the payment user had done so in the bank's app or on its pages. Raises Refused."""
    decision = body.get("decide")
    if decision not in DECISIONS:
        raise body_invalid(f"decide must be one of {', '.join(DECISIONS)}")
    visit = _visit(call, id)
    id, authorisation = visit.id, visit.authorisation
    _check_undecided(visit)
    if decision != "approve":
        fail(call, id, authorisation)
    elif _is_approved(authorisation):
        text = f"the payment user has already approved {id}; now the app must send the confirmation code"
        raise Refused(409, "unconfirmed", text)
    else:
        psu = authorisation.get("psuId") or next(iter(visit.customers), None)
        succeed(call, id, {**authorisation, "psuId": psu})
    return _describe(visit)


def _visit(call: Call, id: str) -> Visit:
    """Return the payment user's visit for the authorisation. Raises Refused."""
    id = as_kept(id)
    if authorisation := call.state.get(AUTHORISATIONS, id):
        family, resource = FAMILIES.get(str(authorisation.get("family"))), authorisation.get("resource")
        if family and isinstance(resource, str):
            return Visit(call, family, resource, id, link="")
        text = f"the authorisation {id} was written without what it is for: its family and resource"
        raise Refused(404, "authorisation-unknown", text)
    raise Refused(404, "authorisation-unknown", f"the session {call.session.id} has no authorisation {id}")


def _is_approved(authorisation: Document) -> bool:
    """Return whether the payment user has approved, and the app still has to confirm."""
    return SCA.after(state_of(AUTHORISATIONS, authorisation), "confirm") is not None


def _check_undecided(visit: Visit) -> None:
    """Check that a decision has an effect here. Raises Refused."""
    status = state_of(AUTHORISATIONS, visit.authorisation)
    if status in SCA.final:
        raise Refused(409, "decided", f"the authorisation {visit.id} is {status}: it cannot change any more")
    if visit.authorisation.get("approach") == "embedded":
        text = f"the authorisation {visit.id} is embedded: the app sends password and one-time password itself"
        raise Refused(409, "embedded", text)
    family, id = visit.family, visit.resource_id
    what = "payment" if family.name == "cancellation" else family.name
    if not visit.resource:
        raise Refused(409, "resource-gone", f"the {what} {id} does not exist any more")
    try:
        check_open(visit.call, family, id, visit.resource)
    except BankError as error:
        why = "is in a signing basket and is decided with it"
        if error.name == "status-invalid":
            why = f"is {error.values['status']}, so it can no longer be approved or declined"
        raise Refused(409, error.name, f"the {what} {id} {why}") from None


def _describe(visit: Visit) -> Document:
    status = changed_state_of(visit.family.collection, visit.resource)
    decisions, closed = [one for one in DECISIONS if one != "approve" or not _is_approved(visit.authorisation)], None
    try:
        _check_undecided(visit)
    except Refused as refused:
        decisions, closed = [], str(refused)
    described = {"id": visit.id, **visit.authorisation, "resourceStatus": status}
    return {**described, "decisions": decisions, "closed": closed}
