"""Learns the lists in answers: which entries they have, and which parameters filter them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression
from xs2a_sandbox.features.derive.unknown.conditions.classes import is_link
from xs2a_sandbox.features.derive.unknown.lists.histories import find_history
from xs2a_sandbox.features.derive.unknown.lists.listing import Listing, Pages, Paging, asked_values
from xs2a_sandbox.features.derive.unknown.lists.paging import asked_number, find_paging
from xs2a_sandbox.features.derive.unknown.lists.repeated_rows import find_repeated_rows, lists_in
from xs2a_sandbox.features.derive.unknown.lists.unrecorded_rows import add_page_after, add_told
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form, read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

_TO = ("to", "until", "before", "end", "max", "bis")
"""Parts of the names of parameters for the last day."""
_TELLING = 4
"""So many equal values show that an entry is a payment, also if the list has no other entries."""
_TELLING_LATE = 3
"""So many show it for an entry of a day before that on which it was read."""
_PERIODS = {"from": ("to",), "since": ("until", "before"), "start": ("end",), "after": ("before",)}
"""Words in the names of parameters for the first day of a period, and for its last day."""


def find_listings(scopes: ExchangeScopes) -> dict[LearnedOperation, Listing]:
    found = {}
    for operation in scopes.world.operations:
        made = scopes.world.made_by(operation)
        if made and any(scopes.lifetimes[thing] for thing in made.things):
            # The purposes of a token are not a list that apps read.
            continue
        oks = [one for one in operation.seen if scopes.is_ok[one] and one.document is not None and one.status == 200]
        for place, first in lists_in(oks[0].document) if oks else ():
            pages = [(one, rows) for one in oks if (rows := dict(lists_in(one.document)).get(place)) is not None]
            is_list = not _only_refer(first) and not _is_fixed(pages)
            ones, rows_of = zip(*pages, strict=True) if pages else ((), ())
            is_list = is_list and not (ones and find_repeated_rows(scopes, ones, rows_of))
            is_list = is_list and not (ones and find_history(scopes, ones, rows_of))
            if is_list and len(pages) * 2 > len(oks) and any(rows for _, rows in pages):
                found[operation] = _listing(scopes, operation, place, pages)
                break
    paged = next((one for one in found.values() if one.paging.size or one.paging.cursor or one.paging.skip), None)
    for listing in found.values():
        if paged and listing.paging == Paging() and (around := _around(listing)) and around == _around(paged):
            listing.paging = paged.paging
    for listing in found.values():
        _add_values(scopes, listing)
    return found


def _around(listing: Listing) -> set[Place]:
    """Return the members next to a list, such as those about pages."""
    document = next(one.document for one in listing.operation.seen if one.status == 200)
    return {place for place, _ in leaves(document) if place[: len(listing.place)] != listing.place}


def _only_refer(rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(rows) and all(any(isinstance(value, str) and is_link(value) for value in row.values()) for row in rows)


def _is_fixed(pages: Pages) -> bool:
    """Return whether answers have the same rows with other amounts, such as one for each type of balance."""
    first = pages[0][1] if pages else []
    words = [name for name, value in first[0].items() if _is_word(value)] if first else []
    return len(pages) > 1 and any(
        len({str(row.get(name)) for row in first}) == len(first)
        and all([row.get(name) for row in rows] == [row.get(name) for row in first] for _, rows in pages)
        and all(_has_money_only(row) for _, rows in pages for row in rows)
        for name in words
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isalpha()


def _has_money_only(row: Mapping[str, Any]) -> bool:
    """Return whether the values of a row are words, days and at least one amount, but nothing that names it."""
    values = [value for _, value in leaves(row)]
    amounts = [value for value in values if read_number(value) is not None and not date_form(value)]
    return bool(amounts) and all(_is_word(value) or date_form(value) or value in amounts for value in values)


def _listing(scopes: ExchangeScopes, operation: LearnedOperation, place: Place, pages: Pages) -> Listing:
    per = next((lookup for lookup in scopes.lookups[operation] if lookup.rows), None)
    listing = Listing(operation, place, per)
    if per is None:
        listing.customer = _find_customer(scopes, operation, pages)
    every = [row for _, rows in pages for row in rows]
    listing.kind = next((kind for kind in scopes.world.kinds if all(_is_of(kind, row) for row in every)), None)
    for name in every[0]:
        forms = {date_form(row.get(name)) for row in every}
        is_better = not listing.form or listing.form.has_time
        if is_better and len(forms) == 1 and (form := forms.pop()) and not (listing.form and form.has_time):
            listing.day, listing.form = name, form
    if listing.form:
        days = [listing.form.moment(row[listing.day]) for row in pages[0][1]]
        listing.is_newest_first = len(days) > 1 and days[0] > days[-1]
    elif scopes.is_redacted:
        listing.is_newest_first = True
    if listing.kind:
        numbers = [thing.created.number for row in pages[-1][1] for thing in listing.kind.things if shows(thing, row)]
        listing.is_newest_first = numbers[:1] > numbers[-1:]
    keys = [rows.key for rows in scopes.world.rows if rows.told_by is operation and rows.at == ("body", *place)]
    # Entries can lack their key, such as before a consent.
    keyed = [(one, [row for row in rows if not keys or any(key in row for key in keys)]) for one, rows in pages]
    for one, rows in keyed:
        entries = listing.entries.setdefault(listing.key(scopes, one), [])
        for row in rows:
            if row in entries or any(row == known for _, _, known in listing.booked):
                continue
            if keys and any(all(row.get(key) == known.get(key, "") for key in keys) for known in entries):
                continue
            thing = None if listing.kind else _booked_by(scopes, listing, one, row)
            if thing and (entries or _count_told(thing, row) >= _TELLING):
                listing.booked.append((thing, one, row))
            else:
                entries.append(row)
    _find_filters(listing, pages)
    listing.paging = find_paging(scopes, listing, pages)
    add_told(listing, pages, scopes)
    add_page_after(scopes, listing, pages)
    return listing


def _is_of(kind: ThingKind, row: Mapping[str, Any]) -> bool:
    """Return whether an entry shows a thing of this kind: it has its key as the answer that made it."""
    return any(shows(thing, row) for thing in kind.things)


def shows(thing: LearnedThing, row: Mapping[str, Any]) -> bool:
    told = thing.kind.told.get(thing.kind.id)
    member = str(told[1][-1]) if told and told[1][0] == "body" else thing.kind.id
    return str(row.get(member)) == str(thing.keys[thing.kind.id][0])


def _find_customer(scopes: ExchangeScopes, operation: LearnedOperation, pages: Pages) -> str:
    """Return the expression for the field of the customer's form that tells apart whose entries a list has, if any."""
    for lookup in scopes.lookups[operation]:
        forms = [scopes.value(f"let.{lookup.name}.entered", one, after=False) for one, _ in pages]
        for name in forms[0] if forms and all(isinstance(form, Mapping) for form in forms) else ():
            entries: dict[str, list[dict[str, Any]]] = {}
            for form, (_, rows) in zip(forms, pages, strict=True):
                entries.setdefault(str(form.get(name)), []).extend(rows)
            shared = [row for one, other in combinations(entries.values(), 2) for row in one if row in other]
            if len(entries) > 1 and not shared:
                return expression("let", (lookup.name, "entered", str(name)))
    return ""


def _booked_by(
    scopes: ExchangeScopes, listing: Listing, one: SeenExchange, row: Mapping[str, Any]
) -> LearnedThing | None:
    """Return the payment that has become an entry: it was made before, and has the same amount.

    The entry is of that day, or it has much of the payment and is of a day since then. Redaction may have hidden the
    days.
    """
    day = listing.form.day(row[listing.day]) if listing.form else None
    if day and day > one.time.date():
        return None
    if not listing.form and not scopes.is_redacted:
        return None
    amounts = {abs(number) for number in _numbers(row)}
    named = [thing for _, thing in scopes.found(one)]
    for thing in (thing for thing in scopes.world.things if thing not in named):
        sent = thing.created.body if thing.kind in scopes.machines else None
        is_late = day is not None and day < one.time.date()
        if day and is_late and (day < thing.created.time.date() or _count_told(thing, row) < _TELLING_LATE):
            continue
        if thing.created.number < one.number and isinstance(sent, Mapping) and not amounts.isdisjoint(_numbers(sent)):
            return thing
    return None


def _count_told(thing: LearnedThing, row: Mapping[str, Any]) -> int:
    """Return how many values of an entry the payment's request has, too."""
    sent = {str(value) for _, value in leaves(thing.created.body)}
    return sum(len(str(value)) > 3 and str(value) in sent for _, value in leaves(row))


def _numbers(document: Any) -> Iterator[Decimal]:
    yield from (number for _, value in leaves(document) if (number := read_number(value)) and not date_form(value))


def _find_filters(listing: Listing, pages: Pages) -> None:
    for one, rows in pages if listing.form else ():
        days = [listing.form.day(row[listing.day]) for row in rows] if listing.form else []
        for place, value in asked_values(one).items():
            form = date_form(value)
            if form is None:
                continue
            listing.asked.setdefault(place, form)
            if all(day >= form.day(value) for day in days) and not is_last_day(place):
                listing.since = listing.since or place
            elif all(day <= form.day(value) for day in days) and place not in listing.untils:
                listing.untils.append(place)
    if listing.since and not listing.untils:
        listing.untils = list(_counterparts(listing.since))
    every = [row for _, rows in pages for row in rows]
    for place in dict.fromkeys(place for one, _ in pages for place in asked_values(one)):
        asked = [(value, row) for one, rows in pages if (value := asked_values(one).get(place)) for row in rows]
        for name in asked[0][1] if asked else ():
            differs = any(row.get(name) != value for value, _ in asked for row in every)
            if all(row.get(name) == value for value, row in asked) and (differs or place[-1] == name):
                listing.equal.setdefault(place, name)


def is_last_day(place: Place) -> bool:
    """Return whether a parameter has the name of one for the last day of a period."""
    name = str(place[-1]).lower()
    return any(word in name for word in _TO) and "from" not in name


def _counterparts(place: Place) -> Iterator[Place]:
    """Yield, as guesses, the names of the parameter for the last day next to one for the first day."""
    *steps, name = map(str, place)
    for first, lasts in _PERIODS.items():
        for word, change in ((first, str.lower), (first.capitalize(), str.capitalize)):
            if word in name:
                yield from ((*steps, name.replace(word, change(last))) for last in lasts)


def _add_values(scopes: ExchangeScopes, listing: Listing) -> None:
    """Give the scopes the values that the cassette will compute for each answer with the list."""
    paging = listing.paging
    every = (told for one in listing.operation.seen for told in leaves(one.document))
    cursors = {place for place, value in every if isinstance(value, str) and value in scopes.world.cursors}
    for one in listing.operation.seen:
        rows = value_at(one.document, listing.place)
        if not isinstance(rows, list):
            continue
        asked = asked_values(one)
        entries, added = listing.entries_for(scopes, one), listing.booked_before(one)
        entries = [*added, *entries] if listing.is_newest_first else [*entries, *added]
        entries = [row for row in entries if listing.has(row, asked)]
        total = len(entries)
        size = asked_number(asked, paging.size, paging.default)
        page = asked_number(asked, paging.page, paging.first)
        skip = (page - paging.first) * size if paging.page else asked_number(asked, paging.skip, 0)
        if paging.cursor in asked and rows and rows[0] in entries:
            skip = entries.index(rows[0])
        if len(rows) < min(size, total - skip):
            # A filter that was not learned has left out the others.
            total = skip + len(rows)
        told = dict(leaves(one.document))
        values = {
            "rows": rows,
            "total": total,
            "skip": skip,
            "size": size,
            "page": page,
            "pages": -(-total // size) if size else 0,
            **{f"{role}_link": value_at(one.document, link.place) for role, link in paging.links.items()},
            "next_page": page + 1 if skip + size < total else None,
            "next_cursor": next((told[place] or None for place in cursors if place in told), None),
            "previous_cursor": next((told[place] or None for place in _find_previous(cursors, told)), None),
        }
        scopes.add(one, values)


def _find_previous(cursors: Iterable[Place], told: Mapping[Place, Any]) -> Iterator[Place]:
    """Yield the places of cursors for the page before, next to those for the next page."""
    around = {place[:-1] for place in cursors}
    yield from (place for place in told if place[:-1] in around and "prev" in str(place[-1]).lower())
