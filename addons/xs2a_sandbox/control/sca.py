"""What the payment user decides, decided in their place: an authorisation approved, declined or left to fail."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank.handlers.lifecycle import SCA
from xs2a_sandbox.bank.handlers.signing import AUTHORISATIONS, FAMILIES, fail, holders, settle, succeed
from xs2a_sandbox.bank.sca_pages.visit import check_open
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.state import Document

DECISIONS = ("approve", "decline", "timeout", "error")


def shown(call: Call, id: str) -> Document:
    """The authorisation and the status of what it is for. Raises Refused."""
    id, authorisation = _settled(call, id)
    return _described(call, id, authorisation)


def decided(call: Call, id: str, body: Mapping[str, Any]) -> Document:
    """Decides as if the payment user had, in the bank's app or on its pages. Raises Refused."""
    decision = body.get("decide")
    if decision not in DECISIONS:
        raise Refused(400, "body-invalid", f"decide must be one of {', '.join(DECISIONS)}")
    id, authorisation = _settled(call, id)
    status = authorisation["scaStatus"]
    if status in SCA.final:
        raise Refused(409, "decided", f"the authorisation {id} is {status}: nothing happens to it any more")
    if authorisation["approach"] == "embedded":
        text = f"the authorisation {id} is embedded: the app sends password and one-time password itself"
        raise Refused(409, "embedded", text)
    _check_open(call, authorisation)
    if decision != "approve":
        authorisation = fail(call, id, authorisation)
    elif status == "unconfirmed":
        text = f"the payment user has approved {id} already; the app has to send its confirmation code"
        raise Refused(409, "unconfirmed", text)
    else:
        psu = authorisation.get("psuId") or _next_signatory(call, authorisation)
        authorisation = succeed(call, id, {**authorisation, "psuId": psu})
    return _described(call, id, authorisation)


def _settled(call: Call, id: str) -> tuple[str, Document]:
    """The authorisation as it is now. Raises Refused."""
    id = id.lower()
    authorisation = call.state.get(AUTHORISATIONS, id)
    if authorisation is not None:
        settle(call, FAMILIES[authorisation["family"]].collection, authorisation["resource"])
        authorisation = call.state.get(AUTHORISATIONS, id)
    if authorisation is None:
        raise Refused(404, "authorisation-unknown", f"the session {call.session.id} has no authorisation {id}")
    return id, authorisation


def _check_open(call: Call, authorisation: Document) -> None:
    """Raises Refused where the decision could have no effect, or has its effect elsewhere."""
    family, id = FAMILIES[authorisation["family"]], authorisation["resource"]
    what = "payment" if family.name == "cancellation" else family.name
    resource = call.state.get(family.collection, id)
    if resource is None:
        raise Refused(409, "resource-gone", f"the {what} {id} is not there any more")
    try:
        check_open(call, family, id, resource)
    except BankError as error:
        why = "is in a signing basket and is decided with it"
        if error.name == "status-invalid":
            why = f"is {error.values['status']}: nothing is left to decide about it"
        raise Refused(409, error.name, f"the {what} {id} {why}") from None


def _described(call: Call, id: str, authorisation: Document) -> Document:
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"]) or {}
    return {"authorisationId": id, **authorisation, "resourceStatus": resource.get(family.status)}


def _next_signatory(call: Call, authorisation: Document) -> str | None:
    """The first customer who has not signed yet, where nobody has identified themselves."""
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"])
    if resource is None:
        return None
    signed = resource.get(f"{family.listed}SignedBy", ())
    may = holders(call, family, resource)
    return next((psu for psu in may if psu not in signed), may[0] if may else None)
