"""Conditions on a value of a request: missing, in another form, in the past, beyond a limit."""

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Any

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.forms import (
    NICE,
    account_digits,
    date_form,
    find_iban_country,
    is_amount,
    number_source,
    pattern_of,
    read_number,
)
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.redaction.allowlist import is_secret
from xs2a_sandbox.redaction.vocabulary import is_words

_NICE_DAYS = (0, 1, 7, 14, 30, 31, 60, 90, 100, 180, 365, 366)

_NOT_ABOUT_FORM = (401, 403, 404, 409, 410, 429)
"""Statuses of errors about who asks or what exists, never about the length of a text."""


def conditions_on_value(
    place: Place,
    wanted: Sequence[SeenExchange],
    others: Sequence[SeenExchange],
    is_success: bool,
    scopes: ExchangeScopes,
) -> Iterator[Condition]:
    source = source_of(place)
    good = _values(place, others)
    if any(isinstance(value, str) and value in scopes.world.cursors for value in good):
        return
    is_in_list = any(isinstance(step, int) for step in place)
    # A list that is always empty is there to be left out: it asks for something.
    is_empty = all(isinstance(value, list) and not value for value in good)
    if len(good) == len(others) and (wanted or not (is_in_list or is_empty)):
        yield Condition(f"{source} is none or {source} == ''", 50, "missing", place)
    guard = f"{source} is not none and "
    lists = [value for value in good if isinstance(value, list)]
    if lists and len(lists) == len(good):
        yield from _on_lists(place, wanted, lists, scopes)
        return
    yield from _past(place, source, others)
    texts = [value for value in good if isinstance(value, str)]
    if texts and len(texts) == len(good):
        refused = [len(value) for value in _values(place, wanted) if isinstance(value, str)]
        is_about_form = not is_success and not any(one.status in _NOT_ABOUT_FORM for one in wanted)
        is_about_form = is_about_form and not all(map(is_amount, texts))
        lengths = {len(text) if is_id(text) else 0 for text in texts}
        if is_about_form and refused and 0 < max(refused) < min(map(len, texts)):
            # Codes, such as those of branches, have one length.
            is_code = len(lengths) == 1 and any(lengths)
            most = lengths.pop() - 1 if is_code else max(refused)
            # That an amount is too great explains more than that a text next to it is short.
            yield Condition(f"{guard}({source} | string | length) <= {most}", 52 if is_code else 72, "form", place)
        told = (int(hint) for one in wanted for hint in _hints(one, texts[0], scopes.error_codes))
        if is_about_form and (
            likely := [most for most in told if max(map(len, texts)) <= most < min(refused, default=0)]
        ):
            yield Condition(f"{guard}({source} | string | length) > {max(likely)}", 53, "form", place)
        # The form of what the bank has made can be accidental.
        pattern = None if scopes.made.issuperset(texts) else pattern_of(texts)
        if wanted:
            yield Condition(f"{guard}{source} is not string", 51, "form", place)
        numbers = {account_digits(text) for text in texts}
        if (country := scopes.iban_country) and find_iban_country(numbers, [country]):
            number = f"({source} | replace(' ', ''))" if numbers.isdisjoint(texts) else source
            yield Condition(f"{guard}not (({literal(country)} ~ {number}) | has_format('iban'))", 54, "form", place)
        if wanted and all(map(FORMATS["iban"], texts)):
            yield Condition(f"{guard}not ({source} | has_format('iban'))", 54, "form", place)
        if pattern and all(re.search(r"[.,]\d\d$", text) and (read_number(text) or 0) > 0 for text in texts):
            yield Condition(f"({number_source(texts[0], source)} | default(1)) <= 0", 54, "form", place)
        if pattern:
            yield Condition(f"{guard}not ({source} | matches({literal(pattern)}))", 51, "form", place)
        amounts = [str(value) for value in _values(place, wanted) if read_number(value) is not None]
        if all(map(str.isdecimal, texts)) and amounts and not any(map(str.isdecimal, amounts)):
            yield Condition(f"{guard}not ({source} | matches('^[0-9]+$'))", 51, "form", place)
        words = list(dict.fromkeys(texts))
        are_words = all(re.fullmatch(r"[a-z_-]{2,20}", text) for text in words) and len(words) < 4
        if are_words and place[0] != "form" and (wanted or (len(words) > 1 and all(map(is_words, words)))):
            yield Condition(f"{guard}{source} not in {literal(words)}", 53, "word", place)
    elif good and all(isinstance(value, int | Decimal) and not isinstance(value, bool) for value in good):
        yield Condition(f"{guard}{source} is not number", 51, "form", place)
        if all(value > 0 for value in good):
            yield Condition(f"{source} is number and ({source} or 0) <= 0", 54, "form", place)
    if not is_success and not any(one.status == 401 for one in wanted):
        yield from limits(place, wanted, others, scopes.error_codes)


def _on_lists(
    place: Place, wanted: Sequence[SeenExchange], lists: Sequence[Sequence[Any]], scopes: ExchangeScopes
) -> Iterator[Condition]:
    """Yield when a list has a word that no accepted one has."""
    items = [item for value in lists for item in value]
    if not items or not all(isinstance(item, str) and " " not in item for item in items):
        return
    source, words = source_of(place), list(dict.fromkeys(items))
    bad = [item for value in _values(place, wanted) if isinstance(value, list) for item in value]
    refused = [item for item in dict.fromkeys(bad) if item not in words]
    if not scopes.is_redacted or all(map(is_words, words)):
        unknown = f"{source} is not none and {source} | reject('in', {literal(words)}) | list"
        yield Condition(unknown, 52, "form", place)
    elif refused:
        # Pseudonyms do not show which words the bank accepts.
        known = f"{source} is not none and {source} | select('in', {literal(refused)}) | list"
        yield Condition(known, 52, "form", place)


def _values(place: Place, ones: Sequence[SeenExchange]) -> list[Any]:
    return [value for one in ones if (value := one.at(place)) is not None]


def _past(place: Place, source: str, others: Sequence[SeenExchange]) -> Iterator[Condition]:
    """A day in the past, where all accepted ones were in the future."""
    dates = [(one, form, one.at(place)) for one in others if (form := date_form(one.at(place)))]
    if not dates or place[0] != "body":
        return
    first = dates[0][1]
    if first.has_time and all(form == first and form.moment(value) > one.time for one, form, value in dates):
        now = "(clock.seconds | strftime('%Y-%m-%dT%H:%M:%S+00:00'))"
        yield Condition(f"({first.read(source)} or '9999') < {now}", 55, "past", place)
    elif all(form == first and form.day(value) > one.time.date() for one, form, value in dates):
        yield Condition(f"({first.read(source)} or '9999') < today(0)", 55, "past", place)


def limits(
    place: Place, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange], codes: Collection[Place]
) -> Iterator[Condition]:
    """Yield the condition that a day or a number is beyond all that the others have.

    Numbers in errors can be such limits, unless they are at the places of `codes`.
    """
    if is_secret(str(place[-1])):
        return
    source, good, bad = source_of(place), _values(place, others), _values(place, wanted)
    forms = [form for value in bad if (form := date_form(value))]
    if forms and all(date_form(value) == forms[0] for value in good):
        dated = [one for one in wanted if date_form(one.at(place)) == forms[0]]
        bad_days, good_days = ([_days_ahead(one, place) for one in ones if one.at(place)] for ones in (dated, others))
        day = forms[0].read(source)
        if (least_days := min(bad_days)) > 0:
            told = {int(number) for one in wanted for number in _hints(one, 0, codes)}
            likely = [days for days in sorted(told) if max(good_days, default=0) <= days < least_days]
            likely = likely or [days for days in _NICE_DAYS if days < least_days]
            most = max(likely, default=least_days - 1)
            yield Condition(f"({day} or '') > today({most})", 70, "limit", place)
        if max(bad_days) < min(good_days, default=max(bad_days)):
            yield Condition(f"({day} or '9999') < today({max(bad_days) + 1})", 70, "limit", place)
        return
    numbers = [(number, number_source(value, source)) for value in bad if (number := read_number(value)) is not None]
    goods = [number for value in good if (number := read_number(value)) is not None]
    if not numbers or len(goods) < len(good):
        return
    floor = max(goods, default=Decimal(0))
    # Another reason may be that several amounts together are too much.
    if above := [one for one in numbers if one[0] > floor]:
        least, read = min(above)
        hints = [number for one in wanted for number in _hints(one, bad[0], codes) if floor <= number < least]
        nice = [number for number in NICE if floor <= number < least]
        limit = max(hints or nice, default=least - Decimal(1))
        yield Condition(f"({read} or 0) > {limit.normalize():f}", 49 if hints else 70, "limit", place)


def _days_ahead(one: SeenExchange, place: Place) -> int:
    """Return how many days after the request a date in it is."""
    form = date_form(one.at(place))
    return (form.day(one.at(place)) - one.time.date()).days if form else 0


def _hints(one: SeenExchange, value: Any, codes: Collection[Place]) -> Iterator[Decimal]:
    """Yield the numbers in an error that could be a limit, written as the value is."""
    for place, told in leaves(one.document):
        words = told.split() if isinstance(told, str) and " " in told else [told]
        for word in words:
            found = read_number(word.strip(".") if isinstance(word, str) else word)
            is_alike = ("," in str(value)) == ("," in str(word))
            if found is not None and found != one.status and is_alike and place not in codes:
                yield found
