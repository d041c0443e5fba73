"""Gives requests of a redacted recording new keys, by which the bank recognises a request that is sent again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.redaction.values import DROPPED

_MOST_CHANGES = 2
"""How many values a request with the key of another one may have that the other has not."""


def restore_keys(entries: Sequence[Exchange]) -> list[Exchange]:
    """Return the exchanges with keys in headers that were dropped.

    Such a header is one that no GET and not most requests have. A request has the key of an earlier accepted one if it
    has the same body and is accepted, or if it gets a conflict and has nearly the same body, or if its error names the
    header. The keys are short, because how long the real ones are is not known.
    """
    read = {name.lower() for entry in entries if entry.method == "GET" for name, _ in entry.headers}
    counts = Counter(name.lower() for entry in entries for name, _ in entry.headers)
    read |= {name for name, count in counts.items() if count * 2 > len(entries)}
    accepted: dict[tuple[str, str], list[tuple[Any, dict[str, str]]]] = {}
    named, is_known = [], set[str]()
    for number, entry in enumerate(entries, 1):
        dropped = {name.lower() for name, value in entry.headers if value == DROPPED} - read
        sent = body.read(entry.body)
        keys = dict.fromkeys(dropped, f"k{number}")
        if sent.kind == "json" and dropped:
            earlier = accepted.setdefault((entry.method, urlsplit(entry.target).path), [])
            for value, before in reversed(earlier):
                again = {name: before[name] for name in dropped & before.keys() if _is_again(entry, name, value)}
                if again:
                    keys |= again
                    is_known |= again.keys()
                    break
            if entry.status < 400:
                earlier.append((sent.value, keys))
        named.append((entry, keys))
    return [
        replace(entry, headers=put_in(entry.headers, {name: key for name, key in keys.items() if name in is_known}))
        for entry, keys in named
    ]


def _is_again(entry: Exchange, header: str, earlier: Any) -> bool:
    """Return whether the header of a request has the same value as that of an earlier one with the other body."""
    sent, before = (dict(leaves(value)) for value in (body.read(entry.body).value, earlier))
    if entry.status < 400:
        return sent == before
    if sent.keys() != before.keys():
        return False
    changes = sum(sent[place] != value for place, value in before.items())
    is_told = header.encode() in entry.answer_body.lower()
    return is_told or (entry.status == HTTPStatus.CONFLICT and 0 < changes <= _MOST_CHANGES)


def put_in(headers: Headers, names: Mapping[str, str]) -> Headers:
    """Return headers with the text for their name, in lower case, where the value was dropped."""
    return Headers((name, names.get(name.lower(), value) if value == DROPPED else value) for name, value in headers)
