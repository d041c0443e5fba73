"""Mandates: payments that are authorised first, and executed when the app requests it."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import NONE
from xs2a_sandbox.bank.domain.periods import PERIODS, beginning_of
from xs2a_sandbox.bank.domain.schedule import SINGLE
from xs2a_sandbox.bank.domain.signing import FAMILIES, complete, in_state, move, payer_of
from xs2a_sandbox.bank.handlers import inputs
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    BEGUN,
    NOTHING_BEGUN,
    WHETHER_APART,
    WITH_RESOURCE,
    start_implicit,
)
from xs2a_sandbox.bank.handlers.consents import redirects
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.bank.handlers.payees import VERIFICATION, tell_payees
from xs2a_sandbox.bank.handlers.payments import (
    BODY,
    EXECUTION,
    ORDER,
    WHO_PAYS,
    Money,
    check_money,
    clean,
    execution,
    find_payer,
    is_covered,
    read_document,
    read_order,
    take_order,
    take_order_or_xml,
    tell_debtor,
    write_order,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document, Transaction, long_list

_FAMILY = FAMILIES["mandate"]
_PAYMENTS_OF = "_mandate-payments"
"""The collection of lists of payments, by mandate."""
_TOLD = "status kind debtor parts amount execute_on schedule sent".split()
_OF_A_PAYMENT = "kind debtor parts amount execute_on schedule batch instant".split()


@handler(
    "mandates.create",
    takes=(
        inputs.KIND,
        inputs.INSTANT,
        inputs.VERIFY_PAYEES,
        *ORDER,
        inputs.SENT,
        inputs.RECURRING,
        inputs.LIMITS,
        inputs.ONCE,
        *WITH_RESOURCE,
    ),
    raises="account-not-held credentials-invalid execution-date-invalid format-error period-invalid",
    returns=f"id status self payees {BEGUN}",
    options={
        "ids": form("mandates"),
        "payments": Option(
            "Whether the request has the payments (`now`), or another one brings them (`later`), which "
            "`mandates.complete` answers. Until then nobody can authorise the mandate.",
            {"enum": ["now", "later"]},
            default="now",
        ),
        **WHO_PAYS,
        **VERIFICATION,
        **WHETHER_APART,
        **APPROACH_OPTIONS,
    },
)
def create(call: Call) -> dict[str, Any]:
    """Create a mandate that nobody has authorised yet; `payees` are the same as for payments.

    A `recurring` mandate is for any number of payments, which have amounts and references of their own.
    """
    kind, is_later = call.take("kind") or SINGLE, call.options["payments"] == "later"
    order = take_order(call)
    if is_later:
        members = {"kind": kind, **write_order({**order, "parts": None}, find_payer(call, order["debtor"] or {}))}
    else:
        members, _ = read_order(call, order, kind)
    if inputs.read_wish(call, inputs.RECURRING):
        members |= {"recurring": True, "limits": _read_limits(call)}
    id, path = new_id(call, "mandates", call.options), call.self_path
    status = _FAMILY.machine.after(NONE, "create, payments later" if is_later else "create")
    own = {"sequence": call.next_number(), "status": status, "created_at": call.now()}
    mandate = {**own, "sent": call.take("sent"), **members, **redirects(call)}
    call.state.put("mandates", id, mandate)
    begun = NOTHING_BEGUN if is_later else start_implicit(call, _FAMILY, id, mandate, f"{path}/{id}")
    payees = tell_payees(members, begun)
    return {"id": id, "status": status, "self": f"{path}/{id}", "payees": payees, **begun}


@handler(
    "mandates.complete",
    takes=(
        inputs.MANDATE.needed,
        inputs.KIND,
        inputs.INSTANT,
        inputs.VERIFY_PAYEES,
        *ORDER,
        inputs.PART_COUNT,
        inputs.CONTROL_SUM,
        inputs.ONCE,
        *WITH_RESOURCE,
    ),
    reads="headers.content-type",
    raises="account-not-held credentials-invalid execution-date-invalid format-error mandate-differs mandate-invalid "
    "mandate-unknown period-invalid",
    returns=f"id status payees {BEGUN}",
    options={**BODY, **WHO_PAYS, **VERIFICATION, **WHETHER_APART, **APPROACH_OPTIONS},
)
def add_payments(call: Call) -> dict[str, Any]:
    """Add the payments to a mandate that was created without them. Now customers can authorise it.

    The body of the request is kept: `mandates.read` returns it. The payer can be in either request.
    """
    id, mandate = find_mandate(call)
    status = _FAMILY.machine.after(mandate["status"], "complete")
    if status is None:
        raise BankError("mandate-invalid", id=id, status=mandate["status"])
    kind = call.take("kind") or mandate["kind"]
    order = take_order_or_xml(call, kind)
    named = {name: value for name, value in (mandate.get("debtor") or {}).items() if name != "account"}
    members, moneys = read_order(call, {**order, "debtor": order["debtor"] or named}, kind)
    if named and payer_of(members) != payer_of(mandate):
        raise BankError("mandate-differs", path=call.pointer_of("debtor"), id=id)
    _check_announced(call, moneys)
    completed = in_state(call, {**mandate, **members, "document": read_document(call)}, status)
    call.state.put("mandates", id, completed)
    begun = start_implicit(call, _FAMILY, id, completed, call.self_path)
    return {"id": id, "status": status, "payees": tell_payees(members, begun), **begun}


def _check_announced(call: Call, moneys: Sequence[Money]) -> None:
    """Raises BankError `format-error` if there are more or fewer payments, or another sum, than the app announced."""
    count, total = call.take("part_count"), call.take("control_sum")
    if count is not None and str(count) != str(len(moneys)):
        raise BankError("format-error", expected=f"there must be {count} payments, not {len(moneys)}")
    paid = sum((Decimal(amount) for _, amount in moneys), Decimal())
    if total is not None and Decimal(str(total)) != paid:
        raise BankError("format-error", expected=f"the amounts must add up to {total}, not {paid}")


@handler(
    "mandates.read",
    takes=(inputs.MANDATE.needed,),
    raises="mandate-unknown",
    returns=" ".join(["id mandate self media text", *(f"mandate.{name}" for name in (*_TOLD, "created_at"))]),
)
def read(call: Call) -> dict[str, Any]:
    """Read a mandate; `text` and `media` are the body of the request that completed it."""
    id, mandate = find_mandate(call)
    told = {name: mandate.get(name) for name in (*_TOLD, "created_at")}
    document = mandate.get("document") or {}
    return {
        "id": id,
        "mandate": {**told, "debtor": tell_debtor(call, mandate)},
        "self": call.self_path,
        **{name: document.get(name) for name in ("media", "text")},
    }


@handler(
    "payments.execute",
    takes=(inputs.MANDATE.needed, inputs.SERVICE, inputs.PRODUCT, *ORDER, inputs.SENT, inputs.ONCE),
    raises="format-error mandate-differs mandate-exceeded mandate-invalid mandate-unknown",
    returns="id status service product self",
    options={"ids": form("payments"), **EXECUTION},
)
def execute(call: Call) -> dict[str, Any]:
    """Execute the payment of a mandate, now or on its day, or reject it if there is not enough money."""
    mandate_id, mandate = find_mandate(call)
    if _FAMILY.machine.after(mandate["status"], "executed") is None:
        raise BankError("mandate-invalid", id=mandate_id, status=mandate["status"])
    order, sent = {name: mandate[name] for name in _OF_A_PAYMENT if name in mandate}, call.take("parts")
    parts = mandate["parts"] if sent is None else [clean(part) for part in sent]
    is_recurring = bool(mandate.get("recurring"))
    if parts != mandate["parts"] and not (is_recurring and [*map(_fixed, parts)] == [*map(_fixed, mandate["parts"])]):
        raise BankError("mandate-differs", path=call.pointer_of("parts", 0), id=mandate_id)
    moneys = [check_money(call, part.get("amount"), "parts", n, "amount") for n, part in enumerate(parts)]
    if is_recurring:
        _check_limits(call, mandate_id, mandate, moneys)
        order |= {"parts": parts, "amount": dict(zip(("currency", "amount"), moneys[0], strict=True))}
    covered = is_covered(call, payer_of(mandate), moneys)
    id, family = new_id(call, "payments", call.options), FAMILIES["payment"]
    payment = {
        "sequence": call.next_number(),
        "service": call.take("service"),
        "product": call.take("product"),
        "status": "RCVD",
        "created_at": call.now(),
        "mandate": mandate_id,
        "sent": call.take("sent"),
        **order,
        **execution(call),
    }
    call.state.put("payments", id, payment)
    if covered:
        complete(call, family, id, payment)
    else:
        move(call, family, id, "funds do not cover it")
    if not is_recurring:
        move(call, _FAMILY, mandate_id, "executed")
    told = {"id": id, "status": (call.state.get("payments", id) or {})["status"], "self": f"{call.self_path}/{id}"}
    return {**told, "service": payment["service"], "product": payment["product"]}


def _read_limits(call: Call) -> list[Document]:
    """Raises BankError `format-error`."""
    limits = call.take("limits") or []
    for number, limit in enumerate(limits):
        check_money(call, limit, "limits", number)
        if limit.get("period") not in (None, *PERIODS):
            expected = f"a period must be one of {', '.join(PERIODS)}"
            raise BankError("format-error", path=call.pointer_of("limits", number, "period"), expected=expected)
    return [{name: value for name, value in limit.items() if value is not None} for limit in limits]


def _fixed(part: Mapping[str, Any]) -> Document:
    """Return the members that all payments of a recurring mandate share: those of the payee."""
    return {name: value for name, value in part.items() if name not in ("amount", "end_to_end_id", "remittance")}


def _check_limits(call: Call, id: str, mandate: Mapping[str, Any], moneys: Sequence[Money]) -> None:
    """Raises BankError if these payments are more than a limit permits, or in a currency that has none."""
    today, earlier, limits = call.clock.today(), _earlier_payments(call, id), mandate["limits"]
    if limits and not {currency for currency, _ in moneys} <= {limit["currency"] for limit in limits}:
        raise BankError("mandate-differs", path=call.pointer_of("parts", 0, "amount"), id=id)
    for limit in limits:
        limited = [Decimal(amount) for currency, amount in moneys if currency == limit["currency"]]
        if period := limit.get("period"):
            since = date.fromisoformat(mandate["created_at"][:10]) if limit.get("from") == "mandate" else None
            first = beginning_of(period, today, since).isoformat()
            spent = (part["amount"] for day, part in earlier if day >= first)
            limited.append(sum((Decimal(m["amount"]) for m in spent if m["currency"] == limit["currency"]), Decimal()))
        if sum(limited) > Decimal(limit["amount"]):
            raise BankError(
                "mandate-exceeded",
                path=call.pointer_of("parts", 0, "amount"),
                id=id,
                limit=f"{limit['amount']} {limit['currency']}",
                period=period or "payment",
            )


def _earlier_payments(call: Call, mandate: str) -> list[tuple[str, Document]]:
    """Return the parts of all payments of the mandate that were not rejected, each with its day."""
    ids = dict.fromkeys((*long_list.read(call.state, _PAYMENTS_OF, mandate), *call.state.written("payments")))
    payments = call.state.get_each("payments", ids).values()
    of_mandate = (payment for payment in payments if payment.get("mandate") == mandate and "authorised_on" in payment)
    return [(payment["authorised_on"], part) for payment in of_mandate for part in payment["parts"]]


def note_mandates(state: Transaction) -> None:
    """Note the payments of mandates, so that their limits need not search all payments."""
    for id in state.written("payments"):
        mandate = (state.get("payments", id) or {}).get("mandate")
        if mandate and mandate != (state.before("payments", id) or {}).get("mandate"):
            long_list.add(state, _PAYMENTS_OF, str(mandate), id)


def find_mandate(call: Call) -> tuple[str, Document]:
    id = call.need("mandate")
    mandate = call.state.get("mandates", as_kept(id))
    if mandate is None:
        raise BankError("mandate-unknown", id=id)
    return as_kept(id), mandate
