"""Balances that follow payments: a number of an account, less the amounts of the things in some states."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.forms import count_digits, date_form, number_source, read_number
from xs2a_sandbox.features.derive.unknown.recorded.names import identifier
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, anywhere, leaves, source_of, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes, plural
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.things.charges import Charge
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind, write_account


@dataclass(frozen=True)
class Taken:
    """Things of a kind that reduce the balance of an account while they are in one of these states.

    The amount is at the place `amount` of the thing: in its own request, where a star stands for all entries of a list,
    or in the answer about it. `of` is the place of the account: in the thing's own request, or in the customer's form.
    Each thing takes a `fee`, too: a number, or the name of a charge in the answer about it.
    """

    kind: ThingKind
    amount: Place
    of: Place
    account: str | int
    member: str
    states: tuple[Any, ...]
    fee: Decimal | str = Decimal()


@dataclass(eq=False)
class Balance:
    """`place` is that in answers. `start` has the first value by account. Things of several kinds can be `taken`.

    `is_exact` is False if the numbers only change with the payments: redaction has replaced them. `payers` are the
    accounts that pay, as expressions, by the operations that decide about payments.
    """

    name: str
    operation: LearnedOperation
    place: Place
    per: ThingLookup
    start: dict[str, Any]
    taken: Sequence[Taken]
    is_exact: bool
    payers: dict[LearnedOperation, str] = field(default_factory=dict)


def find_balances(scopes: ExchangeScopes, lists: Collection[LearnedOperation]) -> list[Balance]:
    """Find the balances in answers, except for those with a list, whose numbers count entries."""
    found: list[Balance] = []
    for operation in (one for one in scopes.world.operations if one not in lists):
        per = next((lookup for lookup in scopes.lookups[operation] if lookup.rows), None)
        oks = [one for one in operation.seen if scopes.is_ok[one] and one.document is not None]
        if per is None or len(oks) < 2:
            continue
        for place in dict.fromkeys(place for one in oks for place, _ in leaves(one.document)):
            values = [(one, dict(leaves(one.document)).get(place)) for one in oks]
            if not all(_is_money(value) for _, value in values):
                continue
            kind = scopes.world.made_by(operation)
            is_charge = kind and any(charge.place == place for charge in scopes.charges[kind])
            if is_charge or len({str(value) for _, value in values}) < 2:
                continue
            taken, is_exact = _find_taken(scopes, per, values)
            if taken:
                start: dict[str, Any] = {}
                for one, value in values:
                    start.setdefault(scopes.row_key(per, one), value)
                steps = place if any(isinstance(step, int) for step in place) else place[-2:]
                name = identifier("_".join(str(step) for step in steps))
                found.append(Balance(f"{name}_of_{per.name}", operation, place, per, start, taken, is_exact))
    # The balance from which most is taken is the one that must cover a payment.
    for balance in sorted(found, key=lambda one: -sum(len(taken.states) for taken in one.taken)):
        for one in balance.operation.seen:
            value = dict(leaves(one.document)).get(balance.place) if one.document is not None else None
            if value is not None:
                scopes.add(one, {balance.name: value})
        for each in balance.taken:
            _tell_cover(scopes, balance, each)
            if balance.is_exact:
                _tell_cover_to_decisions(scopes, balance, each)
    return found


def _find_taken(
    scopes: ExchangeScopes, per: ThingLookup, values: Sequence[tuple[SeenExchange, Any]]
) -> tuple[Sequence[Taken], bool]:
    """Return the things that explain a balance, of one kind or else of two, and whether the numbers agree exactly."""
    before = {(kind, one): _before(scopes, kind, one) for kind in scopes.machines for one, _ in values}
    without_fee = list(dict.fromkeys(_possible(scopes, per)))
    fees: dict[ThingKind, list[Decimal | str]] = {}
    for kind in scopes.machines:
        fees[kind] = [*_find_fees(kind), *(charge.name for charge in scopes.charges[kind])]
    every = [*without_fee, *(replace(one, fee=fee) for one in without_fee for fee in fees[one.kind])]
    possible = {
        taken: [_sum(before[taken.kind, one], scopes.scope(one)["let"].get(per.name), taken) for one, _ in values]
        for taken in every
    }
    accounts = [scopes.row_key(per, one) for one, _ in values]
    numbers = [_number(value) for _, value in values]
    if found := next((taken for taken, sums in possible.items() if _explains(accounts, numbers, sums)), None):
        shown = {state for one, _ in values for _, state in before[found.kind, one]}
        return [replace(found, states=_with_later(scopes.machines[found.kind], found.states, shown))], True
    if scopes.is_redacted:
        if any(scopes.world.made(one) for one, _ in values):
            # These numbers follow what each request has sent.
            return [], False
        return [taken for taken, sums in possible.items() if _follows(accounts, numbers, sums)][:1], False
    for (one, mine), (other, theirs) in combinations(possible.items(), 2) if len(set(numbers)) > 2 else ():
        if one.kind is not other.kind and any(mine) and any(theirs):
            both = [sum_of + more for sum_of, more in zip(mine, theirs, strict=True)]
            if _explains(accounts, numbers, both):
                return [one, other], True
    return [], True


def _is_money(value: Any) -> bool:
    return read_number(value) is not None and date_form(value) is None


def _number(value: Any) -> Decimal:
    return read_number(value) or Decimal()


def _possible(scopes: ExchangeScopes, per: ThingLookup) -> Iterator[Taken]:
    if per.rows is None:
        return
    for kind, machine in scopes.machines.items():
        sent = kind.example.body
        if not isinstance(sent, Mapping):
            continue
        ids = {lookup.place for lookup in scopes.lookups[kind.made_by]}
        money = [(place, value) for place, value in leaves(sent) if _is_money(value) and ("body", *place) not in ids]
        # Texts of digits may also be account numbers.
        own = [place for place, _ in sorted(money, key=lambda one: isinstance(one[1], str) and one[1].isdecimal())]
        amounts = [("sent", *place) for place in dict.fromkeys([*map(anywhere, own), *own])]
        amounts += [("told", charge.name) for charge in scopes.charges[kind]]
        forms = [one.form for thing in kind.things for one in thing.events if one.form and scopes.is_ok[one]]
        details = [
            (place, value)
            for part in ({"sent": sent}, *({"entered": form} for form in forms))
            for place, value in leaves(part)
        ]
        owners = [
            (place, value, name)
            for place, value in details
            for row in per.rows.entries
            for name, own in row.items()
            if value == own and isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) > 2
        ]
        unique: dict[tuple[Place, str], str | int] = {}
        for place, value, name in owners:
            if len({str(row.get(name)) for row in per.rows.entries}) > 1:
                unique.setdefault((place, name), value)
        for amount in amounts:
            for (of, name), account in list(unique.items())[:2]:
                for size in (1, 2, 3):
                    for states in combinations(machine.words, size):
                        yield Taken(kind, amount, of, account, name, _with_passed(machine, states))


def _find_fees(kind: ThingKind) -> list[Decimal]:
    """Return the amounts that all answers have when a thing is made, and that its request has not."""
    told = [
        {_number(value) for _, value in leaves(thing.created.document) if _is_money(value)} for thing in kind.things
    ]
    sent = {_number(value) for thing in kind.things for _, value in leaves(thing.created.body) if _is_money(value)}
    return sorted(fee for fee in set.intersection(*told) - sent if fee > 0)


def _with_passed(machine: StateMachine, states: Sequence[Any]) -> tuple[Any, ...]:
    """Return states with those through which a thing passes by itself from one of them to another."""
    following = {change.before: change.after for change in machine.by_time}
    found = dict.fromkeys(states)
    for start in states:
        passed = [start]
        while (word := following.get(passed[-1])) is not None and word not in passed:
            passed.append(word)
            if word in states:
                found |= dict.fromkeys(passed)
    return tuple(found)


def _with_later(machine: StateMachine, states: Sequence[Any], shown: Collection[Any]) -> tuple[Any, ...]:
    """Return states with what time makes of them, except for what was shown: the money stays away."""
    found = list(states)
    for state in found:
        later = (change.after for change in machine.by_time if change.before == state)
        found += [word for word in later if word not in found and word not in shown]
    return tuple(found)


def _explains(accounts: Sequence[str], numbers: Sequence[Decimal], sums: Sequence[Decimal]) -> bool:
    first: dict[str, Decimal] = {}
    return all(
        first.setdefault(account, number + sum_of) == number + sum_of
        for account, number, sum_of in zip(accounts, numbers, sums, strict=True)
    )


def _follows(accounts: Sequence[str], numbers: Sequence[Decimal], sums: Sequence[Decimal]) -> bool:
    """Return whether values are equal exactly when what is taken is equal. Pseudonyms of numbers keep nothing else."""
    pairs = set(zip(accounts, numbers, sums, strict=True))
    by_value = {(account, value) for account, value, _ in pairs}
    by_sum = {(account, sum_of) for account, _, sum_of in pairs}
    return len(pairs) == len(by_value) == len(by_sum) > 1


def _before(scopes: ExchangeScopes, kind: ThingKind, one: SeenExchange) -> list[tuple[Mapping[str, Any], Any]]:
    """Return the things made before an exchange, each with its state at that time.

    A change by time counts even if no answer has shown it yet.
    """
    machine, now, found = scopes.machines[kind], int(one.time.timestamp()), []
    for thing in scopes.scope(one)["let"][plural(kind)]:
        state, age = thing["state"], now - thing["since"]
        while change := next((c for c in machine.by_time if c.before == state and age >= c.seconds), None):
            state = change.after
        found.append((thing, state))
    return found


def _sum(before: Sequence[tuple[Mapping[str, Any], Any]], account: Mapping[str, Any] | None, taken: Taken) -> Decimal:
    own = (account or {}).get(taken.member)
    return sum(
        (
            _amount(thing, taken.amount) + _fee(thing, taken)
            for thing, state in before
            if state in taken.states and value_at(thing, taken.of) == own
        ),
        Decimal(),
    )


def _fee(thing: Mapping[str, Any], taken: Taken) -> Decimal:
    return _number(thing["told"].get(taken.fee)) if isinstance(taken.fee, str) else taken.fee


def _amount(thing: Mapping[str, Any], at: Place) -> Decimal:
    """Return the number at a place of a thing, or the sum of those in all entries of a list."""
    if "*" not in at:
        return _number(value_at(thing, at))
    return sum((_number(value) for place, value in leaves(thing["sent"]) if anywhere(place) == at[1:]), Decimal())


def _example(scopes: ExchangeScopes, taken: Taken) -> Any:
    """Return how an amount is written."""
    if taken.amount[0] == "told":
        return value_at(taken.kind.example.document, _find_charge(scopes, taken, taken.amount[1]).place)
    return next(
        (value for at, value in leaves(taken.kind.example.body) if taken.amount[1:] in (at, anywhere(at))), None
    )


def _find_charge(scopes: ExchangeScopes, taken: Taken, name: str | int) -> Charge:
    return next(charge for charge in scopes.charges[taken.kind] if charge.name == name)


def _asked_source(scopes: ExchangeScopes, taken: Taken) -> str:
    """Return the expression for the amount in a request for a new thing."""
    if taken.amount[0] == "told":
        return f"({_find_charge(scopes, taken, taken.amount[1]).source})"
    return source_of(("body", *taken.amount[1:]))


def _tell_cover(scopes: ExchangeScopes, balance: Balance, taken: Taken) -> None:
    """Give the balance to the requests that create what is taken from it, to learn when it does not cover them."""
    operation, amount, asked = taken.kind.made_by, ("body", *taken.amount[1:]), _asked_source(scopes, taken)
    numbers = {one: scopes.value(asked, one, after=False) for one in operation.seen} if "*" not in taken.amount else {}
    numbers = {one: _number(value) for one, value in numbers.items() if _is_money(value)}
    payers = _find_payers(scopes, balance, taken, list(numbers))
    refused = [one for one in numbers if not scopes.is_ok[one] and one in payers]
    most = max((numbers[one] for one in refused), default=Decimal())
    for one in refused:
        key = _key(balance, payers[one])
        if key not in balance.start and numbers[one] < most:
            # Nobody has read this balance, but it does not cover a payment below the limit.
            balance.start[key] = _like(next(iter(balance.start.values())), numbers[one] / 2)
    for one, account in payers.items():
        if not balance.is_exact:
            is_covered = scopes.is_ok[one] or not _is_told_by_amount(scopes, one, amount, list(numbers))
            scopes.add(one, {balance.name: numbers[one] - (not is_covered)})
        elif _key(balance, account) in balance.start:
            scopes.add(one, {balance.name: _left(scopes, balance, account, one)})
    if payers:
        source = f"({number_source(_example(scopes, taken), asked)} or 0)"
        source += f"{_and_fee(scopes, taken, '')} > let.{balance.name}"
        scopes.covers.setdefault(operation, []).append(Condition(source, 69, "cover", amount))
        if balance.is_exact and taken.amount[0] == "sent":
            scopes.exact_amounts.add((operation, amount))


def _find_payers(
    scopes: ExchangeScopes, balance: Balance, taken: Taken, ones: Sequence[SeenExchange]
) -> dict[SeenExchange, Mapping[str, Any]]:
    """Return the accounts that requests of a thing name, by their ids or by other members such as IBANs."""
    operation, rows = taken.kind.made_by, balance.per.rows
    lookup = next((one for one in scopes.lookups[operation] if one.rows is rows), None)
    if lookup:
        named = {one: scopes.scope(one)["let"][lookup.name] for one in ones}
    elif rows and taken.of[0] == "sent":
        place = ("body", *taken.of[1:])
        balance.payers[operation] = source_of(place)
        named = {
            one: next((row for row in rows.entries if row.get(taken.member) == one.at(place)), None) for one in ones
        }
    else:
        return {}
    return {one: account for one, account in named.items() if account}


def _is_told_by_amount(scopes: ExchangeScopes, one: SeenExchange, amount: Place, ones: Sequence[SeenExchange]) -> bool:
    """Return whether only its amount tells a request from an accepted one, and has at least as many digits as all of
    these: pseudonyms keep their number.
    """
    accepted = [other for other in ones if scopes.is_ok[other]]
    digits = max((count_digits(_number(other.at(amount))) for other in accepted), default=0)
    is_alike = any(_without(one, amount) == _without(other, amount) for other in accepted)
    return is_alike and count_digits(_number(one.at(amount))) >= digits


def _without(one: SeenExchange, amount: Place) -> list[tuple[Place, Any]]:
    return [(place, value) for place, value in one.slots() if place != amount and place[0] == "body"]


def _tell_cover_to_decisions(scopes: ExchangeScopes, balance: Balance, taken: Taken) -> None:
    """Give the balance to the decisions about what is taken from it: a customer may agree to what it does not cover."""
    machine, rows = scopes.machines[taken.kind], balance.per.rows
    for operation, lookup in ((one, lookup) for one in scopes.world.operations for lookup in scopes.lookups[one]):
        changes = scopes.changes_by(operation, machine) if taken.kind in [kind for kind, _ in lookup.kinds] else []
        if not changes or operation.method == "DELETE" or "*" in taken.amount or rows is None:
            continue
        if any(change.before in taken.states for change in changes):
            continue
        name = f"let.{lookup.name}"
        payer = expression("form", taken.of[1:]) if taken.of[0] == "entered" else expression(name, taken.of)
        for one in operation.seen:
            number = scopes.value(payer, one, after=False)
            account = next((row for row in rows.entries if row.get(taken.member) == number), None)
            if account and str(account[rows.key]) in balance.start:
                scopes.add(one, {balance.name: _left(scopes, balance, account, one)})
        amount = number_source(_example(scopes, taken), expression(name, taken.amount))
        fee = _and_fee(scopes, taken, name)
        source = f"{name}.kind == {literal(taken.kind.name)} and ({amount} or 0){fee} > let.{balance.name}"
        scopes.covers.setdefault(operation, []).append(Condition(source, 69, "cover", name=lookup.name))
        balance.payers[operation] = payer


def _left(scopes: ExchangeScopes, balance: Balance, account: Mapping[str, Any], one: SeenExchange) -> Decimal:
    """Return what an account has before an exchange."""
    return _number(balance.start[_key(balance, account)]) - sum(
        (_sum(_before(scopes, each.kind, one), account, each) for each in balance.taken), Decimal()
    )


def _key(balance: Balance, account: Mapping[str, Any]) -> str:
    return str(account[balance.per.rows.key]) if balance.per.rows else ""


def _like(example: Any, number: Decimal) -> Any:
    """Return a number that is written like the example."""
    if isinstance(example, str):
        if example.isdecimal():
            return f"{number:.0f}"
        return f"{number:.2f}".replace(".", "," if "," in example else ".")
    return int(number) if isinstance(example, int) else number


def write_first_balances(balances: Sequence[Balance]) -> dict[str, Any]:
    """Return the first values by account, for the values of the dialect."""
    made = {}
    for balance in balances:
        first = next(iter(balance.start.values()))
        made[f"first_{balance.name}"] = {**balance.start, "*": first}
    return made


def balance_lets(
    scopes: ExchangeScopes, balance: Balance, lookup: ThingLookup, as_number: bool = False
) -> dict[str, Any]:
    """Return the named values that compute a balance. `as_number` is for comparisons."""
    if lookup.rows is None:
        return {}
    key = expression("let", (lookup.name, lookup.rows.key))
    table = f"let.first_{balance.name}"
    first = f"({table}[{key} ~ ''] or {table}['*'])"
    start = next(iter(balance.start.values()))
    number = number_source(start, first)
    made = {}
    for at, taken in enumerate(balance.taken, 1):
        name = f"taken_{balance.name}" + (f"_{at}" if at > 1 else "")
        owner = f"{write_account(taken.of, taken.account)} == {expression('let', (lookup.name, taken.member))}"
        made[name] = {
            "each": "{{ let.all_" + taken.kind.name + " }}",
            "as": "thing",
            "when": f"thing.state in {literal(list(taken.states))} and {owner}",
            "give": braced(_read_amount(scopes, taken)),
        }
    left = " - ".join([number, *(f"(let.{name} | sum)" for name in made)])
    if isinstance(start, str) and not as_number:
        left = f"({left}) | string"
        left += " | replace('.', ',')" if "," in start else ""
    elif isinstance(start, int):
        left = f"({left}) | int"
    return {**made, balance.name: braced(left)}


def payer_lets(scopes: ExchangeScopes, balance: Balance, operation: LearnedOperation) -> dict[str, Any]:
    """Return the named values that compute the balance of the account that pays, where its payment is decided on."""
    rows = balance.per.rows
    if rows is None:
        return {}
    own = f"selectattr({literal(balance.taken[0].member)}, 'equalto', {balance.payers[operation]})"
    payer = braced(f"(let.{rows.name}_rows | dictsort | map('last') | {own} | list)[0]")
    return {"payer": payer, **balance_lets(scopes, balance, ThingLookup("payer", (), None, rows=rows), as_number=True)}


def _read_amount(scopes: ExchangeScopes, taken: Taken) -> str:
    """Return the expression for what the thing `thing` takes."""
    example = _example(scopes, taken)
    if "*" not in taken.amount:
        return number_source(example, expression("thing", taken.amount)) + _and_fee(scopes, taken, "thing")
    at = taken.amount.index("*")
    member = literal(".".join(map(str, taken.amount[at + 1 :])))
    texts = f"{expression('thing', taken.amount[:at])} | map(attribute={member})"
    texts += " | map('replace', ',', '.')" if "," in str(example) else ""
    return f"({texts} | map('decimal') | sum){_and_fee(scopes, taken, 'thing')}"


def _and_fee(scopes: ExchangeScopes, taken: Taken, thing: str) -> str:
    """Return the expression that adds the fee of a thing, or that of a request for one if `thing` is empty."""
    if isinstance(taken.fee, Decimal):
        return f" + ({literal(str(taken.fee))} | decimal)" if taken.fee else ""
    charge = _find_charge(scopes, taken, taken.fee)
    example = value_at(taken.kind.example.document, charge.place)
    source = expression(thing, ("told", charge.name)) if thing else f"({charge.source})"
    return f" + {number_source(example, source)}"
