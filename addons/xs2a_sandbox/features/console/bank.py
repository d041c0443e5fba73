"""What the bank holds: its documents, what can happen to each, and how each came to where it is."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, PAYMENT, REMOVED, SCA, Machine
from xs2a_sandbox.compare.states import STATES
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response

_COLLECTIONS = (
    ("Consents", "consents"),
    ("Payments", "payments"),
    ("Signing baskets", "baskets"),
    ("Authorisations", "authorisations"),
    ("Accounts", "accounts"),
    ("Card accounts", "cardAccounts"),
    ("Customers", "psus"),
)
_MACHINES: Mapping[str, Machine] = {"consents": CONSENT, "payments": PAYMENT, "baskets": BASKET, "authorisations": SCA}
_DECISIONS = (("approve", "finalised"), ("decline", "failed"), ("timeout", "failed"), ("error", "failed"))
VERBS = {
    "authorised by all": "approve",
    "authorised by all, for later": "approve for later",
    "authorised by some": "approve in part",
    "refused": "reject",
    "validUntil passes": "expire",
    "delete, kept": "revoke",
    "settled": "settle",
    "credited": "credit",
    "its day comes": "execute",
    "newer recurring consent": "replace by a newer one",
    "used, not recurring": "use up",
    "funds do not cover it": "fail for want of funds",
}
"""The events of the states as somebody would say that it is to happen; the others are said as they are called."""
_PAGE = re.compile(r"https?://", re.IGNORECASE)
_WORD = re.compile(r"[\w~-]+(?:\.[\w~-]+)*")
"""Whatever may be an id in a path, a header or a body."""
_TIMELINE = 50
"""The last exchanges that a timeline goes into."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """An exchange in the life of a document: the states that its answer told, and the links that it gave."""

    exchange: Mapping[str, Any]
    states: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]

    @property
    def page(self) -> str | None:
        """The page on which the payment user decides, if the answer leads there."""
        return next((href for name, href in self.links if name in _USERS and _PAGE.match(href)), None)


_USERS = ("scaRedirect", "scaOAuth")


async def bank(visit: ConsoleVisit) -> Response:
    if visit.is_sent:
        await visit.ask("POST", "reset")
        return visit.go("bank")
    state = await visit.ask("GET", "state")
    collections = [
        (title, name, [_row(name, id, document) for id, document in reversed(state[name].items())])
        for title, name in _COLLECTIONS
        if name in state
    ]
    return visit.page("bank.html", "Bank", collections=collections)


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
    machine, status = _MACHINES.get(collection), _status(kept)
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
        details=", ".join(_words(collection, kept)) if isinstance(kept, dict) else "",
        document=kept,
        machine=machine.name if machine else "",
        states=_states(machine, status) if machine else (),
        status=status,
        events=_happenings(collection, machine, status) if machine else (),
        user_page=pages[-1] if pages and machine and status not in machine.final else None,
        authorisations=[
            _row("authorisations", authorisation_id, document)
            for authorisation_id, document in authorisations.items()
            if document.get("resource") == id
        ],
        steps=steps,
        has_moved_since=bool(steps) and machine is not None and not _tells(steps, machine, status),
    )


async def documents_in(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> list[dict[str, str]]:
    """The consents, payments, baskets and authorisations of the session whose ids an exchange has somewhere, as entries
    of a list."""
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
    listed = await visit.ask("GET", f"journal?{urlencode({'text': id, 'limit': _TIMELINE})}")
    steps = []
    for entry in listed["exchanges"]:
        try:
            answer = (await visit.ask("GET", f"journal/{entry['number']}?plain=true"))["answer"]
        except Refused:
            continue  # it has gone meanwhile
        body = answer.get("body")
        members = body if isinstance(body, dict) else {}
        steps.append(TimelineStep(entry, tuple(_reported_states(members)), tuple(_links(members))))
    return steps


def _reported_states(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, state) for name, state in body.items() if name in STATES and isinstance(state, str))


def _links(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The links of an answer, whatever the member is called that holds them."""
    for name, links in body.items():
        if name.startswith("_") and isinstance(links, dict):
            for relation, link in links.items():
                if isinstance(link, dict) and isinstance(href := link.get("href"), str):
                    yield relation, href


def _tells(steps: list[TimelineStep], machine: Machine, status: str) -> bool:
    """Tells if the last answer that told a state of this kind told this one."""
    member = PAYMENT.name if machine is BASKET else machine.name
    states = [state for step in steps for name, state in step.states if name == member]
    return not states or states[-1] == status


def _status(document: Any) -> str:
    names = ("scaStatus", "consentStatus", "transactionStatus", "role")
    members = document if isinstance(document, dict) else {}
    return next((str(members[name]) for name in names if members.get(name)), "")


def _row(collection: str, id: str, document: Any) -> dict[str, str]:
    """An entry of a list: what somebody knows a document by."""
    members = document if isinstance(document, dict) else {}
    return {"id": id, "status": _status(members), "details": ", ".join(_words(collection, members))}


def _words(collection: str, document: Mapping[str, Any]) -> Iterator[str]:
    if collection == "consents":
        yield from (str(account) for account in document.get("accounts", ()))
        if until := document.get("validUntil"):
            yield f"until {until}"
    elif collection == "authorisations":
        yield from (str(document[name]) for name in ("family", "resource", "approach", "psuId") if document.get(name))
    else:
        yield from (str(document[name]) for name in ("name", "product", "creditorName") if document.get(name))
    amounts = [document.get("instructedAmount"), *(b.get("balanceAmount") for b in document.get("balances", ())[:1])]
    yield from (f"{amount['amount']} {amount['currency']}" for amount in amounts if isinstance(amount, dict))


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
        return [] if status in machine.final else [(event, event, to) for event, to in _DECISIONS]
    events = [(t.event, VERBS.get(t.event, t.event), t.to) for t in machine.transitions if status in t.states]
    return sorted(events, key=lambda event: (event[1] != "approve", event[2] == REMOVED))
