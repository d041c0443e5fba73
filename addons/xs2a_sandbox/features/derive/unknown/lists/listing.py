"""A list of an operation: whose entries it has, how they are filtered, and how they are paged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm, date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

type Pages = Sequence[tuple[SeenExchange, list[dict[str, Any]]]]
"""The entries that each exchange shows."""


@dataclass(frozen=True)
class PageLink:
    """The address of a page, its parameters, and which of them (`always`) it has even if the request had not."""

    place: Place
    parameters: tuple[str, ...]
    always: frozenset[str]
    is_whole: bool
    """Whether the address begins with scheme and host."""


@dataclass(frozen=True)
class Paging:
    """The parameters that choose a page: its size, and the position, number or cursor where it begins.

    The first page has the number `first`. `links` are the addresses of other pages in answers, by name: next, previous,
    first, last, or self.
    """

    size: Place | None = None
    default: int = 10
    skip: Place | None = None
    page: Place | None = None
    first: int = 1
    cursor: Place | None = None
    links: Mapping[str, PageLink] = field(default_factory=dict)


@dataclass
class Listing:
    """A list of an operation. `per` is the lookup of the account whose entries it has, if there is one.

    `customer` is the expression for the name of the customer on whom the entries depend.

    `kind` is that of the things of the app that the entries are, if they are.

    `day` is the member with the date of an entry, which has the `form`; `asked` are the forms of parameters with dates.
    `equal` are parameters with the members that they must be equal to. `booked` are things that have become an entry.
    """

    operation: LearnedOperation
    place: Place
    per: ThingLookup | None
    entries: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    day: str = ""
    form: DateForm | None = None
    since: Place | None = None
    untils: list[Place] = field(default_factory=list)
    asked: dict[Place, DateForm] = field(default_factory=dict)
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

    def entries_for(self, scopes: ExchangeScopes, one: SeenExchange) -> list[dict[str, Any]]:
        return self.entries.get(self.key(scopes, one), [])

    def booked_before(self, one: SeenExchange) -> list[dict[str, Any]]:
        """Return the entries for things that an answer can show."""
        return [row for _, at, row in self.booked if at.number <= one.number]

    def has(self, row: Mapping[str, Any], asked: Mapping[Place, Any]) -> bool:
        """Return whether an entry is one of those that a request asks for."""
        if any(place in asked and row.get(name) != asked[place] for place, name in self.equal.items()):
            return False
        if not self.form:
            return True
        day = self.form.day(row[self.day])
        if (form := date_form(first := asked.get(self.since or ()))) and day < form.day(first):
            return False
        lasts = [(place, form.day(asked[place])) for place in self.untils if (form := date_form(asked.get(place)))]
        return all(day < last if is_exclusive(place) else day <= last for place, last in lasts)


def is_exclusive(place: Place) -> bool:
    """Return whether a parameter names the day after the last one."""
    return "before" in str(place[-1]).lower()


def asked_values(one: SeenExchange) -> dict[Place, Any]:
    body = one.body.items() if isinstance(one.body, Mapping) else ()
    return {
        **{("query", name): value for name, value in one.query.items()},
        **{("body", name): value for name, value in body if not isinstance(value, Mapping | list)},
    }
