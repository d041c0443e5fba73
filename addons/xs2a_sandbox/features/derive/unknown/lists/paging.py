"""Finds how a list is paged: by the size, the position, the number or the cursor of a page."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.features.derive.unknown.lists.listing import Listing, PageLink, Pages, Paging, asked_values
from xs2a_sandbox.features.derive.unknown.lists.unrecorded_rows import fill_gap
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes

_SIZE = re.compile("size|limit|count", re.IGNORECASE)
"""Parts of the names of parameters for the number of entries on a page."""
_ROLES = ("next", "previous", "self", "first", "last")
"""Which page an address can lead to. If its numbers do not tell, the first letters in the name of its member do."""


def find_paging(scopes: ExchangeScopes, listing: Listing, pages: Pages) -> Paging:
    size: Place | None = None
    paging = Paging()
    starts = [
        (one, rows, entries, entries.index(rows[0]) if rows and rows[0] in entries else None)
        for one, rows in pages
        for entries in [listing.entries_for(scopes, one)]
    ]
    for one, rows, entries, start in starts:
        for place, value in asked_values(one).items():
            if place in (listing.since, *listing.untils):
                continue
            if str(value) in scopes.world.cursors:
                paging = replace(paging, cursor=place)
            elif (number := read_whole(value)) is not None:
                is_start = start == number > 3 and any(
                    len(other) == number for one, other in pages if place not in asked_values(one)
                )
                if is_start:
                    paging = replace(paging, skip=place)
                elif number == len(rows) <= len(entries) and (number > 1 or _SIZE.search(str(place[-1]))):
                    size = size or place
                elif number > 3 and start == number:
                    paging = replace(paging, skip=place)
    longest = max(len(rows) for _, rows in pages)
    for one, rows, entries, start in starts:
        parameters = asked_values(one)
        per_page = int(parameters.get(size, 0)) if size else longest
        for place, value in parameters.items() if per_page else ():
            number = read_whole(value)
            if place in (size, paging.skip) or number is None:
                continue
            for first in (1, 0) if _counts_from_zero(pages, place) else (1,):
                before = (number - first) * per_page
                is_told = before > 0 and any(told == before + len(rows) for _, told in leaves(one.document))
                if is_told or (start == before and (before > 0 or (size and number == first == 1))):
                    paging = replace(paging, page=place, first=first)
                    if start is not None and start < before:
                        fill_gap(entries, start, before)
                    break
    is_paged = paging.page or paging.cursor or paging.skip
    links = dict(_find_addresses(listing, pages, replace(paging, default=longest, size=size))) if is_paged else {}
    default = longest if (paging.page or paging.skip) and not size else 0
    size = size or _refused_size(scopes, listing, pages)
    return replace(paging, size=size, default=default or _default_size(scopes, listing, pages, size), links=links)


def _counts_from_zero(pages: Pages, place: Place) -> bool:
    """Return whether an answer without a number of a page says that it is page 0, or leads to page 1."""
    told = [value for one, _ in pages if place not in asked_values(one) for _, value in leaves(one.document)]
    links = [dict(parse_qsl(urlsplit(value).query)) for value in told if isinstance(value, str) and "?" in value]
    return any(type(value) is int and value == 0 for value in told) or any(
        link.get(str(place[-1])) == "1" for link in links
    )


def _find_addresses(listing: Listing, pages: Pages, paging: Paging) -> Iterator[tuple[str, PageLink]]:
    """Yield the addresses of other pages in answers: what each is, if that is true for all answers that have it."""
    found: dict[Place, list[tuple[set[str], SeenExchange, str]]] = {}
    for one, rows in pages:
        path = "/" + "/".join(one.path)
        for place, value in leaves(one.document):
            is_link = isinstance(value, str) and "?" in value and urlsplit(value).path == path
            if is_link and place[: len(listing.place)] != listing.place:
                roles = set(_roles(paging, one, len(rows), value))
                found.setdefault(place, []).append((roles, one, value))
    for place, told in found.items():
        common = set.intersection(*(roles for roles, _, _ in told))
        names = [str(step).lower() for step in place]
        said = (role for role in _ROLES if role in common and any(role[:4] in name for name in names))
        if role := next(said, next((role for role in _ROLES if role in common), None)):
            parameters = [dict(parse_qsl(urlsplit(value).query)) for _, _, value in told]
            always = [
                name
                for name in parameters[0]
                if any(name not in one.query for _, one, _ in told) and all(name in own for own in parameters)
            ]
            every = dict.fromkeys(name for own in parameters for name in own)
            yield role, PageLink(place, tuple(every), frozenset(always), told[0][2].startswith("http"))


def _roles(paging: Paging, one: SeenExchange, count: int, link: str) -> Iterator[str]:
    """Yield what a link can be: the address of the next page, the one before, the first, the last, or this page."""
    asked, told = asked_values(one), dict(parse_qsl(urlsplit(link).query))
    if paging.cursor and told.get(str(paging.cursor[-1]), asked.get(paging.cursor)) != asked.get(paging.cursor):
        yield "next"
    size = asked_number(asked, paging.size, paging.default)
    for place, first, step in ((paging.page, paging.first, 1), (paging.skip, 0, size)):
        if place is None:
            continue
        here = asked_number(asked, place, first)
        there = read_whole(told.get(str(place[-1]), first))
        others = {name: value for name, value in told.items() if name != place[-1]}
        if there is None or any(str(asked.get(("query", name), value)) != value for name, value in others.items()):
            continue
        roles = {"next": here + (step if place == paging.page else count), "previous": here - step, "self": here}
        yield from (role for role, number in roles.items() if there == number and number >= first)
        yield from ("first",) * (there == first)
        yield from ("last",) * (there >= here)


def read_whole(value: Any) -> int | None:
    return int(value) if re.fullmatch(r"\d{1,4}", str(value)) else None


def _refused_size(scopes: ExchangeScopes, listing: Listing, pages: Pages) -> Place | None:
    """Return the parameter with which more entries were asked for than a page has, and refused."""
    used = {place for one, _ in pages for place in asked_values(one)}
    most = max(len(rows) for _, rows in pages)
    for one in listing.operation.seen:
        for place, value in () if scopes.is_ok[one] else asked_values(one).items():
            if place not in used and (read_whole(value) or 0) > most > 1:
                return place
    return None


def _default_size(scopes: ExchangeScopes, listing: Listing, pages: Pages, size: Place | None) -> int:
    """Return the size of a page that was not asked for: as the answer says, or as long as it is."""
    sizes = [(one, asked_values(one).get(size or ())) for one, _ in pages]
    shown = [
        place
        for one, wanted in sizes
        if wanted is not None
        for place, value in leaves(one.document)
        if str(value) == str(wanted) and not isinstance(value, bool)
    ]
    for one, rows in pages:
        if size in asked_values(one):
            continue
        told = dict(leaves(one.document))
        for place in shown:
            number = told.get(place)
            # A number that is always that of the entries is not the size that a page can have.
            if isinstance(number, int) and number > len(rows) and place[: len(listing.place)] != listing.place:
                return number
        if 1 < len(rows) < len(listing.entries_for(scopes, one)) and len(rows) % 5 == 0:
            return len(rows)
    return 10


def asked_number(asked: Mapping[Place, Any], place: Place | None, default: int) -> int:
    number = read_whole(asked.get(place or ()))
    return default if number is None else number
