"""The session's time, and the sessions that there are."""

from urllib.parse import quote

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit, prefix_of
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect
from xs2a_sandbox.state.session import is_session_name


async def time(visit: ConsoleVisit) -> Response:
    problem = wrong = ""
    if visit.is_sent:
        move, form = visit.form.get("move"), visit.form
        try:
            if move is not None:
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
    return visit.page(
        "time.html",
        "Time",
        400 if problem else 200,
        problem=problem,
        wrong=wrong if problem else "",
        sent=visit.form,
        clock=clock,
        due=due["due"],
    )


async def sessions(visit: ConsoleVisit) -> Response:
    problem = wrong = ""
    if visit.is_sent:
        try:
            await visit.ask("DELETE", f"sessions/{quote(visit.form.get('forget', ''), safe='')}")
            return visit.go("sessions")
        except Refused as refused:
            problem = str(refused)
    if name := visit.query.get("open", "").strip():
        if is_session_name(name):
            return redirect(f"{prefix_of(name)}/console/bank")
        problem, wrong = "Session names are 1 to 64 of the characters A-Z a-z 0-9 . _ -", "open"
    listed = await visit.ask("GET", "sessions")
    return visit.page(
        "sessions.html",
        "Sessions",
        400 if problem else 200,
        problem=problem,
        wrong=wrong,
        name=name,
        sessions=[{**one, "prefix": prefix_of(one["id"])} for one in listed["sessions"]],
    )
