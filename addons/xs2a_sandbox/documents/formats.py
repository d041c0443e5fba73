"""The formats that matchers and schemas name: uuid, ip, iban, bic, date, date-time, currency, amount, country,
redirect-uri.
"""

import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import cache, lru_cache
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
"""Schemes that run something, read something, or lead nowhere; any other that is not the web is an app's own."""
_LONGEST = 100
"""Characters of what is remembered: longer texts are no IBAN, BIC or address, and would fill the memory."""


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def is_ip(text: str) -> bool:
    return len(text) <= _LONGEST and _is_ip(text)


@lru_cache(1024)
def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_iban(text: str) -> bool:
    """Electronic form only: no spaces, upper case; country structure and check digits right."""
    return len(text) <= _LONGEST and _is_iban(text)


@lru_cache(4096)
def _is_iban(text: str) -> bool:
    import schwifty  # reads its registry of banks when imported, which would cost every start

    if not (text.isascii() and text.isalnum() and text == text.upper()):
        return False
    return schwifty.IBAN(text, allow_invalid=True).is_valid


def is_bic(text: str) -> bool:
    return len(text) <= _LONGEST and _is_bic(text)


@lru_cache(1024)
def _is_bic(text: str) -> bool:
    import schwifty

    if not (text.isascii() and text.isalnum() and text == text.upper()):
        return False  # schwifty would take the blanks out
    return schwifty.BIC(text, allow_invalid=True).is_valid


def is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """RFC 3339: with seconds and an offset."""
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


def is_currency(text: str) -> bool:
    return text in _currencies()


def is_amount(text: str) -> bool:
    """A decimal with a dot, at most three decimals, no exponent, no plus sign (spec 2)."""
    return _AMOUNT.fullmatch(text) is not None


def is_country(text: str) -> bool:
    return text in _countries()


def is_redirect_uri(text: str) -> bool:
    """Tells whether a browser may be sent back to it: a URI (RFC 3986) of the web, or of an app's own scheme."""
    if not _URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme in WEB:
        return bool(host)
    after = text[len(parts.scheme) + 1 :]
    forgotten = _PORT.match(after) is not None  # localhost:3000/back has no scheme
    return bool(parts.scheme and after) and parts.scheme not in _NO_APPS and not forgotten


@cache
def _currencies() -> frozenset[str]:
    import pycountry

    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


@cache
def _countries() -> frozenset[str]:
    import pycountry

    return frozenset(country.alpha_2 for country in pycountry.countries)


FORMATS: dict[str, Callable[[str], bool]] = {
    "amount": is_amount,
    "bic": is_bic,
    "country": is_country,
    "currency": is_currency,
    "date": is_date,
    "date-time": is_date_time,
    "iban": is_iban,
    "ip": is_ip,
    "redirect-uri": is_redirect_uri,
    "uuid": is_uuid,
}

SAMPLES = {
    "amount": "12.50",
    "bic": "SANDATWWXXX",
    "country": "AT",
    "currency": "EUR",
    "date": "9999-12-31",
    "date-time": "2030-01-31T09:00:00+01:00",
    "iban": "AT459880000010204711",
    "ip": "192.0.2.1",
    "redirect-uri": "https://tpp.example/back",
    "uuid": "0cae8c3e-1111-4222-8333-444455556666",
}
"""A text of each format."""

EXPECTED = {
    "amount": "an amount with a dot, such as 12.34",
    "bic": "a BIC",
    "country": "an ISO 3166 country code",
    "currency": "an ISO 4217 currency code",
    "date": "a date (YYYY-MM-DD)",
    "date-time": "a date and time with seconds and offset, such as 2026-11-21T09:00:00Z",
    "iban": "an IBAN with valid check digits",
    "ip": "an IP address",
    "redirect-uri": "an http or https URL, or one of an app's own scheme",
    "uuid": "a UUID",
}
"""The formats in words, for messages."""
