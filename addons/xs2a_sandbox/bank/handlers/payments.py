"""Payments: initiated, read, cancelled (spec 2.9 to 2.12, 3.2, 4.2)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from xs2a_sandbox.bank.domain.access import IDENTIFIERS, strip_reference
from xs2a_sandbox.bank.domain.accounts import iban_of
from xs2a_sandbox.bank.domain.amounts import decimals_of
from xs2a_sandbox.bank.domain.balances import compute_available
from xs2a_sandbox.bank.domain.bookings import convert
from xs2a_sandbox.bank.domain.lifecycle import EXECUTED, PAYMENT
from xs2a_sandbox.bank.domain.payees import NOT_POSSIBLE, verify
from xs2a_sandbox.bank.domain.schedule import BULK, SINGLE, T2
from xs2a_sandbox.bank.domain.signing import FAMILIES, abandon, in_state, payer_of
from xs2a_sandbox.bank.formats import pain_001
from xs2a_sandbox.bank.handlers import inputs
from xs2a_sandbox.bank.handlers.approaches import (
    APART,
    APPROACH_OPTIONS,
    BEGUN,
    WHETHER_APART,
    WITH_RESOURCE,
    start_explicit,
    start_implicit,
)
from xs2a_sandbox.bank.handlers.consents import check_currency, find_account, redirects
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.bank.handlers.inputs import read_truth
from xs2a_sandbox.bank.handlers.payees import VERIFICATION, tell_payees
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.documents.formats import as_kept, is_amount
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

type Money = tuple[str, str]
"""Currency and amount, as they were sent."""

BY_ID = (inputs.PAYMENT.needed, inputs.SERVICE.needed, inputs.PRODUCT.needed)
"""The inputs of `find_payment`."""
_STATES = {"type": "array", "items": {"enum": list(PAYMENT.states)}}
_TOLD = "status kind service product debtor parts amount execute_on schedule batch sent".split()
"""The members of a payment that `payments.read` returns."""
ORDER = (inputs.DEBTOR, inputs.PARTS, inputs.EXECUTE_ON, inputs.SCHEDULE, inputs.BATCH)
"""The inputs that define who pays whom, how much and when."""


EXECUTION = {
    "executed": Option("The state of an executed payment.", {"enum": list(EXECUTED)}, default="ACSP"),
    "business_days": Option(
        "The days on which payments are executed: any day, or the days of T2, the Eurosystem's settlement system, "
        "which is closed on weekends and on its holidays. A payment for another day is executed on the next such "
        "day.",
        {"enum": ["any", T2]},
        default="any",
    ),
}
BODY = {
    "body": Option(
        "Where the payment is: in the inputs, or in a body that is XML (pain.001). For a standing order the XML "
        "is the part `xml_sct` of a multipart body, next to `json_standingorderType`.",
        {"enum": ["json", "pain.001"]},
        default="json",
        choices={"pain.001": deeds("headers.content-type")},
    )
}
WHO_PAYS = {
    "payer": Option(
        "The account that pays if the request names none: the `first` account of the customer in the request, or "
        "the account that is `chosen` on the page by the customer who authorises the payment.",
        {"enum": ["first", "chosen"]},
        default="first",
    )
}


@handler(
    "payments.initiate",
    takes=(
        inputs.SERVICE.needed,
        inputs.PRODUCT.needed,
        inputs.KIND,
        inputs.INSTANT,
        inputs.VERIFY_PAYEES,
        *ORDER,
        inputs.SENT,
        inputs.ONCE,
        *WITH_RESOURCE,
    ),
    raises="account-not-held credentials-invalid execution-date-invalid format-error period-invalid",
    returns=f"id status service product self payees {BEGUN}",
    options={
        **BODY,
        **EXECUTION,
        **WHO_PAYS,
        **VERIFICATION,
        "ids": form("payments"),
        **WHETHER_APART,
        **APPROACH_OPTIONS,
    },
)
def initiate(call: Call) -> dict[str, Any]:
    """Create a payment. The bank checks the funds now; the first read of the payment shows the result.

    If the bank verifies payees, `payees` are those that are not a match and that no page shows to the customer, each
    with the `name` in the request, its `name_match` and `suggested_name`.
    """
    service, product = _address(call)
    kind = call.take("kind") or SINGLE
    is_xml = call.options["body"] == "pain.001"
    members, moneys = read_order(call, take_order_or_xml(call, kind), kind)
    id = new_id(call, "payments", call.options)
    document = {
        "sequence": call.next_number(),
        "service": service,
        "product": product,
        "status": "RCVD",
        "created_at": call.now(),
        "sent": None if is_xml else call.take("sent"),
        **members,
        **redirects(call),
    }
    if is_xml:
        document["document"] = {**read_document(call), "message_id": pain_001.message_id(call)}
    document |= execution(call)
    if not is_covered(call, payer_of(document), moneys):
        document["unfunded"] = True
    call.state.put("payments", id, document)
    path = f"{call.self_path}/{id}"
    begun = start_implicit(call, FAMILIES["payment"], id, document, path)
    return {
        "id": id,
        "status": "RCVD",
        "service": service,
        "product": product,
        "self": path,
        "payees": tell_payees(members, begun),
        **begun,
    }


def tell_debtor(call: Call, payment: Mapping[str, Any]) -> Document | None:
    """Return the paying account as the app named it, with its IBAN, or None if none has been chosen yet."""
    debtor = payment.get("debtor")
    return {"iban": iban_of(call, debtor["account"]), **debtor} if debtor else None


def take_order(call: Call) -> dict[str, Any]:
    return {input.name: call.take(input.name) for input in ORDER}


def take_order_or_xml(call: Call, kind: str) -> dict[str, Any]:
    """Return the inputs ORDER, read as the option `body` says."""
    return pain_001.read(call, kind) if call.options["body"] == "pain.001" else take_order(call)


def read_document(call: Call) -> Document:
    """Return the body of the request as it was sent, with its media type."""
    return {"media": call.headers.get("content-type"), "text": call.request.body.decode(errors="replace")}


def read_order(call: Call, order: Mapping[str, Any], kind: str) -> tuple[Document, list[Money]]:
    """Return the members that define who pays whom, how much and when, and all amounts. Raises BankError."""
    account_id = find_payer(call, order["debtor"] or {})
    moneys = _moneys(call, order["parts"])
    _check_texts(call, order["parts"])
    for number, part in enumerate(order["parts"]):
        if account := (part.get("creditor") or {}).get("account"):
            check_currency(call, account, "parts", number, "creditor", "account")
    _check_dates(call, order)
    written = write_order({**order, "instant": call.take("instant")}, account_id)
    members = {"kind": kind, **written, "amount": _total(moneys) if kind == BULK else _write_money(*moneys[0])}
    if read_truth(call.take("verify_payees")):
        verified = [_verify_payee(call, part) for part in written["parts"]]
        if any(verified):
            members["verifications"] = verified
    return members, moneys


def write_order(order: Mapping[str, Any], account: str | None) -> Document:
    """Return the members of a payment that define who pays whom, when and how. Empty ones are left out."""
    parts = [clean(part) for part in order["parts"] or () if isinstance(part, dict)]
    kept = {
        "debtor": {"account": account, **strip_reference(order["debtor"] or {})} if account else None,
        "parts": [part for part in parts if part],
        "execute_on": order.get("execute_on"),
        "schedule": _drop_empty(schedule) if (schedule := order.get("schedule")) else None,
        "instant": read_truth(order.get("instant")),
        "batch": read_truth(order.get("batch")),
    }
    return {name: value for name, value in kept.items() if value}


def execution(call: Call) -> Document:
    """Return the members of a payment that define how the bank executes it, if not in the default way."""
    days, executed = call.options["business_days"], call.options["executed"]
    return {**({"business_days": T2} if days == T2 else {}), **({"executed": executed} if executed != "ACSP" else {})}


@handler(
    "payments.read",
    takes=BY_ID,
    raises="payment-unknown",
    returns=" ".join(["payment", *(f"payment.{name}" for name in _TOLD), "media text message_id"]),
)
def read(call: Call) -> dict[str, Any]:
    """Read a payment, and the data that were `sent`; for XML also `media`, `text` and `message_id`.

    If the account cannot cover the payment, the first read rejects it. Other reads change nothing.
    """
    id, payment = find_payment(call)
    rejected = PAYMENT.after(payment["status"], "funds do not cover it")
    if payment.get("unfunded") and rejected:
        payment = in_state(call, payment, rejected)
        call.state.put("payments", id, payment)
    document = payment.get("document") or {}
    return {
        "payment": {**{name: payment.get(name) for name in _TOLD}, "debtor": tell_debtor(call, payment)},
        **{name: document.get(name) for name in ("media", "text", "message_id")},
    }


@handler(
    "payments.cancel",
    takes=(*BY_ID, *APART),
    raises="cancellation-invalid payment-unknown",
    returns="status approach next",
    options={
        "at_once": Option("The states in which the payment is cancelled at once (CANC).", _STATES, required=True),
        "authorised": Option("The states in which the cancellation must be authorised first.", _STATES, required=True),
    },
)
def cancel(call: Call) -> dict[str, Any]:
    """Cancel a payment, or return how its cancellation must be authorised. `status` is the status afterwards."""
    id, payment = find_payment(call)
    status = payment["status"]
    if status in call.options["at_once"]:
        call.state.put("payments", id, in_state(call, payment, "CANC"))
        abandon(call, payment)
        return {"status": "CANC", "approach": None, "next": []}
    if status not in call.options["authorised"]:
        raise BankError("cancellation-invalid", id=id, status=status)
    return {"status": status, **start_explicit(call, FAMILIES["cancellation"], id)}


def _address(call: Call) -> tuple[str, str]:
    """Return service and product."""
    return call.need("service"), call.need("product")


def find_payment(call: Call) -> tuple[str, Document]:
    """Return the payment and its id. Raises BankError `payment-unknown`, also for another service or product."""
    id = call.need("payment")
    payment = call.state.get("payments", as_kept(id))
    if payment is None or (payment.get("service"), payment.get("product")) != _address(call):
        raise BankError("payment-unknown", id=id)
    return as_kept(id), payment


def _check_dates(call: Call, order: Mapping[str, Any]) -> None:
    schedule = order.get("schedule") or {}
    execution, start, end = order.get("execute_on"), schedule.get("start"), schedule.get("end")
    if execution is start is end is None:
        return
    inputs.check_date(call, execution, "execute_on")
    inputs.check_date(call, start, "schedule", "start")
    inputs.check_date(call, end, "schedule", "end")
    today = call.clock.today().isoformat()
    if execution and execution < today:
        text = f"{call.name_of('execute_on')} must not be before {today}"
        raise BankError("execution-date-invalid", path=call.pointer_of("execute_on"), expected=text)
    place, name = call.pointer_of("schedule", "end"), call.name_of("schedule", "end")
    if start and end and end < start:
        text = f"{name} must not be before {call.name_of('schedule', 'start')}"
        raise BankError("period-invalid", path=place, expected=text)
    if end and end < today:
        raise BankError("period-invalid", path=place, expected=f"{name} must not be before {today}")


def check_money(call: Call, money: Any, *place: str | int) -> Money:
    """Return currency and amount. Raises BankError `format-error` for anything else, or too many decimals.

    `place` is the input with the amount, and the steps to it.
    """
    currency, amount = (money.get("currency"), money.get("amount")) if isinstance(money, dict) else (None, None)
    input, *steps = place
    if not isinstance(currency, str) or not isinstance(amount, str):
        text = f"{call.name_of(str(input), *steps)} must have a currency and an amount"
        raise BankError("format-error", path=call.pointer_of(str(input), *steps), expected=text)
    decimals = decimals_of(currency)
    if is_amount(amount) and len(amount.partition(".")[2]) <= decimals:
        return currency, amount
    text = f"an amount in {currency} has at most {decimals} decimals"
    expected = text if is_amount(amount) else "an amount is written with a dot, such as 12.34"
    raise BankError("format-error", path=call.pointer_of(str(input), *steps, "amount"), expected=expected)


def find_payer(call: Call, debtor: Mapping[str, Any]) -> str | None:
    """Return the id of the account that pays, or None if the customer has yet to choose it.

    The default is the customer's first account. Raises BankError.
    """
    if any(debtor.values()):
        return find_account(call, debtor, "debtor")
    if call.options["payer"] == "chosen":
        return None
    psu = call.take("customer")
    accounts = call.state.all("accounts").items()
    account_id = next((id for id, account in accounts if psu and account["psuId"] == psu), None)
    if account_id is None:
        text = (
            f"{call.name_of('debtor')} is missing; without it {call.place_of('customer')} must say whose account pays"
        )
        raise BankError("format-error", path=call.pointer_of("debtor"), expected=text)
    return account_id


def _verify_payee(call: Call, part: Mapping[str, Any]) -> Document | None:
    """Verify the payee of a part that is paid in EUR to an IBAN. Return None for other parts."""
    creditor = part.get("creditor") or {}
    if part["amount"]["currency"] != "EUR" or not (creditor.get("account") or {}).get("iban"):
        return None
    outcome = verify(call, {"name": creditor.get("name"), "account": creditor["account"]}, call.options["verification"])
    return {"name_match": outcome["name_match"] or NOT_POSSIBLE, "suggested_name": outcome["suggested_name"]}


def _moneys(call: Call, parts: Any) -> list[Money]:
    if not isinstance(parts, list) or {*map(type, parts)} != {dict}:
        text = f"{call.name_of('parts')} must be a list of one or more payments"
        raise BankError("format-error", path=call.pointer_of("parts"), expected=text)
    return [check_money(call, part.get("amount"), "parts", number, "amount") for number, part in enumerate(parts)]


def is_covered(call: Call, account_id: str | None, moneys: Sequence[Money]) -> bool:
    """Return whether the account has enough money. True if no account has been chosen yet. Raises BankError."""
    if account_id is None:
        return True
    account = call.state.get("accounts", account_id) or {}
    total = Decimal()
    for number, (currency, amount) in enumerate(moneys):
        value = convert(call, Decimal(amount), currency, account["currency"])
        if value is None:
            place = call.pointer_of("parts", number, "amount", "currency")
            raise BankError("format-error", path=place, expected=f"the bank has no exchange rate for {currency}")
        total += value
    return total <= compute_available(call, account_id, account)


_TEXTS: Mapping[str, Any] = {
    "end_to_end_id": str,
    "remittance": {"text": str},
    "creditor": {"name": str, "account": dict.fromkeys((*IDENTIFIERS, "currency"), str)},
}
"""The members of a part that must be texts, and the objects that contain texts."""


def _make_type(members: Mapping[str, Any]) -> Any:
    """Return the type of an object with these members, each of which can be missing or null."""
    types = ((name, str if form is str else _make_type(form)) for name, form in members.items())
    return msgspec.defstruct("Texts", [(name, member | None, None) for name, member in types])


_PART = _make_type(_TEXTS)


def _check_texts(call: Call, parts: Sequence[Mapping[str, Any]]) -> None:
    """Raise BankError `format-error` if a member has the wrong type."""
    try:
        for part in parts:
            msgspec.convert(part, _PART)
    except msgspec.ValidationError:
        _refuse_text(call, parts)


def _refuse_text(call: Call, parts: Sequence[Mapping[str, Any]]) -> None:
    """Raise BankError `format-error` with the first member that has the wrong type."""
    objects: list[tuple[Mapping[str, Any], Mapping[str, Any], tuple[str | int, ...]]]
    objects = [(_TEXTS, part, (number,)) for number, part in enumerate(parts)]
    for expected, members, place in objects:
        for name, value in members.items():
            form = expected.get(name)
            if form is None or value is None or (form is str and isinstance(value, str)):
                continue
            if form is str or not isinstance(value, dict):
                text = f"{call.name_of('parts', *place, name)} must be {'text' if form is str else 'an object'}"
                raise BankError("format-error", path=call.pointer_of("parts", *place, name), expected=text)
            objects.append((form, value, (*place, name)))


def _total(moneys: Sequence[Money]) -> Document | None:
    """Return the sum of a bulk payment, or None if there are several currencies."""
    (currency, _), *_ = moneys
    if any(other != currency for other, _ in moneys):
        return None
    return _write_money(currency, str(sum((Decimal(amount) for _, amount in moneys), Decimal())))


def _write_money(currency: str, amount: str) -> Document:
    return {"currency": currency, "amount": amount}


def clean(part: Mapping[str, Any]) -> Document:
    """Return the part without empty members."""
    creditor = part.get("creditor") or {}
    account = strip_reference(creditor.get("account") or {})
    return _drop_empty({**part, "creditor": {**creditor, "account": account}})


def _drop_empty(members: Mapping[str, Any]) -> Document:
    """Return a copy without members that have no value. Numbers and false are values."""
    kept = {}
    for name, value in members.items():
        if type(value) is dict:
            value = _drop_empty(value)
        if value or value is False or value == 0:
            kept[name] = value
    return kept
