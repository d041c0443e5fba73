"""Booked entries made from a seed: the same seed makes the same entries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import islice
from random import Random
from typing import Any

from xs2a_sandbox.bank.entry_kinds import KINDS, EntryKind
from xs2a_sandbox.features.console.test_data.ibans import make_iban


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """The entries to make: `count` entries from `low` to `high`, spread over `days` before `today`."""

    kind: str
    count: int
    low: Decimal
    high: Decimal
    days: int
    seed: str
    today: date


def make_entries(order: EntryOrder, account: Mapping[str, Any], holder: str, iban: str | None) -> list[dict[str, Any]]:
    """Return the new entries of an account, newest first. `iban` is that of the account, if it has one."""
    kind, random = KINDS[order.kind], Random(f"{order.kind} {order.seed}")
    step = Decimal(1).scaleb(-max(_count_decimals(number) for number in (order.low, order.high, *_amounts(account))))
    first = int((order.low / step).to_integral_value(ROUND_CEILING))
    last = int((order.high / step).to_integral_value(ROUND_FLOOR))
    partners = [(name, make_iban(iban, random) if iban else None) for name in kind.partners]
    same = random.randint(first, last)
    number = _find_next_number(account, order.kind)
    entries = []
    for position, day in enumerate(_days(order, kind, random)):
        partner, partner_iban = random.choice(partners)
        amount = (same if kind.is_monthly else random.randint(first, last)) * step
        entry = {
            # The oldest one has the lowest number.
            "id": f"{order.kind}-{number + order.count - 1 - position:04}",
            "booked_on": day.isoformat(),
            "value_on": day.isoformat(),
            "amount": {"amount": str(amount if kind.is_credit else -amount), "currency": account["currency"]},
        }
        sides = {"creditor": (partner, partner_iban), "debtor": (holder, iban)}
        if kind.is_credit:
            sides = {"creditor": sides["debtor"], "debtor": sides["creditor"]}
        for side, (name, number_of_side) in sides.items():
            entry[f"{side}_name"] = name
            if number_of_side:
                entry[f"{side}_account"] = {"iban": number_of_side}
        remittance = kind.text.format(partner=partner, month=f"{day:%m/%Y}")
        entries.append({**entry, "creditor_id": "", "remittance": remittance, "code": kind.code})
    return entries


def _days(order: EntryOrder, kind: EntryKind, random: Random) -> Iterator[date]:
    """Yield the days of the entries, the last day first."""
    if kind.is_monthly:
        yield from islice(_first_days_of_months(order.today), order.count)
        return
    backwards = sorted(random.randint(1, order.days) for _ in range(order.count))
    yield from (order.today - timedelta(days=back) for back in backwards)


def _first_days_of_months(day: date) -> Iterator[date]:
    while True:
        day = day.replace(day=1)
        yield day
        day -= timedelta(days=1)


def _amounts(account: Mapping[str, Any]) -> Iterator[Decimal]:
    """Yield the balances, which show how many decimals the amounts of the account have."""
    yield from (Decimal(balance["amount"]["amount"]) for balance in account["balances"])


def _count_decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _find_next_number(account: Mapping[str, Any], kind: str) -> int:
    """Return the number for the id of the next entry of this kind."""
    ids = (entry["id"] for listed in (account.get("entries") or {}).values() for entry in listed)
    numbers = (id.removeprefix(f"{kind}-") for id in ids if id.startswith(f"{kind}-"))
    return 1 + max((int(text) for text in numbers if text.isascii() and text.isdigit()), default=0)
