"""Signing baskets: several payments and consents authorised as one (spec 4.3)."""

from typing import Any

from xs2a_sandbox.bank.domain.signing import FAMILIES, active_basket, members, move, rest, status_invalid, status_of
from xs2a_sandbox.bank.handlers import inputs
from xs2a_sandbox.bank.handlers.approaches import APART, start_explicit
from xs2a_sandbox.bank.handlers.consents import redirects
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.bank.handlers.inputs import BASKET, NOK_REDIRECT_URI, PREFERS_EXPLICIT, REDIRECT_URI, read_wish
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_MEMBERS = (("payments", "payment"), ("consents", "consent"))


@handler(
    "baskets.create",
    takes=(inputs.PAYMENTS, inputs.CONSENTS, *APART, PREFERS_EXPLICIT, REDIRECT_URI, NOK_REDIRECT_URI),
    raises="format-error member-unknown reference-status-invalid",
    returns="id status self approach next",
    options={
        "most": Option("The maximum number of members of a basket.", {"type": "integer", "minimum": 1}, required=True),
        "ids": form("baskets"),
    },
)
def create(call: Call) -> dict[str, Any]:
    """Create a basket of payments and consents that nobody has authorised yet.

    `next` has the steps that start its authorisation.
    """
    listed_ids = {listed: call.take(listed) or () for listed, _ in _MEMBERS}
    pairs = [(listed, position) for listed, ids in listed_ids.items() for position, _ in enumerate(ids)]
    if not pairs:
        names = " and ".join(call.name_of(listed) for listed in listed_ids)
        raise BankError("format-error", path="", expected=f"a basket needs at least one of {names}")
    if len(pairs) > (most := call.options["most"]):
        raise BankError("format-error", path=call.pointer_of(*pairs[most]), expected=f"at most {most} entries")
    if read_wish(call, PREFERS_EXPLICIT) is False:
        text = f"{call.place_of('prefers_explicit')} must not be false: baskets are authorised explicitly"
        raise BankError("format-error", path=call.pointer_of("prefers_explicit"), expected=text)
    document: Document = {
        "sequence": call.next_number(),
        "status": "RCVD",
        "created_at": call.now(),
    }
    for listed, family in _MEMBERS:
        ids = [as_kept(id) for id in listed_ids[listed]]
        for position, id in enumerate(ids):
            _check_member(call, family, id, ids[:position], call.pointer_of(listed, position))
        document[listed] = ids
    id = new_id(call, "baskets", call.options)
    call.state.put("baskets", id, document | redirects(call))
    for kind, member_id, member in members(call, document):
        rest(call, member)
        call.state.put(kind.collection, member_id, {**member, "basket": id})
    path = f"{call.self_path}/{id}"
    return {"id": id, "status": "RCVD", "self": path, **start_explicit(call, FAMILIES["basket"], id)}


@handler(
    "baskets.read",
    takes=(BASKET.needed,),
    raises="basket-unknown",
    returns="basket basket.payments basket.consents basket.status",
)
def read(call: Call) -> dict[str, Any]:
    """Read a basket with the ids of its members."""
    _, basket = find_basket(call)
    return {"basket": {name: basket[name] for name in ("payments", "consents", "status")}}


@handler("baskets.delete", takes=(BASKET.needed,), raises="basket-unknown status-invalid")
def delete(call: Call) -> dict[str, Any]:
    """Delete a basket. Its members do not change, and can be authorised separately again."""
    id, basket = find_basket(call)
    if not move(call, FAMILIES["basket"], id, "delete"):
        raise status_invalid("basket", id, basket)
    return {}


def find_basket(call: Call) -> tuple[str, Document]:
    id = call.need("basket")
    basket = call.state.get("baskets", as_kept(id))
    if basket is None:
        raise BankError("basket-unknown", id=id)
    return as_kept(id), basket


def _check_member(call: Call, family: str, id: str, before: list[str], pointer: str | None) -> None:
    kind = FAMILIES[family]
    member = call.state.get(kind.collection, id)
    if member is None:
        raise BankError("member-unknown", path=pointer, id=id)
    if id in before:
        raise BankError("format-error", path=pointer, expected="every member must be named once")
    status = status_of(member)
    unfunded = member.get("unfunded", False)
    if status not in ("awaiting", "RCVD") or unfunded or active_basket(call, member):
        raise BankError("reference-status-invalid", path=pointer, id=id, unfunded=unfunded)
