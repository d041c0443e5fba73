"""The session's time, and the list of sessions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.bank.domain.documents import State, describe, name_of
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.clock_words import say_clock
from xs2a_sandbox.features.console.visit import ConsoleVisit, prefix_of
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.state.session import DEFAULT, HEADER, PREFIX, is_session_name

_VERBS = {"payments": "is executed", "consents": "expires", "mandates": "expires", "authorisations": "expires"}
"""The event of a document that falls due, by collection."""


async def time(visit: ConsoleVisit) -> Response:
    problem = wrong = ""
    if visit.is_sent:
        move, form = visit.form.get("move"), visit.form
        try:
            if "until" in form:
                await visit.ask("POST", "clock", {"move": await _seconds_until(visit, form["until"])})
            elif move is not None:
                wrong = "move"
                await visit.ask("POST", "clock", {"move": move.strip()})
            elif "real" in form:
                await visit.ask("PUT", "clock", {"real": True})
            else:
                wrong = "frozen"
                await visit.ask("PUT", "clock", {"frozen": form.get("frozen", "").strip()})
            return visit.go("time")
        except Refused as refused:
            problem = str(refused)
    clock, due = await visit.ask("GET", "clock"), await visit.ask("GET", "due")
    state = await visit.read_state()
    events = [{**one, "name": _name(one, state), "verb": _verb(one, state)} for one in due["due"]]
    return visit.page(
        "time.html",
        "Time",
        400 if problem else 200,
        problem=problem,
        wrong=wrong if problem else "",
        sent=visit.form,
        clock=clock,
        moved=say_clock(clock),
        due=_tell_apart(events),
    )


def _tell_apart(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events, with the ids of documents added to names that several of them have."""
    documents = {(one["name"], one["id"]) for one in events}
    counts = Counter(name for name, _ in documents)
    return [{**one, "name": f"{one['name']} ({one['id']})"} if counts[one["name"]] > 1 else one for one in events]


async def _seconds_until(visit: ConsoleVisit, moment: str) -> str:
    """Return the duration from now to the second after a moment. Raises Refused."""
    now = datetime.fromisoformat((await visit.ask("GET", "clock"))["now"])
    try:
        left = (datetime.fromisoformat(moment) - now).total_seconds()
    except (TypeError, ValueError):
        raise Refused(400, "body-invalid", f"until must be a time with its zone, not {moment!r}") from None
    return f"{max(1, int(left) + 1)}s"


def _name(due: Mapping[str, Any], state: State) -> str:
    """Return the name of the document that is due, or its id. An authorisation is named with what it is for."""
    document = state.get(due["collection"], {}).get(due["id"], {})
    name = name_of(due["collection"], document) or str(due["id"])
    subject = next(describe(due["collection"], document, state), "") if due["collection"] == AUTHORISATIONS else ""
    return f"{name} ({subject})" if subject else name


def _verb(due: Mapping[str, Any], state: State) -> str:
    document = state.get(due["collection"], {}).get(due["id"], {})
    is_decided = document.get("status") == "deciding" and document.get("decides")
    return "is approved in the bank's app" if is_decided else _VERBS.get(due["collection"], "is due")


_ALL = 100_000
"""More exchanges than any journal keeps."""
_MOST_UNSTORED = 5
"""More sessions without stored data are folded: a campaign leaves one for each fault."""


async def sessions(visit: ConsoleVisit) -> Response:
    problem = wrong = ""
    if visit.is_sent:
        try:
            await visit.ask("DELETE", f"sessions/{quote(visit.form.get('delete', ''), safe='')}")
            return visit.go("sessions")
        except Refused as refused:
            problem = str(refused)
    if opened := visit.query.get("open", "").strip():
        if is_session_name(opened):
            return redirect(f"{prefix_of(opened)}/console/bank")
        problem, wrong = "Session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -", "open"
    kept = {one["id"]: one["documents"] for one in (await visit.ask("GET", "sessions"))["sessions"]}
    exchanges: dict[str, list[dict[str, Any]]] = {}
    # Only the session `default` sees the traffic of all sessions.
    for one in (await replace(visit, session=DEFAULT).ask("GET", f"journal?limit={_ALL}"))["exchanges"]:
        exchanges.setdefault(one["session"], []).append(one)
    rows: list[dict[str, Any]] = [
        {
            "id": id,
            "prefix": prefix_of(id),
            "documents": kept.get(id, {}),
            "is_kept": id in kept,
            "exchanges": len(exchanges.get(id, ())),
            "last": exchanges[id][-1] if id in exchanges else None,
            "ways": _ways(visit.base_url, id),
        }
        for id in {*kept, *exchanges}
    ]
    rows.sort(key=lambda row: (-row["last"]["number"] if row["last"] else 0, row["id"]))
    unstored = [row for row in rows if not row["is_kept"] and row["id"] != visit.session]
    folded = unstored if len(unstored) > _MOST_UNSTORED else []
    return visit.page(
        "sessions.html",
        "Sessions",
        400 if problem else 200,
        problem=problem,
        wrong=wrong,
        name=opened,
        sessions=[row for row in rows if row not in folded],
        folded=folded,
    )


def _ways(base_url: str, session: str) -> dict[str, str]:
    """Return the ways in which an app names the session, as texts to copy."""
    return {
        "Base URL": base_url if session == DEFAULT else f"{base_url}/{PREFIX}/{session}",
        "Header": f"{HEADER}: {session}",
        "User of the proxy": session,
    }
