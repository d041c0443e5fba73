"""The list of exchanges, next to the open one. New rows are added while the page is open."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.exchange import exchange_values
from xs2a_sandbox.features.console.html import render
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.journal import search

_SHOWN = 100
"""The number of exchanges on a page. New ones are added."""
_AT_ONCE = 500
"""The most exchanges that are added at once. If there are more, the page is loaded again."""
_BATCH = 0.1
"""Seconds for which exchanges are collected before they are sent."""
_STREAM = 2.0
"""Seconds after which a browser requests the stream again, so that a stopping sandbox waits no longer."""
_CHIPS = {"status": 5, "is": 6, "session": 6, "op": 8}
"""The keys of the search that have chips, with the most for each."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A term of the search that a click adds, or removes if it `is_on`."""

    term: str
    count: int
    query: str
    is_on: bool


async def traffic(visit: ConsoleVisit) -> Response:
    text, before, problem = visit.query.get("search", "").strip(), visit.query.get("before", ""), ""
    listed: dict[str, Any] = {"exchanges": [], "found": 0, "counts": {}}
    opened: dict[str, Any] | None = None
    try:
        listed = await _list(visit, text, _SHOWN, before=before, counts="true")
    except Refused as refused:
        problem = str(refused)
    is_listed = not problem
    if number := visit.query.get("open", ""):
        try:
            opened = await exchange_values(visit, number)
        except Refused as refused:
            problem = problem or str(refused)
    newest = listed["exchanges"][::-1]
    query = {"search": text} if text else {}
    stays_open = {"open": number} if opened else {}
    corrected = None if newest else search.correct(text)
    is_more = listed["found"] > len(newest)
    return visit.page(
        "traffic.html",
        "Traffic",
        400 if problem else 200,
        **(opened or {}),
        problem=problem,
        wrong="search" if problem.startswith("search") else "",
        exchanges=newest,
        found=listed["found"],
        last=newest[0]["number"] if newest else 0,
        text_searched=text,
        query=urlencode(query),
        chips=list(_chips(text, listed["counts"], stays_open)) if is_listed else [],
        terms=list(_terms(listed["counts"])),
        keys=search.EXAMPLES,
        is_live=is_listed and not before,
        opened=number if opened else "",
        corrected=corrected,
        corrected_query=urlencode({"search": corrected, **stays_open}),
        all_query=urlencode(stays_open),
        older=urlencode({**query, "before": newest[-1]["number"], **stays_open}) if is_more else "",
    )


def _chips(text: str, counts: Mapping[str, Mapping[str, int]], more: Mapping[str, str]) -> Iterator[Chip]:
    """Yield the chips of a search. `more` are the further parameters of the page."""
    on = [str(term) for term in search.parse(text)]
    for key, most in _CHIPS.items():
        found = [
            (str(term), count)
            for value, count in list(counts.get(key, {}).items())[:most]
            for term in search.parse(f"{key}:{value}")
        ]
        # A value that all exchanges have is no use as a filter.
        if len(found) < 2 and key != "is" and not any(term in on for term, _ in found):
            continue
        for term, count in found:
            is_on = term in on
            others = [one for one in on if one != term] if is_on else [*on, term]
            query = {"search": " ".join(others)} if others else {}
            yield Chip(term, count, urlencode({**query, **more}), is_on)


def _terms(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the terms that the search box offers for completion."""
    for key, example in search.EXAMPLES.items():
        values = search.STATES if key == "is" else tuple(counts.get(key, {})) or (example,)
        yield from (f"{key}:{value}" for value in values)


async def _list(visit: ConsoleVisit, text: str, limit: int, **more: Any) -> Any:
    """Return the last matching exchanges, oldest first, and the number of all. Raises Refused."""
    query = {"search": text} if text else {}
    query |= {name: value for name, value in more.items() if value}
    return await visit.ask("GET", f"journal?{urlencode({**query, 'limit': limit})}")


async def events(visit: ConsoleVisit) -> Response:
    """Send the exchanges after a number as server-sent events."""
    text = visit.query.get("since", "")
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refused(400, "query-invalid", "since must be the number of an exchange")
    headers = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
    return Response(200, headers, b": live\n\n", rest=_stream(visit, int(text)))


async def _stream(visit: ConsoleVisit, last: int) -> AsyncGenerator[bytes]:
    loop = asyncio.get_running_loop()
    end = loop.time() + _STREAM
    # The page already shows the exchanges that were held when it was loaded.
    shown = None if "held" in visit.query else ""
    while loop.time() < end:
        listed = await _list(visit, visit.query.get("search", ""), _AT_ONCE, since=last)
        if listed["found"] > _AT_ONCE:
            yield _event("reload", "", last)
            return
        if exchanges := listed["exchanges"]:
            last = exchanges[-1]["number"]
            yield _event("rows", render("rows.html", {"exchanges": exchanges[::-1], "prefix": visit.prefix}), last)
        if (
            banner := render("banner.html", {"held": await visit.list_held(), "prefix": visit.prefix}).strip()
        ) != shown:
            shown = banner
            yield _event("held", banner, last)
        await asyncio.sleep(_BATCH)
    yield _event("again", "", last)


def _event(name: str, html: str, last: int) -> bytes:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: {name}\nid: {last}\n{lines or 'data:\n'}\n".encode()
