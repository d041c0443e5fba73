"""What the bank holds: its documents, what can happen to each, and how each came to where it is."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.bank.domain.documents import describe, name_of, state_of
from xs2a_sandbox.bank.domain.lifecycle import LOGIN, OVER, REMOVED, SCA, Machine
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.cassette.things import Naming, Things
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.test_data import MOST_ENTRIES, FieldError, create, read_changes, show_forms
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
    ("Customers", "psus"),
)
_MACHINES: Mapping[str, Machine] = {
    **{family.collection: family.machine for family in FAMILIES.values() if family.machine is not LOGIN},
    AUTHORISATIONS: SCA,
}
_DECISIONS = (("approve", "succeed"), ("decline", "fail"), ("timeout", "fail"), ("error", "fail"))
"""The decisions of a payment user, each with the event that it is."""
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
"""The events of the states as somebody would say that it is to happen; the others are said as they are called."""
_DECIDING = ("authorised by all", "succeed")
_FAILING = ("refused", "fail", "funds do not cover it", "withdrawn by the customer", "delete, kept", "delete", OVER)
_PAGE = re.compile(r"https?://", re.IGNORECASE)
_WORD = re.compile(r"[\w~-]+(?:\.[\w~-]+)*")
"""Whatever may be an id in a path, a header or a body."""
_TIMELINE = 50
"""The last exchanges that a timeline goes into."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """An exchange in the life of a document: the states that its answer told, and the links that it gave; `page` is
    where the payment user decides, if the answer leads there.
    """

    exchange: Mapping[str, Any]
    states: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    page: str | None


async def bank(visit: ConsoleVisit) -> Response:
    """A form that creates something names it in `create`; any other resets the session."""
    problem, wrong = "", ""
    if visit.is_sent and "create" not in visit.form:
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
        (title, name, [row for row in _rows(name, state[name]) if _fits(row, searched)])
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
        changes=[
            (collection, _row(collection, id, one)) for collection in changes for id, one in changes[collection].items()
        ],
    )


def _rows(collection: str, documents: dict[str, Any]) -> Iterator[dict[str, str]]:
    yield from (_row(collection, id, document) for id, document in reversed(documents.items()))


def _fits(row: Mapping[str, str], searched: str) -> bool:
    """Tells if the name, id, state or details of a document have the text, in upper or lower case."""
    return any(searched.casefold() in row[name].casefold() for name in ("name", "id", "status", "details"))


async def document(visit: ConsoleVisit) -> Response:
    _, collection, id = visit.names
    path, problem = f"{quote(collection, safe='')}/{quote(id, safe='')}", ""
    if visit.is_sent:
        event = visit.form.get("event", "")
        try:
            if collection == "authorisations":
                await visit.ask("POST", f"sca/{quote(id, safe='')}", {"decide": event})
            else:
                await visit.ask("POST", f"state/{path}", {"event": event})
            return visit.go(f"bank/{path}")
        except Refused as refused:
            problem = str(refused)
    kept = await visit.ask("GET", f"state/{path}")
    machine, status = _MACHINES.get(collection), _state(collection, kept)
    naming = _things(visit)[machine.name if machine else ""]
    word = visit.sandbox.banks.default.interface.states.word(naming.name, status)
    authorisations = await visit.ask("GET", "state/authorisations")
    steps = await _timeline(visit, id)
    pages = [step.page for step in steps if step.page]
    return visit.page(
        "document.html",
        "Bank",
        409 if problem else 200,
        problem=problem,
        collection=collection,
        id=id,
        name=(name_of(collection, kept) if isinstance(kept, dict) else "") or id,
        details=", ".join(describe(collection, kept)) if isinstance(kept, dict) else "",
        document=kept,
        machine=machine.name if machine else "",
        states=_states(machine, status) if machine else (),
        status=status,
        past=_find_past(steps, machine, naming, visit) if machine else (),
        events=_happenings(collection, machine, status) if machine else (),
        user_page=pages[-1] if pages and machine and status not in machine.final else None,
        authorisations=[
            _row("authorisations", authorisation_id, document)
            for authorisation_id, document in authorisations.items()
            if document.get("resource") == id
        ],
        steps=steps,
        has_moved_since=bool(steps) and machine is not None and not _tells(steps, naming, word),
    )


async def documents_in(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the documents with a state whose ids an exchange mentions, as entries of a list."""
    words = set(_WORD.findall(json.dumps(exchange, ensure_ascii=False)))
    state = await visit.ask("GET", "state")
    return [
        {"collection": collection, **_row(collection, id, document)}
        for collection in _MACHINES
        for id, document in state.get(collection, {}).items()
        if id in words
    ]


async def _timeline(visit: ConsoleVisit, id: str) -> list[TimelineStep]:
    """The exchanges that name a document, oldest first."""
    things = _things(visit)
    listed = await visit.ask("GET", f"journal?{urlencode({'text': id, 'limit': _TIMELINE})}")
    steps = []
    for entry in listed["exchanges"]:
        try:
            answer = (await visit.ask("GET", f"journal/{entry['number']}?plain=true"))["answer"]
        except Refused:
            continue  # it has gone meanwhile
        body, pages = answer.get("body"), things.pages
        links = tuple(_hrefs(body, pages))
        page = next((href for name, href in links if name in pages and _PAGE.match(href)), None)
        steps.append(TimelineStep(entry, tuple(_reported_states(body, things)), links, page))
    return steps


def _find_past(steps: list[TimelineStep], machine: Machine, naming: Naming, visit: ConsoleVisit) -> set[str]:
    """Return the states that responses have told, in the words of the state machine."""
    member, words = naming.state.name if naming.state else "", visit.sandbox.banks.default.interface.states
    told = {state for step in steps for name, state in step.states if name == member}
    return {state for state in machine.states if words.word(naming.name, state) in told}


def _things(visit: ConsoleVisit) -> Things:
    return visit.sandbox.banks.default.interface.things


def _reported_states(body: Any, things: Things) -> Iterator[tuple[str, str]]:
    """The states that an answer tells, each with the member that does."""
    told = [(naming.state.name, naming.state_in(body)) for naming in things.with_states if naming.state]
    yield from dict.fromkeys((name, state) for name, state in told if state)


def _hrefs(body: Any, pages: Collection[str]) -> Iterator[tuple[str, str]]:
    """The links of an answer, wherever outside of lists, and the addresses of `pages`."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict) and isinstance(href := value.get("href"), str):
            yield name, href
        elif name in pages and isinstance(value, str):
            yield name, value
        else:
            yield from _hrefs(value, pages)


def _tells(steps: list[TimelineStep], naming: Naming, status: str | None) -> bool:
    """Tells if the last answer that told a state of this kind told this one."""
    member = naming.state.name if naming.state else ""
    states = [state for step in steps for name, state in step.states if name == member]
    return not states or states[-1] == status


def _state(collection: str, document: Any) -> str:
    return state_of(collection, document) if isinstance(document, dict) else ""


def _row(collection: str, id: str, document: Any) -> dict[str, str]:
    """An entry of a list: what people know a document by."""
    members = document if isinstance(document, dict) else {}
    machine, status, title = _MACHINES.get(collection), state_of(collection, members), name_of(collection, members)
    return {
        "id": id,
        "name": title or id,
        "tone": _tone(machine, status) if machine else "",
        "status": status,
        "details": ", ".join(word for word in describe(collection, members) if word not in title.replace(",", "")),
    }


def _tone(machine: Machine, status: str) -> str:
    """Say whether a state waits for somebody, has failed, or is good."""
    if any(machine.after(status, event) for event in _DECIDING):
        return "waiting"
    failed = {transition.to for transition in machine.transitions if transition.event in _FAILING}
    return "failed" if status in failed else "good"


def _states(machine: Machine, status: str) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Each state, whether it can be reached at once, and those that it leads to."""
    next_ones = {to for state, to in machine.arrows if state == status}
    return [
        (state, state in next_ones, tuple(to for to in machine.states if (state, to) in machine.arrows))
        for state in machine.states
    ]


def _happenings(collection: str, machine: Machine, status: str) -> list[tuple[str, str, str]]:
    """The events that can happen to a document from here on: each, in a word, and the state that it leads to."""
    if collection == "authorisations":
        leads = {transition.event: transition.to for transition in SCA.transitions}
        led = [(decision, decision, leads[event]) for decision, event in _DECISIONS]
        return [] if status in machine.final else led
    events = [(t.event, VERBS.get(t.event, t.event), t.to) for t in machine.transitions if status in t.states]
    return sorted(events, key=lambda event: (event[1] != "approve", event[2] == REMOVED))
