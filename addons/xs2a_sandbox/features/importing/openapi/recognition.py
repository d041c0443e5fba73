"""Recognises consents, payments, accounts, balances and transactions by their paths and the form of their bodies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from xs2a_sandbox.cassette.path_pattern import LITERAL, PARAMETER
from xs2a_sandbox.features.importing.openapi import roles
from xs2a_sandbox.features.importing.openapi.operations import ApiOperation
from xs2a_sandbox.features.importing.openapi.roles import Steps

CONSENT, PAYMENT = "consent", "payment"
_BOOKED = frozenset("booked booking book posted posting settled value transaction created completed operation".split())
_NOT_YET = frozenset("first next final previous last scheduled expiry expiration start end statement".split())
_AGAIN = frozenset("recurring frequency permission permissions scope scopes access".split())


@dataclass(frozen=True, slots=True)
class Described:
    """An operation with the names of its schemas, a body to send, and the bodies in which places are looked up.

    `answers` are the document's example and a sample with all members, if they exist.
    """

    operation: ApiOperation
    request_name: str | None
    request: Any
    whole_request: Any
    answer_name: str | None
    answers: Sequence[Any]
    status: int

    @property
    def path(self) -> str:
        return self.operation.path

    @property
    def last_parameter(self) -> str | None:
        last = self.operation.pattern.segments[-1]
        return last.text if last.kind == PARAMETER else None


@dataclass(frozen=True, slots=True)
class Creation:
    """A request that creates a consent or a payment, and the operations that concern one, by their purpose."""

    kind: str
    create: Described
    answer: Any
    id: Steps
    status: Steps
    others: Mapping[str, Described]


@dataclass(frozen=True, slots=True)
class AccountReads:
    """The list of accounts, and the operations that concern one account, by their purpose."""

    list: Described
    items: Steps
    answer: Any
    others: Mapping[str, tuple[Described, Any]]


def find_creations(described: Sequence[Described], notes: list[str]) -> list[Creation]:
    """Return the creations. `notes` gets those that are similar but cannot be attached, with the reason."""
    found = []
    for one in described:
        kind = _kind_of(one)
        for answer in one.answers if kind else ():
            ids, states = roles.ids(answer), roles.states(answer)
            others = _about_one(one, described, states[0][-1]) if states else {}
            if ids and states and others and kind:
                found.append(Creation(kind, one, answer, _own_id(one, ids), states[0], others))
                break
    return [one for one in found if not _is_in_steps(one, found, notes)]


def _kind_of(one: Described) -> str | None:
    if one.operation.method != "POST" or not isinstance(one.whole_request, dict):
        return None
    body = one.whole_request
    numbers = [steps for steps, value in roles.leaves(body) if roles.account_number(steps, value)]
    if any(0 not in money.amount for money in roles.moneys(body)):
        return PAYMENT if any(roles.party(steps) == "creditor" for steps in numbers) else None
    if roles.moneys(body):
        return None
    lists = [steps for steps, _ in roles.lists(body)]
    is_limited = roles.last_days(body) or any(_AGAIN & roles.all_words(steps) for steps, _ in roles.leaves(body))
    return CONSENT if lists and is_limited and access_of(one) else None


def access_of(one: Described) -> list[tuple[Steps, Any]]:
    """Return the lists in a request that say which access is asked for: references to accounts, or else words."""
    references, named = [], []
    for steps, entries in roles.lists(one.whole_request):
        first = entries[0] if entries else None
        if isinstance(first, dict) and any(roles.account_number(*leaf) for leaf in roles.leaves(first)):
            references.append((steps, first))
        elif isinstance(first, str) and _AGAIN & roles.all_words(steps):
            named.append((steps, first))
    return references or named[:1]


def _about_one(create: Described, described: Sequence[Described], state: str | int) -> dict[str, Described]:
    """Return the operations for one of the created things: `read`, `status`, `delete`."""
    found: dict[str, Described] = {}
    for one in described:
        rest = _below(create, one)
        if rest is None:
            continue
        shows = any(steps[-1] == state for answer in one.answers for steps in roles.states(answer))
        if one.operation.method == "GET" and shows and len(rest) <= 1:
            found.setdefault("status" if rest else "read", one)
        elif one.operation.method == "DELETE" and not rest:
            found.setdefault("delete", one)
    return found if {"read", "status"} & found.keys() else {}


def _below(above: Described, one: Described) -> tuple[str, ...] | None:
    """Return the words after the id, if the path begins with the other path and one more parameter."""
    mine, theirs = one.operation.pattern.segments, above.operation.pattern.segments
    if len(mine) <= len(theirs) or mine[: len(theirs)] != theirs or mine[len(theirs)].kind != PARAMETER:
        return None
    rest = mine[len(theirs) + 1 :]
    return tuple(segment.text for segment in rest) if all(segment.kind == LITERAL for segment in rest) else None


def _own_id(one: Described, ids: Sequence[Steps]) -> Steps:
    """Return the id of the thing itself: the one with a word of the path in its name, or the outermost one."""
    literals = [segment.text for segment in one.operation.pattern.segments if segment.kind == LITERAL]
    path = {word.removesuffix("s") for word in roles.words(literals[-1] if literals else "")}
    named = [steps for steps in ids if path & set(roles.words(steps[-1]))]
    return (named or list(ids))[0]


def _is_in_steps(one: Creation, found: Sequence[Creation], notes: list[str]) -> bool:
    """Return whether a payment needs two requests, one of which names the id that the other has returned."""
    before = [other for other in found if other is not one and _names(one, other)]
    if before:
        nearest = max(before, key=lambda other: SequenceMatcher(None, one.create.path, other.create.path).ratio())
        operation = one.create.operation
        notes.append(
            f"{operation.line}: {operation.id} executes what {nearest.create.operation.id} has created: attach "
            "mandates.create and payments.execute by hand"
        )
    return bool(before) or any(other is not one and _names(other, one) for other in found)


def _names(second: Creation, first: Creation) -> bool:
    """Return whether the second request names the id that the first one has returned."""
    return first.id[-1] in {steps[-1] for steps in roles.ids(second.create.whole_request)}


def find_accounts(described: Sequence[Described]) -> AccountReads | None:
    """Return the list of accounts to which most operations belong."""
    best: AccountReads | None = None
    for one in described:
        if one.operation.method != "GET" or one.last_parameter:
            continue
        for answer in one.answers:
            items = next((steps for steps, entries in roles.lists(answer) if _has_accounts(entries)), None)
            others = dict(_about_account(one, described)) if items is not None else {}
            if items is not None and others and len(others) > len(best.others if best else ()):
                best = AccountReads(one, items, answer, others)
                break
    return best


def _has_accounts(entries: Sequence[Any]) -> bool:
    """Return whether the entries are accounts: with a currency or an account number, but no amounts except balances."""
    first = entries[0] if entries else None
    if not isinstance(first, dict):
        return False
    found = list(roles.leaves(first))
    is_numbered = any(roles.account_number(steps, value) or roles.is_currency(steps, value) for steps, value in found)
    return is_numbered and all(money.is_of_balance for money in roles.moneys(first)) and bool(_ids_in(first))


def _ids_in(entry: Any) -> list[Steps]:
    return roles.ids(entry) or [steps for steps, value in roles.leaves(entry) if roles.account_number(steps, value)]


def _about_account(accounts: Described, described: Sequence[Described]) -> Iterator[tuple[str, tuple[Described, Any]]]:
    entries: list[tuple[int, Described, Any]] = []
    for one in described:
        rest = _below(accounts, one)
        if rest is None or one.operation.method != "GET" or len(rest) > 1:
            continue
        for answer in one.answers:
            if not rest and isinstance(answer, dict):
                yield "read", (one, answer)
                break
            if is_list_of_balances(answer):
                yield "balances", (one, answer)
                break
            if (score := max((entry_score(first) for _, first in entry_lists(answer)), default=0)) > 0:
                entries.append((score + ("transactions" in rest), one, answer))
                break
    if entries:
        _, one, answer = max(entries, key=lambda entry: entry[0])
        yield "transactions", (one, answer)


def is_list_of_balances(answer: Any) -> bool:
    """Return whether all amounts of an answer are balances, except for sums next to the list of them."""
    found = roles.moneys(answer)
    listed = [money for money in found if 0 in money.amount]
    return bool(found) and all(money.is_of_balance for money in listed or found)


def entry_lists(answer: Any) -> list[tuple[Steps, Any]]:
    """Return the lists of entries, each with its first entry."""
    return [(steps, entries[0]) for steps, entries in roles.lists(answer) if entries and entry_score(entries[0]) > 0]


def entry_score(entry: Any) -> int:
    """Return how much an entry looks like a booking: an amount and a day of booking, and better a text and a party."""
    if not isinstance(entry, dict):
        return 0
    found = list(roles.leaves(entry))
    amounts = [money for money in roles.moneys(entry) if 0 not in money.amount and not money.is_of_balance]
    names = [frozenset(roles.words(steps[-1])) for steps, value in found if roles.is_day(value)]
    booked = [name for name in names if name & _BOOKED and not name & _NOT_YET]
    if not amounts or not booked:
        return 0
    return 1 + bool(roles.remittances(entry)) + any(roles.party(steps) for steps, _ in found) + len(booked)
