"""Writes lists: their entries as data, filters by date, pages, and the entries that payments add."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.conditions.mentions import instead
from xs2a_sandbox.features.derive.unknown.lists.listing import Listing, is_exclusive
from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm, date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes, plural
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind, write_account
from xs2a_sandbox.features.derive.unknown.written.new_ids import new_value
from xs2a_sandbox.features.derive.unknown.written.sources import below, is_equal, is_telling


def _entries_name(listing: Listing) -> str:
    words = [word for word in listing.operation.pattern if word and word[0].isalpha()]
    return re.sub(r"\W", "_", "_".join(words[-2:])) + "_entries"


def write_entries(listing: Listing) -> dict[str, Any]:
    """Return the named value with the entries by account. Their days are written as so many days ago."""
    newest = max(one.time.date() for one in listing.operation.seen)

    def relative(value: Any) -> Any:
        if (form := date_form(value)) and not form.has_time:
            return braced(form.write(f"today({(form.day(value) - newest).days})"))
        return value

    entries = {
        account: [{name: relative(value) for name, value in row.items()} for row in rows]
        for account, rows in listing.entries.items()
    }
    first = next(iter(entries.values()))
    return {_entries_name(listing): {**entries, "*": first} if listing.per or listing.customer else {"*": first}}


def check_parameters(listing: Listing, checks: Sequence[LearnedCheck]) -> Iterator[LearnedCheck]:
    """Yield two guesses: a period cannot end before it begins, and there is no page before the first.

    They are answered like other bad parameters.
    """
    shown = (check for check in checks if check.condition.kind in ("limit", "cursor", "form") and not check.is_guess)
    donor = next(shown, None)
    if donor is None:
        return
    if listing.form and listing.since:
        form = listing.asked.get(listing.since, listing.form)
        since = form.read(source_of(listing.since))
        for place in listing.untils:
            until, sign = form.read(source_of(place)), ">=" if is_exclusive(place) else ">"
            yield donor.guess(Condition(f"({since} or '') {sign} ({until} or '9999')", 71, "period", place))
    for number, least in ((listing.paging.size, 1), (listing.paging.page, listing.paging.first)):
        if number and number[0] == "query":
            source = source_of(number)
            condition = Condition(f"{source} is not none and ({source} | int) < {least}", 71, "page", number)
            yield donor.guess(condition, instead(donor, condition))


def listing_sources(listing: Listing) -> list[str]:
    """Return the expressions that an answer with the list may use."""
    paging = listing.paging
    return [
        *("let.rows", "let.total", "let.skip + let.size < let.total"),
        *("let.rows | length", "let.total ~ ''", "(let.rows | length) ~ ''"),
        *(("let.next_cursor", "let.next_cursor or ''", "let.previous_cursor") if paging.cursor else ()),
        *(("let.page", "let.pages", "let.next_page", "let.next_page or 0") if paging.page else ()),
        *(f"let.{role}_link" for role in paging.links),
        "let.size",
    ]


def listing_lets(scopes: ExchangeScopes, listing: Listing, others: Iterable[Listing]) -> dict[str, Any]:
    """Return the named values of an operation with the list, up to the page that was asked for."""
    per, paging = listing.per, listing.paging
    account = f"{expression('let', (per.name, per.rows.key))} ~ ''" if per and per.rows else "''"
    account = f"{listing.customer} ~ ''" if listing.customer else account
    known = f"let.{_entries_name(listing)}"
    made: dict[str, Any] = {"entries": braced(f"{known}[{account}] or {known}['*']")}
    whole = ["let.entries"]
    for number, (kind, when, row) in enumerate(_booked(scopes, listing, others), 1):
        name = "booked" if number == 1 else f"booked_{number}"
        made[name] = {"each": braced(f"let.{plural(kind)}"), "as": "thing", "when": when, "give": row}
        whole = [f"(let.{name} | reverse | list)", *whole] if listing.is_newest_first else [*whole, f"let.{name}"]
    every = braced(" + ".join(whole))
    is_within = " and ".join(_filters(scopes, listing))
    made["found"] = {"each": every, "when": is_within, "give": "{{ entry }}"} if is_within else every
    made["total"] = "{{ let.found | length }}"

    def asked(place: Place | None, default: int) -> str:
        return f"({source_of(place)} | default({default}) | int)" if place else str(default)

    if paging.cursor and not paging.page:
        # A cursor also tells the size of the pages.
        made["cursor"] = braced(f"({source_of(paging.cursor)} | default('next-0-{paging.default}')) | split('-')")
        size = f"({source_of(paging.size)} or let.cursor[2])" if paging.size else "let.cursor[2]"
        made["size"] = braced(f"{size} | default({paging.default}) | int")
    else:
        made["size"] = braced(asked(paging.size, paging.default))
    if paging.page:
        made["page"] = braced(asked(paging.page, paging.first))
        made["pages"] = "{{ (let.total + let.size - 1) // let.size }}"
        made["skip"] = braced(("(let.page - 1)" if paging.first else "let.page") + " * let.size")
    elif paging.cursor:
        made["skip"] = "{{ let.cursor[1] | default(0) | int }}"
    else:
        made["skip"] = braced(asked(paging.skip, 0))
    is_paged = paging.size or paging.skip or paging.page or paging.cursor
    made["rows"] = "{{ let.found[let.skip:let.skip + let.size] }}" if is_paged else "{{ let.found }}"
    has_next = "let.skip + let.size < let.total"
    if paging.page:
        made["next_page"] = braced(f"let.page + 1 if {has_next} else none")
    for role in paging.links:
        when = {"next": f" if {has_next} else none", "previous": " if let.skip > 0 else none"}.get(role, "")
        made[f"{role}_link"] = braced(_write_link(listing, role) + when)
    if paging.cursor:
        made["next_cursor"] = braced(f"'next-' ~ (let.skip + let.size) ~ '-' ~ let.size if {has_next} else none")
        made["previous_cursor"] = (
            "{{ 'next-' ~ ([let.skip - let.size, 0] | max) ~ '-' ~ let.size if let.skip else none }}"
        )
    return made


def _write_link(listing: Listing, role: str) -> str:
    """Return the expression for the address of a page, which has the filters of this page."""
    paging, link = listing.paging, listing.paging.links[role]
    page, cursor, skip = (place[-1] if place else "" for place in (paging.page, paging.cursor, paging.skip))
    last = "let.pages" if paging.first else "[let.pages - 1, 0] | max"
    pages = {"next": "let.page + 1", "previous": "let.page - 1", "first": str(paging.first), "last": last}
    skips = {
        "next": "let.skip + let.size",
        "previous": "[let.skip - let.size, 0] | max",
        "first": "0",
        "last": "([let.total - 1, 0] | max) // let.size * let.size",
    }
    optional = [str(place[-1]) for place in listing.equal if place[0] == "query" and place[-1] not in link.parameters]
    texts = []
    for name in (*optional, *link.parameters):
        value = source_of(("query", name))
        here = {page: "let.page", skip: "let.skip"}.get(name) if name in link.always else None
        if name == page and role in pages:
            texts.append(f"'&{name}=' ~ ({pages[role]})")
        elif name == skip and role in skips:
            texts.append(f"'&{name}=' ~ ({skips[role]})")
        elif name == cursor:
            texts.append(f"'&{name}=next-' ~ (let.skip + let.size) ~ '-' ~ let.size")
        elif here:
            texts.append(f"'&{name}=' ~ {here}")
        else:
            texts.append(f"('&{name}=' ~ ({value} | urlencode) if {value} is not none else '')")
    start = "session.url ~ request.path" if link.is_whole else "request.path"
    return f"({start} ~ '?' ~ ({' ~ '.join(texts)})[1:])"


def _filters(scopes: ExchangeScopes, listing: Listing) -> Iterator[str]:
    """Yield the conditions for entries such as were asked for."""
    signs = [(place, "<" if is_exclusive(place) else "<=") for place in listing.untils]
    for place, sign in ((listing.since, ">="), *signs):
        if place and listing.form:
            asked = listing.asked.get(place) or listing.asked.get(listing.since or (), listing.form)
            read = DateForm.read if asked.has_time else DateForm.read_day
            day, source = read(listing.form, expression("entry", (listing.day,))), source_of(place)
            yield f"({source} is none or {day} {sign} {asked.read(source)})"
    for place, name in listing.equal.items():
        source = source_of(place)
        known = sorted({str(row.get(name)) for rows in listing.entries.values() for row in rows})
        # Nothing is equal to a word that has a pseudonym in the recording.
        is_hidden = f" or {source} not in {literal(known)}" if scopes.is_redacted else ""
        yield f"({source} is none{is_hidden} or {expression('entry', (name,))} == {source})"


def _booked(
    scopes: ExchangeScopes, listing: Listing, others: Iterable[Listing]
) -> Iterator[tuple[ThingKind, str, Any]]:
    """Yield the kinds of things that become entries, when they do, and the entry as a template of the thing."""
    for kind in dict.fromkeys(thing.kind for thing, _, _ in listing.booked):
        thing, one, row = next(booked for booked in listing.booked if booked[0].kind is kind)
        snapshot = scopes.snapshot(thing, one, after=False)
        states = [snapshot["state"], *_until_booked(scopes, listing, others, kind, snapshot["state"])]
        when = f"thing.state == {literal(states[0])}" if len(states) == 1 else f"thing.state in {literal(states)}"
        if listing.per and listing.per.rows:
            account = scopes.scope(one)["let"][listing.per.name]
            same = (
                f" and {write_account(place, value)} == {expression('let', (listing.per.name, name))}"
                for part in ("sent", "entered")
                for place, value in leaves({part: snapshot[part]})
                for name, own in account.items()
                if value == own and not isinstance(value, bool | None) and "currency" not in (name, place[-1])
            )
            when += next(same, "")
        day = _booking_day(scopes, kind, snapshot["state"])
        entry = {name: _entry_value(scopes, one, value, thing, day) for name, value in row.items()}
        yield kind, when, entry


def _until_booked(
    scopes: ExchangeScopes, listing: Listing, others: Iterable[Listing], kind: ThingKind, state: Any
) -> list[Any]:
    """Return the states after one in which a list shows a thing, until another list shows it."""
    machine = scopes.machines[kind]
    ends = {
        scopes.snapshot(thing, one, after=False)["state"]
        for other in others
        if other is not listing
        for thing, one, _ in other.booked
        if thing.kind is kind
    }
    ends &= machine.later(state)
    later = machine.later(state) - ends - {word for end in ends for word in machine.later(end)}
    return [word for word in machine.words if word in later and ends & machine.later(word)]


def _booking_day(scopes: ExchangeScopes, kind: ThingKind, state: Any) -> str:
    """Return the day on which a thing becomes an entry: that for which it waits, or of its last change."""
    waited = sum(change.seconds for change in scopes.machines[kind].by_time if change.after == state)
    since = f"(thing.since + {scopes.offset + waited})" if scopes.offset + waited else "thing.since"
    day = f"({since} | strftime('%Y-%m-%d'))"
    for end in scopes.machines[kind].by_end:
        value = next((value for thing in kind.things if (value := value_at(thing.created.body, end.place))), None)
        if end.is_first_day and (form := date_form(value)):
            return f"({form.read(expression('thing.sent', end.place))} or {day})"
    return day


def _entry_value(scopes: ExchangeScopes, one: SeenExchange, value: Any, thing: LearnedThing, day: str) -> Any:
    """Return a value of an entry as a template of the thing that it comes from."""
    if isinstance(value, Mapping):
        return {name: _entry_value(scopes, one, inner, thing, day) for name, inner in value.items()}
    if (form := date_form(value)) and thing.created.time.date() <= form.day(value) <= one.time.date():
        return braced(form.write("thing.since" if form.has_time else day))
    for source, known in below("thing.sent", thing.created.body):
        if is_equal(known, value) and is_telling(value):
            return braced(source + (" or ''" if isinstance(value, str) else ""))
        are_numbers = isinstance(value, int | Decimal) and isinstance(known, int | Decimal)
        if are_numbers and not isinstance(known, bool) and value == -known:
            return braced(f"-{source}")
        if isinstance(value, str) and isinstance(known, str) and value == f"-{known}":
            return "-" + braced(source)
    looks_like_id = isinstance(value, str) and len(value) >= 6 and scopes.world.ids.has(value)
    if looks_like_id and not value.isdecimal():
        return "{{ thing.id ~ '-1' }}" if re.fullmatch(r"[\w-]+", value) else new_value([value])
    if isinstance(value, int) and abs(value) > 99999:
        return "{{ thing.made }}"
    return value
