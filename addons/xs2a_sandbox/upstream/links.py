"""A bank's links to itself, made to lead back into the sandbox. Not another byte of its answer changes."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum, auto

from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.origin import Origin

HEADERS = frozenset({"location", "content-location"})
_CONTAINER = re.compile("_?(?:links|left)", re.IGNORECASE)
"""The names of members that hold links; one interface misspells it."""
_ENDPOINT = re.compile(r"\w+_endpoint|jwks_uri")
"""Members of what an OAuth server says of itself (RFC 8414)."""
_URL = re.compile(r"(https?)://([^/?#\\]*)((?:[/?#].*)?)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{},]')
_CHARACTER = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|[^\\]", re.DOTALL)


def rewrite(response: Response, bank_url: str, client_url: str) -> Response:
    """Absolute links that begin with `bank_url` begin with `client_url` instead.

    Links are `Location`, `Content-Location`, and in JSON each `href`, and each direct member, in a `_CONTAINER`,
    and each `_ENDPOINT`.
    A body that was compressed goes out as it is without, when there was such a link in it. The same object comes back
    when there was none at all.
    """
    move = _Move(bank_url.rstrip("/"), client_url.rstrip("/"))
    headers = tuple((name, move.apply(text) if name.lower() in HEADERS else text) for name, text in response.headers)
    body = None if response.rest else _move_all(response, move)
    if body is not None:
        changed = {"content-length", "content-encoding"}
        headers = tuple(pair for pair in headers if pair[0].lower() not in changed)
        return replace(response, headers=headers, body=body)
    return response if headers == response.headers else replace(response, headers=headers)


class _Move:
    """Moves links from one URL to another, both without a slash at their end."""

    def __init__(self, source: str, target: str) -> None:
        self._origin, self._path = _split(source)
        self.host = self._origin.host if self._origin else ""
        self.target = target

    def apply(self, url: str) -> str:
        return self.target + url[length:] if (length := self.measure(url)) else url

    def measure(self, url: str) -> int:
        """The length of the source in `url`; 0 when it leads elsewhere."""
        origin, rest = _split(url)
        if origin is None or origin != self._origin or not rest.startswith(self._path):
            return 0
        rest = rest[len(self._path) :]
        return len(url) - len(rest) if rest[:1] in ("", "/", "?", "#") else 0


def _split(url: str) -> tuple[Origin | None, str]:
    """Origin and what follows it; what is no absolute URL has no origin."""
    match = _URL.fullmatch(url)
    return (Origin.of(match[1], match[2]), match[3]) if match else (None, url)


def _move_all(response: Response, move: _Move) -> bytes | None:
    """The body with its links moved; None when that is no other."""
    headers = Headers(response.headers)
    if "json" not in (headers.get("Content-Type") or "").lower():
        return None
    body = decode(headers, response.body)
    if body is None:
        return None
    try:
        text = body.decode()
        if not _may_hold(text, move.host):
            return None
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    pieces: list[str] = []
    done = 0
    for start, end in _find_places(text):
        pieces += (text[done:start], _literal(text[start:end], move))
        done = end
    changed = "".join([*pieces, text[done:]])
    return None if changed == text else changed.encode()


def _may_hold(text: str, host: str) -> bool:
    """Spares most answers the rest: a host can only be written as it is, or with its characters as numbers."""
    return host in text.lower() or "\\u" in text


class _Role(Enum):
    """The part that a value has in the links of its document."""

    OUTSIDE = auto()
    CONTAINER = auto()
    MEMBER = auto()
    INSIDE = auto()
    HREF = auto()


def _find_places(text: str) -> Iterator[tuple[int, int]]:
    """Places in a valid JSON text of the strings that can be links, their quotes included."""
    open_: list[tuple[bool, _Role]] = [(False, _Role.OUTSIDE)]
    name: str | None = None
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        is_object, role = open_[-1]
        if sign == "," or sign in "]}":
            name = None
            if sign != ",":
                open_.pop()
        elif sign == '"' and is_object and name is None:
            name = json.loads(token[0]) if "\\" in token[0] else token[0][1:-1]
        else:
            role = _role(role, name) if is_object and name is not None else role
            if sign != '"':
                open_.append((sign == "{", role))
                name = None
            elif role in (_Role.MEMBER, _Role.HREF):
                yield token.span()


def _role(above: _Role, name: str) -> _Role:
    """An array is what its elements are."""
    if _CONTAINER.fullmatch(name):
        return _Role.CONTAINER
    if above is _Role.OUTSIDE:
        return _Role.HREF if _ENDPOINT.fullmatch(name) else _Role.OUTSIDE
    if above is _Role.CONTAINER:
        return _Role.MEMBER
    return _Role.HREF if name == "href" else _Role.INSIDE


def _literal(literal: str, move: _Move) -> str:
    """Moves a string of JSON; what comes after the moved part keeps its escapes."""
    characters = _CHARACTER.findall(literal[1:-1]) if "\\" in literal else list(literal[1:-1])
    length = move.measure(
        "".join(character if len(character) == 1 else json.loads(f'"{character}"') for character in characters)
    )
    return f'"{json.dumps(move.target)[1:-1]}{"".join(characters[length:])}"' if length else literal
