"""Invents the values of a second journey: what the app and its customers choose has other texts of the same form.

Words of the interface, and what the bank has told, stay as they are.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any
from uuid import UUID

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.unknown.recorded.forms import account_digits, date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, are_redacted, parts
from xs2a_sandbox.features.derive.unknown.things.things import separator
from xs2a_sandbox.redaction.allowlist import is_kept_segment
from xs2a_sandbox.redaction.values import DROPPED
from xs2a_sandbox.redaction.vocabulary import is_words

_LESS, _MORE = Decimal("0.9"), Decimal("1.3")
"""Accepted amounts become smaller and refused ones greater, so that each stays on its side of a limit."""
_SHORTEST_ID, _SHORTEST_NUMBER, _LEAST_AMOUNT = 6, 4, 100
"""Shorter texts and smaller integers may be words, versions, counts or pages."""


@dataclass(frozen=True)
class OtherValues:
    """Texts by those that they replace. `refused` has those that only refused requests have.

    `mistyped` are the numbers of requests with a wrong secret.
    """

    accepted: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    mistyped: Collection[int] = ()


AS_RECORDED = OtherValues()


@dataclass(frozen=True)
class _Sent:
    """A text that requests were the first to have, and one of its places."""

    text: str
    place: Place
    value: Any

    @property
    def amount(self) -> Decimal | None:
        if date_form(self.value) or isinstance(self.value, bool) or self.place[0] in ("headers", "path"):
            return None
        if isinstance(self.value, str):
            is_amount = re.fullmatch(r"-?\d{1,12}[.,]\d\d", self.text)
            return Decimal(self.text.replace(",", ".")) if is_amount else None
        is_whole = isinstance(self.value, int)
        return Decimal(self.value) if not is_whole or abs(self.value) >= _LEAST_AMOUNT else None


def invent_values(
    seen: Sequence[SeenExchange],
    is_ok: Mapping[SeenExchange, bool],
    personal: Collection[Place] = (),
    shared: Collection[Place] = (),
    country: str | None = None,
) -> OtherValues:
    """Return other values. `personal` are places of names and secrets, `shared` those of codes that are the same for
    all customers, and `country` is that of IBANs without it.
    """
    sent: dict[str, _Sent] = {}
    accepted: set[str] = set()
    told: set[str] = set()
    is_redacted = are_redacted(seen)
    for one in seen:
        texts = {found.text: found for found in _find_sent(one, is_redacted) if found.text not in told}
        sent |= texts
        accepted |= texts.keys() if is_ok[one] else set()
        told |= {text for _, value in answer_values(one) for text in parts(value)} - sent.keys()
        told |= set(re.findall(r'value="([^"]+)"', one.text)) - sent.keys()
    amounts = [abs(found.amount) for text, found in sent.items() if text in accepted and found.amount is not None]
    most = max(amounts, default=Decimal(0))
    names: tuple[dict[str, str], dict[str, str]] = {}, {}
    for text, found in sent.items():
        random, is_good = Random(text), text in accepted
        if found.amount is not None:
            factor = _LESS if is_good else _MORE if abs(found.amount) > most else Decimal(1)
            names[is_good][text] = _scale(text, found.amount * factor)
        elif isinstance(found.value, str) and not date_form(text) and not (is_good and found.place in shared):
            is_free = found.place in personal or (is_redacted and not is_words(text))
            names[is_good][text] = _other_text(found, random, is_good, is_free, country)
    return OtherValues(accepted=names[True], refused=names[False])


def _find_sent(one: SeenExchange, is_redacted: bool) -> Iterator[_Sent]:
    for at, segment in enumerate(one.path if is_redacted else ()):
        if not is_kept_segment(one.path, at, one.method):
            yield _Sent(segment, ("path", at), segment)
    for place, value in one.values():
        if isinstance(value, str | int | Decimal):
            words = str(value).split(separator(place))
            # Bearer 1, and AIS:1, but not the address of a page.
            text = words[1] if len(words) == 2 and words[0].isalpha() and words[1][:1] != "/" else str(value)
            if text not in ("", DROPPED):
                yield _Sent(text, place, value)


def _scale(text: str, amount: Decimal) -> str:
    decimals = len(re.split("[.,]", text)[1]) if re.search("[.,]", text) else 0
    return f"{amount:.{decimals}f}".replace(".", "," if "," in text else ".")


def _other_text(found: _Sent, random: Random, is_good: bool, is_free: bool, country: str | None) -> str:
    text = found.text
    if re.match("https?://", text):
        return re.sub(r"(?<=//)[^/?]+|(?<=/)[a-z]+", lambda part: _other_form(part[0], random), text)
    if "/" in text:
        return text
    if FORMATS["uuid"](text):
        return str(UUID(int=random.getrandbits(128), version=4))
    if FORMATS["iban"](text):
        return _other_iban(text, random)
    if country and FORMATS["iban"](country + account_digits(text)):
        number = iter(_other_iban(country + account_digits(text), random)[len(country) :])
        return "".join(next(number) if character.isdecimal() else character for character in text)
    if text.isdecimal():
        return _other_form(text, random) if len(text) >= _SHORTEST_NUMBER and found.place[0] != "query" else text
    if any(map(str.isdecimal, text)):
        is_id = len(text) >= _SHORTEST_ID and not re.fullmatch(r"[v\d.]+", text)
        return _other_form(text, random) if is_id else text
    if re.fullmatch(r"[a-z]+([.:_-][a-z]+)+", text) and is_words(text):
        # A right, such as accounts.read.
        return text
    if re.search("[ @.]", text) or (re.fullmatch("[A-Z][a-z]+", text) and not is_words(text)):
        # Names differ in length, too.
        return re.sub(
            r"[^\W\d_]+",
            lambda word: _other_form(word[0][: max(2, len(word[0]) * 2 // 3)] if is_good else word[0], random),
            text,
        )
    return _other_form(text, random) if is_free else text


def _other_iban(iban: str, random: Random) -> str:
    account = _other_form(iban[4:], random)
    number = "".join(str(int(letter, 36)) for letter in account + iban[:2] + "00")
    return f"{iban[:2]}{98 - int(number) % 97:02}{account}"


def _other_form(text: str, random: Random) -> str:
    """Return other digits and letters in place of those of a text."""
    return "".join(
        next((random.choice(alphabet) for alphabet in (digits, ascii_lowercase, ascii_uppercase) if c in alphabet), c)
        for c in text
    )
