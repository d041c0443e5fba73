"""Conditions on the things that a request names: unknown, in another state, too old, with another secret."""

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition, places_in
from xs2a_sandbox.features.derive.unknown.conditions.sent_words import telling_words
from xs2a_sandbox.features.derive.unknown.recorded.forms import NICE, date_form, number_source, read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import AGAIN, ExchangeScopes, plural
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word, write_in_style
from xs2a_sandbox.features.derive.unknown.things.lifetimes import told_lifetimes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.redaction.vocabulary import humps

_ABOUT_NUMBER = (403, 409, 429)
"""Statuses of errors about too many things."""
_VERBS = frozenset("access detail get list query read see show view".split())
_LIFETIMES = (60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 86400)


def conditions_on_things(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool,
) -> Iterator[Condition]:
    for lookup in scopes.lookups[operation]:
        name, place = f"let.{lookup.name}", lookup.place
        # A word, such as `authorization_code`, tells more about the answer than the code that comes with it.
        is_code = is_success and place[0] == "form" and lookup.is_code
        rank = 5 if place[0] == "headers" else 40 if lookup.rows else 26 if is_code else 20
        is_optional = any(one.at(place) is None for one in others) and not lookup.owned
        guard = f"{source_of(place)} is not none and " if is_optional else ""
        yield Condition(f"{guard}not {name}", rank, "without" if lookup.owned else "unknown", place, lookup.name)
        if lookup.rows:
            continue
        yield Condition(f"{name} is not none", 91, "exists", place, lookup.name)
        yield Condition(f"{name} and body != {name}.sent", 90, "differs", place, lookup.name)
        # The kind tells more than the state: a thing that is corrected has another state, but the same kind.
        rank = 29 if is_success and len(lookup.kinds) > 1 else 45
        yield Condition(f"{name}.kind == {literal(lookup.kinds[0][0].name)}", rank, "kind", place, lookup.name)
        # In a redacted recording, it is a guess which token a request has.
        is_about_scope = wanted and others and wanted[0].status == 403 and not scopes.is_redacted
        if is_success or is_about_scope:
            yield from _on_sent(scopes, lookup, wanted, others)
        if not is_success:
            yield from _limits(scopes, lookup, wanted)
            yield from _on_lacking(scopes, lookup, wanted, others)
            yield from _on_last_day(lookup)
        if any(kind in scopes.endings for kind, _ in lookup.kinds) and not is_success:
            yield Condition(f"{name}.ended", 5, "ended", place, lookup.name)
        if scopes.machines_of(lookup):
            yield from _on_state(scopes, operation, lookup, wanted, others, is_success)
        elif others and not is_success and any(one.status != 429 for one in wanted):
            if any(scopes.have_lifetimes(kind) for kind, _ in lookup.kinds):
                yield Condition(is_over(name), 6, "age", place, lookup.name)
            for seconds in _ages(scopes, name, wanted, others):
                yield Condition(is_over(name, seconds), 6, "age", place, lookup.name)
        told = others[0].headers.get("if-match", "") if others else ""
        if version := re.fullmatch(r"(\W*[a-z]?)\d+(\W*)", told):
            tag = f"{literal(version[1])} ~ {name}.version ~ {literal(version[2])}"
            yield Condition(f"headers['if-match'] != {tag}", 22, "version", ("headers", "if-match"), lookup.name)
        for secret, key in scopes.secondary[operation]:
            if secret == place:
                continue
            differs = f"{source_of(secret)} != {expression(name, (key,))}"
            yield Condition(differs, 60, "secret", secret, lookup.name)
            yield Condition(f"{source_of(secret)} is not none and {differs}", 61, "secret", secret, lookup.name)
    yield from rights(scopes, operation, wanted) if wanted and not is_success else ()
    if known := scopes.request_keys.get(operation):
        yield repeated(scopes, operation, known)
        rank = 13 if known[0] == "headers" else 92
        if not is_success:
            yield reused(scopes, operation, known, rank)
            yield Condition(f"let.{AGAIN}", rank + 1, "used", known)
    if (kind := scopes.world.made_by(operation)) and not is_success:
        yield from used(scopes, operation, kind)
        yield from _open(scopes, kind, wanted, others)
        yield from _day_totals(scopes, kind, wanted, others)


def _on_last_day(lookup: ThingLookup) -> Iterator[Condition]:
    """Yield when the day is over until which the thing's own request limits it, such as an access."""
    for place, value in leaves(lookup.kinds[0][0].example.body):
        form = date_form(value)
        if form and not form.has_time:
            day = form.read(expression(f"let.{lookup.name}.sent", place))
            yield Condition(f"({day} or '9999') < today(0)", 28, "over", lookup.place, lookup.name)


def used(scopes: ExchangeScopes, operation: LearnedOperation, kind: ThingKind) -> Iterator[Condition]:
    """Yield when a code, or a token for another one, has made a thing before."""
    for lookup in scopes.lookups[operation]:
        is_code = any(key != named.id or named.is_code for named, key in lookup.kinds)
        if is_code and lookup.place[0] in ("form", "body") and not lookup.rows and not lookup.owned:
            name = f"let.{lookup.name}"
            # Redaction has dropped other secrets, too: with another one, the first was a mistake.
            same = f" | selectattr('sent', 'equalto', {lookup.place[0]})" if scopes.is_redacted else ""
            made = f"let.{plural(kind)}{same} | map(attribute={literal(f'of.{lookup.name}.id')})"
            source = f"{name} and {made} | select('equalto', {name}.id) | list"
            yield Condition(source, 24, "used", lookup.place, lookup.name)


def repeated(scopes: ExchangeScopes, operation: LearnedOperation, place: Place) -> Condition:
    """Return when the same request has made a thing before, which the bank recognises by the key at a place."""
    return Condition(f"let.{AGAIN} and {_has_same_body(scopes, operation)}", 12, "repeated", place)


def reused(scopes: ExchangeScopes, operation: LearnedOperation, place: Place, rank: int) -> Condition:
    """Return when another request with the same key has made a thing before."""
    return Condition(f"let.{AGAIN} and not ({_has_same_body(scopes, operation)})", rank, "reused", place)


def _has_same_body(scopes: ExchangeScopes, operation: LearnedOperation) -> str:
    """Return the condition that the body is the same, except for what differs in each request, such as its own id.

    This is also what differs in requests that were sent again and accepted, such as the time.
    """
    key, kind = scopes.request_keys.get(operation), scopes.world.made_by(operation)
    own = {place for place in scopes.nonces if place[0] == "body" and place != key}
    for first, one in product(kind.things if kind and key else (), operation.seen):
        if key and scopes.is_ok[one] and one.number > first.created.number and one.at(key) == first.created.at(key):
            sent = dict(leaves(first.created.body, ("body",)))
            own |= {place for place, value in leaves(one.body, ("body",)) if sent.get(place, value) != value}
    paths = ["/" + "/".join(map(str, place[1:])) for place in sorted(own, key=str) if operation.seen[-1].at(place)]
    if not paths:
        return f"body == let.{AGAIN}.sent"
    steps = literal([{"op": "add", "path": path, "value": None} for path in paths])
    return f"patched(body, {steps}) == patched(let.{AGAIN}.sent, {steps})"


def _on_sent(
    scopes: ExchangeScopes, lookup: ThingLookup, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """Yield that the request for the thing had a word that those for other things had not."""
    name = f"let.{lookup.name}"
    mine, theirs = (
        [sent for one in ones if (sent := scopes.value(f"{name}.sent", one)) is not None] for ones in (wanted, others)
    )
    for place, word in telling_words(mine, theirs, is_redacted=scopes.is_redacted):
        source = f"{expression(f'{name}.sent', place)} == {literal(word)}"
        yield Condition(source, 93, "sent", lookup.place, lookup.name)


def _on_lacking(
    scopes: ExchangeScopes, lookup: ThingLookup, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """Yield that the request for the thing lacks what those for other things had, such as a later day."""
    name = f"let.{lookup.name}.sent"
    mine, theirs = (
        [dict(leaves(sent)) for one in ones if isinstance(sent := scopes.value(name, one, after=False), dict)]
        for ones in (wanted, others)
    )
    for place in theirs[0] if mine and theirs else ():
        if all(place in sent for sent in theirs) and not any(place in sent for sent in mine):
            yield Condition(f"{expression(name, place)} is none", 94, "lacking", lookup.place, lookup.name)


def _limits(scopes: ExchangeScopes, lookup: ThingLookup, wanted: Sequence[SeenExchange]) -> Iterator[Condition]:
    """Yield when a number is greater than one that the request for the thing has, and that the error tells."""
    for one in wanted:
        told = {read_number(value) for _, value in leaves(one.document)} - {None}
        sent = scopes.value(f"let.{lookup.name}.sent", one, after=False)
        for limit, most in leaves(sent):
            for place, value in one.slots() if read_number(most) in told and not date_form(most) else ():
                if place[0] == "body" and read_number(value) is not None and not date_form(value):
                    number = number_source(value, source_of(place))
                    allowed = number_source(most, expression(f"let.{lookup.name}.sent", limit))
                    source = f"({number} or 0) > ({allowed} or {number} or 0)"
                    yield Condition(source, 48, "limit", place, lookup.name)


def _open(
    scopes: ExchangeScopes, kind: ThingKind, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """Yield when too many things wait in their first state, such as consents that wait for the customer."""
    machine = scopes.machines.get(kind)
    if machine is None or not wanted or wanted[0].status not in _ABOUT_NUMBER:
        return
    yield from _once(scopes, scopes.world.operation_of[wanted[0]], kind)
    waiting = f"(let.{plural(kind)} | selectattr('state', 'equalto', {literal(machine.first)}) | list | length)"
    least, most = (
        pick((scopes.value(waiting, one, after=False) or 0 for one in ones), default=0)
        for pick, ones in ((min, wanted), (max, others))
    )
    if least > most:
        yield Condition(f"{waiting} >= {least}", 80, "open")


def _once(scopes: ExchangeScopes, operation: LearnedOperation, kind: ThingKind) -> Iterator[Condition]:
    """Yield when an access has made such a thing before, also from the same account."""
    accounts = [lookup.place for lookup in scopes.lookups[operation] if lookup.rows and lookup.place[0] == "body"]
    for lookup in scopes.lookups[operation]:
        if lookup.rows or lookup.place[0] == "headers":
            continue
        own = f"selectattr({literal(f'of.{lookup.name}.id')}, 'equalto', let.{lookup.name}.id)"
        made = f"let.{lookup.name} and let.{plural(kind)} | {own}"
        yield Condition(f"{made} | list", 78, "used", lookup.place, lookup.name)
        for place in accounts:
            member = literal(".".join(map(str, ("sent", *place[1:]))))
            same = f"selectattr({member}, 'equalto', {source_of(place)})"
            yield Condition(f"{made} | {same} | list", 79, "used", lookup.place, lookup.name)


def _day_totals(
    scopes: ExchangeScopes, kind: ThingKind, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """Yield when the payments of a day are together above a limit, without those that a request has ended."""
    machine = scopes.machines.get(kind)
    if machine is None or not wanted or not others or not scopes.world.is_payment(kind):
        return
    ended = [change.after for change in machine.by_request if change.after in machine.lasts]
    of_today = "selectattr('made', 'ge', clock.seconds - clock.seconds % 86400)"
    known = f"let.{plural(kind)} | {of_today} | rejectattr('state', 'in', {literal(ended)})"
    for place, value in leaves(kind.example.body, ("body",)):
        is_amount = read_number(value) is not None and not date_form(value)
        if not is_amount or not all(read_number(one.at(place)) for one in wanted):
            continue
        member = literal(".".join(("sent", *map(str, place[1:]))))
        comma = " | map('replace', ',', '.')" if isinstance(value, str) and "," in value else ""
        paid = f"({known} | map(attribute={member}){comma} | map('decimal') | sum)"
        total = f"{paid} + ({number_source(value, source_of(place))} or 0)"
        least, most = (
            pick((Decimal(str(scopes.value(total, one, after=False) or 0)) for one in ones), default=Decimal(0))
            for pick, ones in ((min, wanted), (max, others))
        )
        if most < least:
            limit = max((number for number in NICE if most <= number < least), default=most)
            yield Condition(f"{total} > {limit.normalize():f}", 71, "limit", place)


def rights(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange] = ()
) -> Iterator[Condition]:
    """Yield when a thing with a list of words, such as rights, lacks the one in the path of the operation.

    It can also lack the one that the errors name.
    """
    named = [part for word in operation.pattern if word for part in (word, *word.split("."))]
    texts = [value for one in wanted for _, value in leaves(one.document) if isinstance(value, str)]
    told = {*texts, *(word for text in texts for word in re.findall(r"[\w.:-]*\w", text))}
    for lookup in scopes.lookups[operation]:
        for kind in (kind for kind, _ in lookup.kinds if kind.made_by is not operation):
            bodies = [thing.created.body for thing in kind.things if isinstance(thing.created.body, dict)]
            for place, every in _word_lists(bodies):
                if any(isinstance(step, int) for step in place):
                    yield from _rights_by_account(scopes, operation, lookup, place, every, told, named)
                    continue
                in_path = (word for part in reversed(named) for word in every if _is_right(word, part))
                mine = next((word for word in every if word in told), None) or next(in_path, None)
                if mine is not None:
                    source = f"{literal(mine)} not in {expression(f'let.{lookup.name}.sent', place)}"
                    yield Condition(
                        f"let.{lookup.name} and {source}", 34, "right", lookup.place, lookup.name, word=mine
                    )
            yield from _rights_to_accounts(scopes, operation, lookup, bodies)


def _rights_by_account(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    access: ThingLookup,
    place: Place,
    every: Sequence[str],
    told: Collection[str],
    named: Sequence[str],
) -> Iterator[Condition]:
    """Yield when none of the objects with words, such as rights, is for the account and has the word.

    Each names an account by its number, or all accounts by a word.
    """
    at = next(at for at, step in enumerate(place) if isinstance(step, int))
    in_path = (word for part in reversed(named) for word in every if _is_right(word, part))
    mine = next((word for word in every if word in told), None) or next(in_path, None)
    for account in (one for one in scopes.lookups[operation] if one.rows and mine and len(place) == at + 2):
        entries = [
            entry
            for thing in access.kinds[0][0].things
            for entry in value_at(thing.created.body, place[:at]) or ()
            if isinstance(entry, dict)
        ]
        rows = account.rows.entries if account.rows else []
        for name, member in ((name, member) for name in rows[0] for member in entries[0]):
            texts = [text for entry in entries if isinstance(text := entry.get(member), str)]
            numbers = {text for text in texts if any(row.get(name) == text for row in rows)}
            words = sorted({text for text in texts if text.isalpha()})
            if numbers and all(text in numbers or text in words for text in texts):
                own = f"[{', '.join((expression('let', (account.name, name)), *map(literal, words)))}]"
                lists = expression(f"let.{access.name}.sent", place[:at])
                right = f"map(attribute={literal(str(place[-1]))}) | sum(start=[])"
                source = f"{literal(mine)} not in ({lists} | selectattr({literal(member)}, 'in', {own}) | {right})"
                guard = f"let.{access.name} and let.{account.name}"
                yield Condition(f"{guard} and {source}", 34, "right", access.place, access.name, word=str(mine))
                return


def _word_lists(bodies: Sequence[dict[str, Any]]) -> Iterator[tuple[Place, list[str]]]:
    """Yield the places of lists of words that all documents have, with the words."""
    lists: dict[Place, list[str]] = {}
    for body in bodies:
        for place, value in leaves(body):
            if place and isinstance(place[-1], int) and isinstance(value, str):
                lists.setdefault(place[:-1], []).append(value)
    yield from (one for one in lists.items() if all(isinstance(value_at(body, one[0]), list) for body in bodies))


def _is_right(word: str, part: str) -> bool:
    """Return whether a word is that of a path, in the plural, or with a verb: `see-accounts`, `accounts.read`."""
    if word.lower() in (part, f"{part}s"):
        return True
    tokens = [token.lower() for chunk in re.split("[-_:.]", word) for token in humps(chunk)]
    return len(tokens) > 1 and [token for token in tokens if token not in _VERBS] == [part.lower()]


def _rights_to_accounts(
    scopes: ExchangeScopes, operation: LearnedOperation, access: ThingLookup, bodies: Sequence[dict[str, Any]]
) -> Iterator[Condition]:
    """Yield when a thing does not name an account in its list for the word in the path, such as `balances`."""
    lists: dict[tuple[Place, Place], set[str]] = {}
    for body in bodies:
        for place, value in leaves(body):
            at = next((at for at, step in enumerate(place) if isinstance(step, int)), None)
            if at is not None and isinstance(value, str):
                lists.setdefault((place[:at], place[at + 1 :]), set()).add(value)
    for account in (one for one in scopes.lookups[operation] if one.rows):
        rows = account.rows.entries if account.rows else []
        for (place, member), numbers in lists.items():
            name = next((name for name in rows[0] if not numbers.isdisjoint(str(row.get(name)) for row in rows)), None)
            word = place[-1] if place[-1] in operation.pattern else operation.pattern[-1]
            if word is None or name is None:
                continue
            own, sent = expression("let", (account.name, name)), f"let.{access.name}.sent"
            named = expression(sent, (*place[:-1], word))
            # The list for another word, such as that for transactions next to that for balances, can be missing.
            guard = f"({expression(sent, place)} or {named}) and " if word != place[-1] else ""
            named = f"({named} or []){f' | map(attribute={literal(".".join(map(str, member)))})' if member else ''}"
            source = f"let.{access.name} and let.{account.name} and {guard}{own} not in ({named} | list)"
            yield Condition(source, 42, "right", access.place, access.name, word=str(word))


def _on_state(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    lookup: ThingLookup,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool,
) -> Iterator[Condition]:
    name, machines = f"let.{lookup.name}", scopes.machines_of(lookup)
    lasts = {word for machine in machines for word in machine.lasts}
    changes = any(scopes.changes_by(operation, machine) for machine in machines)

    def condition(source: str, rank: int, kind: str = "in state") -> Condition:
        return Condition(source, rank, kind, lookup.place, lookup.name)

    if not is_success and others:
        yield from _replaced(scopes, lookup, others)
    for guard, same in _by_choice(wanted, others):
        good, bad = _states(scopes, name, same), _states(scopes, name, wanted)
        every = {str(state) for state in _states(scopes, name, others)}
        if not bad or every & set(map(str, bad)) or (guard and not good and is_success):
            continue
        later = {word for machine in machines for state in bad for word in machine.later(state)}
        before = all(
            any(str(state) in map(str, machine.later(one)) for machine in machines) for one in good for state in bad
        )
        if is_success:
            known = _states(scopes, name, others)
            soon = {word: None for one in machines for word in one.soon_after(bad) if word not in known}
            yield condition(f"{name}.state in {literal([*bad, *soon])}", 31)
        elif (changes and (before or set(bad) <= lasts)) or not good:
            unseen = {guess_word("declined", machine) for machine in machines}
            unseen |= {word for machine in machines for word in _adopted_lasts(scopes, machine)}
            closed = list(dict.fromkeys([*bad, *sorted((later | lasts | unseen) - set(good), key=str)]))
            yield condition(f"{guard}{name}.state in {literal(closed)}", 28 if guard else 29)
        elif len(good) == 1 or set(good) <= {machine.first for machine in machines}:
            yield condition(f"{guard}{name}.state not in {literal(good)}", 30, "state")
        else:
            yield condition(f"{guard}{name}.state in {literal(bad)}", 31)
            yield condition(f"{guard}{name} and {name}.state not in {literal(good)}", 32, "state")


def _adopted_lasts(scopes: ExchangeScopes, machine: StateMachine) -> Iterator[str]:
    """Yield last states that only things of other kinds were seen to get by a request which is also for this kind."""
    for other in scopes.machines.values() if isinstance(machine.first, str) else ():
        for change in other.by_request if other is not machine else ():
            lookups = scopes.lookups[scopes.world.operation_of[change.one]]
            is_shared = any(machine in scopes.machines_of(one) and other in scopes.machines_of(one) for one in lookups)
            if is_shared and isinstance(change.after, str) and change.after in other.lasts:
                yield write_in_style(change.after, machine)


def _replaced(scopes: ExchangeScopes, lookup: ThingLookup, others: Sequence[SeenExchange]) -> Iterator[Condition]:
    """Yield when a thing is not in a good state, or a newer one is."""
    name, good = f"let.{lookup.name}", _states(scopes, f"let.{lookup.name}", others)
    for kind, _ in lookup.kinds[:1] if len(good) == 1 else ():
        newer = f"selectattr('number', 'gt', {name}.number) | selectattr('state', 'in', {literal(good)}) | list"
        source = f"{name}.state not in {literal(good)} or let.{plural(kind)} | {newer}"
        yield Condition(source, 33, "state", lookup.place, lookup.name)


def _by_choice(
    wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[tuple[str, Sequence[SeenExchange]]]:
    """Yield conditions on a word of the request, such as the wanted state, with the exchanges that have it."""
    yield "", others
    for place in places_in(wanted):
        mine, theirs = ({text for one in ones if isinstance(text := one.at(place), str)} for ones in (wanted, others))
        are_words = all(re.fullmatch(r"[a-z_-]{2,20}", text) for text in mine | theirs)
        if len(mine) == 1 and theirs and theirs != mine and are_words:
            (value,) = mine
            yield f"{source_of(place)} == {literal(value)} and ", [one for one in others if one.at(place) == value]


def _states(scopes: ExchangeScopes, name: str, ones: Sequence[SeenExchange]) -> list[Any]:
    found = [scopes.value(f"{name}.state", one, after=False) for one in ones]
    return list(dict.fromkeys(state for state in found if state is not None))


def is_over(name: str, seconds: int | None = None) -> str:
    """Return the condition that a thing is so old, or as old as the answer with it says that it can become."""
    if seconds is not None:
        return f"clock.seconds >= ({name}.made or clock.seconds) + {seconds}"
    return f"{name}.lifetime is not none and clock.seconds >= {name}.made + {name}.lifetime"


def _ages(
    scopes: ExchangeScopes, name: str, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[int]:
    """Yield the age that all wanted things have, and no other has."""
    source = f"clock.seconds - {name}.made"
    old, young = (
        [int(age) for one in ones if (age := scopes.value(source, one, after=False)) is not None]
        for ones in (wanted, others)
    )
    least, most = min(old, default=0), max(young, default=0)
    if least > max(most, 30):
        # The answer with a token often says how long it lasts.
        made = {thing for one in [*wanted, *others] for lookup, thing in scopes.found(one) if name[4:] == lookup.name}
        numbers = {value for thing in made for _, value in leaves(thing.created.document) if isinstance(value, int)}
        told = {time for thing in made for time in told_lifetimes(thing, scopes.offset)}
        likely = told | (numbers & set(_LIFETIMES))
        yield from sorted(time for time in likely if most < time <= least)
        yield max((time for time in _LIFETIMES if most < time <= least), default=least)
