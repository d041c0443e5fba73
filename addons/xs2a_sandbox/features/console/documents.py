"""Makes list entries of the bank's documents, with their names and states."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from xs2a_sandbox.bank.domain.accounts import number_of
from xs2a_sandbox.bank.domain.documents import INVALID, State, describe, end_to_end_ids, format_money, name_of, state_of
from xs2a_sandbox.bank.domain.lifecycle import LOGIN, OVER, SCA, Machine
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES

MACHINES: Mapping[str, Machine] = {
    **{family.collection: family.machine for family in FAMILIES.values() if family.machine is not LOGIN},
    AUTHORISATIONS: SCA,
}
"""The state machine of each collection."""
AVAILABLE = "_available"
"""The money that can be paid from each account, among the collections of the state."""
_DECIDING = ("authorised by all", "succeed")
_CANCELLING = ("cancel", "cancellation authorised")
_FAILING = ("refused", "fail", "funds do not cover it", "withdrawn by the customer", "delete, kept", "delete", OVER)


def row(collection: str, id: str, document: Any, state: State) -> dict[str, str]:
    """Return an entry of a list. `state` has the documents to which this one refers."""
    members = document if isinstance(document, dict) else {}
    machine, status = MACHINES.get(collection), state_of(collection, members)
    try:
        title, references = name_of(collection, members), " ".join(end_to_end_ids(members))
        details = [word for word in _details(collection, id, members, state) if word not in title]
    except INVALID:
        title, references, details = "", "", ["not in the form in which the bank stores it"]
    return {
        "collection": collection,
        "id": id,
        "name": title or id,
        "tone": _tone(machine, status) if machine else "",
        "status": status,
        "meaning": machine.meanings.get(status, "") if machine else "",
        "created": str(members.get("created_at") or "")[:19].replace("T", " "),
        "references": references,
        "details": ", ".join(details),
    }


def _details(collection: str, id: str, members: Mapping[str, Any], state: State) -> Iterator[str]:
    """Yield what distinguishes a document from the others, for an account first its number if that is not its id."""
    if collection in ("accounts", "cards") and (number := number_of({"id": id, **members})) != id:
        yield number
    yield from describe(collection, members, state)
    if collection == "accounts" and (money := format_money(state.get(AVAILABLE, {}).get(id))):
        yield f"{money} available"


def _tone(machine: Machine, status: str) -> str:
    """Return `waiting`, `failed` or `good` for a state, or an empty string if it is none of these."""
    if any(machine.after(status, event) for event in _DECIDING) or status in machine.without_way:
        return "waiting"
    if status in _after(machine, _CANCELLING):
        return ""
    return "failed" if status in _after(machine, _FAILING) else "good"


def _after(machine: Machine, events: Collection[str]) -> set[str]:
    return {transition.to for transition in machine.transitions if transition.event in events}
