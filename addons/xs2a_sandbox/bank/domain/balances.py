"""The balances of accounts after their payments.

The total of an account's bookings is kept in the state, because it would take too long to add them up for each request.
A total is written in the same transaction as the payments in it. It is valid for one day, for one version of the test
data, and as long as number and currency of the account stay the same; otherwise the next payment initiation adds up the
bookings again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Self

from xs2a_sandbox.bank.domain.accounts import with_id
from xs2a_sandbox.bank.domain.bookings import DECIDING, convert, credited_iban, list_bookings
from xs2a_sandbox.bank.domain.documents import INVALID
from xs2a_sandbox.bank.domain.signing import MOVING, payer_of
from xs2a_sandbox.bank.domain.testdata_cache import for_each_testdata
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.http import to_json
from xs2a_sandbox.state import Document, Transaction
from xs2a_sandbox.state.store import Collections

_AVAILABLE = "FWAV"
_COVERING = (_AVAILABLE, "ITAV", "XPCD", "ITBD", "CLBD", "OPBD")
"""The types of balances that show the available money, the best first."""
_TOTALS = "_totals"
"""The collection of the totals, by account."""
_CREDITED = "_credited"
"""The collection of the accounts with totals, by IBAN: payments name their payees by number."""

type _Change = tuple[Document | None, Document | None]
"""An authorised payment before and after the transaction."""


@dataclass(frozen=True, slots=True)
class _Total:
    """The total of an account's bookings. `leaving` are the pending debits; `last` is the last day with a booking."""

    count: int = 0
    booked: Decimal = Decimal()
    leaving: Decimal = Decimal()
    last: str = ""

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        return cls(kept["count"], Decimal(kept["booked"]), Decimal(kept["leaving"]), kept["last"])

    def document(self) -> Document:
        return {"count": self.count, "booked": str(self.booked), "leaving": str(self.leaving), "last": self.last}


def compute_balances(call: Call, account: Mapping[str, Any]) -> list[Document]:
    """Return the balances after the bookings. Those that are pending reduce only the available balance.

    Pending credits are not available yet.
    """
    total = _find_total(call, account)
    if not total.count:
        return list(account["balances"])
    return [
        {
            **balance,
            "amount": {
                **balance["amount"],
                "amount": str(
                    Decimal(balance["amount"]["amount"])
                    + (total.booked + total.leaving if balance["type"] == _AVAILABLE else total.booked)
                ),
            },
            "reference_date": max(balance.get("reference_date", ""), total.last) or None,
        }
        for balance in account["balances"]
    ]


def compute_available(call: Call, id: str, account: Mapping[str, Any]) -> Decimal:
    """Return the money that can be paid from the account, in its currency."""
    return Decimal(find_covering_amount(compute_balances(call, with_id(id, account))) or "0")


def list_available(call: Call) -> dict[str, Document]:
    """Return the money that can be paid from each account, by id. An account with an incomplete document has none."""
    listed: dict[str, Document] = {}
    for id, account in call.state.all("accounts").items():
        with suppress(*INVALID):
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


def note_totals(state: Transaction) -> None:
    """Correct the kept totals for the payments that the transaction has changed."""
    changes: dict[str, list[_Change]] = {}
    for change in _list_changes(state):
        try:
            accounts = _find_accounts(state, change)
        except INVALID:
            accounts = list(state.own(_TOTALS))
        for account in accounts:
            changes.setdefault(account, []).append(change)
    for account, of_account in changes.items():
        if kept := state.get_own(_TOTALS, account):
            total = _correct(state, kept, of_account)
            state.put(_TOTALS, account, {**kept, **total.document()} if total else None)


def _find_total(call: Call, account: Mapping[str, Any]) -> _Total:
    if call.static:
        return _Total()
    state = call.state
    kept = state.get_own(_TOTALS, account["id"])
    if not kept and not state.own(MOVING):
        return _Total()
    today, changes = call.clock.today(), list(_list_changes(state))
    about = {"id": account["id"], "iban": account.get("iban"), "currency": account["currency"]}
    valid_for = {"day": today.isoformat(), "testdata": _fingerprint(state.testdata()), "account": about}
    if kept and valid_for.items() <= kept.items() and (total := _correct(state, kept, changes)):
        return total
    moving = map(_authorised, state.get_each("payments", state.own(MOVING)).values())
    total = _add_up(state, filter(None, moving), about, today)
    if not changes:
        _keep(state, {**valid_for, **total.document()})
    return total


def _keep(state: Transaction, kept: Document) -> None:
    account = kept["account"]
    state.put_with_commit(_TOTALS, account["id"], kept)
    if iban := account["iban"]:
        credited = (state.get_own(_CREDITED, iban) or {"accounts": []})["accounts"]
        if account["id"] not in credited:
            state.put_with_commit(_CREDITED, iban, {"accounts": [*credited, account["id"]]})


def _correct(state: Transaction, kept: Mapping[str, Any], changes: Sequence[_Change]) -> _Total | None:
    """Return the total after the changes, or None if it has to be computed again."""
    was, account, day = _Total.of(kept), kept["account"], date.fromisoformat(kept["day"])
    if not changes:
        return was
    if kept["testdata"] != _fingerprint(state.testdata()):
        return None
    try:
        less = _add_up(state, filter(None, (before for before, _ in changes)), account, day)
        more = _add_up(state, filter(None, (now for _, now in changes)), account, day)
    except INVALID:
        return None
    if less.last and less.last == was.last and more.last < was.last:
        return None
    return _Total(
        was.count - less.count + more.count,
        was.booked - less.booked + more.booked,
        was.leaving - less.leaving + more.leaving,
        max(was.last, more.last),
    )


def _add_up(
    state: Transaction, payments: Iterable[Mapping[str, Any]], account: Mapping[str, Any], today: date
) -> _Total:
    count, booked, leaving, last = 0, Decimal(), Decimal(), ""
    for payment in payments:
        for booking in list_bookings(state, payment, account, today):
            count += 1
            if not booking.pending:
                booked += booking.amount
                last = max(last, booking.day.isoformat())
            elif booking.amount < 0:
                leaving += booking.amount
    return _Total(count, booked, leaving, last)


def _list_changes(state: Transaction) -> Iterator[_Change]:
    """Yield the changes of payments in this transaction that may have changed totals."""
    for id in state.written("payments"):
        before, now = _authorised(state.before("payments", id)), _authorised(state.get("payments", id))
        if [before and before.get(name) for name in DECIDING] != [now and now.get(name) for name in DECIDING]:
            was_moving, is_moving = state.before(MOVING, id) is not None, state.get_own(MOVING, id) is not None
            yield before if was_moving else None, now if is_moving else None


def _authorised(payment: Document | None) -> Document | None:
    return payment if payment and "authorised_on" in payment else None


def _find_accounts(state: Transaction, change: _Change) -> list[str]:
    """Return the accounts that the payment concerns, payees only if they have a total."""
    accounts: dict[str, None] = {}
    for payment in filter(None, change):
        if payer := payer_of(payment):
            accounts[payer] = None
        for iban in dict.fromkeys(map(credited_iban, payment.get("parts") or ())):
            if iban and (credited := state.get_own(_CREDITED, iban)):
                accounts |= dict.fromkeys(credited["accounts"])
    return list(accounts)


@for_each_testdata
def _fingerprint(testdata: Collections) -> str:
    """Return a text that differs if the test data's payments or rates differ."""
    parts = [testdata.get("rates", {}), testdata.get("payments", {})]
    return blake2b(to_json(parts), digest_size=8).hexdigest()
