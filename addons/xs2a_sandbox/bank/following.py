"""Applies state changes that a real bank reports or a test demands: by the state machine, with all consequences."""

from xs2a_sandbox.bank.domain.lifecycle import NONE, SCA, Machine
from xs2a_sandbox.bank.domain.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    apply_event,
    can_sign,
    exempt,
    fail,
    holders,
    move,
    open_authorisations,
    status_of,
    succeed,
)
from xs2a_sandbox.bank.handlers.approaches import REDIRECT, begin
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.compare.states import Move, ReportedState
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_MOST_SIGNATURES = 10


def follow(call: Call, state: ReportedState) -> Move | None:
    """Move the thing to the reported state. Returns None if it does not exist or is in this state already.

    Nothing changes if the state machine has no path to this state, or if the path ends in a different state.
    """
    id, to = as_kept(state.id), call.states.state(state.thing, state.state)
    before = _status(call, state, id)
    if before is None or before == to:
        return None
    undo = call.state.trial()
    try:
        if state.thing == "authorisation":
            _lead_authorisation(call, id, to)
        else:
            _lead(call, FAMILIES[state.thing], id, to)
    except BankError:
        pass  # something else decides, such as the basket that contains it
    done = _status(call, state, id) == to
    if not done:
        undo()
    return Move(state.thing, str(call.states.word(state.thing, before)), state.state, state.member, done)


def happen(call: Call, family: Family, id: str, event: str) -> bool:
    """Apply the event to the resource, and end its open authorisations with it: approved or failed.

    Returns False if the event cannot happen.
    """
    resource = call.state.get(family.collection, id) or {}
    to = family.machine.after(status_of(resource), event)
    if to is None:
        return False
    undo = call.state.trial()
    try:
        if event.startswith("authorised by") and any(open_authorisations(call, resource)):
            _sign(call, family, id, to)
        elif event == "refused":
            for authorisation_id, authorisation in list(open_authorisations(call, resource)):
                fail(call, authorisation_id, authorisation)
    except BankError:
        undo()  # the authorisation cannot end alone, such as that of a payment in a basket
    now = status_of(call.state.get(family.collection, id) or {})
    return family.machine.after(now, event) is None or move(call, family, id, event)


def _status(call: Call, state: ReportedState, id: str) -> str | None:
    collection = AUTHORISATIONS if state.thing == "authorisation" else FAMILIES[state.thing].collection
    document = call.state.get(collection, id)
    return status_of(document) if document else None


def _event(machine: Machine, state: str, to: str) -> str:
    """Return the last event in the table that leads there: actions of people are listed after automatic events."""
    return [
        transition.event for transition in machine.transitions if state in transition.states and transition.to == to
    ][-1]


def _lead(call: Call, family: Family, id: str, to: str) -> None:
    for _ in family.machine.transitions:
        resource = call.state.get(family.collection, id) or {}
        state = status_of(resource)
        way = family.machine.way(state, to)
        if not way:
            return
        event = _event(family.machine, *way[:2])
        if event == "cancellation authorised":
            _sign(call, FAMILIES["cancellation"], id, way[1])
        elif event.startswith("authorised by"):
            _sign(call, family, id, way[1])
        else:
            if event == "refused":
                for authorisation_id, authorisation in list(open_authorisations(call, resource)):
                    fail(call, authorisation_id, authorisation)
            move(call, family, id, event)


def _sign(call: Call, family: Family, id: str, to: str) -> None:
    """Let customers approve one by one, until the state is reached or nobody is left to sign."""
    for _ in range(_MOST_SIGNATURES):
        resource = call.state.get(family.collection, id) or {}
        if status_of(resource) == to or not can_sign(family, resource):
            return
        listed = [
            (listed_id, call.state.get(AUTHORISATIONS, listed_id) or {})
            for listed_id in resource.get(family.listed, ())
        ]
        left = [pair for pair in listed if pair[1] and pair[1]["status"] not in SCA.final]
        if not left and family.name not in call.authorising.of:
            return
        call.options = {"sca": REDIRECT}
        authorisation_id, authorisation = left[-1] if left else begin(call, family, id, implicit=True)
        succeed(call, authorisation_id, _add_signer(call, authorisation))


def _lead_authorisation(call: Call, id: str, to: str) -> None:
    for _ in SCA.transitions:
        authorisation = call.state.get(AUTHORISATIONS, id) or {}
        way = SCA.way(authorisation.get("status", NONE), to)
        if not way:
            return
        event = _event(SCA, *way[:2])
        if event in ("succeed", "succeed, to be confirmed", "confirm"):
            succeed(call, id, _add_signer(call, authorisation))
        elif event == "authenticate, no method":
            exempt(call, id, _add_signer(call, authorisation))
        elif event == "fail":
            fail(call, id, authorisation)
        else:
            apply_event(call, id, _add_signer(call, authorisation), event)


def _add_signer(call: Call, authorisation: Document) -> Document:
    """Return the authorisation with its customer. If none is identified, choose a customer who has not signed yet."""
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"]) or {}
    everybody = holders(call, family, resource)
    left = [psu for psu in everybody if psu not in resource.get(family.signed, ())] or everybody
    return {**authorisation, "psuId": authorisation.get("psuId") or next(iter(left), None)}
