"""The list of exchanges beside the one that is open: a page of the last ones, and rows that come by themselves."""

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
"""Exchanges on a page; what comes later is added."""
_AT_ONCE = 500
"""Exchanges that are added at once: where more have passed, the page is better loaded again."""
_BATCH = 0.1
"""Seconds for which exchanges are gathered before they are sent."""
_STREAM = 2.0
"""Seconds after which a browser asks for the stream again: the sandbox waits for it no longer when it stops."""
_CHIPS = {"status": 5, "is": 5, "session": 6, "op": 8}
"""The keys of the search that have chips, with the most for each."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A term of the search that a click adds, or takes away where it `is_on`."""

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
        if number := visit.query.get("open", ""):
            opened = await exchange_values(visit, number)
    except Refused as refused:
        problem = str(refused)
    newest = listed["exchanges"][::-1]
    query = {"search": text} if text else {}
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
        chips=[] if problem else list(_chips(text, listed["counts"])),
        terms=list(_terms(listed["counts"])),
        keys=search.EXAMPLES,
        is_live=not (before or problem),
        is_open=opened is not None,
        older=urlencode({**query, "before": newest[-1]["number"]}) if is_more else "",
    )


def _chips(text: str, counts: Mapping[str, Mapping[str, int]]) -> Iterator[Chip]:
    on = [str(term) for term in search.parse(text)]
    for key, most in _CHIPS.items():
        found = [
            (str(term), count)
            for value, count in list(counts.get(key, {}).items())[:most]
            for term in search.parse(f"{key}:{value}")
        ]
        # One value that all have tells nothing apart.
        if len(found) < 2 and key != "is" and not any(term in on for term, _ in found):
            continue
        for term, count in found:
            is_on = term in on
            others = [one for one in on if one != term] if is_on else [*on, term]
            yield Chip(term, count, urlencode({"search": " ".join(others)}) if others else "", is_on)


def _terms(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """The terms that the search box offers to complete."""
    for key, example in search.EXAMPLES.items():
        values = search.STATES if key == "is" else tuple(counts.get(key, {})) or (example,)
        yield from (f"{key}:{value}" for value in values)


async def _list(visit: ConsoleVisit, text: str, limit: int, **more: Any) -> Any:
    """The last exchanges that fit, oldest first, and how many do. Raises Refused."""
    query = {"search": text} if text else {}
    query |= {name: value for name, value in more.items() if value}
    return await visit.ask("GET", f"journal?{urlencode({**query, 'limit': limit})}")


async def events(visit: ConsoleVisit) -> Response:
    """The exchanges after a number, as they come, as server-sent events."""
    text = visit.query.get("since", "")
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refused(400, "query-invalid", "since must be the number of an exchange")
    headers = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
    return Response(200, headers, b": live\n\n", rest=_stream(visit, int(text)))


async def _stream(visit: ConsoleVisit, last: int) -> AsyncGenerator[bytes]:
    loop = asyncio.get_running_loop()
    end = loop.time() + _STREAM
    # The page shows what was held when it was loaded.
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
