"""Adds the entries that a list must have although the recording does not show them, so that it has as many pages."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.lists.listing import Listing, Pages, asked_values
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes

_MOST = 200
"""A list gets at most so many entries."""
_LARGE = 9999
"""Greater integers may be ids."""


def fill_gap(entries: list[dict[str, Any]], known: int, before: int) -> None:
    """Put entries in place of those on pages that were not recorded: like the last known one, with other ids."""
    last = entries[known - 1] if known else entries[0]
    for number in range(before - known):
        entries.insert(known + number, {name: _vary(value, number) for name, value in last.items()})


def _vary(value: Any, number: int) -> Any:
    """Return another id of the same form."""
    if isinstance(value, int) and value > _LARGE:
        return value + number + 1
    if isinstance(value, str) and is_id(value) and not date_form(value) and re.fullmatch(r"[\w/-]+", value):
        return value[: -len(str(number))] + str(number)
    return value


def add_told(listing: Listing, pages: Pages, scopes: ExchangeScopes) -> None:
    """Add as many entries as answers say that there are, behind the last page of those that do not show all."""
    totals = list(_find_totals(listing, pages))
    # Next to the number of entries there can be that of pages.
    parts = [(one, rows, told) for one, rows in pages if (told := _count_told(one, totals)) > len(rows) > 0]
    for one, rows, told in reversed(parts):
        entries, asked = listing.entries_for(scopes, one), asked_values(one)
        known = sum(listing.has(row, asked) for row in [*entries, *listing.booked_before(one)])
        if rows[-1] in entries and known < told <= _MOST:
            last = entries.index(rows[-1]) + 1
            fill_gap(entries, last, last + told - known)


def _count_told(one: SeenExchange, totals: Sequence[Place]) -> int:
    return max((value_at(one.document, place) for place in totals), default=0)


def _find_totals(listing: Listing, pages: Pages) -> Iterator[Place]:
    """Yield the places where answers say how many entries there are, on all pages.

    There, an answer with everything has the number of its entries, and one with a part of them a greater number. Or
    answers also have the number of pages.
    """
    longest = max(len(rows) for _, rows in pages)
    for place, _ in leaves(pages[0][0].document):
        told = [(value_at(one.document, place), len(rows), one) for one, rows in pages]
        if place[: len(listing.place)] == listing.place or not all(type(value) is int for value, _, _ in told):
            continue
        is_asked = any(str(value) in map(str, asked_values(one).values()) for value, _, one in told)
        surplus = [value - count for value, count, _ in told]
        are_pages = longest > 1 and all(_tells(one, -(-value // longest)) for value, _, one in told)
        if not is_asked and min(surplus) >= 0 < max(surplus) and (min(surplus) == 0 or are_pages):
            yield place


def _tells(one: SeenExchange, number: int) -> bool:
    return any(type(value) is int and value == number for _, value in leaves(one.document))


def add_page_after(scopes: ExchangeScopes, listing: Listing, pages: Pages) -> None:
    """Put an entry behind the last known one if the page that ends with it leads to one that was not recorded."""
    told = [place for one, _ in pages for place, value in leaves(one.document) if str(value) in scopes.world.cursors]
    if link := listing.paging.links.get("next"):
        told.append(link.place)
    for one, rows in pages:
        entries = listing.entries_for(scopes, one)
        if rows and entries and rows[-1] == entries[-1] and any(value_at(one.document, place) for place in told):
            fill_gap(entries, len(entries), len(entries) + 1)
