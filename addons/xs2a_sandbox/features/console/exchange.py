"""One exchange: why it was answered so, the same request elsewhere and again, and a case that is made of it."""

import asyncio
import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.control import journal as journal_view
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.features.console.bank import documents_in
from xs2a_sandbox.features.console.json_html import json_html
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.header_fields import FRAMING
from xs2a_sandbox.state.session import PREFIX

_NOT_TYPED = FRAMING | {"accept-encoding"}
"""Header fields that curl sends by itself."""
_READS = ("GET", "HEAD", "OPTIONS")
_ALIKE = 6
"""Exchanges of the same kind that are offered to be laid beside."""


async def exchange(visit: ConsoleVisit) -> Response:
    """A page of its own, or with `part=true` only its content, for the pane beside the list."""
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
    """The exchange as it was sent. Raises Refused."""
    return await visit.ask("GET", f"journal/{quote(number, safe='')}?plain=true")


async def exchange_values(visit: ConsoleVisit, number: str) -> dict[str, Any]:
    """All that is shown of an exchange. Raises Refused."""
    plain = await _whole(visit, number)
    displayed = plain if visit.query.get("plain") == "true" else await visit.ask("GET", f"journal/{number}")
    case, no_case = _case(visit, plain)
    of_its_session = replace(visit, session=displayed["session"])
    return {
        "is_pane": False,
        "done": "",
        "comparison": None,
        "one": displayed,
        "plain": displayed is plain,
        "text": body_text,
        "body_html": lambda message: json_html(message["body"], visit.prefix) if "body" in message else None,
        "raw": _write_raw,
        "why": await _why(visit, plain),
        "copies": {
            "curl": curl(displayed, visit.base_url),
            "Python": python(displayed, visit.base_url),
            "URL": visit.base_url + displayed["target"],
            **({"YAML case": case} if case is not None else {}),
        },
        "no_case": no_case,
        "has_case": case is not None,
        "of_its_session": of_its_session,
        "documents": await documents_in(of_its_session, plain),
        "alike": await _find_alike(visit, displayed),
        "again": visit.query.get("again", ""),
        "is_read": displayed["method"] in _READS,
        "asks_bank": any(bank.real.can_be_asked for bank in visit.sandbox.banks.all),
    }


def _case(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> tuple[str | None, str]:
    """The case that is made of it, or why there can be none."""
    # What writes cases is only loaded once somebody looks: `serve` starts without it.
    from xs2a_sandbox.features.authoring.case_from_exchange import case_from

    try:
        return yaml_text([case_from(journal_view.read(exchange), visit.sandbox.banks.default.interface)]), ""
    except UserMistake as mistake:
        return None, str(mistake)


async def _write(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> str:
    """Writes the case among the user's cassettes. Raises UserMistake, OSError."""
    from xs2a_sandbox.features.authoring import new_case

    # It tries the examples of all cases: nobody else is to wait for that.
    file = await asyncio.to_thread(new_case.write_exchange, visit.settings, journal_view.read(exchange))
    return f"{file} is written and in use in a moment."


async def _why(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> Any:
    """The explanation of the request as things are now; a text where there is none."""
    described: dict[str, Any] = {"method": exchange["method"], "url": exchange["origin"] + exchange["target"]}
    described["headers"] = {name: value for name, value in exchange["request"]["headers"] if name.lower() != "host"}
    if "body" in exchange["request"]:
        described["body"] = exchange["request"]["body"]
    if not exchange["target"].startswith(f"/{PREFIX}/"):
        described["session"] = exchange["session"]
    try:
        return await visit.ask("POST", "explain", described)
    except Refused as refused:
        return str(refused)


async def _find_alike(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The last others that the same rule or operation has answered, else those with the same method; newest first."""
    same = {"rule": exchange["rule"]} if exchange["rule"] else {"method": exchange["method"]}
    listed = await visit.ask("GET", f"journal?{urlencode({**same, 'limit': _ALIKE})}")
    return [other for other in reversed(listed["exchanges"]) if other["number"] != exchange["number"]]


def curl(exchange: Mapping[str, Any], base_url: str) -> str:
    """The request as a command for the base URL."""
    words = ["curl", "-i", "-X", exchange["method"]]
    for name, value in exchange["request"]["headers"]:
        if name.lower() not in _NOT_TYPED:
            words += ["-H", f"{name}: {value}"]
    if text := body_text(exchange["request"], indent=None):
        words += ["--data-binary", text]
    return shlex.join([*words, base_url + exchange["target"]])


def python(exchange: Mapping[str, Any], base_url: str) -> str:
    """The request as Python with the package requests."""
    headers = {
        name: value for name, value in exchange["request"]["headers"] if name.lower() not in {*_NOT_TYPED, "host"}
    }
    lines = ["import requests", "", "response = requests.request("]
    lines += [f"    {exchange['method']!r},", f"    {base_url + exchange['target']!r},", f"    headers={headers!r},"]
    if text := body_text(exchange["request"], indent=None):
        lines.append(f"    data={text!r}.encode(),")
    return "\n".join([*lines, ")", "print(response.status_code, response.text)", ""])


def body_text(message: Mapping[str, Any], indent: int | None = 2) -> str:
    """A body of the journal as text, JSON with lines; nothing where there is none."""
    if "body" in message:
        return json.dumps(message["body"], ensure_ascii=False, indent=indent)
    return str(message.get("text", message.get("base64", "")))


def _write_raw(message: Mapping[str, Any], first: object) -> str:
    """A message in one text."""
    lines = [str(first), *(f"{name}: {value}" for name, value in message["headers"])]
    return "\n".join([*lines, "", body_text(message, indent=None)])
