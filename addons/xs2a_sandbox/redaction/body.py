"""Redacts bodies by their form: JSON, form, multipart, XML, account statement.

Other bodies are replaced with a note.
"""

import json
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import Raw

from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.body import refuse, unique_members
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.media_type import split_parameters
from xs2a_sandbox.http.multipart import BOUNDARY, BodyPart, is_multipart, join, parts
from xs2a_sandbox.http.xml import is_xml
from xs2a_sandbox.redaction import allowlist
from xs2a_sandbox.redaction.account_statement import is_statement, redact_statement
from xs2a_sandbox.redaction.rules import Action, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor, without_data
from xs2a_sandbox.redaction.xml_document import redact_xml

MAX_INFLATED = 16 * 1024 * 1024
"""The most bytes of a decompressed body. A larger one is replaced with a note."""

_MEDIA = re.compile(r"(?:application|audio|font|image|message|model|multipart|text|video)/[a-z0-9][a-z0-9.+-]{0,60}")
_REASONS = _UNKNOWN, _ENCODED, _DROPPED, _NESTED, *_UNREADABLE = (
    "its form is not known",
    "it could not be decoded",
    "a rule drops it",
    "it is nested",
    "it cannot be read as JSON",
    "it cannot be read as XML",
    "it cannot be read as multipart",
)
_NOTE = re.compile(
    rb'(?:<!-- |\{"notRecorded": ?")?(?P<kind>[a-z]+/[a-z0-9.+-]+|body), (?P<size>\d+) bytes(?:, not recorded)?'
    rb'(?:: (?P<reason>%s))?(?: -->|"\})?' % "|".join(_REASONS).encode()
)
_GZIP = b"\x1f\x8b"
_BEFORE_XML = b"\xef\xbb\xbf \t\r\n"
_IN_QUOTES = " !#$&'()*+,-./:;<=>?@[]^_`{|}~"
_DIAGNOSIS = frozenset({("sandbox", "signature", "reason"), ("sandbox", "signature", "clientSigned", "difference")})
"""Places with the sandbox's own texts about a wrong signature, which do not quote the signature."""
_PROBLEM = frozenset(("title", "type", "status"))
"""Members of a problem's details."""
_LINK_MEMBERS = frozenset("href hreflang method rel templated title type".split())
_LINK = re.compile(r"/|https?://")
_AUTHORISATION = frozenset("access_token id_token redirect_uri refresh_token state".split())
"""If one of these members is present, a text in `code` is an authorisation code."""


class _Number(str):
    """A number as it was written, so that no digit is lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Replaces a body in a recording that could not be redacted, or must not be kept."""

    kind: str
    size: int
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.size} bytes: {self.reason}"


def note_of(body: bytes) -> Note | None:
    """Return the note that replaces a body, or None if the body itself is recorded."""
    note = _NOTE.fullmatch(body)
    if note is None:
        return None
    return Note(note["kind"].decode(), int(note["size"]), (note["reason"] or _UNKNOWN.encode()).decode())


def notes(body: bytes, media: str) -> list[Note]:
    """Return all notes in a recorded body, including those for its parts."""
    bodies = [body]
    if is_multipart(media):
        with suppress(ValueError):
            bodies += [part.content for part in parts(body)]
    return [note for body in bodies if (note := note_of(body))]


def redact_body(
    body: bytes, media: str, censor: ValueRedactor, rules: RedactionRules, *, readable: bool = False
) -> bytes:
    """Redact a body. `media` is its type in lower case. If nothing is replaced, the bytes are unchanged.

    With `readable`, text of an unknown form is redacted as if a rule kept its media type.
    """
    if not body or _NOTE.fullmatch(body):
        return body
    if body.startswith(_GZIP):
        inflated = _inflate(body)
        if inflated is None:
            return _note(body, media, _ENCODED)
        return redact_body(inflated, media, censor, rules, readable=readable)
    action = rules.media.get(media)
    if action == "drop":
        return _note(body, media, _DROPPED)
    for form in _FORMS:
        if form.is_said(media) or form.shows(body):
            try:
                return form.redact(_Body(body, media, censor, rules, readable))
            except (ValueError, RecursionError):
                if form.is_said(media) and not readable:
                    return _note(body, media, f"it cannot be read as {form.name}")
    if action == "keep" or (readable and _is_text(body)):
        return _text(body, "latin-1", lambda text: without_data(text, censor))
    return _note(body, media, _UNKNOWN)


class _Body(NamedTuple):
    content: bytes
    media: str
    censor: ValueRedactor
    rules: RedactionRules
    readable: bool


class _Form(NamedTuple):
    """A form of bodies, recognised by a media type or by the content. `redact` raises ValueError."""

    name: str
    is_said: Callable[[str], bool]
    shows: Callable[[bytes], bool]
    redact: Callable[[_Body], bytes]


def _json(body: _Body) -> bytes:
    value = json.loads(
        body.content, object_pairs_hook=unique_members, parse_int=_Number, parse_float=_Number, parse_constant=refuse
    )
    redacted = _Members(body.censor, body.rules).walk(value, "", ())
    return body.content if redacted == value else to_json(_make_raw(redacted))


def _multipart(body: _Body) -> bytes:
    """Redact each part by its own media type, and use a constant boundary."""
    made = [replace(part, **_part(part, body)) for part in parts(body.content)]
    return join(made, BOUNDARY)


def _part(part: BodyPart, body: _Body) -> dict[str, Any]:
    censor = body.censor
    kind, parameters = split_parameters(part.disposition)
    file = parameters.get("filename")
    names = {"name": censor.name(part.name)} if "name" in parameters else {}
    names |= {"filename": censor.value(file)} if file else {}
    head = "; ".join(
        [censor.redact_carefully(kind), *(f'{name}="{quote(text, safe=_IN_QUOTES)}"' for name, text in names.items())]
    )
    is_field = part.media in ("", "text/plain") and not file
    if is_multipart(part.media):
        content = _note(part.content, part.media, _NESTED)
    elif is_field and not any(form.shows(part.content) for form in _FORMS) and _is_text(part.content):
        content = _text(part.content, "utf-8", lambda text: censor.field(part.name, text))
    else:
        content = redact_body(part.content, part.media, censor, body.rules, readable=body.readable)
    return {
        "content": content,
        "kind": censor.redact_carefully(part.kind),
        "disposition": head if part.disposition else "",
    }


def _form(body: _Body) -> bytes:
    return _text(body.content, "utf-8", body.censor.form)


def _xml(body: _Body) -> bytes:
    return redact_xml(body.content, body.censor, body.rules)


def _statement(body: _Body) -> bytes:
    encoding = "utf-8" if _is_text(body.content) else "latin-1"
    return _text(body.content, encoding, lambda text: redact_statement(text, body.censor, body.rules))


_FORMS = (
    _Form("JSON", lambda media: media.endswith("json"), lambda body: body.lstrip()[:1] in (b"{", b"["), _json),
    _Form("a form", lambda media: media == FORM, lambda _: False, _form),
    _Form("multipart", is_multipart, lambda _: False, _multipart),
    _Form("XML", is_xml, lambda body: body.lstrip(_BEFORE_XML).startswith(b"<?xml"), _xml),
    _Form("MT940", lambda _: False, lambda body: is_statement(body.decode("latin-1")), _statement),
)


def _text(body: bytes, encoding: str, redact: Callable[[str], str]) -> bytes:
    text = body.decode(encoding, "replace")
    redacted = redact(text)
    return body if redacted == text else redacted.encode(encoding, "replace")


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def _note(body: bytes, media: str, reason: str) -> bytes:
    kind = media if _MEDIA.fullmatch(media) and not allowlist.has_marks(media) else "body"
    text = f"{kind}, {len(body)} bytes"
    if media.endswith("json"):
        return to_json({"notRecorded": f"{text}: {reason}"})
    if media.endswith(("html", "xml")):
        return f"<!-- {text}, not recorded: {reason} -->".encode()
    return f"{text}, not recorded: {reason}".encode()


def _inflate(body: bytes) -> bytes | None:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = inflater.decompress(body, MAX_INFLATED)
    except zlib.error:
        return None
    return content if inflater.eof and not inflater.unused_data and not content.startswith(_GZIP) else None


class _Members:
    """Redacts JSON recursively, with the rules for each place."""

    def __init__(self, censor: ValueRedactor, rules: RedactionRules) -> None:
        self._censor = censor
        self._rules = rules

    def walk(
        self,
        value: Any,
        name: str,
        place: tuple[str, ...],
        action: Action | None = None,
        secret: bool = False,
    ) -> Any:
        """Redact a value. `action` is the user's rule for a place above."""
        rule = self._rules.path(place) if self._rules.paths and place else None
        action, exact = (rule.action, rule.exact) if rule else (action, False)
        match value:
            case _Number():
                return _Number(self._censor.number(name, value, action, secret=secret, exact=exact))
            case str():
                return self._censor.member(name, value, action, secret=secret, exact=exact)
            case list():
                return [self.walk(each, name, (*place, str(n)), action, secret) for n, each in enumerate(value)]
            case dict():
                codes = not _AUTHORISATION.isdisjoint(value)
                is_problem = value.keys() >= _PROBLEM and action is None
                return dict(
                    self._of_kind(key, inner, place)
                    if is_problem and key in ("title", "type") and isinstance(inner, str)
                    else self._member(key, inner, place, action, secret or (codes and _is_code(key, inner)))
                    for key, inner in value.items()
                )
        return value

    def _of_kind(self, key: str, text: str, place: tuple[str, ...]) -> tuple[str, Any]:
        """Return the title or type of a problem (RFC 9457), which is the same for all of its kind."""
        if key in self._rules.members or self._rules.path((*place, key)):
            return self._member(key, text, place, None, False)
        return key, without_data(text, self._censor)

    def _member(
        self, key: str, value: Any, place: tuple[str, ...], action: Action | None, secret: bool
    ) -> tuple[str, Any]:
        if value is None:
            return self._censor.name(key), None
        traits = self._censor.traits(key)
        action = self._rules.members.get(key.lower(), action) or traits.action_below
        place = (*place, key)
        # `signature` can be the link to a page on which the customer signs.
        is_link = traits.is_secret and _is_link(value)
        secret = (secret or (traits.is_secret and not is_link)) and place not in _DIAGNOSIS
        if not traits.is_page and not is_link:
            return self._censor.name(key), self.walk(value, key, place, action, secret)
        # This link lets in everybody who has it, so its content is not passed on to the vault.
        self._censor.expect_visit(value.get("href", "") if isinstance(value, dict) else value)
        with self._censor.silence():
            return self._censor.name(key), self.walk(value, key, place, action, secret)


def _is_link(value: Any) -> bool:
    """Return whether a value is a link and nothing else: next to its `href`, another member could be a secret."""
    if not isinstance(value, dict) or not value.keys() <= _LINK_MEMBERS:
        return False
    return isinstance(value.get("href"), str) and _LINK.match(value["href"]) is not None


def _is_code(key: str, value: Any) -> bool:
    return key == "code" and not isinstance(value, _Number)


def _make_raw(value: Any) -> Any:
    """Return the value with numbers in a form that `to_json` writes unchanged."""
    match value:
        case _Number():
            return Raw(str(value).encode())
        case dict():
            return {key: _make_raw(inner) for key, inner in value.items()}
        case list():
            return [_make_raw(inner) for inner in value]
    return value
