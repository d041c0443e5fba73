"""The breakpoints of a session: list, set and delete them; edit and release held exchanges."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.control.breaks import TIMEOUT, is_editable
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit, read_order, wrong_field
from xs2a_sandbox.http import Response
from xs2a_sandbox.wording import say_times

_FIELDS = ("operation", "does", "method", "on", "next", "timeout")
_EDITS = ("status", "headers", "body")
_GONE = "This exchange is no longer held: it was released, its timeout ended, or the app disconnected."


async def breakpoints(visit: ConsoleVisit) -> Response:
    """Return the whole page, or with `part=true` only what changes by itself."""
    problem, sent = "", {name: visit.form.get(name, "").strip() for name in _FIELDS}
    if visit.is_sent:
        try:
            if id := visit.form.get("delete"):
                await visit.ask("DELETE", f"breaks/{quote(id, safe='')}")
            elif "clear" in visit.form:
                await visit.ask("DELETE", "breaks")
            elif id := visit.form.get("continue"):
                await visit.ask("POST", f"held/{quote(id, safe='')}", {"continue": True})
            else:
                await visit.ask("POST", "breaks", read_order(sent, ("next",)))
            return visit.go("breakpoints")
        except Refused as refused:
            problem = str(refused)
    listed = (await visit.ask("GET", "breaks"))["breaks"]
    breaks = [{**one, "whom": _whom(one), "used": _use(one)} for one in listed]
    if visit.query.get("part") == "true":
        return visit.part("breakpoints_parts.html", is_part=True, breaks=breaks, held=visit.held)
    interfaces = [bank.interface for bank in visit.sandbox.banks.all]
    return visit.page(
        "breakpoints.html",
        "Breakpoints",
        400 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _FIELDS, sent),
        is_part=False,
        breaks=breaks,
        sent=sent,
        timeout=TIMEOUT,
        operations=sorted({id for interface in interfaces for id in interface.operations}),
    )


async def held(visit: ConsoleVisit) -> Response:
    """Show a held exchange, with a form to edit its held message."""
    one = next((one for one in visit.held if one["id"] == visit.names[1]), None)
    if one is None:
        return visit.page("held.html", "Breakpoints", 404, one=None, gone=_GONE)
    message = one["response"] or one["request"]
    shown = {
        "status": str(message.get("status", "")),
        "headers": "\n".join(f"{name}: {value}" for name, value in message["headers"] if is_editable(name)),
        "body": _text(message),
    }
    problem, sent = "", shown
    if visit.is_sent:
        sent = {name: visit.form.get(name, "").replace("\r\n", "\n") for name in _EDITS}
        try:
            await visit.ask("POST", f"held/{one['id']}", _release(visit.form.get("do", ""), shown, sent))
            return visit.go("breakpoints")
        except Refused as refused:
            problem = str(refused)
    return visit.page(
        "held.html",
        "Breakpoints",
        400 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _EDITS, {}),
        one=one,
        message=message,
        sent=sent,
        fixed=[pair for pair in message["headers"] if not is_editable(pair[0])],
        is_text="base64" not in message,
        request_body=_text(one["request"]),
    )


def _release(do: str, shown: Mapping[str, str], sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the release of the exchange. Only fields that differ from those shown are edits. Raises Refused."""
    if do == "drop":
        return {"drop": True}
    edits: dict[str, Any] = {}
    if do == "edit":
        status = sent["status"].strip()
        if status != shown["status"]:
            edits["status"] = int(status) if status.isascii() and status.isdigit() and len(status) < 9 else status
        before, after = _headers(shown["headers"]), _headers(sent["headers"])
        changed = {name: values for name, values in after.items() if before.get(name) != values}
        if headers := changed | dict.fromkeys(before.keys() - after.keys()):
            edits["headers"] = headers
        if sent["body"] != shown["body"]:
            edits["body"] = sent["body"]
    return edits or {"continue": True}


def _headers(text: str) -> dict[str, list[str]]:
    """Return the values of each header, by its name as first written. Raises Refused if a line is not a header."""
    names: dict[str, str] = {}
    headers: dict[str, list[str]] = {}
    for line in filter(str.strip, text.split("\n")):
        name, colon, value = line.partition(":")
        if not colon:
            raise Refused(400, "body-invalid", f"headers: the line {line.strip()[:80]!r} has no colon")
        name = names.setdefault(name.strip().lower(), name.strip())
        headers.setdefault(name, []).append(value.strip())
    return headers


def _text(message: Mapping[str, Any]) -> str:
    if "body" in message:
        return json.dumps(message["body"], ensure_ascii=False, indent=2)
    return str(message.get("text", "")).replace("\r\n", "\n")


def _use(one: Mapping[str, Any]) -> str:
    """Describe how often the breakpoint has held an exchange."""
    used = f"used {say_times(one['hits'])}" if one["hits"] else "not used yet"
    return f"{used}, {one['next'] - one['hits']} left"


def _whom(one: Mapping[str, Any]) -> str:
    """Describe which requests the breakpoint holds."""
    which: Sequence[str] = [one[name] for name in ("method", "operation", "does") if name in one]
    return " ".join(which) or "all requests"
