"""Bodies: JSON and forms member by member; of all else only type and size, unless a rule keeps it."""

import json
import re
import zlib
from typing import Any

from msgspec import Raw

from xs2a_sandbox import harmless
from xs2a_sandbox.censor import Censor
from xs2a_sandbox.messages import to_json
from xs2a_sandbox.prose import without_data
from xs2a_sandbox.redaction_rules import Action, RedactionRules

MAX_INFLATED = 16 * 1024 * 1024
"""Bytes of what a compressed body may grow to; there is only a note of a larger one."""

_FORM = "application/x-www-form-urlencoded"
_MEDIA = re.compile(r"(?:application|audio|font|image|message|model|multipart|text|video)/[a-z0-9][a-z0-9.+-]{0,60}")
_NOTE = re.compile(
    rb'(?:<!-- |\{"notRecorded": ?")?(?P<what>(?:[a-z]+/[a-z0-9.+-]+|body), \d+ bytes)(?:, not recorded(?: -->)?|"\})'
)
_GZIP = b"\x1f\x8b"
_AUTHORISATION = frozenset("access_token id_token redirect_uri refresh_token state".split())
"""Members beside which `code` is an authorisation code."""


class _Number(str):
    """A number as it was written: no digit is lost, however many there are."""

    __slots__ = ()


def unrecorded(body: bytes) -> str | None:
    """What the body was of which there is only a note, such as `text/html, 1234 bytes`; None for any other body."""
    note = _NOTE.fullmatch(body)
    return note["what"].decode() if note else None


def redacted_body(body: bytes, media: str, censor: Censor, rules: RedactionRules, *, readable: bool = False) -> bytes:
    """`media` is its type in lower case. The very bytes, if there is nothing to replace in them.

    With `readable` text that is neither JSON nor a form is looked into as if a rule kept its media type.
    """
    if not body or _NOTE.fullmatch(body):
        return body
    if body.startswith(_GZIP):
        inflated = _inflated(body)
        if inflated is None:
            return _note(body, media)
        return redacted_body(inflated, media, censor, rules, readable=readable)
    action = rules.media.get(media)
    if action == "drop":
        return _note(body, media)
    is_json = media.endswith("json")
    if is_json or body.lstrip()[:1] in (b"{", b"["):
        redacted = _json(body, censor, rules)
        if redacted is not None or (is_json and not readable):
            return redacted or _note(body, media)
    if media == _FORM:
        return _form(body, censor)
    return _prose(body, censor) if action == "keep" or (readable and _is_text(body)) else _note(body, media)


def _json(body: bytes, censor: Censor, rules: RedactionRules) -> bytes | None:
    """None if it is no JSON, or JSON that cannot be looked through to its end."""
    try:
        value = json.loads(
            body, object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
        )
        redacted = _Members(censor, rules).walk(value, "", ())
        return body if redacted == value else to_json(_raw(redacted))
    except (ValueError, RecursionError):
        return None


def _form(body: bytes, censor: Censor) -> bytes:
    text = body.decode("utf-8", "replace")
    redacted = censor.form(text)
    return body if redacted == text else redacted.encode()


def _prose(body: bytes, censor: Censor) -> bytes:
    text = body.decode("latin-1")
    redacted = without_data(text, censor)
    return body if redacted == text else redacted.encode("latin-1", "replace")


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def _note(body: bytes, media: str) -> bytes:
    kind = media if _MEDIA.fullmatch(media) and not harmless.has_marks(media) else "body"
    text = f"{kind}, {len(body)} bytes"
    if media.endswith("json"):
        return to_json({"notRecorded": text})
    if media.endswith(("html", "xml")):
        return f"<!-- {text}, not recorded -->".encode()
    return f"{text}, not recorded".encode()


def _inflated(body: bytes) -> bytes | None:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = inflater.decompress(body, MAX_INFLATED)
    except zlib.error:
        return None
    return content if inflater.eof and not inflater.unused_data and not content.startswith(_GZIP) else None


class _Members:
    """Walks through JSON with the rules for each place."""

    def __init__(self, censor: Censor, rules: RedactionRules) -> None:
        self._censor = censor
        self._rules = rules

    def walk(
        self,
        value: Any,
        name: str,
        place: tuple[str, ...],
        action: Action | None = None,
        exact: bool = False,
        secret: bool = False,
    ) -> Any:
        """`action` is the user's, also of a place above; `exact` if it is for this place alone."""
        match value:
            case _Number():
                return _Number(self._censor.number(name, value, action, secret=secret, exact=exact))
            case str():
                return self._censor.member(name, value, action, secret=secret, exact=exact)
            case list():
                return [self._inner(each, name, (*place, str(n)), action, secret) for n, each in enumerate(value)]
            case dict():
                codes = not _AUTHORISATION.isdisjoint(value)
                return {
                    self._censor.name(key): self._inner(
                        inner,
                        key,
                        (*place, key),
                        self._rules.members.get(key.lower(), action) or _of_a_birth(key),
                        secret or harmless.is_secret(key) or (codes and key == "code"),
                    )
                    for key, inner in value.items()
                }
        return value

    def _inner(self, value: Any, name: str, place: tuple[str, ...], action: Action | None, secret: bool) -> Any:
        rule = self._rules.path(place) if self._rules.paths else None
        if rule:
            return self.walk(value, name, place, rule.action, rule.exact, secret)
        return self.walk(value, name, place, action, False, secret)


def _of_a_birth(name: str) -> Action | None:
    """When and where somebody was, in numbers that would be kept anywhere else."""
    return "replace" if harmless.is_birth(name) or harmless.is_position(name) else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member occurs twice, and only one of them would be looked at")
    return members


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _raw(value: Any) -> Any:
    """With the numbers as `to_json` writes them unchanged."""
    match value:
        case _Number():
            return Raw(str(value).encode())
        case dict():
            return {key: _raw(inner) for key, inner in value.items()}
        case list():
            return [_raw(inner) for inner in value]
    return value
