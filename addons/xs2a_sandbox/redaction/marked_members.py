"""The members of bodies that an interface itself marks as secret or personal."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarkedMembers:
    """Names in lower case. `pages` are links that give payment users access."""

    secret: frozenset[str] = frozenset()
    personal: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    @classmethod
    def of(cls, secret: Iterable[str], personal: Iterable[str], pages: Iterable[str]) -> "MarkedMembers":
        return cls(*(frozenset(name.lower() for name in names) for names in (secret, personal, pages)))

    @classmethod
    def together(cls, several: Iterable["MarkedMembers"]) -> "MarkedMembers":
        marked = list(several)
        return cls(
            frozenset[str]().union(*(one.secret for one in marked)),
            frozenset[str]().union(*(one.personal for one in marked)),
            frozenset[str]().union(*(one.pages for one in marked)),
        )


NONE = MarkedMembers()
