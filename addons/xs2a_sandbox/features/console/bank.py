"""Shows the bank's documents, the events that can happen to each, and how each reached its state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.bank.domain.documents import State
from xs2a_sandbox.bank.domain.lifecycle import OVER, REMOVED, SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.documents import row
from xs2a_sandbox.features.console.life import Life, make_life, timeline
from xs2a_sandbox.features.console.test_data import MOST_ENTRIES, FieldError, create, read_changes, show_forms
from xs2a_sandbox.features.console.user_page import find_user_page
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response

_COLLECTIONS = (
    ("Consents", "consents"),
    ("Mandates", "mandates"),
    ("Payments", "payments"),
    ("Signing baskets", "baskets"),
    ("Authorisations", "authorisations"),
    ("Accounts", "accounts"),
    ("Cards", "cards"),
    ("Payees", "payees"),
    ("Customers", "psus"),
)
_DECISIONS = {"approve": "succeed", "decline": "fail", "timeout": "fail", "error": "fail"}
"""The decisions of a payment user, each with its event in the state machine."""
VERBS = {
    "authorised by all": "approve",
    "authorised by all, for later": "approve for later",
    "authorised by some": "approve in part",
    "refused": "reject",
    OVER: "expire",
    "withdrawn by the customer": "withdraw",
    "delete, kept": "revoke",
    "settled": "settle",
    "credited": "credit",
    "its day comes": "execute",
    "newer recurring consent": "replace by a newer one",
    "used, not recurring": "use up",
    "funds do not cover it": "fail for want of funds",
}
"""The labels of buttons for events. Other events are shown with their own names."""
_FILTERED = ("name", "id", "status", "references", "created", "details")
"""The members of a row that the filter searches."""


_NEWEST = 5
"""The most documents of a collection that are shown until the user asks for all."""


@dataclass(frozen=True, slots=True)
class ShownCollection:
    """A collection on the page. `count` is the number of its documents, of which `rows` may be only the newest."""

    title: str
    name: str
    rows: Sequence[Mapping[str, str]]
    count: int
    is_open: bool


async def bank(visit: ConsoleVisit) -> Response:
    problem, wrong = "", ""
    if "reset" in visit.form:
        await visit.ask("POST", "reset")
        return visit.go("bank")
    state = await visit.read_state()
    if visit.is_sent:
        try:
            await create(visit, state)
            return visit.go("bank#test-data")
        except FieldError as error:
            problem, wrong = str(error), error.field
        except Refused as refused:
            problem = str(refused)
    searched, shown = visit.query.get("filter", "").strip(), visit.query.get("show", "")
    changes = await read_changes(visit, state)
    return visit.page(
        "bank.html",
        "Bank",
        400 if problem else 200,
        problem=problem,
        wrong=wrong,
        searched=searched,
        shown=shown,
        listings=list(_list(state, searched, shown)),
        forms=show_forms(visit, state),
        most_entries=MOST_ENTRIES,
        changes=[row(collection, id, one, state) for collection in changes for id, one in changes[collection].items()],
    )


def _list(state: State, searched: str, shown: str) -> Iterator[ShownCollection]:
    """Yield the collections: those that the user searches or asks for are open, otherwise those that requests fill."""
    for title, name in _COLLECTIONS:
        documents = state.get(name, {})
        rows = [row(name, id, document, state) for id, document in reversed(documents.items())]
        if searched:
            if found := [one for one in rows if _fits(one, searched)]:
                yield ShownCollection(title, name, found, len(found), is_open=True)
        elif rows:
            is_open = name == shown if shown else any(one["created"] for one in rows)
            yield ShownCollection(title, name, rows if name == shown else rows[:_NEWEST], len(rows), is_open)


def _fits(row: Mapping[str, str], searched: str) -> bool:
    """Return whether the text is in one of the filtered columns of a document, ignoring case."""
    return any(searched.casefold() in row[name].casefold() for name in _FILTERED)


async def document(visit: ConsoleVisit) -> Response:
    _, collection, id = visit.names
    path, problem = f"{quote(collection, safe='')}/{quote(id, safe='')}", ""
    if visit.is_sent:
        event = visit.form.get("event", "")
        try:
            if collection == AUTHORISATIONS:
                await visit.ask("POST", f"sca/{quote(id, safe='')}", {"decide": event})
            else:
                await visit.ask("POST", f"state/{path}", {"event": event})
            return visit.go(f"bank/{path}")
        except Refused as refused:
            problem = str(refused)
    kept, state = await visit.ask("GET", f"state/{path}"), await visit.read_state()
    steps = await timeline(visit, id)
    life = make_life(visit, collection, kept, steps)
    shown = row(collection, id, kept, state)
    events, closed = await _list_events(visit, collection, id, life) if life else ([], "")
    resource = _find_resource(kept, state) if collection == AUTHORISATIONS else None
    # The page of an authorisation links what it is for.
    details = shown["details"].removeprefix(f"{resource['name']}, ") if resource else shown["details"]
    return visit.page(
        "document.html",
        "Bank",
        409 if problem else 200,
        problem=problem,
        collection=collection,
        id=id,
        name=shown["name"],
        details=", ".join(filter(None, (details, shown["created"] and f"created {shown['created']}"))),
        document=kept,
        life=life,
        steps=steps,
        events=events,
        closed=closed,
        resource=resource,
        user_page=await find_user_page(visit, collection, kept, steps) if life else None,
        authorisations=[
            row(AUTHORISATIONS, authorisation_id, document, state)
            for authorisation_id, document in state.get(AUTHORISATIONS, {}).items()
            if document.get("resource") == id
        ],
    )


def _find_resource(authorisation: Mapping[str, Any], state: State) -> dict[str, str] | None:
    """Return what an authorisation is for, as an entry of a list, or None if it no longer exists."""
    family, id = FAMILIES.get(str(authorisation.get("family"))), str(authorisation.get("resource") or "")
    found = state.get(family.collection, {}).get(id) if family else None
    return row(family.collection, id, found, state) if family and found else None


async def _list_events(
    visit: ConsoleVisit, collection: str, id: str, life: Life
) -> tuple[list[tuple[str, str, str]], str]:
    """Return the possible next events of a document, each with its label and the state that it leads to.

    If there are none, also return the reason.
    """
    if collection == AUTHORISATIONS:
        try:
            answer = await visit.ask("GET", f"sca/{quote(id, safe='')}")
        except Refused as refused:
            return [], str(refused)
        leads = {transition.event: transition.to for transition in SCA.transitions}
        events = [(name, name, leads[_DECISIONS[name]]) for name in answer["decisions"]]
        return events, answer["closed"] or ""
    events = [(t.event, VERBS.get(t.event, t.event), t.to) for t in life.machine.transitions if life.status in t.states]
    return sorted(events, key=lambda event: (event[1] != "approve", event[2] == REMOVED)), ""
