"""Learns the lists in answers: which entries they have, which parameters filter them, and how they are paged."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.features.derive.expression_text import expression
from xs2a_sandbox.features.derive.unknown.conditions.classes import is_link
from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm, date_form, read_number
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes, ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

type Pages = Sequence[tuple[SeenExchange, list[dict[str, Any]]]]
"""The entries that each exchange shows."""
_TO = ("to", "until", "before", "end", "max", "bis")
"""Parts of the names of parameters for the last day."""
_SIZE = re.compile("size|limit|count", re.IGNORECASE)
"""Parts of the names of parameters for the number of entries on a page."""
_PERIODS = {"from": ("to",), "since": ("until", "before"), "start": ("end",), "after": ("before",)}
"""Words in the names of parameters for the first day of a period, and for its last day."""


@dataclass(frozen=True)
class Paging:
    """The parameters that choose a page: its size, and the position, number or cursor where it begins.

    The first page has the number `first`. `link` is the place of the address of the next page in answers, with the
    parameters that it has.
    """

    size: Place | None = None
    default: int = 10
    skip: Place | None = None
    page: Place | None = None
    first: int = 1
    cursor: Place | None = None
    link: tuple[Place, tuple[str, ...]] | None = None


@dataclass
class Listing:
    """A list of an operation. `per` is the lookup of the account whose entries it has, if there is one.

    `customer` is the expression for the name of the customer on whom the entries depend.

    `kind` is that of the things of the app that the entries are, if they are.

    `day` is the member with the date of an entry. `equal` are parameters with the members that they must be equal to.
    `booked` are things that have become an entry.
    """

    operation: LearnedOperation
    place: Place
    per: ThingLookup | None
    entries: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    day: str = ""
    form: DateForm | None = None
    since: Place | None = None
    untils: list[Place] = field(default_factory=list)
    equal: dict[Place, str] = field(default_factory=dict)
    paging: Paging = field(default_factory=Paging)
    is_newest_first: bool = False
    booked: list[tuple[LearnedThing, SeenExchange, dict[str, Any]]] = field(default_factory=list)
    customer: str = ""
    kind: ThingKind | None = None

    def key(self, scopes: ExchangeScopes, one: SeenExchange) -> str:
        """Return the account or the customer whose entries an answer has."""
        if not self.customer:
            return scopes.row_key(self.per, one)
        return str(scopes.value(self.customer, one, after=False))


def find_listings(scopes: ExchangeScopes) -> dict[LearnedOperation, Listing]:
    found = {}
    for operation in scopes.world.operations:
        oks = [one for one in operation.seen if scopes.is_ok[one] and one.document is not None and one.status == 200]
        for place, first in _lists_in(oks[0].document) if oks else ():
            pages = [(one, rows) for one in oks if (rows := dict(_lists_in(one.document)).get(place)) is not None]
            is_list = not _only_refer(first) and not _is_fixed(pages)
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


def _lists_in(document: Any) -> Iterator[tuple[Place, list[dict[str, Any]]]]:
    """Yield the lists of objects in an answer, with their places."""
    for name, inner in document.items() if isinstance(document, Mapping) else ():
        if isinstance(inner, list) and all(isinstance(row, dict) for row in inner):
            yield (name,), inner
        else:
            yield from (((name, *place), rows) for place, rows in _lists_in(inner))


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
        if not listing.form and len(forms) == 1 and (form := forms.pop()):
            listing.day, listing.form = name, form
    if listing.form:
        days = [listing.form.moment(row[listing.day]) for row in pages[0][1]]
        listing.is_newest_first = len(days) > 1 and days[0] > days[-1]
    elif scopes.is_redacted:
        listing.is_newest_first = True
    if listing.kind:
        numbers = [thing.created.number for row in pages[-1][1] for thing in listing.kind.things if _shows(thing, row)]
        listing.is_newest_first = numbers[:1] > numbers[-1:]
    for one, rows in pages:
        entries = listing.entries.setdefault(listing.key(scopes, one), [])
        for row in rows:
            if row in entries or any(row == known for _, _, known in listing.booked):
                continue
            if entries and not listing.kind and (thing := _booked_by(scopes, listing, one, row)):
                listing.booked.append((thing, one, row))
            else:
                entries.append(row)
    _find_filters(listing, pages)
    listing.paging = _find_paging(scopes, listing, pages)
    return listing


def _is_of(kind: ThingKind, row: Mapping[str, Any]) -> bool:
    """Return whether an entry shows a thing of this kind: it has its key as the answer that made it."""
    return any(_shows(thing, row) for thing in kind.things)


def _shows(thing: LearnedThing, row: Mapping[str, Any]) -> bool:
    told = thing.kind.told.get(thing.kind.id)
    member = str(told[1][-1]) if told and told[1][0] == "body" else thing.kind.id
    return str(row.get(member)) == str(thing.keys[thing.kind.id][0])


def _find_customer(scopes: ExchangeScopes, operation: LearnedOperation, pages: Pages) -> str:
    """Return the expression for the field of the customer's form that tells apart whose entries a list has, if any."""
    for lookup in scopes.lookups[operation]:
        forms = [scopes.value(f"let.{lookup.name}.form", one, after=False) for one, _ in pages]
        for name in forms[0] if forms and all(isinstance(form, Mapping) for form in forms) else ():
            entries: dict[str, list[dict[str, Any]]] = {}
            for form, (_, rows) in zip(forms, pages, strict=True):
                entries.setdefault(str(form.get(name)), []).extend(rows)
            shared = [row for one, other in combinations(entries.values(), 2) for row in one if row in other]
            if len(entries) > 1 and not shared:
                return expression("let", (lookup.name, "form", str(name)))
    return ""


def _booked_by(
    scopes: ExchangeScopes, listing: Listing, one: SeenExchange, row: Mapping[str, Any]
) -> LearnedThing | None:
    """Return the payment that has become an entry: it was made before, and has the same amount.

    The entry is of the same day, unless redaction has hidden the days.
    """
    if listing.form and listing.form.day(row[listing.day]) != one.time.date():
        return None
    if not listing.form and not scopes.is_redacted:
        return None
    amounts = {abs(number) for number in _numbers(row)}
    for thing in scopes.world.things:
        sent = thing.created.body if thing.kind in scopes.machines else None
        if thing.created.number < one.number and isinstance(sent, Mapping) and not amounts.isdisjoint(_numbers(sent)):
            return thing
    return None


def _numbers(document: Any) -> Iterator[Decimal]:
    yield from (number for _, value in leaves(document) if (number := read_number(value)) and not date_form(value))


def _parameters(one: SeenExchange) -> dict[Place, Any]:
    body = one.body.items() if isinstance(one.body, Mapping) else ()
    return {
        **{("query", name): value for name, value in one.query.items()},
        **{("body", name): value for name, value in body if not isinstance(value, Mapping | list)},
    }


def _find_filters(listing: Listing, pages: Pages) -> None:
    for one, rows in pages if listing.form else ():
        days = [listing.form.day(row[listing.day]) for row in rows] if listing.form else []
        for place, value in _parameters(one).items():
            form = date_form(value)
            if form is None:
                continue
            if all(day >= form.day(value) for day in days) and not is_last_day(place):
                listing.since = listing.since or place
            elif all(day <= form.day(value) for day in days) and place not in listing.untils:
                listing.untils.append(place)
    if listing.since and not listing.untils:
        listing.untils = list(_counterparts(listing.since))
    every = [row for _, rows in pages for row in rows]
    for place in dict.fromkeys(place for one, _ in pages for place in _parameters(one)):
        asked = [(value, row) for one, rows in pages if (value := _parameters(one).get(place)) for row in rows]
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


def is_exclusive(place: Place) -> bool:
    """Return whether a parameter names the day after the last one."""
    return "before" in str(place[-1]).lower()


def _find_paging(scopes: ExchangeScopes, listing: Listing, pages: Pages) -> Paging:
    size: Place | None = None
    paging = Paging()
    starts = [
        (one, rows, entries, entries.index(rows[0]) if rows and rows[0] in entries else None)
        for one, rows in pages
        for entries in [listing.entries[listing.key(scopes, one)]]
    ]
    for one, rows, entries, start in starts:
        for place, value in _parameters(one).items():
            if place in (listing.since, *listing.untils):
                continue
            if str(value) in scopes.world.cursors:
                paging = replace(paging, cursor=place)
            elif (number := _number(value)) is not None:
                if number == len(rows) <= len(entries) and (number > 1 or _SIZE.search(str(place[-1]))):
                    size = size or place
                elif number > 3 and start == number:
                    paging = replace(paging, skip=place)
    longest = max(len(rows) for _, rows in pages)
    for one, rows, entries, start in starts:
        parameters = _parameters(one)
        per_page = int(parameters.get(size, 0)) if size else longest
        for place, value in parameters.items() if per_page else ():
            number = _number(value)
            if place in (size, paging.skip) or number is None:
                continue
            for first in (1, 0) if _counts_from_zero(pages, place) else (1,):
                before = (number - first) * per_page
                is_told = before > 0 and any(told == before + len(rows) for _, told in leaves(one.document))
                if is_told or (start == before and (before > 0 or (size and number == first == 1))):
                    paging = replace(paging, page=place, first=first)
                    if start is not None and start < before:
                        _fill_gap(entries, start, before)
                    break
    link = _find_link(listing, pages, paging) if paging.page else None
    default = longest if paging.page and not size else 0
    size = size or _refused_size(scopes, listing, pages)
    return replace(paging, size=size, default=default or _default_size(scopes, listing, pages, size), link=link)


def _counts_from_zero(pages: Pages, place: Place) -> bool:
    """Return whether an answer without a number of a page says that it is page 0, or leads to page 1."""
    told = [value for one, _ in pages if place not in _parameters(one) for _, value in leaves(one.document)]
    links = [dict(parse_qsl(urlsplit(value).query)) for value in told if isinstance(value, str) and "?" in value]
    return any(type(value) is int and value == 0 for value in told) or any(
        link.get(str(place[-1])) == "1" for link in links
    )


def _find_link(listing: Listing, pages: Pages, paging: Paging) -> tuple[Place, tuple[str, ...]] | None:
    """Return the place of the address of the next page in answers, with the names of its parameters."""
    page = paging.page or ()
    for one, _ in pages:
        path, number = "/" + "/".join(one.path), _asked_number(_parameters(one), page, paging.first)
        for place, value in leaves(one.document):
            target = urlsplit(value if isinstance(value, str) else "")
            asked = dict(parse_qsl(target.query))
            is_next = _number(asked.get(str(page[-1]))) == number + 1
            if is_next and target.path == path and place[: len(listing.place)] != listing.place:
                return place, tuple(asked)
    return None


def _fill_gap(entries: list[dict[str, Any]], known: int, before: int) -> None:
    """Put entries in place of those on pages that were not recorded: like the last known one, with other ids."""
    last = entries[known - 1] if known else entries[0]
    for number in range(before - known):
        entries.insert(known + number, {name: _vary(value, number) for name, value in last.items()})


def _vary(value: Any, number: int) -> Any:
    """Return another id of the same form."""
    if isinstance(value, str) and is_id(value) and not date_form(value) and re.fullmatch(r"[\w/-]+", value):
        return value[: -len(str(number))] + str(number)
    return value


def _number(value: Any) -> int | None:
    return int(value) if re.fullmatch(r"\d{1,4}", str(value)) else None


def _refused_size(scopes: ExchangeScopes, listing: Listing, pages: Pages) -> Place | None:
    """Return the parameter with which more entries were asked for than a page has, and refused."""
    used = {place for one, _ in pages for place in _parameters(one)}
    most = max(len(rows) for _, rows in pages)
    for one in listing.operation.seen:
        for place, value in () if scopes.is_ok[one] else _parameters(one).items():
            if place not in used and (_number(value) or 0) > most > 1:
                return place
    return None


def _default_size(scopes: ExchangeScopes, listing: Listing, pages: Pages, size: Place | None) -> int:
    """Return the size of a page that was not asked for: as the answer says, or as long as it is."""
    sizes = [(one, _parameters(one).get(size or ())) for one, _ in pages]
    shown = [
        place
        for one, wanted in sizes
        if wanted is not None
        for place, value in leaves(one.document)
        if str(value) == str(wanted) and not isinstance(value, bool)
    ]
    for one, rows in pages:
        if size in _parameters(one):
            continue
        told = dict(leaves(one.document))
        for place in shown:
            number = told.get(place)
            # A number that is always that of the entries is not the size that a page can have.
            if isinstance(number, int) and number > len(rows) and place[: len(listing.place)] != listing.place:
                return number
        if 1 < len(rows) < len(listing.entries[listing.key(scopes, one)]) and len(rows) % 5 == 0:
            return len(rows)
    return 10


def _add_values(scopes: ExchangeScopes, listing: Listing) -> None:
    """Give the scopes the values that the cassette will compute for each answer with the list."""
    paging = listing.paging
    every = (told for one in listing.operation.seen for told in leaves(one.document))
    cursors = {place for place, value in every if isinstance(value, str) and value in scopes.world.cursors}
    for one in listing.operation.seen:
        rows = value_at(one.document, listing.place)
        if not isinstance(rows, list):
            continue
        asked = _parameters(one)
        entries = listing.entries.get(listing.key(scopes, one), [])
        added = [row for _, at, row in listing.booked if at.number <= one.number]
        entries = [*added, *entries] if listing.is_newest_first else [*entries, *added]
        entries = [row for row in entries if _is_within(listing, row, asked)]
        total = len(entries)
        size = _asked_number(asked, paging.size, paging.default)
        page = _asked_number(asked, paging.page, paging.first)
        skip = (page - paging.first) * size if paging.page else _asked_number(asked, paging.skip, 0)
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
            "next_link": value_at(one.document, paging.link[0]) if paging.link else None,
            "next_cursor": next((told[place] or None for place in cursors if place in told), None),
        }
        scopes.add(one, values)


def _asked_number(asked: Mapping[Place, Any], place: Place | None, default: int) -> int:
    number = _number(asked.get(place or ()))
    return default if number is None else number


def _is_within(listing: Listing, row: Mapping[str, Any], asked: Mapping[Place, Any]) -> bool:
    if any(place in asked and row.get(name) != asked[place] for place, name in listing.equal.items()):
        return False
    if not listing.form:
        return True
    day = listing.form.day(row[listing.day])
    since = asked.get(listing.since or ())
    if (form := date_form(since)) and day < form.day(since):
        return False
    lasts = [(place, form.day(asked[place])) for place in listing.untils if (form := date_form(asked.get(place)))]
    return all(day < last if is_exclusive(place) else day <= last for place, last in lasts)
