"""The movements on accounts that payments cause over time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import partial
from typing import Any

from xs2a_sandbox.bank.domain.access import strip_reference
from xs2a_sandbox.bank.domain.accounts import with_id
from xs2a_sandbox.bank.domain.schedule import STANDING, days, standing_order
from xs2a_sandbox.bank.domain.signing import MOVING, payer_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import beginning
from xs2a_sandbox.state import Document

_CENT = Decimal("0.01")
_AVAILABLE = "FWAV"
_COVERING = (_AVAILABLE, "ITAV", "XPCD", "ITBD", "CLBD", "OPBD")
"""The types of balances that show the available money, the best first."""


@dataclass(frozen=True, slots=True)
class Movement:
    """A movement on an account: `amount` is in the account's currency, and negative if money leaves.

    `order` sorts movements by booking: by day, then by instant, then by the creation of the payment.
    """

    order: tuple[date, datetime, int]
    pending: bool
    amount: Decimal
    write: Callable[[], Document]

    @property
    def day(self) -> date:
        return self.order[0]

    @property
    def record(self) -> Document:
        """The entry on the account. It is written at each use, because sums do without it."""
        return self.write()


def movements(call: Call, account: Mapping[str, Any]) -> list[Movement]:
    """Return the past bookings of authorised payments on the account, and each payment's next one; newest first."""
    if call.static or not (moving := call.state.own(MOVING)):
        return []
    today = call.clock.today()
    moved = []
    for id in moving:
        payment = call.state.get("payments", id)
        if payment is None or "authorised_on" not in payment:
            continue
        amounts = list(_amounts(call, payment, account))
        if not amounts:
            continue
        until = max(today, date.fromisoformat(payment.get("booked_until") or payment["authorised_on"]))
        for day in _until_next(payment, until):
            order = (day, _instant(payment, day), payment.get("sequence", 0))
            for name, amount, entry in amounts:
                entry_id, money = f"{id}-{day:%Y%m%d}-{name}", (account["currency"], amount)
                write = partial(_record, call, entry_id, payment, entry, day, money)
                moved.append(Movement(order, day > until, amount, write))
    return sorted(moved, key=lambda movement: movement.order, reverse=True)


def standing_orders(call: Call, account: str) -> list[Document]:
    """Return the authorised periodic payments from the account that will execute again; newest first."""
    if call.static or not (moving := call.state.own(MOVING)):
        return []
    today, orders = call.clock.today(), []
    for id in moving:
        payment = call.state.get("payments", id)
        if payment is None or payment.get("kind") != STANDING or payer_of(payment) != account:
            continue
        following = next((day for day in _until_next(payment, today) if day > today), None)
        if "authorised_on" not in payment or "cancelled_on" in payment or following is None:
            continue
        (entry,) = payment["parts"]
        sent = entry["amount"]
        money = (sent["currency"], -Decimal(sent["amount"]))
        record = _record(call, f"{id}-order", payment, entry, following, money)
        undated = {name: value for name, value in record.items() if name not in ("booked_on", "value_on")}
        order = {**undated, "standing_order": standing_order(payment)}
        orders.append((payment.get("sequence", 0), order))
    return [order for _, order in sorted(orders, key=lambda pair: pair[0], reverse=True)]


def _instant(payment: Mapping[str, Any], day: date) -> datetime:
    """Return the time of a booking: the last signature if that was on this day, otherwise the start of the day."""
    authorised = datetime.fromisoformat(payment.get("authorised_at", "1970-01-01T00:00:00+00:00"))
    return max(beginning(day), authorised)


def keep_booked(call: Call) -> None:
    """Record how far payments have been booked, so that bookings remain when the clock is set to an earlier time."""
    today = call.clock.today().isoformat()
    for id in call.state.own(MOVING):
        if payment := call.state.get("payments", id):
            call.state.put("payments", id, {**payment, "booked_until": max(today, payment.get("booked_until", ""))})


def balances(account: Mapping[str, Any], moved: list[Movement]) -> list[Document]:
    """Return the balances after the movements. Bookings change every balance; pending debits reduce the available ones.

    Pending credits are not available yet.
    """
    if not moved:
        return list(account["balances"])
    booked = sum((m.amount for m in moved if not m.pending), Decimal())
    leaving = sum((m.amount for m in moved if m.pending and m.amount < 0), Decimal())
    day = max((m.day.isoformat() for m in moved if not m.pending), default="")
    return [
        {
            **balance,
            "amount": {
                **balance["amount"],
                "amount": str(
                    Decimal(balance["amount"]["amount"])
                    + (booked + leaving if balance["type"] == _AVAILABLE else booked)
                ),
            },
            "reference_date": max(balance.get("reference_date", ""), day) or None,
        }
        for balance in account["balances"]
    ]


def compute_available(call: Call, id: str, account: Mapping[str, Any]) -> Decimal:
    """Return the money that can be paid from the account, in its currency."""
    is_moving = call.state.own(MOVING)
    held = balances(account, movements(call, with_id(id, account))) if is_moving else account["balances"]
    return Decimal(find_covering_amount(held) or "0")


def list_available(call: Call) -> dict[str, Document]:
    """Return the money that can be paid from each account, by id. An account with an incomplete document has none."""
    listed: dict[str, Document] = {}
    for id, account in call.state.all("accounts").items():
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            listed[id] = {"amount": str(compute_available(call, id, account)), "currency": account["currency"]}
    return listed


def covers(call: Call, iban: str, payment: Mapping[str, Any]) -> bool:
    """Return whether the account has enough money for the payment."""
    account = call.state.get("accounts", iban) or {}
    sent = [part["amount"] for part in payment.get("parts") or ()]
    amounts = [convert(call, Decimal(money["amount"]), money["currency"], account["currency"]) for money in sent]
    total = sum((amount for amount in amounts if amount is not None), Decimal())
    return None not in amounts and total <= compute_available(call, iban, account)


def find_covering_amount(balances: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the amount of the balance that shows the available money."""
    held = {balance["type"]: balance["amount"] for balance in balances}
    amounts: list[str] = [held[kind]["amount"] for kind in _COVERING if kind in held]
    return amounts[0] if amounts else None


def convert(call: Call, amount: Decimal, currency: str, to: str) -> Decimal | None:
    """Convert an amount at the fixed rates of the test data, or return None if there is no rate."""
    if currency == to:
        return amount
    rates: dict[str, Any] = {"EUR": "1", **call.state.testdata().get("rates", {})}
    if currency not in rates or to not in rates:
        return None
    return amount * Decimal(rates[currency]) / Decimal(rates[to])


def _until_next(payment: Mapping[str, Any], today: date) -> Iterator[date]:
    """Yield the days on which the payment has executed and, unless it was cancelled, the next one."""
    cancelled = payment.get("cancelled_on")
    for day in days(payment):
        if cancelled and day.isoformat() >= cancelled:
            return
        yield day
        if day > today:
            return


def _amounts(
    call: Call, payment: Mapping[str, Any], account: Mapping[str, Any]
) -> Iterator[tuple[str, Decimal, Mapping[str, Any]]]:
    """Yield each part of the payment that concerns the account: name, amount in the account's currency, the part.

    If the TPP prefers batch booking, debits of a bulk are one sum per currency.
    """
    leaves, currency, iban = payer_of(payment) == account["id"], account["currency"], account.get("iban")
    sums: dict[str, tuple[int, Decimal]] = {}
    for position, entry in enumerate(payment.get("parts") or ()):
        sent = entry["amount"]
        value = convert(call, Decimal(sent["amount"]), sent["currency"], currency)
        if value is None:
            continue
        value = value if sent["currency"] == currency else value.quantize(_CENT, ROUND_HALF_EVEN)
        if leaves and payment.get("batch"):
            number, total = sums.get(sent["currency"], (0, Decimal()))
            sums[sent["currency"]] = number + 1, total + value
        elif leaves:
            yield f"{position}", -value, entry
        if iban and ((entry.get("creditor") or {}).get("account") or {}).get("iban") == iban:
            yield f"{position}-in", value, entry
    for name, (number, total) in sums.items():
        yield f"batch-{name}", -total, {"batch": True, "batch_size": number}


def _record(
    call: Call, id: str, payment: Mapping[str, Any], entry: Mapping[str, Any], day: date, money: tuple[str, Decimal]
) -> Document:
    """Return the entry for a payment on an account."""
    currency, amount = money
    debtor = payer_of(payment)
    account = (call.state.get("accounts", debtor) if debtor else None) or {}
    creditor = entry.get("creditor") or {}
    paid_to = creditor.get("account") or {}
    return {
        "id": id,
        "end_to_end_id": entry.get("end_to_end_id"),
        "creditor_id": creditor.get("id") or "",
        "booked_on": day.isoformat(),
        "value_on": None if day > call.clock.today() else day.isoformat(),
        "amount": {"currency": currency, "amount": str(amount)},
        "creditor_name": creditor.get("name") or "",
        "debtor_name": account.get("owner_name") or account.get("name", ""),
        "creditor_account": {"iban": paid_to["iban"]}
        if paid_to.get("iban")
        else {"iban": None, **strip_reference(paid_to)},
        "debtor_account": {"iban": with_id(debtor, account).get("iban") if debtor else None},
        "remittance": (entry.get("remittance") or {}).get("text") or "",
        **{name: entry[name] for name in ("batch", "batch_size") if name in entry},
    }
