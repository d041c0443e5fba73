"""Finds the members of a body that have a meaning in the domain: money, accounts, ids, states, dates, texts.

A member counts by its form first, such as an amount next to a currency, and by the words of its name where forms are
the same, such as those of payer and payee.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from xs2a_sandbox.documents.formats import is_date, is_date_time, is_iban

type Steps = tuple[str | int, ...]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CURRENCY = re.compile(r"[A-Z]{3}")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_AMOUNTS = frozenset(("amount", "value", "sum"))
_SMALL_UNITS = frozenset(("minor", "base", "unit", "units", "cents"))
_IDS = frozenset(("id", "uid", "uuid", "identifier"))
_STATES = frozenset(("status", "state", "phase"))
_NUMBERS = frozenset(("iban", "bban", "pan"))
_NUMBERING = frozenset(("number", "identification", "no", "nr"))
_OF_OTHERS = frozenset(("proxy", "agent", "servicer"))
"""Words for what is next to an account, and is not its number."""
_PAYEE = frozenset(("creditor", "payee", "beneficiary", "recipient", "receiver", "to", "destination", "target", "cdtr"))
_PAYER = frozenset(("debtor", "payer", "from", "source", "sender", "originator", "dbtr", "remitter"))
_TEXTS = frozenset(("remittance", "unstructured", "message", "memo", "note", "communication", "narrative"))
_FURTHER_TEXTS = frozenset(("reference", "purpose", "description", "information", "text", "details"))
_LATEST = frozenset(("valid", "until", "expiration", "expiry", "expires"))


def words(name: str | int) -> tuple[str, ...]:
    """Return the words of a name in lower case: `payeeName` has payee and name."""
    return tuple(word.lower() for word in _WORD.findall(str(name)))


def all_words(steps: Steps) -> frozenset[str]:
    return frozenset(word for step in steps if isinstance(step, str) for word in words(step))


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the scalars of a value with their places. Of each list only the first entry is used."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, (*steps, name))
    elif isinstance(value, list):
        if value:
            yield from leaves(value[0], (*steps, 0))
    else:
        yield steps, value


def lists(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, list[Any]]]:
    """Yield the lists of a value that are not in other lists."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from lists(inner, (*steps, name))
    elif isinstance(value, list):
        yield steps, value


def at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


@dataclass(frozen=True, slots=True)
class Money:
    """An amount next to its currency."""

    amount: Steps
    currency: Steps

    @property
    def is_of_balance(self) -> bool:
        return not all_words(self.amount).isdisjoint(("balance", "balances"))


def moneys(value: Any) -> list[Money]:
    """Return every amount that has a currency next to it, the outer ones first."""
    found = dict(leaves(value))
    made = []
    for steps, inner in found.items():
        own = frozenset(words(steps[-1])) if steps else frozenset()
        if not own & _AMOUNTS or own & _SMALL_UNITS or not _is_number(inner):
            continue
        beside = [other for other in found if other[:-1] == steps[:-1] and is_currency(other, found[other])]
        if beside:
            made.append(Money(steps, beside[0]))
    return sorted(made, key=lambda money: len(money.amount))


def is_currency(steps: Steps, value: Any) -> bool:
    named = bool({"currency", "ccy"} & set(words(steps[-1])))
    return isinstance(value, str) and named and (_CURRENCY.fullmatch(value) is not None or not value.isdigit())


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float | Decimal) or (
        isinstance(value, str) and (_DECIMAL.fullmatch(value) is not None or value.isalpha())
    )


def account_number(steps: Steps, value: Any) -> str | None:
    """Return the kind of account number, `iban` or `bban`, that the member is."""
    if not isinstance(value, str) or not steps:
        return None
    own = set(words(steps[-1]))
    if not _OF_OTHERS.isdisjoint(all_words(steps)):
        return None
    if is_iban(value) or "iban" in own:
        return "iban"
    is_numbering = bool(own & _NUMBERING) and "account" in all_words(steps)
    return "bban" if own & _NUMBERS or is_numbering else None


def party(steps: Steps) -> str | None:
    """Return `creditor` or `debtor` if the names on the way to a member say so. The last name decides."""
    for step in reversed(steps):
        own = set(words(step))
        if own & _PAYEE:
            return "creditor"
        if own & _PAYER:
            return "debtor"
    return None


def is_name(steps: Steps) -> bool:
    """Return whether the member is the name of a person or of an account."""
    own = words(steps[-1])
    return bool(own) and own[-1] in ("name", "nickname") and "scheme" not in own and _OF_OTHERS.isdisjoint(own)


def ids(value: Any) -> list[Steps]:
    """Return the members that are ids, the outer ones first."""
    found = [steps for steps, inner in leaves(value) if isinstance(inner, str) and steps and _is_id(steps)]
    return sorted(found, key=len)


def _is_id(steps: Steps) -> bool:
    own = words(steps[-1])
    return bool(own) and own[-1] in _IDS and 0 not in steps


def states(value: Any) -> list[Steps]:
    """Return the members that are states, the outer ones first."""
    found = (steps for steps, inner in leaves(value) if isinstance(inner, str) and steps and 0 not in steps)
    return sorted((steps for steps in found if (own := words(steps[-1])) and own[-1] in _STATES), key=len)


def is_day(value: Any) -> bool:
    return isinstance(value, str) and (is_date(value) or is_date_time(value))


def has_time(value: Any) -> bool:
    return isinstance(value, str) and is_date_time(value)


def last_days(value: Any) -> list[Steps]:
    """Return the members that limit a validity by a day."""
    return [steps for steps, inner in leaves(value) if is_day(inner) and set(words(steps[-1])) & _LATEST]


def remittances(value: Any) -> list[Steps]:
    """Return the members with a text for the payee, the likeliest first."""
    found = [steps for steps, inner in leaves(value) if isinstance(inner, str) and steps and not is_day(inner)]
    likely = [steps for steps in found if all_words(steps[-2:]) & _TEXTS]
    plain = [steps for steps in found if set(words(steps[-1])) & _FURTHER_TEXTS and party(steps) is None]
    unstructured = [steps for steps in likely if "unstructured" in words(steps[-1])]
    return [*unstructured, *likely, *plain]
