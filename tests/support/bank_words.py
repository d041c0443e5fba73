"""Words in the paths, scopes, enumerations and error texts of five real banks, from WireMock mappings.

The mappings are not part of the project, and may be missing.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.shared import SHARED

FOLDER = SHARED / "data" / "recorded-banks"

ENUMERATIONS = frozenset(
    """
    alg authType balanceType bankTransactionCode bookingStatus cashAccountType category consentStatus currency
    deltaList frequency grant_type kty product purposeCode response_type role status token_type transactionStatus
    transactionType type usage use withBalance
    """.split()
)
ERROR_TEXTS = frozenset("detail error error_description message text title".split())
_ID = re.compile(r"\d+|[A-Z]{2}\d{12,32}|[0-9A-Fa-f-]{32,36}[a-z]?|.*[\[\]{}()*\\^].*|.*\d{5}.*|x+|eyJ.*")
"""Segments of a path that are not words: numbers, accounts, patterns, and placeholders of ids."""


class Said(NamedTuple):
    """`place` is `path`, `scope`, `enumeration` or `error text`; `name` is the name of the member, if there is one."""

    place: str
    name: str
    text: str


def words_of_banks() -> set[Said]:
    return {word for file in FOLDER.rglob("*.json") for word in _of_document(json.loads(file.read_text()))}


def _of_document(value: Any) -> Iterator[Said]:
    for mapping in value.get("mappings", [value]):
        request, response = mapping["request"], mapping.get("response", {})
        for kind in ("url", "urlPath", "urlPattern", "urlPathPattern"):
            yield from _of_url(request.get(kind, "").replace("\\?", "?"))
        for name, matcher in request.get("queryParameters", {}).items():
            yield from _of_member(name, matcher.get("equalTo", ""))
        for pattern in request.get("bodyPatterns", []):
            text = pattern.get("equalTo") or pattern.get("contains") or pattern.get("matches") or ""
            if isinstance(text, str) and "=" in text:
                yield from _of_url("?" + text.replace("(.*)", ""))
            yield from _of_json("", pattern.get("equalToJson"))
        for name, text in response.get("headers", {}).items():
            if name.lower() == "location":
                yield from _of_url(text)
        yield from _of_json("", response.get("jsonBody"))
        try:
            yield from _of_json("", json.loads(response.get("body") or "null"))
        except ValueError:
            continue


def _of_url(url: str) -> Iterator[Said]:
    parts = urlsplit(url)
    for segment in unquote(parts.path).split("/"):
        if segment and not _ID.fullmatch(segment):
            yield Said("path", "", segment)
    for name, text in parse_qsl(parts.query):
        yield from _of_member(name, text)


def _of_json(name: str, value: Any) -> Iterator[Said]:
    if isinstance(value, dict):
        for inner, inner_value in value.items():
            yield from _of_json(inner, inner_value)
    elif isinstance(value, list):
        for inner_value in value:
            yield from _of_json(name, inner_value)
    elif isinstance(value, str):
        yield from _of_member(name, value)


def _of_member(name: str, text: str) -> Iterator[Said]:
    if text.startswith(("/", "http://", "https://")):
        yield from _of_url(text)
    elif name == "scope":
        yield from (Said("scope", name, scope) for scope in text.split())
    elif name in ENUMERATIONS and not _ID.fullmatch(text) and text:
        yield Said("enumeration", name, text)
    elif name in ERROR_TEXTS and text:
        yield Said("error text", name, text)
