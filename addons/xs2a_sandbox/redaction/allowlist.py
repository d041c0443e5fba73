"""Decides what may stay in a recording: kinds, places and names of values that are neither personal nor credentials.

The names are in allowlist.txt, next to this module. Everything that is neither listed there nor a word of the
vocabulary is replaced.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from unicodedata import combining, normalize
from urllib.parse import unquote

from xs2a_sandbox.documents.formats import is_date, is_uuid
from xs2a_sandbox.redaction.vocabulary import PieceKind, find_strange, is_bare, kind, word_lists

_LISTS = word_lists(Path(__file__).with_name("allowlist.txt"))
_BIRTHS = tuple(_LISTS["birth-stems"])
CODES = _LISTS["codes"]
HEADERS, URL_HEADERS, ID_HEADERS = _LISTS["headers"], _LISTS["url-headers"], _LISTS["id-headers"]
ADDRESS_HEADERS, TEXT_HEADERS = _LISTS["address-headers"], _LISTS["text-headers"]
PERSONAL_HEADERS, CREDENTIAL_HEADERS = _LISTS["personal-headers"], _LISTS["credential-headers"]

_SECRETS = re.compile(
    """token|secret|passw|passphrase|signature|certificate|assertion|credential|psudata|scaauthenticationdata|
    confirmationcode|apikey|cookie|privatekey|sessionid|verifier|codechallenge""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.ASCII)
_BOOKING_CODE = re.compile(r"[NSF][A-Z]{3}\+\d{3}(?:\+\d{4,5})?(?:\+\d{3})?", re.ASCII)
"""The transaction type of SWIFT, the booking code, the number of the entry, and the text key of German banks."""
_ENUMERATED = re.compile(r"[A-Z]{1,20}(?:_[A-Z]{1,20}){1,7}", re.ASCII)
_QUANTITY = re.compile(r"[-+]?(?:\d{1,9}|\d{1,12}[.,]\d{1,10})%?", re.ASCII)
"""Longer integers may be personal."""
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?", re.ASCII
)
_DAY = re.compile(
    r"(?P<first>\d{2})(?P<sign>[./-])(?P<second>\d{2})(?P=sign)(?P<year>\d{4})(?:[ T,]{1,2}\d{2}:\d{2}(?::\d{2})?)?",
    re.ASCII,
)
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", re.ASCII)
_CHUNK = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", re.ASCII)
_FEW, _LONG_NAME = 4, 28
_CODE_DIGITS = 5
_VERSION = re.compile(r"v\d+(?:[._]\d+)*|v\d{1,2}(?:-\d{1,2}){1,3}|r\d{1,2}(?:\.\d{1,2})?", re.ASCII)
"""`r3` is a release."""
_DATED = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])(?:-\d\d)?", re.ASCII)
"""A version such as `2024-10`, near the beginning of a path. Further on, it is a month."""
_LAST_DATED = 2
"""The last place in a path at which it is a version."""
_PREFIX = re.compile(r"[a-z]+\d{0,2}(?:[-_.][a-z0-9]{1,20}){0,4}|[A-Z]{2,8}", re.ASCII)
_RESOURCE = re.compile(r"[a-z]{2,24}(?:[-_.][a-z]{2,20}){0,4}", re.ASCII)
_FEW_SEGMENTS = 2
"""Without a version in the path, a longer path may name a person before its resource."""
_NAME = re.compile(r"[@$#]?[^\W\d][\w.-]{0,60}(?::[\w.-]{1,60})?(?:\[[^\W\d][\w.-]{0,60}\]){0,2}")
_ABBREVIATED = re.compile(r"(?<=.)[Ii]18[Nn]|(?<=.)[Ll]10[Nn]", re.ASCII)
"""Internationalised and localised: `nameI18N`."""
_NUMBERED_CODE = re.compile(r"[A-Z]{1,10}(?:[-_.]?\d{1,3}){1,3}", re.ASCII)
_MARKS = re.compile(
    r"""[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11}  # begins like an IBAN
        |@ | \d(?:[ .-]?\d){8}                                    # e-mail, card, telephone, account
        |eyJ[A-Za-z0-9_-]{6}""",
    re.ASCII | re.VERBOSE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}){8,}")
_LONG_AGO = "2012"
"""Banks show dates of only a few years, and people born later hardly have an account that an app may read."""
_EPOCHS = frozenset({"0001-01-01", "1900-01-01", "1970-01-01"})
"""Dates that mean no date."""
_LETTERS = str.maketrans({"ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ł": "l", "Ł": "L"})
LONGEST = 100
"""Longer texts are not cached. Names of members are repeated often."""


def is_secret(name: str) -> bool:
    """Return whether values of this name are credentials. They are dropped, while other values get a pseudonym."""
    return _is_secret(name) if len(name) <= LONGEST else _is_secret.__wrapped__(name)


@lru_cache(4096)
def _is_secret(name: str) -> bool:
    if name.lower() in CODES or _last(name) in _LISTS["no-secrets"]:
        return False
    if _SECRETS.search(re.sub("[-_ ]", "", name)):
        return True
    is_word = _has_any(name if name.isascii() else _without_accents(name), "secret-words")
    return is_word and not (is_quantity(name) or is_identifier(name))


def is_identifier(name: str) -> bool:
    """Return whether values of this name can also occur in a path."""
    return _last(name) in _LISTS["id-words"]


def is_url(name: str) -> bool:
    return _last(name) in ("endpoint", "href", "link", "uri", "url")


def is_birth(name: str) -> bool:
    """Return whether this name is for a date of birth, the only kind of date that is personal."""
    return _is_birth(_words(name if name.isascii() else _without_accents(name)))


@lru_cache(4096)
def _is_birth(words: tuple[str, ...]) -> bool:
    said = (*words, "".join(words))
    return not _LISTS["birth-words"].isdisjoint(said) or any(stem in word for word in words for stem in _BIRTHS)


def is_page(name: str) -> bool:
    """Return whether many interfaces use this name for a link that gives a payment user access."""
    return name.lower() in _LISTS["page-links"]


def is_event(name: str) -> bool:
    """Return whether this name is for the time of an event at the bank: `booking_date`, `good_until`."""
    words = _words(name)
    return not {"date", "until"}.isdisjoint(words) and not _LISTS["event-words"].isdisjoint(words)


def is_long_ago(text: str) -> bool:
    """Return whether the date is more likely a birthday than the date of a booking."""
    return text[:10] < _LONG_AGO and text[:10] not in _EPOCHS and is_moment(text) and text[:1].isdecimal()


def is_position(name: str) -> bool:
    """Return whether this name is for a geographical position."""
    return _has_any(name, "position-words")


def is_device(name: str) -> bool:
    """Return whether this name is for a person's device. A UUID there is not an id of the bank."""
    return _has_any(name, "device-words")


def is_quantity(name: str) -> bool:
    return _last(name) in _LISTS["quantities"]


def is_code(name: str) -> bool:
    """Return whether this name is for a code or a list of codes."""
    is_of_an_error = _last(name) in ("code", "codes") and _has_any(name, "error-words")
    # In other languages, a name begins with its main word.
    words = _words(name)
    is_state = not _LISTS["state-words"].isdisjoint(words[:1] + words[-1:])
    return name.lower() in CODES or _last(name) in _LISTS["code-words"] or is_state or is_of_an_error


def is_bic(name: str, text: str) -> bool:
    return name.lower() in _LISTS["bics"] and _BIC.fullmatch(text) is not None


def is_code_value(text: str) -> bool:
    """Return whether the text is like a code: `SALA`, `held`, `NTRF+177+9310`, `SCHEME_PAUSED` (with a known word)."""
    if text in _LISTS["code-values"] or (text in (text.lower(), text.upper()) and kind(text.lower()) is PieceKind.NAME):
        return True
    if is_numbered_code(text):
        return True
    if _ENUMERATED.fullmatch(text):
        return any(kind(part) is PieceKind.WORD for part in text.split("_"))
    return _BOOKING_CODE.fullmatch(text) is not None and kind(text[:4]) is PieceKind.WORD


def is_numbered_code(text: str) -> bool:
    """Return whether the text looks like `A-401-02`, which has fewer digits than an id."""
    return _NUMBERED_CODE.fullmatch(text) is not None and sum(map(str.isdecimal, text)) <= _CODE_DIGITS


def is_prose(name: str) -> bool:
    """Return whether this name is for a message to people, about an error or the next step."""
    last = _last(name)
    return last in _LISTS["prose-words"] or (last in ("info", "information") and "error" in _words(name))


def is_personal(name: str) -> bool:
    """Return whether this name is for personal data, in which even ordinary words may identify somebody."""
    if _last(name) in ("name", "names"):
        return not _has_any(name, "things")
    return _has_any(name, "personal-words")


def is_amount(text: str) -> bool:
    return _QUANTITY.fullmatch(text) is not None


def is_moment(text: str) -> bool:
    """Return whether the text is an ISO date, a date-time with or without an offset, or an HTTP date."""
    if is_date(text) or _HTTP_DATE.fullmatch(text):
        return True
    moment = _DATE_TIME.fullmatch(text)
    return moment is not None and is_date(moment[1])


def is_plain(text: str) -> bool:
    """Return whether the value is harmless anywhere: empty, a moment, a random UUID, a boolean."""
    if is_uuid(text):
        # A UUID of sixteen readable characters is not random.
        return not all(0x20 <= byte < 0x7F for byte in bytes.fromhex(text.replace("-", "")))
    return not text or text in ("true", "false") or (is_moment(text) and not is_long_ago(text)) or is_recent_day(text)


def is_recent_day(text: str) -> bool:
    """Return whether the text is like `31.12.2026`, `12/31/2026` or `31.12.2026 09:30:00`, and not of long ago."""
    day = _DAY.fullmatch(text)
    if day is None or day["year"] < _LONG_AGO:
        return False
    first, second, year = day["first"], day["second"], day["year"]
    return is_date(f"{year}-{second}-{first}") or is_date(f"{year}-{first}-{second}")


def is_name(name: str) -> bool:
    """Return whether this is the name of a member, not data used as a name: an IBAN that maps to a balance, a token."""
    return len(name) <= LONGEST and _is_name(name)


@lru_cache(4096)
def _is_name(name: str) -> bool:
    name = _ABBREVIATED.sub("", name)
    chunks = _CHUNK.findall(name)
    if not _NAME.fullmatch(name) or _is_numbered(name, chunks) or any(map(_is_random, chunks)):
        return False
    return not any(map(has_marks, readings(name.lstrip("@$#"))))


def _is_numbered(name: str, chunks: list[str]) -> bool:
    """Return whether chunks form an id, not a name: `KD-4711-081`, or `K7Q2-DHJC`, which has no word."""
    digits = sum(map(str.isdecimal, name))
    if len(chunks) < 2 or not digits or kind(name) is PieceKind.WORD or is_numbered_code(name):
        return False
    return digits > _FEW or (
        name.isupper() and not any(len(chunk) > 2 and kind(chunk) is PieceKind.WORD for chunk in chunks)
    )


def _is_random(chunk: str) -> bool:
    """Return whether letters and digits without separators look random."""
    if kind(chunk) is not PieceKind.OTHER:
        return False
    changes = len(_CHANGE.findall(chunk))
    if changes > 2 or sum(map(str.isdigit, chunk)) > _FEW or len(chunk) > _LONG_NAME:
        return True
    humps = _WORDS.findall(chunk)
    return len(humps) > 3 and len(chunk) < 2.5 * len(humps)


def prefix(segments: Sequence[str]) -> int:
    """Return the number of leading segments of a base path, which names nobody: `/sx/v1/accounts`, `/sx/.well-known/x`.

    The interface starts with its version, otherwise with a typical resource.
    """
    version = next((place for place in range(len(segments)) if _is_version(segments, place)), 0)
    start = version or next((place for place, segment in enumerate(segments) if segment in _LISTS["resources"]), 0)
    before = [segment for segment in segments[:start] if segment]
    if not version and len(before) > _FEW_SEGMENTS:
        return 0
    is_harmless = all(_PREFIX.fullmatch(part) and is_name(part) and not _is_of_persons(part) for part in before)
    return start if is_harmless else 0


def _is_version(segments: Sequence[str], place: int) -> bool:
    is_dated = place <= _LAST_DATED and _DATED.fullmatch(segments[place]) is not None
    return is_dated or _VERSION.fullmatch(segments[place]) is not None


def find_words(segments: Sequence[str], method: str = "") -> set[int]:
    """Return the places of the segments that name the interface, a resource or an action, and not a person.

    These are the prefix, and words in lower case where interfaces have no persons: at the beginning, after a version if
    nothing or an id follows, after an id, and at the end of the path of a POST.
    """
    start = prefix(segments)
    is_dated = start > 0 and _DATED.fullmatch(segments[start]) is not None
    places = set(range(start + is_dated))
    filled = [(place, segment) for place, segment in enumerate(segments) if segment]
    names = [segment for _, segment in filled]
    for (place, segment), before, after in zip(filled, ["", *names], [*names[1:], ""], strict=False):
        if not _RESOURCE.fullmatch(segment) or not is_name(segment) or _is_of_persons(before):
            continue
        is_below_version = (place and _is_version(segments, place - 1)) or before == "api"
        ends_post = method == "POST" and not after
        if not before or _is_id(before) or ends_post or (is_below_version and (not after or _is_id(after))):
            places.add(place)
    return places


def is_kept_segment(segments: Sequence[str], place: int, method: str = "") -> bool:
    """Return whether the segment of a recorded path looks unredacted. Only the bank could tell for certain."""
    segment = segments[place]
    return place in find_words(segments, method) or is_bare(segment) or not find_strange(segment)


def _is_id(segment: str) -> bool:
    has_digits = any(map(str.isdecimal, segment))
    return has_digits and not _VERSION.fullmatch(segment) and (segment.isdecimal() or kind(segment) is PieceKind.OTHER)


def _is_of_persons(segment: str) -> bool:
    """Return whether the segment is like `customers`, which is followed by a person's id."""
    return not _LISTS["personal-words"].isdisjoint(word.removesuffix("s") for word in _words(segment))


def has_marks(text: str) -> bool:
    """Return whether the text contains anything like an IBAN, a card or phone number, an e-mail address or a token."""
    return _MARKS.search(text) is not None


@lru_cache(4096)
def readings(name: str) -> tuple[str, ...]:
    """Return the name of a member and its decodings. Cached, because names are repeated."""
    return tuple(decode(name))


def decode(text: str, depth: int = 2) -> Iterator[str]:
    """Yield the text and its decodings if it is percent-encoded, base64 or hexadecimal."""
    yield text
    if not depth:
        return
    inner = {unquote(text), *map(_from_hex, _HEX.findall(text)), *map(_from_base64, _BASE64.findall(text))}
    for part in inner - {text, ""}:
        yield from decode(part, depth - 1)


def _from_hex(text: str) -> str:
    return _decode_readable(bytes.fromhex(text))


def _from_base64(text: str) -> str:
    try:
        return _decode_readable(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if set("-_") & set(text) else None)
        )
    except binascii.Error:
        return ""


def _decode_readable(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else ""


def _has_any(name: str, kind: str) -> bool:
    return not _LISTS[kind].isdisjoint(_words(name))


def _last(name: str) -> str:
    words = _words(name)
    return words[-1] if words else ""


def _without_accents(name: str) -> str:
    return "".join(character for character in normalize("NFKD", name.translate(_LETTERS)) if not combining(character))


def _words(name: str) -> tuple[str, ...]:
    return _split(name[:200])


@lru_cache(4096)
def _split(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))
