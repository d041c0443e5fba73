"""Actions: parts of what handlers do, which effects of cassettes name (`do: begin-authorisation`)."""

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
"""The families that operations make; a login only begins at the authorisation endpoint."""


_SHOWN = " ".join(name for name in RESULT.split() if name != "self")


@action(
    "begin-authorisation",
    takes=WITH_RESOURCE,
    raises="credentials-invalid",
    returns=_SHOWN,
    options={
        "family": Option(
            "What is authorised.",
            {"enum": list(_SIGNED)},
            required=True,
            choices={name: deeds("", unknown_error(family)) for name, family in _SIGNED.items()},
        ),
        "id": Option("Its id in the state.", _ID, required=True),
        "implicit": Option(
            "It begins with its resource: not where the TPP wants it apart, or several customers must sign; then the "
            "result is null.",
            {"type": "boolean"},
            default=False,
        ),
        **APPROACH_OPTIONS,
    },
)
def begin_authorisation(call: Call) -> dict[str, Any] | None:
    """A new authorisation of a consent, payment, cancellation or basket that is in the state."""
    family, id = FAMILIES[call.options["family"]], as_kept(call.options["id"])
    _resource(call, family, id)
    if not call.options["implicit"]:
        return _result(call, *begin(call, family, id, implicit=False))
    begun = begin_with_resource(call, family, id)
    return _result(call, *begun) if begun else None


@action(
    "succeed-authorisation",
    raises="authorisation-unknown resource-blocked status-invalid",
    returns=_SHOWN,
    options={"id": Option("The id of the authorisation.", _ID, required=True)},
)
def succeed_authorisation(call: Call) -> dict[str, Any]:
    """The customer has approved: what is authorised moves on, once everybody who must sign has signed."""
    id, authorisation = _authorisation(call)
    return _result(call, id, succeed(call, id, authorisation))


@action(
    "fail-authorisation",
    raises="authorisation-unknown status-invalid",
    returns=_SHOWN,
    options={"id": Option("The id of the authorisation.", _ID, required=True)},
)
def fail_authorisation(call: Call) -> dict[str, Any]:
    """The customer has declined: what is authorised is refused, but for a cancellation."""
    id, authorisation = _authorisation(call)
    return _result(call, id, fail(call, id, authorisation))


def _mover(family: Family) -> Handler:
    def run(call: Call) -> dict[str, Any]:
        id = as_kept(call.options["id"])
        resource = _resource(call, family, id)
        if not move(call, family, id, call.options["event"]):
            raise status_invalid(family.machine.name, id, resource)
        return {"status": status_of(_resource(call, family, id))}

    run.__doc__ = (
        f"The {family.name} after an event of [its states](states.md#{family.machine.title.lower().replace(' ', '-')})."
    )
    return action(
        f"move-{family.name}",
        raises=f"{unknown_error(family)} status-invalid",
        returns="status",
        options={
            "id": Option(f"The id of the {family.name}.", _ID, required=True),
            "event": Option("What happens.", {"enum": _events(family.machine)}, required=True),
        },
    )(run)


def _events(machine: Machine) -> list[str]:
    """All that can happen to one that is there, and after which it still is."""
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
