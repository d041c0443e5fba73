"""Shows the bank's documents, the events that can happen to each, and how each reached its state."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.bank.domain.lifecycle import OVER, REMOVED, SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.bank.handlers.approaches import EMBEDDED
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
_DECISIONS = (("approve", "succeed"), ("decline", "fail"), ("timeout", "fail"), ("error", "fail"))
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


async def bank(visit: ConsoleVisit) -> Response:
    problem, wrong = "", ""
    if "reset" in visit.form:
        await visit.ask("POST", "reset")
        return visit.go("bank")
    state = await visit.ask("GET", "state")
    if visit.is_sent:
        try:
            await create(visit, state)
            return visit.go("bank#test-data")
        except FieldError as error:
            problem, wrong = str(error), error.field
        except Refused as refused:
            problem = str(refused)
    searched = visit.query.get("filter", "").strip()
    collections = [
        (title, name, [one for one in _rows(name, state[name]) if _fits(one, searched)])
        for title, name in _COLLECTIONS
        if name in state
    ]
    changes = await read_changes(visit, state)
    return visit.page(
        "bank.html",
        "Bank",
        400 if problem else 200,
        problem=problem,
        wrong=wrong,
        searched=searched,
        collections=[one for one in collections if one[2] or not searched],
        forms=show_forms(visit, state),
        most_entries=MOST_ENTRIES,
        changes=[row(collection, id, one) for collection in changes for id, one in changes[collection].items()],
    )


def _rows(collection: str, documents: dict[str, Any]) -> Iterator[dict[str, str]]:
    yield from (row(collection, id, document) for id, document in reversed(documents.items()))


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
    kept = await visit.ask("GET", f"state/{path}")
    authorisations = await visit.ask("GET", "state/authorisations")
    steps = await timeline(visit, id)
    life = make_life(visit, collection, kept, steps)
    shown = row(collection, id, kept)
    return visit.page(
        "document.html",
        "Bank",
        409 if problem else 200,
        problem=problem,
        collection=collection,
        id=id,
        name=shown["name"],
        details=", ".join(filter(None, (shown["details"], shown["created"] and f"created {shown['created']}"))),
        document=kept,
        life=life,
        steps=steps,
        events=_happenings(collection, kept, life) if life else (),
        resource=await _find_resource(visit, kept) if collection == AUTHORISATIONS else None,
        is_embedded=_is_embedded(collection, kept),
        user_page=await find_user_page(visit, collection, kept, steps) if life else None,
        authorisations=[
            row(AUTHORISATIONS, authorisation_id, document)
            for authorisation_id, document in authorisations.items()
            if document.get("resource") == id
        ],
    )


async def _find_resource(visit: ConsoleVisit, authorisation: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what an authorisation is for, as an entry of a list, or None if it no longer exists."""
    family, id = FAMILIES.get(authorisation.get("family", "")), str(authorisation.get("resource") or "")
    if family is None or not id:
        return None
    try:
        return row(family.collection, id, await visit.ask("GET", f"state/{family.collection}/{quote(id, safe='')}"))
    except Refused:
        return None


def _is_embedded(collection: str, document: Mapping[str, Any]) -> bool:
    """Return whether the app itself sends the customer's password. Then there is nothing to decide at the bank."""
    return collection == AUTHORISATIONS and document.get("approach") == EMBEDDED


def _happenings(collection: str, document: Mapping[str, Any], life: Life) -> list[tuple[str, str, str]]:
    """Return the possible next events of a document, each with its label and the state that it leads to."""
    if collection == AUTHORISATIONS:
        if life.is_final or _is_embedded(collection, document):
            return []
        leads = {transition.event: transition.to for transition in SCA.transitions}
        is_approved = bool(SCA.after(life.status, "confirm"))
        return [(name, name, leads[event]) for name, event in _DECISIONS if not (is_approved and name == "approve")]
    events = [(t.event, VERBS.get(t.event, t.event), t.to) for t in life.machine.transitions if life.status in t.states]
    return sorted(events, key=lambda event: (event[1] != "approve", event[2] == REMOVED))
