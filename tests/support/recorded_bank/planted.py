"""The secrets and the place of each. No recording may contain any of them.

They depend only on kind and place, so that the bank and the test have the same ones in two processes.
"""

import base64
import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Secret:
    """`place` describes where the secret occurs. A secret in several places has several entries."""

    kind: str
    value: str
    place: str


PLANTED: list[Secret] = []

_BBAN = {
    "AT": "16n", "BE": "12n", "CH": "5n12c", "CZ": "20n", "DE": "18n", "ES": "20n", "FI": "14n", "FR": "10n11c2n",
    "GB": "4a14n", "HU": "24n", "IE": "4a14n", "IT": "1a10n12c", "LI": "5n12c", "MT": "4a5n18c", "NL": "4a10n",
    "NO": "11n", "PL": "24n", "SE": "20n", "SK": "20n",
}  # fmt: skip
_FIRST = (
    "Jürgen Zdeňka Łukasz Siobhán François Ægir Günther Małgorzata Žofia Søren Noémi Iñaki Éloïse Jörg Bjørn".split()
)
_MIDDLES = "grüß wöll żabk dvoř quöst tschürn ñand škvor l'hôt o'brei d'ess æthl kjær zwöl müß".split()
_ENDS = "enthaler nitzky owska áčková ström brügg adóttir ička stöck acher egård échal ürmann".split()
_STREETS = "Würfelmacher Löschteich Żurawia Příčná Überfuhr Ségur Ångström Großhöchst Mölkerbad Düsterwald".split()
_TOWNS = "Obergrünöd Kleinpöchtal Žďárová Świętobór Saint-Rémyville Ærøstrand Hinterbrühlau Überlingskirch".split()
_WORDS = "Miete Jänner Honorar Therapie Unterhalt Kaution Vereinsbeitrag Spende Nachhilfe Rückzahlung".split()

_QUOTED = re.compile(r".* für (?P<name>.+), Konto (?P<iban>\w+), danke")


def plant(kind: str, place: str, value: str | None = None) -> str:
    """Return a secret of this kind in this place, or plant `value`, which also occurs elsewhere."""
    made = value if value is not None else secret(kind, place)
    PLANTED.append(Secret(kind, made, place))
    if quoted := _QUOTED.fullmatch(made):
        PLANTED.extend(Secret(kind, quoted[kind], f"{place}, quoted") for kind in ("name", "iban"))
    return made


def secret(kind: str, place: str) -> str:
    return KINDS[kind](Random(f"{kind}|{place}"))


def at(place: str) -> Callable[[str, str], str]:
    """Plant a secret of this kind somewhere in this place."""
    return lambda kind, where: plant(kind, f"{place}, {where}")


def _text(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _letters(rng: Random, length: int) -> str:
    return _text(rng, string.ascii_lowercase, length)


def _digits(rng: Random, length: int) -> str:
    return str(rng.randint(1, 9)) + _text(rng, string.digits, length - 1)


def iban(rng: Random, country: str | None = None) -> str:
    country = country or rng.choice(sorted(_BBAN))
    bban, count = "", ""
    for sign in _BBAN[country]:
        if sign.isdigit():
            count += sign
            continue
        alphabet = {"n": string.digits, "a": string.ascii_uppercase, "c": string.ascii_uppercase + string.digits}[sign]
        bban += _text(rng, alphabet, int(count))
        count = ""
    return f"{country}{98 - remainder(f'{bban}{country}00'):02}{bban}"


def remainder(iban_moved: str) -> int:
    """Return the remainder modulo 97 of an IBAN whose first four characters are at its end."""
    return int("".join(str(int(character, 36)) for character in iban_moved)) % 97


def _surname(rng: Random) -> str:
    name = rng.choice(_MIDDLES) + rng.choice(_ENDS)
    return name[0].upper() + name[1:]


def _name(rng: Random) -> str:
    # Use two surnames, because a pseudonym could equal a single one.
    return f"{rng.choice(_FIRST)} {_surname(rng)}-{_surname(rng)}"


def _street(rng: Random) -> str:
    kind = rng.choice(["gasse", "straße", "weg", "platz"])
    return f"{rng.choice(_STREETS)}{kind} {rng.randint(100, 999)}/{rng.randint(10, 99)}"


def _remittance(rng: Random) -> str:
    return f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} für {_name(rng)}, Konto {iban(rng)}, danke"


def _luhn(rng: Random) -> str:
    digits = rng.choice("45") + _text(rng, string.digits, 14)
    doubled = sum(sum(divmod(int(d) * (2 - n % 2), 10)) for n, d in enumerate(digits))
    return digits + str(-doubled % 10)


def base64url(content: bytes | str) -> str:
    raw = content.encode() if isinstance(content, str) else content
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _jwt(rng: Random) -> str:
    parts = ({"alg": "RS256", "kid": _text(rng, "0123456789abcdef", 12)}, {"sub": _text(rng, string.ascii_letters, 12)})
    return ".".join([*(base64url(json.dumps(part)) for part in parts), base64url(rng.randbytes(48))])


def _certificate(rng: Random) -> str:
    return "MII" + base64.b64encode(rng.randbytes(300)).decode()


_ALNUM = string.ascii_letters + string.digits
KINDS: Mapping[str, Callable[[Random], str]] = {
    "token": lambda r: r.choice([_jwt, lambda r: _text(r, _ALNUM, 40)])(r),
    "token of letters": lambda r: _text(r, string.ascii_letters, 32),
    "customer number": lambda r: f"{_letters(r, 2).upper()}-{_digits(r, 4)}-{_digits(r, 3)}",
    "id of letters and digits": lambda r: "-".join(_text(r, "BCDFGHJKLMNPQRSTVWXZ23456789", 4) for _ in range(3)),
    "cookie": lambda r: _text(r, "0123456789ABCDEF", 32),
    "api key": lambda r: f"ak_live_{_text(r, _ALNUM, 28)}",
    "client secret": lambda r: _text(r, _ALNUM + "-_~", 36),
    "certificate": _certificate,
    "signature": lambda r: base64.b64encode(r.randbytes(128)).decode(),
    "otp": lambda r: _digits(r, 6),
    "password": lambda r: f"{_text(r, string.ascii_letters, 6)}!{_text(r, string.digits, 3)}?{_text(r, _ALNUM, 5)}",
    "iban": iban,
    "name": _name,
    "address": _street,
    "town": lambda r: f"{r.choice(_TOWNS)} {r.choice('am im ob'.split())} {r.choice(_STREETS)}",
    "remittance": _remittance,
    "psu id": lambda r: f"{_letters(r, 4)}{_digits(r, 7)}",
    "e-mail": lambda r: f"{_letters(r, 7)}.{_letters(r, 8)}@{_letters(r, 8)}.example",
    "phone": lambda r: f"+43 {r.choice(['664', '676', '699'])} {_digits(r, 8)}",
    "tax number": lambda r: f"{r.choice(['ATU', 'SI', 'FI'])}{_digits(r, 8)}",
    "birth number": lambda r: f"{_digits(r, 4)} {_digits(r, 6)}",
    "birth date": lambda r: f"{r.randint(1931, 2009)}-{r.randint(1, 12):02}-{r.randint(10, 28)}",
    "ipv4": lambda r: f"{r.choice([81, 84, 91, 178])}.{r.randint(20, 250)}.{r.randint(20, 250)}.{r.randint(20, 250)}",
    "ipv6": lambda r: f"2a02:8388:{':'.join(f'{r.randint(0x1000, 0xFFFF):x}' for _ in range(6))}",
    "pan": _luhn,
    "pan in groups": lambda r: " ".join(re.findall("....", _luhn(r))),
    "phone in groups": lambda r: f"0{r.choice([664, 676, 699])} {_digits(r, 3)} {_digits(r, 4)}",
    "device": lambda r: f"99435c7e-{r.randint(0x1000, 0xFFFF):x}-49ec-a2ad-{_digits(r, 12)}",
    "place on earth": lambda r: f"GEO:48.{_digits(r, 6)};16.{_digits(r, 6)}",
}  # fmt: skip
