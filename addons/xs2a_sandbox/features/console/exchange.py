"""The page of an exchange: explains the response, repeats or compares the request, and makes a case from it."""

import asyncio
import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.control import journal as journal_view
from xs2a_sandbox.control.redacted_view import Redact, redact_like
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.features.console.broken import UNSENT, describe_fault
from xs2a_sandbox.features.console.json_html import json_html
from xs2a_sandbox.features.console.life import documents_in
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.header_fields import FRAMING
from xs2a_sandbox.http.messages import SAFE_METHODS
from xs2a_sandbox.http.target import split_target

_NOT_TYPED = FRAMING | {"accept-encoding"}
"""Header fields that curl sends by itself."""
_ALIKE = 6
"""The number of similar exchanges that are offered for comparison."""


async def exchange(visit: ConsoleVisit) -> Response:
    """Return the whole page, or with `part=true` only its content, for the pane next to the list."""
    number = visit.names[1]
    more: dict[str, Any] = {}
    if visit.is_sent:
        try:
            match visit.form.get("do", "case"):
                case "send":
                    again = await visit.ask("POST", f"journal/{quote(number, safe='')}/send")
                    return visit.go(f"exchanges/{again['number']}?again={number}")
                case "compare":
                    order = {"allow_writes": visit.form.get("writes") == "true"}
                    more["comparison"] = await visit.ask("POST", f"journal/{quote(number, safe='')}/compare", order)
                case _:
                    more["done"] = await _write(visit, await _whole(visit, number))
        except (Refused, UserMistake, OSError) as mistake:
            more["problem"] = str(mistake)
    values = {**await exchange_values(visit, number), **more}
    if visit.query.get("part") == "true":
        return visit.part("exchange_parts.html", **{**values, "is_pane": True})
    return visit.page("exchange.html", "Traffic", 409 if "problem" in more else 200, **values)


async def _whole(visit: ConsoleVisit, number: str) -> Any:
    """Return the exchange without redaction. Raises Refused."""
    return await visit.ask("GET", f"journal/{quote(number, safe='')}?plain=true")


async def exchange_values(visit: ConsoleVisit, number: str) -> dict[str, Any]:
    """Return the values for the page of an exchange. Raises Refused."""
    plain = await _whole(visit, number)
    displayed = plain if visit.query.get("plain") == "true" else await visit.ask("GET", f"journal/{number}")
    show: Redact = _as_it_is
    if displayed is not plain:
        show = redact_like(plain, displayed, lambda text: visit.sandbox.displayed_text(text, False))
    case, no_case = _case(visit, plain)
    of_its_session = replace(visit, session=displayed["session"])
    return {
        "is_pane": False,
        "done": "",
        "comparison": None,
        "one": displayed,
        "plain": displayed is plain,
        "text": body_text,
        "body_html": lambda message: (
            json_html(message["body"], visit.prefix, partial(_is_path, visit)) if "body" in message else None
        ),
        "raw": _write_raw,
        "broken": describe_fault(displayed),
        "edited": any(", in the response: " in text for text in displayed["warnings"]),
        "is_lost": displayed["fault"] in UNSENT,
        "hides": displayed["request"] != plain["request"] or displayed["answer"] != plain["answer"],
        "why": await _why(visit, number, is_plain=displayed is plain),
        "copies": {
            "curl": curl(displayed, visit.base_url),
            "Python": python(displayed, visit.base_url),
            "URL": visit.base_url + displayed["target"],
            **({"YAML case": show(case)} if case is not None else {}),
        },
        "no_case": no_case,
        "has_case": case is not None,
        "of_its_session": of_its_session,
        "documents": await documents_in(of_its_session, plain),
        "alike": await _find_alike(visit, displayed),
        "again": visit.query.get("again", ""),
        "is_read": displayed["method"] in SAFE_METHODS,
        "asks_bank": any(bank.real.can_be_asked for bank in visit.sandbox.banks.all),
    }


def _is_path(visit: ConsoleVisit, text: str) -> bool:
    """Return whether a bank has this path with any method: a JSON Pointer looks like a path, too."""
    segments = split_target(text).segments
    return any(bank.glance("GET", segments).is_known for bank in visit.sandbox.banks.all)


def _as_it_is(value: Any) -> Any:
    return value


def _case(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return a cassette with a case made from the exchange, and the reason if none can be made."""
    # Imported when needed, so that `serve` starts faster.
    from xs2a_sandbox.features.authoring.case_from_exchange import case_from

    try:
        rule = case_from(journal_view.read(exchange), visit.sandbox.banks.default.interface)
        return yaml_text({"cassette": 1, "rules": [rule]}), ""
    except UserMistake as mistake:
        return None, str(mistake)


async def _write(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> str:
    """Write the case to the user's cassettes. Raises UserMistake, OSError."""
    from xs2a_sandbox.features.authoring import new_case

    # In a thread, because trying the examples of all cases takes time.
    file = await asyncio.to_thread(new_case.write_exchange, visit.settings, journal_view.read(exchange))
    return f"Written to {file}. The sandbox will use it in a moment."


async def _why(visit: ConsoleVisit, number: str, *, is_plain: bool) -> Any:
    """Return the explanation of the request in the current state, or a text with the reason why there is none."""
    try:
        return await visit.ask("GET", f"journal/{number}/explain{'?plain=true' if is_plain else ''}")
    except Refused as refused:
        return str(refused)


async def _find_alike(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the last exchanges with the same rule or operation, otherwise with the same method, newest first."""
    same = {"rule": exchange["rule"]} if exchange["rule"] else {"method": exchange["method"]}
    listed = await visit.ask("GET", f"journal?{urlencode({**same, 'limit': _ALIKE})}")
    return [other for other in reversed(listed["exchanges"]) if other["number"] != exchange["number"]]


def curl(exchange: Mapping[str, Any], base_url: str) -> str:
    """Return a curl command that sends the request to the base URL."""
    words = ["curl", "-i", "-X", exchange["method"]]
    for name, value in exchange["request"]["headers"]:
        if name.lower() not in _NOT_TYPED:
            words += ["-H", f"{name}: {value}"]
    if text := body_text(exchange["request"], indent=None):
        words += ["--data-binary", text]
    return shlex.join([*words, base_url + exchange["target"]])


def python(exchange: Mapping[str, Any], base_url: str) -> str:
    """Return Python code that sends the request with the package requests."""
    headers = {
        name: value for name, value in exchange["request"]["headers"] if name.lower() not in {*_NOT_TYPED, "host"}
    }
    lines = ["import requests", "", "response = requests.request("]
    lines += [f"    {exchange['method']!r},", f"    {base_url + exchange['target']!r},", f"    headers={headers!r},"]
    if text := body_text(exchange["request"], indent=None):
        lines.append(f"    data={text!r}.encode(),")
    return "\n".join([*lines, ")", "print(response.status_code, response.text)", ""])


def body_text(message: Mapping[str, Any], indent: int | None = 2) -> str:
    """Return the body of a message as text, with indented JSON; empty without a body."""
    if "body" in message:
        return json.dumps(message["body"], ensure_ascii=False, indent=indent)
    return str(message.get("text", message.get("base64", "")))


def _write_raw(message: Mapping[str, Any], first: object) -> str:
    """Return a message as one text: its first line, headers and body."""
    lines = [str(first), *(f"{name}: {value}" for name, value in message["headers"])]
    return "\n".join([*lines, "", body_text(message, indent=None)])
