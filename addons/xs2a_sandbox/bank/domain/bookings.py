"""The movements that payments make, over time, on the accounts they move money between."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from xs2a_sandbox.bank.domain.access import strip_reference
from xs2a_sandbox.bank.domain.schedule import days, standing_order
from xs2a_sandbox.bank.domain.signing import MOVING
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import beginning
from xs2a_sandbox.state import Document

_CENT = Decimal("0.01")
_AVAILABLE = "forwardAvailable"
_COVERING = (_AVAILABLE, "interimAvailable", "expected", "interimBooked", "closingBooked", "openingBooked")
"""The types of balances that can tell what may be paid, the best first."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Money that moves on an account: `amount` in the account's currency, negative where it leaves.

    `order` tells which of two was booked later: by day, then by instant, then by the payment that was made later.
    """

    order: tuple[date, datetime, int]
    pending: bool
    amount: Decimal
    record: Document

    @property
    def day(self) -> date:
        return self.order[0]


def movements(call: Call, iban: str, account: Mapping[str, Any]) -> list[Movement]:
    """All that authorised payments have done to the account, and the next thing each will do; newest first."""
    if call.static or not (moving := call.state.own(MOVING)):
        return []
    today = call.clock.today()
    moved = []
    for id in moving:
        payment = call.state.get("payments", id)
        if payment is None or "authorised" not in payment:
            continue
        until = max(today, date.fromisoformat(payment.get("bookedUntil") or payment["authorised"]))
        for day in _until_next(payment, until):
            order = (day, _instant(payment, day), payment.get("sequence", 0))
            for name, amount, entry in _amounts(call, payment, iban, account["currency"]):
                record = _record(call, payment, entry, day, (account["currency"], amount))
                moved.append(
                    Movement(order, day > until, amount, {"transactionId": f"{id}-{day:%Y%m%d}-{name}", **record})
                )
    return sorted(moved, key=lambda movement: movement.order, reverse=True)


def standing_orders(call: Call, iban: str) -> list[Document]:
    """The periodic payments from the account that somebody has authorised and that execute again; newest first."""
    if call.static or not (moving := call.state.own(MOVING)):
        return []
    today, orders = call.clock.today(), []
    for id in moving:
        payment = call.state.get("payments", id)
        if payment is None or payment["service"] != "periodic-payments" or payment["debtorAccount"]["iban"] != iban:
            continue
        following = next((day for day in _until_next(payment, today) if day > today), None)
        if "authorised" not in payment or "cancelled" in payment or following is None:
            continue
        (entry,) = entries(payment)
        sent = entry["instructedAmount"]
        record = _record(call, payment, entry, following, (sent["currency"], -Decimal(sent["amount"])))
        details = {"additionalInformationStructured": {"standingOrderDetails": standing_order(payment)}}
        undated = {name: value for name, value in record.items() if name not in ("bookingDate", "valueDate")}
        orders.append((payment.get("sequence", 0), {"transactionId": f"{id}-order", **undated, **details}))
    return [order for _, order in sorted(orders, key=lambda pair: pair[0], reverse=True)]


def _instant(payment: Mapping[str, Any], day: date) -> datetime:
    """The moment when it is booked: that of the last signature if that is on this day, else when the day begins."""
    authorised = datetime.fromisoformat(payment.get("authorisedAt", "1970-01-01T00:00:00+00:00"))
    return max(beginning(day), authorised)


def keep_booked(call: Call) -> None:
    """Notes how far payments have been booked, before the clock is set back: what has happened has happened."""
    today = call.clock.today().isoformat()
    for id in call.state.own(MOVING):
        if payment := call.state.get("payments", id):
            call.state.put("payments", id, {**payment, "bookedUntil": max(today, payment.get("bookedUntil", ""))})


def balances(account: Mapping[str, Any], moved: list[Movement]) -> list[Document]:
    """The balances: what is booked moves every one; what is going to leave is no longer available in future.

    What is going to come is not available before it is there.
    """
    if not moved:
        return list(account["balances"])
    booked = sum((m.amount for m in moved if not m.pending), Decimal())
    leaving = sum((m.amount for m in moved if m.pending and m.amount < 0), Decimal())
    day = max((m.day.isoformat() for m in moved if not m.pending), default="")
    return [
        {
            **balance,
            "balanceAmount": {
                **balance["balanceAmount"],
                "amount": str(
                    Decimal(balance["balanceAmount"]["amount"])
                    + (booked + leaving if balance["balanceType"] == _AVAILABLE else booked)
                ),
            },
            "referenceDate": max(balance.get("referenceDate", ""), day) or None,
        }
        for balance in account["balances"]
    ]


def compute_available(call: Call, iban: str, account: Mapping[str, Any]) -> Decimal:
    """The money that can be paid from the account, in its currency."""
    return Decimal(find_covering_amount(balances(account, movements(call, iban, account))) or "0")


def find_covering_amount(balances: Iterable[Mapping[str, Any]]) -> str | None:
    """The amount of the balance that tells what may be paid."""
    held = {balance["balanceType"]: balance["balanceAmount"] for balance in balances}
    return next((held[kind]["amount"] for kind in _COVERING if kind in held), None)


def convert(call: Call, amount: Decimal, currency: str, to: str) -> Decimal | None:
    """Converts an amount at the fixed rates of the test data; None where they have no such rate."""
    if currency == to:
        return amount
    rates: dict[str, Any] = {"EUR": "1", **call.state.testdata().get("rates", {})}
    if currency not in rates or to not in rates:
        return None
    return amount * Decimal(rates[currency]) / Decimal(rates[to])


def _until_next(payment: Mapping[str, Any], today: date) -> Iterator[date]:
    """The days it has executed on and, unless it was cancelled, the next one."""
    cancelled = payment.get("cancelled")
    for day in days(payment):
        if cancelled and day.isoformat() >= cancelled:
            return
        yield day
        if day > today:
            return


def entries(payment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The payments in it, each with its creditor, its amount and what is said of it."""
    request = payment.get("request", payment)
    if "creditorIban" in request:
        return [_of_arrays(request, position) for position, _ in enumerate(request["amount"])]
    if "instructedAmount" not in request and isinstance(request.get("payments"), list):
        return list(request["payments"])
    creditor = request.get("creditorAccount") or payment.get("creditorAccount")
    return [{**request, "creditorAccount": creditor, "instructedAmount": payment["instructedAmount"]}]


def _of_arrays(request: Mapping[str, Any], position: int) -> Mapping[str, Any]:
    """One of the payments of parallel arrays, with the members that a single one has."""
    lists = {name: value for name, value in request.items() if isinstance(value, list) and position < len(value)}
    own = {**request, **{name: value[position] for name, value in lists.items()}}
    amount = {"currency": own["amountCurrency"], "amount": own["amount"]}
    return {**own, "creditorAccount": {"iban": own["creditorIban"]}, "instructedAmount": amount}


def _amounts(
    call: Call, payment: Mapping[str, Any], iban: str, currency: str
) -> Iterator[tuple[str, Decimal, Mapping[str, Any]]]:
    """Each entry of the payment that touches the account: its name, its amount in the account's currency, and itself.

    What leaves is one sum for each currency, where the TPP prefers to have a bulk booked as a batch.
    """
    leaves = payment["debtorAccount"]["iban"] == iban
    sums: dict[str, tuple[int, Decimal]] = {}
    for position, entry in enumerate(entries(payment)):
        sent = entry["instructedAmount"]
        value = convert(call, Decimal(sent["amount"]), sent["currency"], currency)
        if value is None:
            continue
        value = value if sent["currency"] == currency else value.quantize(_CENT, ROUND_HALF_EVEN)
        if leaves and _is_batch(payment):
            number, total = sums.get(sent["currency"], (0, Decimal()))
            sums[sent["currency"]] = number + 1, total + value
        elif leaves:
            yield f"{position}", -value, entry
        if (entry.get("creditorAccount") or {}).get("iban") == iban:
            yield f"{position}-in", value, entry
    for name, (number, total) in sums.items():
        yield f"batch-{name}", -total, {"batchIndicator": True, "batchNumberOfTransactions": number}


def _is_batch(payment: Mapping[str, Any]) -> bool:
    request = payment.get("request", payment)
    return "payments" in request and str(request.get("batchBookingPreferred")).lower() == "true"


def _record(
    call: Call, payment: Mapping[str, Any], entry: Mapping[str, Any], day: date, money: tuple[str, Decimal]
) -> Document:
    """A transaction as it is listed (spec 2.8), but for its id."""
    currency, amount = money
    debtor = payment["debtorAccount"]["iban"]
    account = call.state.get("accounts", debtor) or {}
    creditor = entry.get("creditorAccount") or {}
    return {
        "endToEndId": entry.get("endToEndIdentification") or entry.get("e2eIdentification") or None,
        "creditorId": entry.get("creditorId") or "",
        "bookingDate": day.isoformat(),
        "valueDate": None if day > call.clock.today() else day.isoformat(),
        "transactionAmount": {"currency": currency, "amount": str(amount)},
        "creditorName": entry.get("creditorName") or "",
        "debtorName": account.get("ownerName") or account.get("name", ""),
        "creditorAccount": {"iban": creditor["iban"]}
        if creditor.get("iban")
        else {"iban": None, **strip_reference(creditor)},
        "debtorAccount": {"iban": debtor},
        "remittanceInformationUnstructured": entry.get("remittanceInformationUnstructured") or "",
        **{name: entry[name] for name in ("batchIndicator", "batchNumberOfTransactions") if name in entry},
    }
