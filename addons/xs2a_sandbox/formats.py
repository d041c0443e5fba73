"""The formats that matchers and schemas name: uuid, ip, iban, bic, date, date-time, currency, amount, country."""

import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import cache, lru_cache

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})")
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,3})?", re.ASCII)


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


@lru_cache(1024)
def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(4096)
def is_iban(text: str) -> bool:
    """Electronic form only: no spaces, upper case; country structure and check digits right."""
    import schwifty  # reads its registry of banks when imported, which would cost every start

    if not (text.isascii() and text.isalnum() and text == text.upper()):
        return False
    return schwifty.IBAN(text, allow_invalid=True).is_valid


@lru_cache(1024)
def is_bic(text: str) -> bool:
    import schwifty

    return text.isascii() and text == text.upper() and schwifty.BIC(text, allow_invalid=True).is_valid


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
    "uuid": is_uuid,
}
