"""An exchange of the journal made into a rule: what it was asked, what distinguishes it, and the answer as it was."""

import re
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qsl

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.documents.json_pointer import leaves
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.header_fields import counts
from xs2a_sandbox.http.media_type import is_json, media_type
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.journal.journal import Journaled, read_json

_TELLING = ("Consent-ID", "PSU-ID")
"""Headers that say whose request it is; the others are alike in most requests, or never."""

_MEMBERS = 12
"""Values of a body that a rule asks for; of a larger body it asks for none."""


def case_from(entry: Journaled, interface: Interface) -> dict[str, Any]:
    """A rule as a cassette writes it, with an example that holds.

    Raises:
        UserMistake: not all of the exchange was kept.
    """
    if entry.cut:
        raise UserMistake(f"exchange {entry.number} is larger than what the journal keeps of one, so it makes no case")
    segments = split_target(entry.path).segments
    found = Index(interface).find(entry.method, segments)
    query = dict(reversed(parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)))
    headers = {name: value for name in _TELLING if (value := entry.headers.get(name)) is not None}
    sent = read_json(entry.body)
    members = dict(leaves(sent)) if isinstance(sent, dict | list) else {}
    match: dict[str, Any]
    if found.operation:
        match = {"operation": found.operation.id}
        match |= {"where": found.parameters} if found.parameters else {}
    else:
        match = {"method": entry.method, "path": "/" + "/".join(found.segments)}
    match |= {"headers": headers} if headers else {}
    match |= {"query": query} if query else {}
    match |= {"body": members} if 0 < len(members) <= _MEMBERS else {}
    request = {"headers": headers, "query": query, "method": entry.method, **({"body": sent} if sent else {})}
    rule: dict[str, Any] = {
        "id": f"{_word(found.operation.id if found.operation else entry.method)}-{entry.number}",
        "doc": f"As answered on {entry.time:%Y-%m-%d %H:%M}, exchange {entry.number} of the journal.",
        "match": match,
        "respond": _answer(entry),
        "examples": [
            {"request": {key: value for key, value in request.items() if value}, "expect": {"status": entry.status}}
        ],
    }
    if found.operation and entry.source == "sandbox":
        # What the request lacked was the reason for this answer: it must not be asked for before the rule is.
        rule["require"] = "none"
    return rule


def _answer(entry: Journaled) -> dict[str, Any]:
    headers = {n: v for n, v in entry.answer_headers if counts(n) and n.lower() != "content-type"}
    kind = Headers(entry.answer_headers).get("Content-Type")
    said = read_json(entry.answer_body)
    answer: dict[str, Any] = {"status": entry.status}
    if isinstance(said, dict):
        # The sandbox's own remark on an unmatched request is no part of the answer.
        said.pop("sandbox", None)
    as_json = said is not None and is_json(media_type(kind))
    if kind and entry.answer_body and not (as_json and kind == "application/json"):
        headers["Content-Type"] = kind
    if headers:
        answer["headers"] = headers
    if entry.fault:
        answer["fault"] = entry.fault
    if not entry.answer_body:
        return answer
    answer["raw"] = True  # whatever it holds, it is no expression
    if as_json:
        answer["body"] = said
    else:
        try:
            answer["text"] = entry.answer_body.decode()
        except UnicodeDecodeError:
            answer["base64"] = b64encode(entry.answer_body).decode()
    return answer


def _word(text: str) -> str:
    return re.sub("[^a-z0-9-]+", "-", text.lower()).strip("-") or "case"
