"""A condition for an answer: an expression of the request, with what it says about which part of the request."""

from collections.abc import Sequence
from dataclasses import dataclass

from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange


@dataclass(frozen=True)
class Condition:
    """A reason for an answer.

    `rank` puts conditions into the order in which banks check them. `place` is the part of the request that the
    condition checks, if there is one. `kind` says what is wrong: missing, unknown, state, form, limit, ... `owner` is
    the place of the name to which a secret belongs; it begins with "let" if an earlier request had the name. `word` is
    the right that is missing.
    """

    source: str
    rank: int
    kind: str
    place: Place = ()
    name: str = ""
    owner: Place = ()
    word: str = ""

    @property
    def is_of_state(self) -> bool:
        return self.kind in ("state", "in state")

    @property
    def is_of_body(self) -> bool:
        """Whether the condition looks at nothing but the body of the request."""
        return self.place[:1] == ("body",) and "let." not in self.source


def places_in(ones: Sequence[SeenExchange]) -> list[Place]:
    """Return the places in bodies, queries and forms that have a value. Of the objects in a list, the first counts."""
    found: dict[Place, None] = {}
    for one in ones:
        for place, _ in one.slots():
            if place[0] != "headers":
                at = next(
                    (at for at, step in enumerate(place) if isinstance(step, int) and not _is_first(place, at)), None
                )
                for end in range(2, (len(place) if at is None else at) + 1):
                    if isinstance(place[end - 1], str):
                        found[place[:end]] = None
    return list(found)


def _is_first(place: Place, at: int) -> bool:
    """Return whether a step is to the first object of a list."""
    return place[at] == 0 and isinstance(next(iter(place[at + 1 :]), None), str)
