"""What a bank says differently each time it is asked: no difference to the sandbox, and masked with the reason."""

from collections.abc import Callable, Collection, Sequence

from xs2a_sandbox.contrast import Exact, contrast
from xs2a_sandbox.difference import Difference, Kind, Pointer
from xs2a_sandbox.messages import Response

_CHANGES: frozenset[Kind] = frozenset({"value", "format"})
_COMES_AND_GOES: frozenset[Kind] = frozenset({"member-missing", "member-extra", "null"})
_ELEMENTS: frozenset[Kind] = frozenset({"element-missing", "element-extra"})
_HEADERS: frozenset[Kind] = frozenset({"header-missing", "header-extra"})

_MASKS: dict[Kind, frozenset[Kind]] = {
    "value": _CHANGES,
    "format": _CHANGES,
    "type": _CHANGES | {"type"},
    "null": frozenset({"null"}),
    "member-missing": _COMES_AND_GOES,
    "member-extra": _COMES_AND_GOES,
    "element-missing": _ELEMENTS,
    "element-extra": _ELEMENTS,
    "length": frozenset({"length"}),
    "order": frozenset({"order"}),
    "header-changed": frozenset({"header-changed"}),
    "header-missing": _HEADERS,
    "header-extra": _HEADERS,
}
"""What a difference between two answers of the bank hides at the same place: never more than that place itself."""

_REASONS: dict[Kind, str] = {
    "value": "the bank changes this value from read to read",
    "format": "the bank writes this value differently from read to read",
    "type": "the bank changes the type of this from read to read",
    "null": "the bank leaves this out or sends null, from read to read",
    "member-missing": "the bank sends this member in some reads only",
    "member-extra": "the bank sends this member in some reads only",
    "element-missing": "the bank lists this element in some reads only",
    "element-extra": "the bank lists this element in some reads only",
    "length": "the bank changes how many elements it lists from read to read",
    "order": "the bank changes the order from read to read",
    "header-changed": "the bank changes this header from read to read",
    "header-missing": "the bank sends this header in some reads only",
    "header-extra": "the bank sends this header in some reads only",
}

_Place = str | Pointer | tuple[Pointer, str | None, str]


class Noise:
    """Learned from one request that was sent several times. `unusable` counts the reads that had another status."""

    def __init__(self, first: Response, others: Sequence[Response] = (), named: Collection[str] = ()) -> None:
        self._known: dict[_Place, list[Kind]] = {}
        self.unusable = 0
        for other in others:
            if other.status != first.status:
                self.unusable += 1  # a bank that counts accesses has had enough
                continue
            for found in contrast(first, other, Exact(), named):
                # A body that is now JSON and now a page is a bank in trouble, not a habit.
                if found.kind in _MASKS and not (found.kind == "type" and not found.bank_place):
                    self._known.setdefault(_place(found), []).append(found.kind)

    def reason(self, difference: Difference, twin: Callable[[str], str] = str) -> str | None:
        """Why this is none; `twin` is what the sandbox calls what the bank calls so."""
        if not self._known:
            return None
        kinds = list(self._known.get(_place(difference), ()))
        if difference.kind in _ELEMENTS:
            for place, known in self._known.items():
                if place[:1] == (difference.bank_place[:-1],) and twin(str(place[-1])) == difference.key:
                    kinds += known
        return next((_REASONS[kind] for kind in kinds if difference.kind in _MASKS[kind]), None)


def _place(difference: Difference) -> _Place:
    if difference.header:
        return difference.header.lower()
    if difference.kind in _ELEMENTS and difference.key is not None:
        return difference.bank_place[:-1], difference.by, difference.key
    return difference.bank_place
