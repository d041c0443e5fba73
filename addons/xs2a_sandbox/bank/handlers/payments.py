"""Payments: initiated, read, cancelled (spec 2.9 to 2.12, 3.2, 4.2)."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.domain.access import strip_reference
from xs2a_sandbox.bank.domain.bookings import compute_available, convert
from xs2a_sandbox.bank.domain.lifecycle import EXECUTED, PAYMENT
from xs2a_sandbox.bank.domain.schedule import T2
from xs2a_sandbox.bank.domain.signing import FAMILIES, abandon
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
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler, places
from xs2a_sandbox.documents.formats import as_kept, is_amount
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_SHOWN = (
    "endToEndIdentification debtorAccount creditorAccount instructedAmount creditorAgent creditorName creditorAddress "
    "remittanceInformationUnstructured remittanceInformationStructured transactionStatus creditorAgentIdType "
    "creditorAgentOtherId"
).split()
"""The members of a payment as it is read (spec 2.11)."""
_ADDRESS = {
    "streetName": "creditorAddressStreet",
    "buildingNumber": "creditorAddressBuildingNumber",
    "townName": "creditorAddressCity",
    "postCode": "creditorAddressPostalCode",
    "country": "creditorAddressCountryCode",
}
_ADDRESS_IN_ONE = ("country", "townName", "postCode", "streetName", "buildingNumber")
_DECIMALS = dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0)
_DECIMALS |= dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)
"""ISO 4217 minor units where they are not two."""

_EMPTY: Document = {
    "endToEndIdentification": "",
    "creditorAccount": {},
    "creditorName": "",
    "instructedAmount": {},
    "remittanceInformationStructured": {},
}
"""Members that are never null; a bulk, whose payments differ in them, has no value there."""

Money = tuple[str, str]
"""Currency and amount, as they were sent."""


BY_ID = (inputs.PAYMENT.needed, inputs.SERVICE.needed, inputs.PRODUCT.needed)
"""What `find_payment` takes."""
_ALONE = (
    "body/creditorAccountBban body/creditorAddressBuildingNumber body/creditorAddressCity "
    "body/creditorAddressCountryCode body/creditorAddressPostalCode body/creditorAddressStreet body/creditorAdress "
    "body/creditorAgent body/creditorAgentIdType body/creditorAgentOtherId body/creditorName body/e2eIdentification "
    "body/instructedAmount body/remittanceInformationStructured body/remittanceInformationUnstructured"
)
"""The members that a payment is read back with; of a bulk they are never looked at."""
_STATES = {"type": "array", "items": {"enum": list(PAYMENT.states)}}
_RESULT = " ".join(["payment", *(f"payment.{name}" for name in _SHOWN), "sent media text messageId"])
_OURS = frozenset(
    "service product sequence unfunded businessDays executed authorised authorisedAt authorisations "
    "authorisationsSignedBy cancellationAuthorisations cancellationAuthorisationsSignedBy cancelled bookedUntil "
    "redirectUri nokRedirectUri basket".split()
)
"""The members of the state of a payment that are no part of it."""


@handler(
    "payments.initiate",
    takes=(inputs.SERVICE.needed, inputs.PRODUCT.needed, inputs.ONCE, *WITH_RESOURCE),
    reads="body/creditorAccount body/debtorAccount body/endDate body/endToEndIdentification "
    f"body/requestedExecutionDate body/startDate {_ALONE}",
    raises="account-not-held credentials-invalid execution-date-invalid format-error period-invalid",
    returns=f"transactionStatus paymentId service product self {BEGUN}",
    options={
        "bulk": Option(
            "The body holds several payments: `true` as parallel arrays, with one entry for each, `payments` as a list "
            "of that name.",
            {"enum": [False, True, "payments"]},
            default=False,
            deeds=deeds("body/amount body/amountCurrency"),
            choices={"payments": deeds("body/payments")},
            instead=places(_ALONE),
        ),
        "body": Option(
            "What the body is: JSON, or the XML pain.001. Of a standing order that is the part `xml_sct` of a "
            "multipart body, beside `json_standingorderType`; of `bulk-payments` it is a bulk.",
            {"enum": ["json", "pain.001"]},
            default="json",
            choices={"pain.001": deeds("headers.content-type")},
        ),
        "executed": Option("The state of a payment that has been executed.", {"enum": list(EXECUTED)}, default="ACSP"),
        "business_days": Option(
            "On which days payments execute: any, or those of T2, the Eurosystem's settlement, which is closed on "
            "weekends and on its holidays; what falls on another day executes on the next.",
            {"enum": ["any", T2]},
            default="any",
        ),
        "ids": form("payments"),
        **WHETHER_APART,
        **APPROACH_OPTIONS,
    },
)
def initiate(call: Call) -> dict[str, Any]:
    """A new payment. Whether there are funds is decided now and kept; the first read of the payment says it."""
    service, product = _kind(call)
    body, bulk = _body(call, service)
    iban = _payer(call, body.get("debtorAccount"))
    moneys = _moneys(body, bulk)
    for pointer, creditor in _creditors(body, bulk):
        check_currency(call, creditor, pointer)
    _check_dates(call, body)
    id = new_id(call, "payments", call.options)
    document = {
        "sequence": call.next_number(),
        "service": service,
        "product": product,
        **(_bulk_record(body, moneys) if bulk else _record(body)),
        "debtorAccount": {**strip_reference(body.get("debtorAccount") or {}), "iban": iban},
        "transactionStatus": "RCVD",
        "request": body,
        **redirects(call),
    }
    if call.options["body"] == "pain.001":
        document["sent"] = {
            "media": call.headers["content-type"],
            "text": call.request.body.decode(errors="replace"),
            "messageId": pain_001.message_id(call),
        }
    if call.options["business_days"] == T2:
        document["businessDays"] = T2
    if (executed := call.options["executed"]) != "ACSP":
        document["executed"] = executed
    covered = _is_covered(call, iban, moneys)
    call.state.put("payments", id, document if covered else {**document, "unfunded": True})
    path = f"{call.self_path}/{id}"
    return {
        "transactionStatus": "RCVD",
        "paymentId": id,
        "service": service,
        "product": product,
        "self": path,
        **start_implicit(call, FAMILIES["payment"], id, path),
    }


@handler("payments.read", takes=BY_ID, raises="payment-unknown", returns=_RESULT)
def read(call: Call) -> dict[str, Any]:
    """The payment as xs2a-1.84 has it, and as it was `sent`: in JSON, of XML also `media`, `text` and `messageId`.

    The first read of a payment that the account cannot cover rejects it; all others change nothing.
    """
    id, payment = find_payment(call)
    rejected = PAYMENT.after(payment["transactionStatus"], "funds do not cover it")
    if payment.get("unfunded") and rejected:
        payment = {**payment, "transactionStatus": rejected}
        call.state.put("payments", id, payment)
    members = {name: payment[name] for name in _SHOWN if payment.get(name) is not None}
    request = payment.get("request") or {name: value for name, value in payment.items() if name not in _OURS}
    sent = payment.get("sent") or {}
    return {
        "payment": {**_EMPTY, **members},
        "sent": {
            **request,
            "debtorAccount": request.get("debtorAccount") or payment["debtorAccount"],
            "transactionStatus": payment["transactionStatus"],
        },
        **{name: sent.get(name) for name in ("media", "text", "messageId")},
    }


@handler(
    "payments.cancel",
    takes=(*BY_ID, *APART),
    raises="cancellation-invalid payment-unknown",
    returns="transactionStatus approach next",
    options={
        "at_once": Option("The states that end in CANC now.", _STATES, required=True),
        "authorised": Option("The states that need an authorisation first.", _STATES, required=True),
    },
)
def cancel(call: Call) -> dict[str, Any]:
    """The status after it: cancelled, or as it was, where that has to be authorised, in the way that it tells."""
    id, payment = find_payment(call)
    status = payment["transactionStatus"]
    if status in call.options["at_once"]:
        call.state.put("payments", id, {**payment, "transactionStatus": "CANC"})
        abandon(call, payment)
        return {"transactionStatus": "CANC", "approach": None, "next": []}
    if status not in call.options["authorised"]:
        raise BankError("cancellation-invalid", id=id, status=status)
    return {"transactionStatus": status, **start_explicit(call, FAMILIES["cancellation"], id)}


def _kind(call: Call) -> tuple[str, str]:
    """Service and product."""
    return call.need("service"), call.need("product")


def find_payment(call: Call) -> tuple[str, Document]:
    """A payment is only known under the service and product it was initiated with."""
    id = call.need("payment")
    payment = call.state.get("payments", as_kept(id))
    if payment is None or (payment["service"], payment["product"]) != _kind(call):
        raise BankError("payment-unknown", id=id)
    return as_kept(id), payment


def _check_dates(call: Call, body: Mapping[str, Any]) -> None:
    today = call.clock.today().isoformat()
    execution = body.get("requestedExecutionDate")
    if execution and execution < today:
        text = f"requestedExecutionDate must not be before {today}"
        raise BankError("execution-date-invalid", path="/requestedExecutionDate", expected=text)
    start, end = body.get("startDate"), body.get("endDate")
    if start and end and end < start:
        raise BankError("period-invalid", path="/endDate", expected="endDate must not be before startDate")
    if end and end < today:
        raise BankError("period-invalid", path="/endDate", expected=f"endDate must not be before {today}")


def money(amount: Mapping[str, str], pointer: str) -> Money:
    """Raises BankError `format-error` where the amount is none, or has more decimals than the currency."""
    return _check(amount["currency"], amount["amount"], f"{pointer}/amount")


def _check(currency: str, amount: str, pointer: str) -> Money:
    if not is_amount(amount):
        raise BankError("format-error", path=pointer, expected="an amount is written with a dot, such as 12.34")
    decimals = _DECIMALS.get(currency, 2)
    if len(amount.partition(".")[2]) > decimals:
        text = f"an amount in {currency} has at most {decimals} decimals"
        raise BankError("format-error", path=pointer, expected=text)
    return currency, amount


def _body(call: Call, service: str) -> tuple[Mapping[str, Any], Any]:
    """The body as JSON, and how it holds several payments, if it does."""
    if call.options["body"] == "json":
        return call.body, call.options["bulk"]
    bulk = service == "bulk-payments"
    body = pain_001.read(call, bulk=bulk, periodic=service == "periodic-payments")
    return body, "payments" if bulk else False


def _payer(call: Call, reference: Mapping[str, Any] | None) -> str:
    """The IBAN of the account that pays; where none is named, it is the customer's first."""
    if reference:
        return find_account(call, reference, "/debtorAccount")
    psu = call.take("customer")
    accounts = call.state.all("accounts").items()
    iban = next((iban for iban, account in accounts if psu and account["psuId"] == psu), None)
    if iban is None:
        text = f"debtorAccount is missing; without it {call.place_of('customer')} must say whose account pays"
        raise BankError("format-error", path="/debtorAccount", expected=text)
    return iban


def _creditors(body: Mapping[str, Any], bulk: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """The accounts that receive money, with their places."""
    if bulk == "payments":
        return [
            (f"/payments/{i}/creditorAccount", payment.get("creditorAccount") or {}) for i, payment in _payments(body)
        ]
    return [("/creditorAccount", body.get("creditorAccount") or {})]


def _payments(body: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    payments = body.get("payments")
    if not isinstance(payments, list) or not payments or not all(isinstance(payment, dict) for payment in payments):
        raise BankError("format-error", path="/payments", expected="payments must be a list of one payment or more")
    return list(enumerate(payments))


def _moneys(body: Mapping[str, Any], bulk: Any) -> dict[str, Money]:
    """All that is paid, by the place of its currency."""
    if bulk == "payments":
        amounts = {
            f"/payments/{i}/instructedAmount": _amount(payment, f"/payments/{i}") for i, payment in _payments(body)
        }
    elif bulk:
        return _read_parallel_moneys(body)
    else:
        amounts = {"/instructedAmount": _amount(body)}
    return {f"{pointer}/currency": money(amount, pointer) for pointer, amount in amounts.items()}


def _amount(payment: Mapping[str, Any], pointer: str = "") -> Mapping[str, str]:
    amount = payment.get("instructedAmount")
    if not isinstance(amount, dict) or not all(
        isinstance(amount.get(member), str) for member in ("currency", "amount")
    ):
        text = "instructedAmount must have a currency and an amount"
        raise BankError("format-error", path=f"{pointer}/instructedAmount", expected=text)
    return amount


def _read_parallel_moneys(body: Mapping[str, Any]) -> dict[str, Money]:
    for name in ("amount", "amountCurrency"):
        if not isinstance(body.get(name), list) or not all(isinstance(value, str) for value in body[name]):
            raise BankError("format-error", path=f"/{name}", expected=f"{name} must be a list of texts")
    count = len(body["amount"])
    for name, value in body.items():
        if isinstance(value, list) and name in _PARALLEL and len(value) != count:
            text = f"{name} has {len(value)} entries, amount has {count}; one of each per payment"
            raise BankError("format-error", path=f"/{name}", expected=text)
    pairs = zip(body["amountCurrency"], body["amount"], strict=True)
    return {
        f"/amountCurrency/{i}": _check(currency, amount, f"/amount/{i}") for i, (currency, amount) in enumerate(pairs)
    }


_PARALLEL = frozenset(
    {"amount", "amountCurrency", "creditorIban", "creditorName", "e2eIdentification"}
    | {"remittanceInformationStructured", "remittanceInformationUnstructured"}
)


def _is_covered(call: Call, iban: str, moneys: Mapping[str, Money]) -> bool:
    account = call.state.get("accounts", iban) or {}
    total = Decimal()
    for pointer, (currency, amount) in moneys.items():
        value = convert(call, Decimal(amount), currency, account["currency"])
        if value is None:
            raise BankError("format-error", path=pointer, expected=f"the bank has no exchange rate for {currency}")
        total += value
    return total <= compute_available(call, iban, account)


def _record(body: Mapping[str, Any]) -> Document:
    """A payment as it is read back (spec 2.11), from the flat members it was initiated with (spec 2.9)."""
    creditor = strip_reference(body.get("creditorAccount") or {})
    if bban := body.get("creditorAccountBban"):
        creditor["bban"] = bban
    amount = body["instructedAmount"]
    structured = body.get("remittanceInformationStructured") or {}
    reference = structured if isinstance(structured, str) else structured.get("reference")
    return {
        "endToEndIdentification": body.get("endToEndIdentification") or body.get("e2eIdentification") or "",
        "creditorAccount": creditor,
        "instructedAmount": {"currency": amount["currency"], "amount": amount["amount"]},
        "creditorAgent": body.get("creditorAgent") or None,
        "creditorName": body.get("creditorName"),
        "creditorAddress": _address(body),
        "remittanceInformationUnstructured": body.get("remittanceInformationUnstructured") or None,
        "remittanceInformationStructured": {"reference": reference or None},
        "creditorAgentIdType": body.get("creditorAgentIdType") or None,
        "creditorAgentOtherId": body.get("creditorAgentOtherId") or None,
    }


def _bulk_record(body: Mapping[str, Any], moneys: Mapping[str, Money]) -> Document:
    """The record of a bulk; in several currencies it has no total."""
    currencies = {currency for currency, _ in moneys.values()}
    total = sum((Decimal(amount) for _, amount in moneys.values()), Decimal())
    (currency, _), *_ = moneys.values()
    amount = {"currency": currency, "amount": str(total)} if len(currencies) == 1 else None
    return {"endToEndIdentification": body.get("endToEndIdentification") or "", "instructedAmount": amount}


def _address(body: Mapping[str, Any]) -> dict[str, Any] | None:
    in_one = body.get("creditorAdress")
    if in_one:
        parts = [part.strip() or None for part in in_one.split(";")]
        address = dict(zip(_ADDRESS_IN_ONE, parts, strict=False))
    else:
        address = {name: body.get(member) or None for name, member in _ADDRESS.items()}
    return address if any(address.values()) else None
