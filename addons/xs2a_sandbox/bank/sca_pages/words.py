"""The texts of a page in the language of its reader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from xs2a_sandbox.bank.domain.amounts import write_amount
from xs2a_sandbox.cassette.dialect.sca_pages import DEFAULT, bundled_pages
from xs2a_sandbox.cassette.model import ScaPages
from xs2a_sandbox.http.media_type import wishes


@dataclass(frozen=True, slots=True)
class Words:
    """`name` is the name of the bank; `colours` are those that its dialect sets."""

    language: str
    name: str
    texts: Mapping[str, str]
    colours: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __call__(self, key: str, **values: Any) -> str:
        """Return the text with the values filled in. The result is HTML if a value is HTML."""
        text = self.texts[key]
        html = next((type(value) for value in values.values() if hasattr(value, "__html__")), None)
        written: str = html.escape(text) if html else text
        return written.format(**values)

    def counted(self, one: str, several: str, count: int) -> str:
        return self(one) if count == 1 else self(several, count=count)

    def day(self, text: str) -> str:
        day = date.fromisoformat(text)
        return self("date", day=day.day, month=self.texts["months"].split()[day.month - 1], year=day.year)

    def money(self, amount: Mapping[str, str] | None) -> str | None:
        if not amount:
            return None
        marks = {",": self.texts["thousands_mark"], ".": self.texts["decimal_mark"]}
        number = "".join(marks.get(sign, sign) for sign in write_amount(amount["amount"], amount["currency"]))
        return f"{number} {amount['currency']}"


def words(own: ScaPages = ScaPages(), accept_language: str | None = None) -> Words:  # noqa: B008
    """Return the texts for a browser. `own` contains what the dialect defines differently from the bundled texts."""
    pages = own.over(bundled_pages())
    offered = own.languages or tuple(dict.fromkeys((DEFAULT, *pages.texts)))
    language = choose_language(accept_language or "", offered)
    texts: dict[str, str] = {}
    for code in (DEFAULT, language.partition("-")[0], language):
        texts |= pages.texts.get(code, {})
    return Words(language, pages.name or "", texts, own.colours)


def choose_language(header: str, offered: Sequence[str]) -> str:
    """Return the offered language that the browser prefers: an exact match of its tag, otherwise the same language.

    The same language counts in any region.
    """
    for tag in wishes(header):
        for near in (tag, tag.partition("-")[0]):
            for language in offered:
                if near == language.lower() or (near == tag.partition("-")[0] == language.lower().partition("-")[0]):
                    return language
    return offered[0]
