"""The list of exchanges: a page of the last ones, and rows that come by themselves."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.html import render
from xs2a_sandbox.features.console.visit import ConsoleVisit, wrong_field
from xs2a_sandbox.http import Response

_SHOWN = 100
"""Exchanges on a page; what comes later is added."""
_AT_ONCE = 500
"""Exchanges that are added at once: where more have passed, the page is better read anew."""
_BATCH = 0.1
"""Seconds for which exchanges are gathered before they are sent."""
_STREAM = 2.0
"""Seconds after which a browser asks for the stream anew: so long the sandbox waits for it at most when it stops."""
_FILTERS = ("text", "method", "path", "status", "rule")


async def traffic(visit: ConsoleVisit) -> Response:
    filters = {name: visit.query.get(name, "").strip() for name in _FILTERS}
    before, problem = visit.query.get("before", ""), ""
    listed: dict[str, Any] = {"exchanges": [], "found": 0}
    try:
        listed = await _list(visit, filters, _SHOWN, before=before)
    except Refused as refused:
        problem = str(refused)
    newest = listed["exchanges"][::-1]
    query = {name: value for name, value in filters.items() if value}
    is_more = listed["found"] > len(newest)
    return visit.page(
        "traffic.html",
        "Traffic",
        400 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _FILTERS, filters),
        exchanges=newest,
        found=listed["found"],
        last=newest[0]["number"] if newest else 0,
        filters=filters,
        query=urlencode(query),
        is_live=not (before or problem),
        older=urlencode({**query, "before": newest[-1]["number"]}) if is_more else "",
    )


async def _list(visit: ConsoleVisit, filters: Mapping[str, str], limit: int, **more: Any) -> Any:
    """The last exchanges that fit, oldest first, and how many do. Raises Refused."""
    query = {name: value for name in _FILTERS if (value := filters.get(name))}
    if "method" in query:
        query["method"] = query["method"].upper()
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
    while loop.time() < end:
        listed = await _list(visit, visit.query, _AT_ONCE, since=last)
        if listed["found"] > _AT_ONCE:
            yield _event("reload", "", last)
            return
        if exchanges := listed["exchanges"]:
            last = exchanges[-1]["number"]
            yield _event("rows", render("rows.html", {"exchanges": exchanges[::-1], "prefix": visit.prefix}), last)
        await asyncio.sleep(_BATCH)
    yield _event("again", "", last)


def _event(name: str, html: str, last: int) -> bytes:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: {name}\nid: {last}\n{lines or 'data:\n'}\n".encode()
