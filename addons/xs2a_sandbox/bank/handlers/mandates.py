"""Mandates: payments that are authorised first, and executed when the app says so."""

from typing import Any

from xs2a_sandbox.bank.domain.signing import FAMILIES, complete, move, payer_of
from xs2a_sandbox.bank.handlers import inputs
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    BEGUN,
    WHETHER_APART,
    WITH_RESOURCE,
    start_implicit,
)
from xs2a_sandbox.bank.handlers.consents import redirects
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.bank.handlers.payments import (
    EXECUTION,
    ORDER,
    WHO_PAYS,
    check_money,
    clean,
    execution,
    is_covered,
    read_order,
    take_order,
    tell_debtor,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_FAMILY = FAMILIES["mandate"]
_TOLD = "status kind debtor parts amount execute_on schedule sent".split()
_OF_A_PAYMENT = "kind debtor parts amount execute_on schedule batch instant".split()


@handler(
    "mandates.create",
    takes=(inputs.KIND, inputs.INSTANT, *ORDER, inputs.SENT, *WITH_RESOURCE),
    raises="account-not-held credentials-invalid execution-date-invalid format-error period-invalid",
    returns=f"id status self {BEGUN}",
    options={"ids": form("mandates"), **WHO_PAYS, **WHETHER_APART, **APPROACH_OPTIONS},
)
def create(call: Call) -> dict[str, Any]:
    """Create a mandate that nobody has authorised yet."""
    members, _ = read_order(call, take_order(call), call.take("kind") or "single")
    id, path = new_id(call, "mandates", call.options), call.self_path
    own = {"sequence": call.next_number(), "status": "awaiting", "created_at": call.clock.now().isoformat()}
    call.state.put("mandates", id, {**own, "sent": call.take("sent"), **members, **redirects(call)})
    begun = start_implicit(call, _FAMILY, id, f"{path}/{id}")
    return {"id": id, "status": "awaiting", "self": f"{path}/{id}", **begun}


@handler(
    "mandates.read",
    takes=(inputs.MANDATE.needed,),
    raises="mandate-unknown",
    returns=" ".join(["id mandate self", *(f"mandate.{name}" for name in (*_TOLD, "created_at"))]),
)
def read(call: Call) -> dict[str, Any]:
    """Read a mandate."""
    id, mandate = find_mandate(call)
    told = {name: mandate.get(name) for name in (*_TOLD, "created_at")}
    return {"id": id, "mandate": {**told, "debtor": tell_debtor(call, mandate)}, "self": call.self_path}


@handler(
    "payments.execute",
    takes=(inputs.MANDATE.needed, inputs.SERVICE, inputs.PRODUCT, *ORDER, inputs.SENT, inputs.ONCE),
    raises="format-error mandate-differs mandate-invalid mandate-unknown",
    returns="id status service product self",
    options={"ids": form("payments"), **EXECUTION},
)
def execute(call: Call) -> dict[str, Any]:
    """Execute the payment of a mandate, now or on its day, or reject it if there is not enough money."""
    mandate_id, mandate = find_mandate(call)
    if _FAMILY.machine.after(mandate["status"], "executed") is None:
        raise BankError("mandate-invalid", id=mandate_id, status=mandate["status"])
    parts = call.take("parts")
    if parts is not None and [clean(part) for part in parts] != mandate["parts"]:
        raise BankError("mandate-differs", path=call.pointer_of("parts", 0), id=mandate_id)
    moneys = [check_money(call, part["amount"], "parts", n, "amount") for n, part in enumerate(mandate["parts"])]
    covered = is_covered(call, payer_of(mandate), moneys)
    id, family = new_id(call, "payments", call.options), FAMILIES["payment"]
    payment = {
        "sequence": call.next_number(),
        "service": call.take("service"),
        "product": call.take("product"),
        "status": "RCVD",
        "mandate": mandate_id,
        "sent": call.take("sent"),
        **{name: mandate[name] for name in _OF_A_PAYMENT if name in mandate},
        **execution(call),
    }
    call.state.put("payments", id, payment)
    if covered:
        complete(call, family, id, payment)
    else:
        move(call, family, id, "funds do not cover it")
    move(call, _FAMILY, mandate_id, "executed")
    told = {"id": id, "status": (call.state.get("payments", id) or {})["status"], "self": f"{call.self_path}/{id}"}
    return {**told, "service": payment["service"], "product": payment["product"]}


def find_mandate(call: Call) -> tuple[str, Document]:
    id = call.need("mandate")
    mandate = call.state.get("mandates", as_kept(id))
    if mandate is None:
        raise BankError("mandate-unknown", id=id)
    return as_kept(id), mandate
