"""Which answers are successes: by status, or by a code in the body where everything is answered with 200."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange


@dataclass(frozen=True)
class Envelope:
    """The place in every answer that says whether it is a success, and the value that does."""

    place: Place
    good: Any


def find_envelope(seen: Sequence[SeenExchange]) -> Envelope | None:
    """Find the code that nearly all answers have. With another one than the usual one, they have no content."""
    documents = [one.document for one in seen if one.status < 300 and isinstance(one.document, dict)]
    if len(documents) < 4:
        return None
    values: defaultdict[Place, Counter[Any]] = defaultdict(Counter)
    for document in documents:
        for place, value in leaves(document):
            if isinstance(value, bool | str | int) and all(isinstance(step, str) for step in place):
                values[place][value] += 1
    refused = [one.document for one in seen if one.status >= 400 and isinstance(one.document, dict)]
    common = frozenset.intersection(*map(frozenset, documents))
    for place, counts in values.items():
        if refused and all(value_at(document, place) is None for document in refused):
            continue
        good, number = counts.most_common(1)[0]
        is_everywhere = counts.total() >= 0.9 * len(documents)
        if not is_everywhere or not 2 <= len(counts) <= len(documents) / 2 or number < 0.3 * len(documents):
            continue
        mine, theirs = (
            [frozenset(one) for one in documents if (value_at(one, place) == good) is is_good]
            for is_good in (True, False)
        )
        has_content = sum(names > common for names in mine) * 2 > len(mine)
        if theirs and (set(mine).isdisjoint(theirs) or (has_content and all(names == common for names in theirs))):
            return Envelope(place, good)
    return None


def find_successes(seen: Sequence[SeenExchange], envelope: Envelope | None) -> dict[SeenExchange, bool]:
    shown_again = _find_forms_shown_again(seen)

    def is_success(one: SeenExchange) -> bool:
        told = value_at(one.document, envelope.place) if envelope else None
        return one.status < 400 and one not in shown_again and (envelope is None or told in (None, envelope.good))

    return {one: is_success(one) for one in seen}


def _find_forms_shown_again(seen: Sequence[SeenExchange]) -> set[SeenExchange]:
    """Return the forms that a page has refused by showing the same fields again. Sent once more, they led on."""
    found = set[SeenExchange]()
    waiting: dict[tuple[object, ...], list[SeenExchange]] = {}
    for one in seen:
        if one.form:
            page = (one.method, one.path, *sorted(one.query.items()), *sorted(one.form))
            if one.status == 200 and one.document is None:
                waiting.setdefault(page, []).append(one)
            elif one.status in REDIRECTS:
                found.update(waiting.pop(page, ()))
    return found
