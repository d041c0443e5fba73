"""The formats that matchers and schemas can name.

These are uuid, ip, iban, bic, date, date-time, currency, amount, country and redirect-uri.
"""

import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})")
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,3})?", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}(?:[/?#]|$)")
_URI = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
WEB = ("http", "https")
_NO_APPS = frozenset(
    "about blob chrome content data devtools file filesystem ftp intent javascript jar mailto resource res "
    "sms tel urn vbscript view-source ws wss".split()
)
"""Schemes that run something, read something, or do nothing. Every other non-web scheme belongs to an app."""
_LONGEST = 100
"""Longer texts are not cached: they cannot be an IBAN, BIC or address, and would fill the memory."""
_CACHED = 4096
"""The number of cached texts for each format."""


class _Verdicts(dict[str, bool]):
    """The results by text. It is a dict, because a look-up runs no Python code."""

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self._fits = fits

    def __missing__(self, text: str) -> bool:
        if len(text) > _LONGEST:
            return False
        if len(self) >= _CACHED:
            self.clear()
        fits = self[text] = self._fits(text)
        return fits


def _remember(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    return _Verdicts(fits).__getitem__


def _is_read_by(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def number(value: Any) -> Decimal | None:
    """Return the number in a JSON number or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str) or len(str(value)) > _LONGEST:
        return None
    try:
        read = Decimal(str(value))
    except InvalidOperation:
        return None
    return read if read.is_finite() else None


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


@_remember
def is_ip(text: str) -> bool:
    return _is_read_by(ipaddress.ip_address, text)


@_remember
def is_iban(text: str) -> bool:
    """Return whether the text is a valid IBAN in electronic form: no spaces, upper case, right check digits.

    The structure for the country must be right as well.
    """
    if not _is_compact(text):
        return False
    import schwifty  # reads its registry of banks at import, which would slow down every start

    return bool(schwifty.IBAN(text, allow_invalid=True).is_valid)


@_remember
def is_bic(text: str) -> bool:
    if not _is_compact(text):
        return False
    import schwifty

    return bool(schwifty.BIC(text, allow_invalid=True).is_valid)


def _is_compact(text: str) -> bool:
    """Return whether there is nothing that schwifty would remove or change first."""
    return text.isascii() and text.isalnum() and text == text.upper()


def is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _is_read_by(date.fromisoformat, text)


def is_date_time(text: str) -> bool:
    """Return whether the text is an RFC 3339 time, with seconds and an offset."""
    return _DATE_TIME.fullmatch(text) is not None and _is_read_by(datetime.fromisoformat, text.upper())


def is_amount(text: str) -> bool:
    """Return whether the text is a decimal with a dot, at most three decimals, no exponent, no plus sign (spec 2)."""
    return _AMOUNT.fullmatch(text) is not None


def as_kept(id: str) -> str:
    """Return the id in its stored form: UUIDs are case-insensitive."""
    return id.lower() if is_uuid(id) else id


def is_redirect_uri(text: str) -> bool:
    """Return whether a browser may be redirected to it: a URI (RFC 3986) of the web, or with an app's own scheme."""
    if not _URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    # Brackets are only allowed around the address of a host.
    if any(bracket in part for part in parts[2:] for bracket in "[]"):
        return False
    if parts.scheme in WEB:
        return bool(host)
    after = text[len(parts.scheme) + 1 :]
    forgotten = _PORT.match(after) is not None  # localhost:3000/back has no scheme
    return bool(parts.scheme and after) and parts.scheme not in _NO_APPS and not forgotten


@cache
def _codes(database: str, member: str) -> frozenset[str]:
    import pycountry

    return frozenset(getattr(entry, member) for entry in getattr(pycountry, database))


class _Format(NamedTuple):
    """The test of a format, an example, and its name in messages."""

    fits: Callable[[str], bool]
    sample: str
    words: str


_FORMATS = {
    "amount": _Format(is_amount, "12.50", "an amount with a dot, such as 12.34"),
    "bic": _Format(is_bic, "SANDATWWXXX", "a BIC"),
    "country": _Format(lambda text: text in _codes("countries", "alpha_2"), "AT", "an ISO 3166 country code"),
    "currency": _Format(lambda text: text in _codes("currencies", "alpha_3"), "EUR", "an ISO 4217 currency code"),
    "date": _Format(is_date, "9999-12-31", "a date (YYYY-MM-DD)"),
    "date-time": _Format(
        is_date_time,
        "2030-01-31T09:00:00+01:00",
        "a date and time with seconds and offset, such as 2026-11-21T09:00:00Z",
    ),
    "iban": _Format(is_iban, "AT459880000010204711", "an IBAN with valid check digits"),
    "ip": _Format(is_ip, "192.0.2.1", "an IP address"),
    "redirect-uri": _Format(
        is_redirect_uri,
        "https://tpp.example/back",
        "an http or https URL, or a URL with an app's own scheme, percent-encoded (a space is %20, [ is %5B)",
    ),
    "uuid": _Format(is_uuid, "0cae8c3e-1111-4222-8333-444455556666", "a UUID"),
}

FORMATS = {name: format.fits for name, format in _FORMATS.items()}
SAMPLES = {name: format.sample for name, format in _FORMATS.items()}
EXPECTED = {name: format.words for name, format in _FORMATS.items()}

OF_JSON_SCHEMA = frozenset(
    (
        "date date-time duration email hostname idn-email idn-hostname ipv4 ipv6 iri iri-reference json-pointer regex "
        "relative-json-pointer time uri uri-reference uri-template uuid"
    ).split()
)
"""The names of formats in JSON Schema."""
