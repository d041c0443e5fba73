"""The forms in which banks write dates, times and numbers."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, cached_property
from itertools import product
from string import ascii_uppercase
from typing import Any

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import literal


@dataclass(frozen=True)
class DateForm:
    """`code` is that of `strftime`, empty for seconds since 1970. `is_number` says that JSON has a number."""

    code: str
    is_number: bool = False

    @property
    def has_time(self) -> bool:
        return "%H" in self.code or not self.code

    @property
    def is_local(self) -> bool:
        """Whether a time is written without a zone. Then it may be the local time of the bank."""
        return bool(self.code) and not self.code.endswith("Z") and not self._zone

    @property
    def _zone(self) -> str:
        """The offset at the end of a time, such as +05:30."""
        found = _ZONE.search(self.code)
        return found[0] if found else ""

    @property
    def offset(self) -> int:
        """How many seconds a time is ahead of UTC, as it says itself."""
        zone = self._zone
        return int(f"{zone[0]}1") * (int(zone[1:3]) * 3600 + int(zone[4:]) * 60) if zone else 0

    @cached_property
    def pattern(self) -> str:
        """A regular expression. Digits without separators are only dates of this century."""
        text = self.code.replace(".", r"\.").replace("+", r"\+").replace("%Y%m%d", "20[0-9]{6}") or "[0-9]+"
        return re.sub("%(.)", lambda found: "[0-9]{4}" if found[1] == "Y" else "[0-9]{2}", text)

    def write(self, source: str) -> str:
        """Return the expression that writes a date, or seconds since 1970."""
        if not self.code:
            return source
        source = f"({source} {self.offset:+})" if self.offset else source
        return f"{source} | strftime('{self.code}')" + (" | int" if self.is_number else "")

    def read(self, source: str) -> str:
        """Return the expression that reads it as ISO 8601."""
        if not self.code:
            return f"({source} | strftime('%Y-%m-%d'))"
        code = self.code.removesuffix(self._zone) + "%z" if self.offset else self.code
        return f"({source}{' | string' if self.is_number else ''} | strptime('{code}'))"

    def read_day(self, source: str) -> str:
        """Return the expression that reads the day as it is written."""
        if not self.code or not self.has_time:
            return self.read(source)
        if self.code.startswith("%Y-%m-%d"):
            return f"({source} or '')[:10]"
        return f"({source}{' | string' if self.is_number else ''} | strptime('{self.code}') or '')[:10]"

    def moment(self, value: Any) -> datetime:
        if not self.code:
            return datetime.fromtimestamp(int(value), UTC)
        return datetime.strptime(str(value), self.code).replace(tzinfo=UTC) - timedelta(seconds=self.offset)

    def day(self, value: Any) -> date:
        """Return the day as it is written, which is that of the zone."""
        return (self.moment(value) + timedelta(seconds=self.offset)).date()


_ZONE = re.compile(r"(?<=\d\d|%S)[+-]\d\d:\d\d$")
_FORMS = tuple(
    DateForm(code)
    for code in (
        *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.000Z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"),
        *("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%Y%m%d%H%M%S"),
        *("%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"),
    )
)


def date_form(value: Any) -> DateForm | None:
    """Return the form of a date or time, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and 1_500_000_000 < value < 2_500_000_000:
        return DateForm("", True)
    return _find_form(str(value), isinstance(value, int))


@cache
def _find_form(text: str, is_number: bool) -> DateForm | None:
    zone = _ZONE.search(text)
    for known in _FORMS:
        form = DateForm(known.code + zone[0] if zone and known.has_time else known.code, is_number)
        if re.fullmatch(form.pattern, text) and (known.code.startswith("%Y%m") or not is_number):
            try:
                form.moment(text)
            except ValueError:
                continue
            return form
    return None


_GROUPED = re.compile(
    r"[-+]?\d{1,3}(?:(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,2})?|(?:\.\d{3})+,\d{1,2}|(?:,\d{3})+\.\d{1,2})"
)
"""A number whose thousands are apart: `1 845,50`, `1.845,50`."""


def is_grouped(text: str) -> bool:
    """Return whether a text is a number whose thousands are apart."""
    return _GROUPED.fullmatch(text) is not None


def is_amount(text: str) -> bool:
    """Return whether a text is a number with two decimals, or with groups of digits."""
    return is_grouped(text) or re.fullmatch(r"[-+]?\d+[.,]\d\d", text) is not None


def _separators(text: str) -> str:
    """Return the characters between the thousands of a number."""
    found = re.search(r"\D", text.lstrip("-+")) if is_grouped(text) else None
    return found[0] if found else ""


def read_number(value: Any) -> Decimal | None:
    """Return a number, however it is written, or None for anything else."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and (apart := _separators(value)):
        value = value.replace(apart, "")
    if isinstance(value, str) and re.fullmatch(r"-?(\d{1,5}|[1-9]\d{5,8}|\d{1,12}[.,]\d{1,3})", value):
        return Decimal(value.replace(",", "."))
    return None


def count_digits(number: Decimal) -> int:
    """Return the number of digits before the point."""
    return len(str(int(abs(number))))


def number_source(example: Any, source: str) -> str:
    """Return the expression that reads a number that is written like the example."""
    if read_number(example) is None:
        return source
    text = str(example)
    apart = _separators(text) or (" " if "," in text else "")
    without = f" | replace({literal(apart)}, '')" if apart else ""
    comma = " | replace(',', '.')" if "," in text and apart != "," else ""
    return f"({source}{without}{comma} | decimal)"


NICE = [
    Decimal(digits).scaleb(power)
    for power in range(8)
    for digits in ("1", "1.5", "2", "2.5", "3", "4", "5", "6", "7.5", "8", "9")
]
"""Numbers that a bank is likely to have as a limit."""


_COUNTRIES = tuple(map("".join, product(ascii_uppercase, repeat=2)))


def account_digits(text: str) -> str:
    """Return the digits of what can be an account number, without blanks, or an empty text."""
    digits = text.replace(" ", "")
    return digits if re.fullmatch(r"\d{12,30}", digits) else ""


def find_iban_country(numbers: Collection[str], countries: Sequence[str] = _COUNTRIES) -> str | None:
    """Return the country before which account numbers of digits only are IBANs, such as PL."""
    if not all(re.fullmatch(r"\d{12,30}", number) for number in numbers):
        return None
    for country in countries:
        digits = "".join(str(int(letter, 36)) for letter in country)
        if all(int(number[2:] + digits + number[:2]) % 97 == 1 for number in numbers) and all(
            FORMATS["iban"](country + number) for number in numbers
        ):
            return country
    return None


def pattern_of(texts: Sequence[str]) -> str | None:
    """Return a pattern for texts that are written in the same way, such as amounts or dates; None for free text."""
    patterns = {_pattern(text) for text in texts}
    pattern = patterns.pop() if len(patterns) == 1 else None
    if len(set(texts)) == 1 and texts[0].isdecimal():
        # A single number can look like a day.
        return None
    return f"^{pattern}$" if pattern else None


def _is_address(text: str) -> bool:
    """Return whether a text is an IP address, whose numbers have no fixed length."""
    return re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", text) is not None


def _pattern(text: str) -> str | None:
    if form := date_form(text):
        return form.pattern
    if re.fullmatch(r"-?\d+\.\d{2}", text):
        return r"-?[0-9]+\.[0-9]{2}"
    if re.fullmatch(r"-?\d+( \d{3})*,\d{2}", text):
        return "-?[0-9]+( [0-9]{3})*,[0-9]{2}"
    if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{10,30}", text):
        return "[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}"
    if re.fullmatch(r"\d+([ ./-]\d+)+", text) and read_number(text) is None and not _is_address(text):
        # Blanks in an account number can be left out.
        return re.sub(r"\d+", lambda found: f"[0-9]{{{len(found[0])}}}", text.replace(".", r"\.").replace(" ", " ?"))
    return None
