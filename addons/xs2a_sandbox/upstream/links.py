"""Rewrites a bank's links to itself so that they lead into the sandbox. No other byte of an answer changes."""

import json
import re
from collections.abc import Iterator

from msgspec import structs

from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.origin import Origin

HEADERS = frozenset({"location", "content-location"})
_NAMES = frozenset({"type", "issuer", "iss", "aud", "$schema", "$id", "@context", "@id"})
"""Members whose URLs only name something: a kind of error (RFC 9457), a server (RFC 8414), a schema."""
_URL = re.compile(r"(https?)://([^/?#\\]*)((?:[/?#].*)?)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{},]')
_CHARACTER = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|[^\\]", re.DOTALL)


def rewrite(response: Response, bank_url: str, client_url: str) -> Response:
    """Replace `bank_url` with `client_url` at the beginning of absolute links.

    Links are `Location`, `Content-Location`, and all texts in JSON, except for those of the members in `_NAMES`. If a
    link in a compressed body changes, the body is sent uncompressed. If there is no link at all, the same object is
    returned.
    """
    move = _Move(bank_url.rstrip("/"), client_url.rstrip("/"))
    headers = tuple((name, move.apply(text) if name.lower() in HEADERS else text) for name, text in response.headers)
    body = None if response.rest else _move_all(response, move)
    if body is not None:
        changed = {"content-length", "content-encoding"}
        headers = tuple(pair for pair in headers if pair[0].lower() not in changed)
        return structs.replace(response, headers=headers, body=body)
    return response if headers == response.headers else structs.replace(response, headers=headers)


class _Move:
    """Replaces a URL at the beginning of links with another one. Both have no trailing slash."""

    def __init__(self, source: str, target: str) -> None:
        self._origin, self._path = _split(source)
        self.host = self._origin.host if self._origin else ""
        self.target = target

    def apply(self, url: str) -> str:
        return self.target + url[length:] if (length := self.measure(url)) else url

    def measure(self, url: str) -> int:
        """Return the length of the source URL in `url`, or 0 if the link leads elsewhere."""
        origin, rest = _split(url)
        if origin is None or origin != self._origin or not rest.startswith(self._path):
            return 0
        rest = rest[len(self._path) :]
        return len(url) - len(rest) if rest[:1] in ("", "/", "?", "#") else 0


def _split(url: str) -> tuple[Origin | None, str]:
    """Split a URL into its origin and the rest. The origin is None if it is not absolute."""
    match = _URL.fullmatch(url)
    return (Origin.of(match[1], match[2]), match[3]) if match else (None, url)


def _move_all(response: Response, move: _Move) -> bytes | None:
    """Return the body with its links replaced, or None if nothing changes."""
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
    """Return whether a link may be in the text, which saves further work for most answers.

    A host can only be written literally or with Unicode escapes.
    """
    return host in text.lower() or "\\u" in text


def _find_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of all strings in a valid JSON text that may be links, including the quotes."""
    open_: list[tuple[bool, bool]] = [(False, True)]
    name: str | None = None
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        is_object, may_be_link = open_[-1]
        if sign == "," or sign in "]}":
            name = None
            if sign != ",":
                open_.pop()
        elif sign == '"' and is_object and name is None:
            name = json.loads(token[0]) if "\\" in token[0] else token[0][1:-1]
        else:
            # Elements of an array have the name of the array.
            may_be_link = name not in _NAMES if is_object else may_be_link
            if sign != '"':
                open_.append((sign == "{", may_be_link))
                name = None
            elif may_be_link:
                yield token.span()


def _literal(literal: str, move: _Move) -> str:
    """Replace the link in a JSON string. The rest after the replaced part keeps its escapes."""
    characters = _CHARACTER.findall(literal[1:-1]) if "\\" in literal else list(literal[1:-1])
    length = move.measure(
        "".join(character if len(character) == 1 else json.loads(f'"{character}"') for character in characters)
    )
    return f'"{json.dumps(move.target)[1:-1]}{"".join(characters[length:])}"' if length else literal
