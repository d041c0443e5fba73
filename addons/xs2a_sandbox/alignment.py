"""Which elements of two arrays belong together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

KEYS = (
    "resourceId",
    "transactionId",
    "cardTransactionId",
    "entryReference",
    "consentId",
    "paymentId",
    "authorisationId",
    "basketId",
    "authenticationMethodId",
    "balanceType",
    "iban",
    "maskedPan",
)
"""Members that tell elements apart, the best first."""

_MOST_LOOKED_AT = 2500
"""Elements against elements whose likeness is looked at; what is more is paired by position."""

_MOST_PAIRED = 250_000
"""Elements against elements that are looked for at other positions at all."""

_ALIKE = 0.75
"""How much of two elements must agree for them to be one that has moved, or whose key has changed."""

_STAYED = 0.25
"""What being at the same position counts for."""

Pair = tuple[int, int]
Likeness = Callable[[Any, Any], float]
"""From 0 to 1."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Positions (in the bank's array, in the sandbox's); `by` is the member that told the elements apart."""

    pairs: tuple[Pair, ...]
    bank_only: tuple[int, ...]
    sandbox_only: tuple[int, ...]
    by: str | None = None

    @property
    def reordered(self) -> bool:
        positions = [theirs for _, theirs in self.pairs]
        return any(later < earlier for earlier, later in pairwise(positions))


def by_key(
    bank: Sequence[Any], sandbox: Sequence[Any], twin: Callable[[str], str], likeness: Likeness
) -> Alignment | None:
    """None unless every element of both has a key of its own, and some element is on both sides.

    `twin` is what the sandbox calls what the bank calls so.
    """
    for key in KEYS:
        mine, theirs = _keyed(bank, key), _keyed(sandbox, key)
        if mine is None or theirs is None:
            continue
        pairs = [(i, theirs[twin(value)]) for value, i in mine.items() if twin(value) in theirs]
        if pairs:
            return _finished(pairs, len(bank), len(sandbox), _moved(pairs, bank, sandbox, likeness), key)
    return None


def by_likeness(
    bank: Sequence[Any],
    sandbox: Sequence[Any],
    canonical: Callable[[Any, bool], bytes],
    likeness: Likeness,
) -> Alignment:
    """Equal elements first, those that have moved included; then, between them, those that are most alike.

    `canonical` is equal for elements without a difference; its second argument says whether the bank speaks.
    """
    if len(bank) * len(sandbox) > _MOST_PAIRED:
        return by_position(bank, sandbox)
    mine = [canonical(element, True) for element in bank]
    theirs = [canonical(element, False) for element in sandbox]
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    anchors = [(b.a + n, b.b + n) for b in blocks for n in range(b.size)]
    moved = _same_elsewhere(anchors, mine, theirs)
    taken_mine, taken_theirs = {i for i, _ in moved}, {j for _, j in moved}
    pairs = [*anchors, *moved]
    start = (-1, -1)
    for end in [*anchors, (len(bank), len(sandbox))]:
        left = [i for i in range(start[0] + 1, end[0]) if i not in taken_mine]
        right = [j for j in range(start[1] + 1, end[1]) if j not in taken_theirs]
        pairs += _in_order(left, right, bank, sandbox, likeness)
        start = end
    return _finished(pairs, len(bank), len(sandbox), _moved(pairs, bank, sandbox, likeness))


def by_position(bank: Sequence[Any], sandbox: Sequence[Any]) -> Alignment:
    shorter = range(min(len(bank), len(sandbox)))
    return _finished([(n, n) for n in shorter], len(bank), len(sandbox), [])


def _finished(pairs: Iterable[Pair], bank: int, sandbox: int, more: Iterable[Pair], by: str | None = None) -> Alignment:
    every = tuple(sorted([*pairs, *more]))
    mine, theirs = {i for i, _ in every}, {j for _, j in every}
    return Alignment(
        every,
        tuple(i for i in range(bank) if i not in mine),
        tuple(j for j in range(sandbox) if j not in theirs),
        by,
    )


def _keyed(elements: Sequence[Any], key: str) -> dict[str, int] | None:
    found: dict[str, int] = {}
    for position, element in enumerate(elements):
        value = element.get(key) if type(element) is dict else None
        if type(value) is not str or not value or value in found:
            return None
        found[value] = position
    return found


def _same_elsewhere(anchors: Sequence[Pair], mine: Sequence[bytes], theirs: Sequence[bytes]) -> list[Pair]:
    taken = {j for _, j in anchors}
    free: dict[bytes, list[int]] = {}
    for j in reversed(range(len(theirs))):
        if j not in taken:
            free.setdefault(theirs[j], []).append(j)
    kept = {i for i, _ in anchors}
    return [(i, free[text].pop()) for i, text in enumerate(mine) if i not in kept and free.get(text)]


def _in_order(
    left: Sequence[int], right: Sequence[int], bank: Sequence[Any], sandbox: Sequence[Any], likeness: Likeness
) -> list[Pair]:
    """The pairs that are most alike in sum and do not cross."""
    if not left or not right:
        return []
    if len(left) == len(right) == 1 or len(left) * len(right) > _MOST_LOOKED_AT:
        return list(zip(left, right, strict=False))
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    # A little more than nothing, so that unlike elements at the same place are a pair too.
    score = [[likeness(bank[i], sandbox[j]) + 0.01 for j in right] for i in left]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            best[i][j] = max(best[i + 1][j + 1] + score[i][j], best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if best[i][j] == best[i + 1][j + 1] + score[i][j]:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _moved(pairs: Sequence[Pair], bank: Sequence[Any], sandbox: Sequence[Any], likeness: Likeness) -> list[Pair]:
    """Of those without a pair, those that are much alike."""
    mine, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
    left = [i for i in range(len(bank)) if i not in mine]
    right = [j for j in range(len(sandbox)) if j not in theirs]
    if len(left) * len(right) > _MOST_LOOKED_AT:
        return []
    found = []
    for i in left:
        # What is at the same position still need not be as much alike.
        scores = [(likeness(bank[i], sandbox[j]) + (_STAYED if i == j else 0.0), -j) for j in right]
        score, position = max(scores, default=(0.0, 0))
        if score >= _ALIKE:
            found.append((i, -position))
            right.remove(-position)
    return found
