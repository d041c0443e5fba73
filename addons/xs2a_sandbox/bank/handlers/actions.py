"""Actions: parts of handlers that effects in cassettes can name (`do: begin-authorisation`)."""

from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import NONE, REMOVED, Machine
from xs2a_sandbox.bank.domain.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    fail,
    move,
    status_invalid,
    status_of,
    succeed,
    unknown_error,
)
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    RESULT,
    WITH_RESOURCE,
    begin,
    begin_with_resource,
    result,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Handler, Option, action, deeds
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_ID = {"type": "string"}
_SIGNED = {name: family for name, family in FAMILIES.items() if name != "login"}
"""The families that operations create. A login starts only at the authorisation endpoint."""


_SHOWN = " ".join(name for name in RESULT.split() if name != "self")


@action(
    "begin-authorisation",
    takes=WITH_RESOURCE,
    raises="credentials-invalid",
    returns=_SHOWN,
    options={
        "family": Option(
            "The kind of resource that is authorised.",
            {"enum": list(_SIGNED)},
            required=True,
            choices={name: deeds("", unknown_error(family)) for name, family in _SIGNED.items()},
        ),
        "id": Option("The id of the resource in the state.", _ID, required=True),
        "implicit": Option(
            "Whether the authorisation begins together with its resource. If the app wants to start it separately, "
            "or several customers must sign, it does not begin, and the result is null.",
            {"type": "boolean"},
            default=False,
        ),
        **APPROACH_OPTIONS,
    },
)
def begin_authorisation(call: Call) -> dict[str, Any] | None:
    """Start an authorisation of a consent, payment, cancellation or basket in the state."""
    family, id = FAMILIES[call.options["family"]], as_kept(call.options["id"])
    resource = _resource(call, family, id)
    if not call.options["implicit"]:
        return _result(call, *begin(call, family, id, implicit=False))
    begun = begin_with_resource(call, family, id, resource)
    return _result(call, *begun) if begun else None


@action(
    "succeed-authorisation",
    raises="authorisation-unknown resource-blocked status-invalid",
    returns=_SHOWN,
    options={"id": Option("The id of the authorisation.", _ID, required=True)},
)
def succeed_authorisation(call: Call) -> dict[str, Any]:
    """Approve an authorisation as the customer.

    Its resource is authorised once everybody has signed who must sign.
    """
    id, authorisation = _authorisation(call)
    return _result(call, id, succeed(call, id, authorisation))


@action(
    "fail-authorisation",
    raises="authorisation-unknown status-invalid",
    returns=_SHOWN,
    options={"id": Option("The id of the authorisation.", _ID, required=True)},
)
def fail_authorisation(call: Call) -> dict[str, Any]:
    """Decline an authorisation as the customer. Its resource is refused, except for a cancellation."""
    id, authorisation = _authorisation(call)
    return _result(call, id, fail(call, id, authorisation))


def _mover(family: Family) -> Handler:
    def run(call: Call) -> dict[str, Any]:
        id = as_kept(call.options["id"])
        resource = _resource(call, family, id)
        if not move(call, family, id, call.options["event"]):
            raise status_invalid(family.machine.name, id, resource)
        return {"status": status_of(_resource(call, family, id))}

    anchor = family.machine.title.lower().replace(" ", "-")
    run.__doc__ = f"Apply an event of [its states](states.md#{anchor}) to a {family.name}."
    return action(
        f"move-{family.name}",
        raises=f"{unknown_error(family)} status-invalid",
        returns="status",
        options={
            "id": Option(f"The id of the {family.name}.", _ID, required=True),
            "event": Option("The event.", {"enum": _events(family.machine)}, required=True),
        },
    )(run)


def _events(machine: Machine) -> list[str]:
    """Return all events of an existing thing that do not remove it."""
    transitions = [
        transition for transition in machine.transitions if NONE not in transition.states and transition.to != REMOVED
    ]
    return list(dict.fromkeys(transition.event for transition in transitions))


ACTIONS = {
    transition.name: transition
    for transition in (
        begin_authorisation,
        succeed_authorisation,
        fail_authorisation,
        *(_mover(FAMILIES[name]) for name in ("consent", "payment", "basket")),
    )
}


def _resource(call: Call, family: Family, id: str) -> Document:
    resource = call.state.get(family.collection, id)
    if resource is None:
        raise BankError(unknown_error(family), id=id)
    return resource


def _authorisation(call: Call) -> tuple[str, Document]:
    id = as_kept(call.options["id"])
    authorisation = call.state.get(AUTHORISATIONS, id)
    if authorisation is None:
        raise BankError("authorisation-unknown", id=id)
    return id, authorisation


def _result(call: Call, id: str, authorisation: Document) -> dict[str, Any]:
    return {name: value for name, value in result(call, id, authorisation, "").items() if name != "self"}
