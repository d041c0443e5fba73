"""The conditions that could explain an answer: what its requests have in common, and what the other requests have."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition, places_in
from xs2a_sandbox.features.derive.unknown.conditions.credentials import (
    conditions_on_codes,
    conditions_on_customers,
    conditions_on_secrets,
    names_customer,
)
from xs2a_sandbox.features.derive.unknown.conditions.on_things import conditions_on_things
from xs2a_sandbox.features.derive.unknown.conditions.on_values import conditions_on_value, limits
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, source_of
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.redaction.values import DROPPED
from xs2a_sandbox.redaction.vocabulary import is_words

_LEAST = 6
"""The least length of a request's id, if the recording shows no shorter one."""
_LAST = 80
"""The rank of a success that only a missing name of the customer explains."""


def candidates(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool = False,
) -> Iterator[Condition]:
    """Yield conditions that could hold for the wanted exchanges, and for none of the others.

    Without wanted exchanges, these are the mistakes that a request could make. What the bank has made, such as a token,
    is never the same again: nothing depends on it.
    """
    for condition in _possible(scopes, operation, wanted, others, is_success):
        literals = [found[1] or found[2] for found in re.finditer(r"'([^']+)'|== (\d+)", condition.source)]
        if scopes.made.isdisjoint(word for text in literals for word in text.split()):
            yield condition


def _possible(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool,
) -> Iterator[Condition]:
    yield from _on_headers(scopes, wanted, others, is_success)
    yield from conditions_on_things(scopes, operation, wanted, others, is_success)
    yield from scopes.quotas.get(operation, ()) if wanted and not is_success else ()
    yield from scopes.covers.get(operation, ()) if wanted else ()
    if any(one.has_json for one in others):
        yield Condition("body is none", 10, "unreadable")
    for place in places_in(others):
        yield from conditions_on_value(place, wanted, others, is_success, scopes)
    yield from _on_mismatch(scopes, others)
    yield from _on_presence(scopes, operation, wanted, others, is_success)
    if is_success:
        yield from conditions_on_customers(scopes, operation, wanted, others)
    if not is_success or wanted[0].text:
        yield from conditions_on_secrets(scopes, operation, wanted, others)
    if not is_success:
        yield from conditions_on_codes(scopes, operation, wanted, others)
    for place in places_in(wanted) if not is_success else ():
        if not any(one.at(place) is not None for one in others):
            yield from limits(place, wanted, others, scopes.error_codes)
        used = {value for one in others if isinstance(value := one.at(place), str)}
        if place[0] in ("query", "body") and used and used <= scopes.world.cursors:
            source = source_of(place)
            yield Condition(f"{source} is not none and {source} not in let.cursors", 47, "cursor", place)
    for place in places_in(wanted):
        if place in scopes.nonces:
            continue
        values = [value for one in wanted if (value := one.at(place)) is not None and not isinstance(value, dict)]
        for value in (value for value in values if not ((form := date_form(value)) and form.has_time)):
            source = f"{source_of(place)} == {literal(value)}"
            if all(one.status == 403 for one in wanted) and (
                asking := _same_headers(scopes, operation, wanted, others)
            ):
                # What one customer must not use may belong to another.
                yield Condition(f"{source} and {asking}", 98, "value", place)
            yield Condition(source, 99, "value", place)


def _same_headers(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> str:
    """Return the condition that a request has the headers that all recorded ones have: of the same app and customer."""
    named = {lookup.place for lookup in scopes.lookups[operation]}
    first, *more = (*wanted, *others)
    return " and ".join(
        f"headers[{literal(name)}] == {literal(value)}"
        for name, value in first.headers.items()
        if ("headers", name) not in named | scopes.nonces and value != DROPPED
        if all(one.headers.get(name) == value for one in more)
    )


def _on_headers(
    scopes: ExchangeScopes, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange], is_success: bool
) -> Iterator[Condition]:
    if any(one.status == 429 for one in wanted):
        # It is about how often, not about what a request lacks.
        return
    names = list(dict.fromkeys(name for one in others for name in one.headers))
    is_anonymous = all(one.status == 401 and "authorization" not in one.headers for one in wanted)
    if wanted and is_anonymous and all("authorization" in one.headers for one in others):
        # The answer is about who asks, whatever else the requests lack.
        names = ["authorization"]
    for name in names:
        if not all(name in one.headers for one in others):
            continue
        source, place = f"headers[{literal(name)}]", ("headers", name)
        is_precondition = name.startswith("if-")
        named = [lookup for lookups in scopes.lookups.values() for lookup in lookups if lookup.place == place]
        names_thing = any(map(scopes.machines_of, named))
        rank = _LAST if is_success and names_customer(name) else 21 if is_precondition else 4 if names_thing else 0
        yield Condition(f"{source} is none", rank, "missing", place)
        values = {one.headers[name] for one in others}
        if place in scopes.nonces or place in scopes.request_keys.values():
            good = [one.headers[name] for one, is_ok in scopes.is_ok.items() if is_ok and name in one.headers]
            if min(map(len, good), default=0) >= _LEAST:
                short = f"({source} | default('absent, and so not short') | length) < {_LEAST}"
                if all(map(FORMATS["uuid"], good)):
                    short = f"{source} is not none and not ({source} | has_format('uuid'))"
                yield Condition(short, 1, "short", place)
        elif len(values) == 1 and values != {DROPPED} and not is_precondition and not named and rank != _LAST:
            (value,) = values
            if name in scopes.body_headers:
                continue
            is_of_app = scopes.app_headers.get(name) == value and all(one.status == 401 for one in wanted)
            yield Condition(f"{source} != {literal(value)}", 1 if is_of_app else 3, "header", place)
            for one in wanted:
                if name in one.headers and one.headers[name] != value:
                    yield Condition(f"{source} == {literal(one.headers[name])}", 2, "header", place)


def _on_mismatch(scopes: ExchangeScopes, others: Sequence[SeenExchange]) -> Iterator[Condition]:
    """Yield the condition that two values differ which are the same id in all other requests."""
    pairs: list[tuple[Place, Place]] = []
    for one in others[:1]:
        ids = [(place, value) for place, value in one.slots() if isinstance(value, str) and scopes.world.ids.has(value)]
        pairs = [(at, other) for (at, value), (other, same) in combinations(ids, 2) if value == same]
    for place, other in pairs:
        values = {one.at(place) for one in others}
        if all(one.at(place) == one.at(other) for one in others) and len(values) == len(others):
            source, same = source_of(place), source_of(other)
            differ = f"{source} is not none and {same} is not none and {source} != {same}"
            yield Condition(differ, 5, "mismatch", place)


def _on_presence(
    scopes: ExchangeScopes,
    operation: LearnedOperation,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool,
) -> Iterator[Condition]:
    rank = 20 if is_success else 97
    for place in places_in(wanted):
        if not any(one.at(place) is not None for one in others):
            # What a step of an authorisation brings tells more about its answer than the step before.
            is_step = is_success and operation.method in ("PUT", "PATCH") and place[0] == "body"
            yield Condition(f"{source_of(place)} is not none", 25 if is_step else 75, "present", place)
    for place in places_in([*wanted, *others]):
        mine, theirs = ({text for one in ones if isinstance(text := one.at(place), str)} for ones in (wanted, others))
        is_choice = all(re.fullmatch(r"[a-z_-]{1,20}", text) for text in mine | theirs)
        if len(mine) == 1 and theirs and not mine & theirs and is_choice:
            (value,) = mine
            source = source_of(place)
            words = [one.at(place) for one in operation.seen if scopes.is_ok[one]]
            # The bank's own word for the usual choice is not known: it is each word that has no condition.
            is_hidden = scopes.is_redacted and not is_words(value) and words.count(value) * 2 > len(words)
            if len(theirs) == 1 and all(map(is_words, theirs)) and not is_words(value):
                # Redaction has hidden the word: it is the other one.
                yield Condition(
                    f"{source} is not none and {source} not in {literal(sorted(theirs))}", rank, "choice", place
                )
            yield Condition(f"{source} == {literal(value)}", rank + is_hidden, "choice", place)
