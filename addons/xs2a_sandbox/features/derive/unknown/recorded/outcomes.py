"""Which answers are successes: by status, or by a code in the body where everything is answered with 200."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange


@dataclass(frozen=True)
class Envelope:
    """The member of every answer that says whether it is a success, and the value that does."""

    member: str
    good: Any


def find_envelope(seen: Sequence[SeenExchange]) -> Envelope | None:
    documents = [one.document for one in seen if one.status < 300 and isinstance(one.document, dict)]
    if len(documents) < 4:
        return None
    values: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    for document in documents:
        for name, value in document.items():
            if isinstance(value, bool | str | int):
                values[name][value] += 1
    refused = [one.document for one in seen if one.status >= 400 and isinstance(one.document, dict)]
    for name, counts in values.items():
        if refused and not any(name in document for document in refused):
            continue
        good, number = counts.most_common(1)[0]
        is_everywhere = counts.total() >= 0.9 * len(documents)
        if not is_everywhere or not 2 <= len(counts) <= len(documents) / 2 or number < 0.3 * len(documents):
            continue
        members = {frozenset(document) for document in documents if document.get(name) == good}
        others = {frozenset(document) for document in documents if document.get(name) != good}
        if others and not members & others:
            return Envelope(name, good)
    return None


def find_successes(seen: Sequence[SeenExchange], envelope: Envelope | None) -> dict[SeenExchange, bool]:
    def is_success(one: SeenExchange) -> bool:
        if envelope and one.status < 400 and isinstance(one.document, dict) and envelope.member in one.document:
            return bool(one.document[envelope.member] == envelope.good)
        return one.status < 400

    return {one: is_success(one) for one in seen}
