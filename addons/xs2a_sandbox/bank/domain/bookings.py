"""The movements on accounts that payments cause over time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import partial
from typing import Any, NamedTuple

from xs2a_sandbox.bank.domain.access import strip_reference
from xs2a_sandbox.bank.domain.accounts import with_id
from xs2a_sandbox.bank.domain.schedule import STANDING, days, standing_order
from xs2a_sandbox.bank.domain.signing import MOVING, payer_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import beginning
from xs2a_sandbox.state import Document, Transaction

DECIDING = (
    "debtor parts batch kind instant execute_on schedule business_days authorised_on booked_until cancelled_on"
).split()
"""The members of a payment that decide how much it moves, and when."""
_CENT = Decimal("0.01")


class Booking(NamedTuple):
    """One part of a payment on one day. `amount` is in the account's currency, and negative if money leaves."""

    day: date
    pending: bool
    name: str
    amount: Decimal
    part: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Movement:
    """A movement on an account. `amount` is as in Booking.

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
    for id, payment in call.state.get_each("payments", moving).items():
        if "authorised_on" not in payment:
            continue
        for day, pending, name, amount, part in list_bookings(call.state, payment, account, today):
            order = (day, _instant(payment, day), payment.get("sequence", 0))
            entry_id, money = f"{id}-{day:%Y%m%d}-{name}", (account["currency"], amount)
            moved.append(Movement(order, pending, amount, partial(_record, call, entry_id, payment, part, day, money)))
    return sorted(moved, key=lambda movement: movement.order, reverse=True)


def list_bookings(
    state: Transaction, payment: Mapping[str, Any], account: Mapping[str, Any], today: date
) -> Iterator[Booking]:
    """Yield the past bookings of an authorised payment on the account, and its next one."""
    amounts = list(_amounts(state, payment, account))
    if not amounts:
        return
    until = max(today, date.fromisoformat(payment.get("booked_until") or payment["authorised_on"]))
    for day in _until_next(payment, until):
        for name, amount, part in amounts:
            yield Booking(day, day > until, name, amount, part)


def standing_orders(call: Call, account: str) -> list[Document]:
    """Return the authorised periodic payments from the account that will execute again; newest first."""
    if call.static or not (moving := call.state.own(MOVING)):
        return []
    today, orders = call.clock.today(), []
    for id, payment in call.state.get_each("payments", moving).items():
        if payment.get("kind") != STANDING or payer_of(payment) != account:
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
    for id, payment in call.state.get_each("payments", call.state.own(MOVING)).items():
        call.state.put("payments", id, {**payment, "booked_until": max(today, payment.get("booked_until", ""))})


def convert(call: Call, amount: Decimal, currency: str, to: str) -> Decimal | None:
    """Convert an amount at the fixed rates of the test data, or return None if there is no rate."""
    return _convert(call.state, amount, currency, to)


def _convert(state: Transaction, amount: Decimal, currency: str, to: str) -> Decimal | None:
    if currency == to:
        return amount
    rates: dict[str, Any] = {"EUR": "1", **state.testdata().get("rates", {})}
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
    state: Transaction, payment: Mapping[str, Any], account: Mapping[str, Any]
) -> Iterator[tuple[str, Decimal, Mapping[str, Any]]]:
    """Yield each part of the payment that concerns the account: name, amount in the account's currency, the part.

    If the TPP prefers batch booking, debits of a bulk are one sum per currency.
    """
    leaves, currency, iban = payer_of(payment) == account["id"], account["currency"], account.get("iban")
    sums: dict[str, tuple[int, Decimal]] = {}
    for position, entry in enumerate(payment.get("parts") or ()):
        sent = entry["amount"]
        value = _convert(state, Decimal(sent["amount"]), sent["currency"], currency)
        if value is None:
            continue
        value = value if sent["currency"] == currency else value.quantize(_CENT, ROUND_HALF_EVEN)
        if leaves and payment.get("batch"):
            number, total = sums.get(sent["currency"], (0, Decimal()))
            sums[sent["currency"]] = number + 1, total + value
        elif leaves:
            yield f"{position}", -value, entry
        if iban and credited_iban(entry) == iban:
            yield f"{position}-in", value, entry
    for name, (number, total) in sums.items():
        yield f"batch-{name}", -total, {"batch": True, "batch_size": number}


def credited_iban(part: Mapping[str, Any]) -> str | None:
    iban: str | None = ((part.get("creditor") or {}).get("account") or {}).get("iban")
    return iban


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
