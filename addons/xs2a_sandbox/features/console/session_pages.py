"""The session's time, and the sessions that there are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.bank.domain.documents import name_of
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit, prefix_of
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.state.session import is_session_name

_VERBS = {"payments": "executes", "consents": "expires", "mandates": "expires", "authorisations": "expires"}
"""What happens to a document that falls due."""


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
    events = [
        {**one, "name": await _name(visit, one), "verb": _VERBS.get(one["collection"], "is due")} for one in due["due"]
    ]
    return visit.page(
        "time.html",
        "Time",
        400 if problem else 200,
        problem=problem,
        wrong=wrong if problem else "",
        sent=visit.form,
        clock=clock,
        shift=_say_span(int(clock.get("shift") or 0)),
        due=events,
    )


def _say_span(seconds: int) -> str:
    """Say how far the clock is from the real time, such as `23 h 55 min ahead of`."""
    units = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    left, words = abs(seconds), []
    for size, unit in units:
        if left >= size:
            words.append(f"{left // size} {unit}")
            left %= size
    return f"{' '.join(words[:2])} {'ahead of' if seconds > 0 else 'behind'}"


async def _seconds_until(visit: ConsoleVisit, moment: str) -> str:
    """Return how far to move the clock to the second after a moment. Raises Refused."""
    now = datetime.fromisoformat((await visit.ask("GET", "clock"))["now"])
    try:
        left = (datetime.fromisoformat(moment) - now).total_seconds()
    except (TypeError, ValueError):
        raise Refused(400, "body-invalid", f"until must be a time with its zone, not {moment!r}") from None
    return f"{max(1, int(left) + 1)}s"


async def _name(visit: ConsoleVisit, due: Mapping[str, Any]) -> str:
    """Return what people call the document that is due, or its id."""
    try:
        document = await visit.ask("GET", f"state/{quote(due['collection'], safe='')}/{quote(due['id'], safe='')}")
    except Refused:
        return str(due["id"])
    return name_of(due["collection"], document) or str(due["id"])


async def sessions(visit: ConsoleVisit) -> Response:
    problem = wrong = ""
    if visit.is_sent:
        try:
            await visit.ask("DELETE", f"sessions/{quote(visit.form.get('forget', ''), safe='')}")
            return visit.go("sessions")
        except Refused as refused:
            problem = str(refused)
    if opened := visit.query.get("open", "").strip():
        if is_session_name(opened):
            return redirect(f"{prefix_of(opened)}/console/bank")
        problem, wrong = "Session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -", "open"
    listed = await visit.ask("GET", "sessions")
    return visit.page(
        "sessions.html",
        "Sessions",
        400 if problem else 200,
        problem=problem,
        wrong=wrong,
        name=opened,
        sessions=[{**one, "prefix": prefix_of(one["id"])} for one in listed["sessions"]],
    )
