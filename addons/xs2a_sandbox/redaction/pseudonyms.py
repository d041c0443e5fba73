"""Pseudonyms: with the same key, a value always gets the same one.

It has the same form as the value, and differs from it.

Short values of the same form get different pseudonyms; with a hash, two of them would soon get the same. Everything
depends only on key and value, so that a later process computes the same pseudonyms.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from hashlib import blake2b, shake_256
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import cycle
from math import isqrt, prod
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from unicodedata import category

from xs2a_sandbox.documents.files import ensure_file
from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.errors import ConfigError

FILE = "pseudonym.key"

_KEY = re.compile(r"[0-9a-f]{64}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.ASCII)
_PAN = re.compile(r"\d{12,19}", re.ASCII)
_BLANKS = re.compile(r"[ \-\u00a0\u202f]")
_IN_TEXT = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        (?P<mail>[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})
        |(?P<iban>[A-Za-z]{2}\d{2}(?:[ \-\u00a0\u202f]?[A-Za-z0-9]){11,30})(?![A-Za-z0-9])
        |(?P<pan>\d{4}(?:[ \-\u00a0\u202f]?\d){8,15})(?![A-Za-z0-9]))""",
    re.ASCII | re.VERBOSE,
)
_UUID = re.compile(r"(?<![A-Za-z0-9])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![A-Za-z0-9])", re.ASCII)
"""Excluded because one UUID in some hundred has a group or two that could be a card number or an IBAN."""
_TOP_LEVEL = re.compile(r"[a-z]{2,}", re.ASCII)
_HEX = re.compile(r"(?=[^a-f]*[a-f])[0-9a-f-]{16,}|(?=[^A-F]*[A-F])[0-9A-F-]{16,}")
_NUMBER = re.compile(r"([-+]?0*)(\d*)(.*)", re.ASCII | re.DOTALL)
_EXPONENT = re.compile(r"[eE][-+]?\d+$", re.ASCII)
_DOCUMENTATION = [IPv4Address(net) for net in ("192.0.2.0", "198.51.100.0", "203.0.113.0")]
_LETTERS = {ord(letter): str(number) for number, letter in enumerate(ascii_uppercase, 10)}
"""The values of letters in the check digits of an IBAN."""
_SHORT = 19
"""The most characters with this algorithm.

Longer pseudonyms are not equal by chance, and the arithmetic would be slow.
"""
_ROUNDS = 8
_LONGEST = 100
"""Longer texts are not cached."""


def ensure_key(confdir: Path) -> bytes:
    """Return the key in `confdir`, and create it if there is none. Raises ConfigError."""
    file = confdir / FILE
    text = ensure_file(file, "key of the pseudonyms", lambda: secrets.token_hex(32), _KEY.fullmatch)
    if not _KEY.fullmatch(text):
        raise ConfigError(
            f"{file} contains no key of 64 hexadecimal digits. Restore the key of your recordings, or remove "
            "the file: then a new key is created, and the recordings no longer recognise your IBANs"
        )
    return bytes.fromhex(text)


def fingerprint(key: bytes) -> str:
    """Return 8 hexadecimal digits that distinguish keys and reveal nothing about them."""
    return hmac.digest(key, b"fingerprint", "sha256")[:4].hex()


def compact_iban(text: str) -> str | None:
    """Return the electronic form of an IBAN, also in lower case or with blanks, or None if it is not valid."""
    if not 15 <= len(text) <= 80:
        return None
    compact = _BLANKS.sub("", text).upper()
    return compact if _IBAN.fullmatch(compact) and _check_sum(compact[4:] + compact[:4]) == 1 else None


def compact_pan(text: str) -> str | None:
    """Return the digits of a card number, or None if the length or the last digit is wrong."""
    if not 12 <= len(text) <= 40:
        return None
    compact = _BLANKS.sub("", text)
    return compact if _PAN.fullmatch(compact) and _luhn(compact[:-1]) == compact[-1] else None


def splice(text: str, spans: Iterable[tuple[int, int, str]], between: Callable[[str], str] = str) -> str:
    """Return the text with some spans replaced. Each span is its start, its end, and its new text."""
    pieces, done = [], 0
    for start, end, new in spans:
        pieces += [between(text[done:start]), new]
        done = end
    return "".join([*pieces, between(text[done:])])


class Pseudonyms:
    """`unchanged` are values that stay as they are, because they are pseudonyms already."""

    def __init__(self, key: bytes, unchanged: Collection[str] = ()) -> None:
        self._key = hmac.digest(key, b"pseudonyms", "sha256")
        self._keyed = blake2b(key=self._key, digest_size=12)
        self.unchanged = frozenset(unchanged)
        # Banks repeat the same accounts and names in every answer.
        self._short = lru_cache(4096)(self._replace)
        self._account = lru_cache(4096)(self._other_iban)
        self._days = 30 + int.from_bytes(self._digest("days", b"")[:4]) % 365

    def shape(self, text: str) -> str:
        """Replace letters with letters of the same case and digits with digits, also in hexadecimal text.

        Keep the rest.
        """
        return text if text in self.unchanged else self._shape(text)

    def _shape(self, text: str) -> str:
        if text.isascii() and text.isdecimal():
            return self._number(text)  # the same id may be text in a path and a number in a body
        hexadecimal = _HEX.fullmatch(text) is not None
        return self._other(text, [_alphabet(character, hexadecimal) for character in text])

    def text(self, text: str) -> str:
        """Replace like `shape`, but accounts, cards and e-mail addresses get the same pseudonyms as on their own."""
        if text in self.unchanged:
            return text
        return self._short(text) if len(text) <= _LONGEST else self._replace(text)

    def _replace(self, text: str) -> str:
        return splice(text, self._spots(text), self._shape)

    def spots(self, text: str) -> str:
        """Replace only account numbers, cards and e-mail addresses, except for those that are unchanged."""

        def is_unchanged(written: str) -> bool:
            return (compact_iban(written) or compact_pan(written) or written) in self.unchanged

        return splice(text, (spot for spot in self._spots(text) if not is_unchanged(text[spot[0] : spot[1]])))

    def _spots(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and pseudonym of each account number, card or e-mail address in a string."""
        for kind, start, end in _quote(text):
            alone = {"iban": self.iban, "pan": self.pan}.get(kind, self.shape)
            yield start, end, alone(text[start:end])

    def host(self, text: str) -> str:
        """Return the pseudonym of a host name in lower case, label by label. A possible top-level domain stays."""
        if text in self.unchanged:
            return text
        # Not `shape`: a label such as `api` may be an unchanged text in replay, and would then stay only there.
        inner, dot, last = text.lower().rpartition(".")
        labels = [self._shape(label) for label in inner.split(".")] if dot else []
        return ".".join([*labels, last if dot and _TOP_LEVEL.fullmatch(last) else self._shape(last)])

    def iban(self, text: str) -> str:
        """Return an IBAN of the same country and length, with blanks at the same places."""
        compact = compact_iban(text)
        if compact is None or text in self.unchanged:
            return self.shape(text)
        return _spread(self._account(compact), text)

    def _other_iban(self, compact: str) -> str:
        bban = self._other(compact[4:], [_alphabet(character, False) for character in compact[4:]])
        check = 98 - _check_sum(bban + compact[:2] + "00")
        return f"{compact[:2]}{check:02}{bban}"

    def pan(self, text: str) -> str:
        """Return a card number of the same length with the right last digit."""
        compact = compact_pan(text)
        if compact is None or text in self.unchanged:
            return self.shape(text)
        number = self.number(compact[:-1])
        return _spread(number + _luhn(number), text)

    def ip(self, text: str) -> str:
        """Return an address of the same version from those reserved for documentation."""
        if text in self.unchanged:
            return text
        try:
            address = ip_address(text)
        except ValueError:
            return self.shape(text)
        number = int.from_bytes(self._digest("ip", address.packed)[:12])
        if isinstance(address, IPv6Address):
            return str(IPv6Address(0x20010DB8 << 96 | number))
        block, host = divmod(number % (3 * 254), 254)
        return str(_DOCUMENTATION[block] + 1 + host)

    def number(self, text: str) -> str:
        """Replace the digits of a number.

        Leading zeros, the point and the exponent stay, so that it is still valid in JSON.
        """
        return text if text in self.unchanged else self._number(text)

    def _number(self, text: str) -> str:
        exponent = _EXPONENT.search(text)
        mantissa = text[: exponent.start()] if exponent else text
        leading, whole, rest = _NUMBER.fullmatch(mantissa).groups()  # type: ignore[union-attr]
        alphabets = [
            *([""] * len(leading)),
            *([digits[1:]] * len(whole[:1]) + [digits] * len(whole[1:])),
            *(digits if "0" <= character <= "9" else "" for character in rest),
        ]
        return self._other(mantissa, alphabets) + text[len(mantissa) :]

    def date(self, text: str) -> str:
        """Return a date, or the date in a date-time, some days earlier. The number of days is the same for all."""
        if text in self.unchanged:
            return text
        try:
            return (date.fromisoformat(text[:10]) - timedelta(days=self._days)).isoformat() + text[10:]
        except (ValueError, OverflowError):
            return self.shape(text)

    def _other(self, text: str, alphabets: Sequence[str]) -> str:
        """Return another string with characters of these alphabets. Characters with an empty alphabet stay."""
        places = [(place, alphabet) for place, alphabet in enumerate(alphabets) if alphabet]
        result = list(text)
        if not places:
            return text
        if len(places) <= _SHORT and all(text[place] in alphabet for place, alphabet in places):
            number, size = 0, prod(len(alphabet) for _, alphabet in places)
            for place, alphabet in places:
                number = number * len(alphabet) + alphabet.index(text[place])
            shape = "".join(alphabet or text[n] for n, alphabet in enumerate(alphabets))
            number = self._next(number, size, shape.encode("utf-8", "surrogatepass"))
            for place, alphabet in reversed(places):
                number, index = divmod(number, len(alphabet))
                result[place] = alphabet[index]
        else:
            seed = self._digest("text", text.encode("utf-8", "surrogatepass"))
            for (place, alphabet), byte in zip(places, shake_256(seed).digest(len(places)), strict=True):
                result[place] = alphabet[byte % len(alphabet)]
        return "".join(result)

    def _next(self, number: int, size: int, shape: bytes) -> int:
        """Return the successor of `number` in a cycle of all numbers below `size`, in an order that the key
        determines.
        """
        place = self._shuffle(number, size, shape, range(_ROUNDS), 1)
        return self._shuffle((place + 1) % size, size, shape, range(_ROUNDS - 1, -1, -1), -1)

    def _shuffle(self, number: int, size: int, shape: bytes, rounds: range, sign: int) -> int:
        """Apply a permutation of the numbers below `size`, a Feistel network.

        Reversed rounds and `sign` -1 give its inverse.

        The numbers are cells of a rectangle. The few cells beyond `size` are skipped.
        """
        width = isqrt(size - 1) + 1
        height = -(-size // width)
        while True:
            row, column = divmod(number, width)
            for turn in rounds:
                step = sign * self._mix(b"%d %d %s" % (turn, row if turn % 2 else column, shape))
                if turn % 2:
                    column = (column + step) % width
                else:
                    row = (row + step) % height
            number = row * width + column
            if number < size:
                return number

    def _mix(self, data: bytes) -> int:
        # Copying saves the work of initialising with the key.
        mixed = self._keyed.copy()
        mixed.update(data)
        return int.from_bytes(mixed.digest())

    def _digest(self, purpose: str, data: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + data, "sha256")


@lru_cache(4096)
def _alphabet(character: str, hexadecimal: bool) -> str:
    if "a" <= character <= "z":
        return "abcdef" if hexadecimal else ascii_lowercase
    if "A" <= character <= "Z":
        return "ABCDEF" if hexadecimal else ascii_uppercase
    if "0" <= character <= "9":
        return digits
    if character.isascii():
        return ""
    if character.isnumeric():
        return digits
    if category(character)[0] in "PSZ":
        return ""
    return ascii_uppercase if character.isupper() else ascii_lowercase


def _quote(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield possible pseudonyms in a string: their kind (`mail`, `iban`, `pan`), start and end."""
    done = 0
    for uuid in _UUID.finditer(text):
        yield from _find_quoted(text, done, uuid.start())
        done = uuid.end()
    yield from _find_quoted(text, done, len(text))


def _find_quoted(text: str, place: int, end: int) -> Iterator[tuple[str, int, int]]:
    while match := _IN_TEXT.search(text, place, end):
        kind, start, place = str(match.lastgroup), match.start(), match.start() + 1
        ends = [match.end()] if kind == "mail" else _ends(match, compact_iban if kind == "iban" else compact_pan)
        if ends:
            # A word after an account number may form another one with it, but hardly with the right length for its
            # country.
            right = (end for end in ends if kind == "iban" and is_iban(compact_iban(text[start:end]) or ""))
            place = ends[0] if len(ends) == 1 else next(right, ends[0])
            yield kind, start, place


def _ends(match: re.Match[str], compact: Callable[[str], str | None]) -> list[int]:
    """Return the ends of words up to which the text is valid, the last one first."""
    text, start = match.string, match.start()
    words = (end for end in range(match.end(), start + 11, -1) if end == match.end() or _BLANKS.match(text[end]))
    return [end for end in words if compact(text[start:end])]


def _check_sum(text: str) -> int:
    return int(text.translate(_LETTERS)) % 97


def _luhn(number: str) -> str:
    """Return the last digit of a card number with these digits."""
    doubled = (int(digit) * factor for digit, factor in zip(reversed(number), cycle((2, 1)), strict=False))
    return str(-sum(part // 10 + part % 10 for part in doubled) % 10)


def _spread(compact: str, like: str) -> str:
    """Return the characters of `compact` with the blanks and the case of `like`."""
    rest = iter(compact)
    spread = (character if _BLANKS.match(character) else next(rest) for character in like)
    return "".join(new.lower() if old.islower() else new for new, old in zip(spread, like, strict=True))
