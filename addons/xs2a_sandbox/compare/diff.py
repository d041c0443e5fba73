"""Compares two answers and returns every difference, once, at its place."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Protocol

import msgspec

from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.compare.difference import ACTED_ON, Difference, Kind, collect_headers
from xs2a_sandbox.documents.formats import is_amount, is_date, is_date_time, is_uuid
from xs2a_sandbox.documents.json_pointer import Pointer
from xs2a_sandbox.http import Response, body
from xs2a_sandbox.http.body import Content

_MOST_LOOKED_AT = 2500
"""The most pairs of elements whose similarity is computed. Above that, elements are paired by position."""

_MOST_PAIRED = 250_000
"""The most pairs of elements for which other positions are considered at all."""

_ALIKE = 0.75
"""The similarity from which on two elements are considered the same, moved or with another key."""

_STAYED = 0.25
"""The bonus on similarity for elements at the same position."""

Pair = tuple[int, int]
Likeness = Callable[[Any, Any], float]
"""A similarity from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ArrayAlignment:
    """Pairs of positions (in the bank's array, in the sandbox's). `by` is the member that identified the elements."""

    pairs: tuple[Pair, ...]
    bank_only: tuple[int, ...]
    sandbox_only: tuple[int, ...]
    by: str | None = None

    @property
    def reordered(self) -> bool:
        positions = [theirs for _, theirs in self.pairs]
        return any(later < earlier for earlier, later in pairwise(positions))


def by_key(
    bank: Sequence[Any], sandbox: Sequence[Any], keys: Sequence[str], twin: Callable[[str], str], likeness: Likeness
) -> ArrayAlignment | None:
    """Pair elements by a key.

    Returns None unless all elements of both have a unique key, and some key is on both sides.

    `keys` are possible members, the best first; `twin` maps a bank id to the sandbox id.
    """
    for key in keys:
        mine, theirs = _find_keys(bank, key), _find_keys(sandbox, key)
        if mine is None or theirs is None:
            continue
        pairs = [(i, theirs[twin(value)]) for value, i in mine.items() if twin(value) in theirs]
        if pairs:
            return _finish([*pairs, *_pair_moved(pairs, bank, sandbox, likeness)], bank, sandbox, key)
    return None


def by_likeness(
    bank: Sequence[Any],
    sandbox: Sequence[Any],
    canonical: Callable[[Any, bool], bytes],
    likeness: Likeness,
) -> ArrayAlignment:
    """Pair equal elements first, including moved ones, then the most similar ones between them.

    `canonical` returns equal values for elements without a difference; its second argument is true for elements of the
    bank.
    """
    if len(bank) * len(sandbox) > _MOST_PAIRED:
        return by_position(bank, sandbox)
    mine = [canonical(element, True) for element in bank]
    theirs = [canonical(element, False) for element in sandbox]
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    anchors = [(b.a + n, b.b + n) for b in blocks for n in range(b.size)]
    moved = _pair_equal(anchors, mine, theirs)
    taken_mine, taken_theirs = {i for i, _ in moved}, {j for _, j in moved}
    pairs = [*anchors, *moved]
    start = (-1, -1)
    for end in [*anchors, (len(bank), len(sandbox))]:
        left = [i for i in range(start[0] + 1, end[0]) if i not in taken_mine]
        right = [j for j in range(start[1] + 1, end[1]) if j not in taken_theirs]
        pairs += _in_order(left, right, bank, sandbox, likeness)
        start = end
    return _finish([*pairs, *_pair_moved(pairs, bank, sandbox, likeness)], bank, sandbox)


def by_position(bank: Sequence[Any], sandbox: Sequence[Any]) -> ArrayAlignment:
    return _finish([(n, n) for n in range(min(len(bank), len(sandbox)))], bank, sandbox)


def _finish(
    pairs: Sequence[Pair], bank: Sequence[Any], sandbox: Sequence[Any], by: str | None = None
) -> ArrayAlignment:
    left, right = _find_unpaired(pairs, bank, sandbox)
    return ArrayAlignment(tuple(sorted(pairs)), tuple(left), tuple(right), by)


def _find_unpaired(pairs: Sequence[Pair], bank: Sequence[Any], sandbox: Sequence[Any]) -> tuple[list[int], list[int]]:
    mine, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(len(bank)) if i not in mine], [j for j in range(len(sandbox)) if j not in theirs]


def _find_keys(elements: Sequence[Any], key: str) -> dict[str, int] | None:
    positions: dict[str, int] = {}
    for position, element in enumerate(elements):
        value = element.get(key) if type(element) is dict else None
        if type(value) is not str or not value or value in positions:
            return None
        positions[value] = position
    return positions


def _pair_equal(anchors: Sequence[Pair], mine: Sequence[bytes], theirs: Sequence[bytes]) -> list[Pair]:
    left, right = _find_unpaired(anchors, mine, theirs)
    free: dict[bytes, list[int]] = {}
    for j in reversed(right):
        free.setdefault(theirs[j], []).append(j)
    return [(i, free[mine[i]].pop()) for i in left if free.get(mine[i])]


def _in_order(
    left: Sequence[int], right: Sequence[int], bank: Sequence[Any], sandbox: Sequence[Any], likeness: Likeness
) -> list[Pair]:
    """Return the pairs with the greatest total similarity that do not cross."""
    if not left or not right:
        return []
    if len(left) == len(right) == 1 or len(left) * len(right) > _MOST_LOOKED_AT:
        return list(zip(left, right, strict=False))
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    # Slightly more than zero, so that different elements at the same place are a pair, too.
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


def _pair_moved(pairs: Sequence[Pair], bank: Sequence[Any], sandbox: Sequence[Any], likeness: Likeness) -> list[Pair]:
    """Pair the remaining elements that are very similar."""
    left, right = _find_unpaired(pairs, bank, sandbox)
    if len(left) * len(right) > _MOST_LOOKED_AT:
        return []
    moved = []
    for i in left:
        # Elements at the same position need less similarity.
        scores = [(likeness(bank[i], sandbox[j]) + (_STAYED if i == j else 0.0), -j) for j in right]
        score, position = max(scores, default=(0.0, 0))
        if score >= _ALIKE:
            moved.append((i, -position))
            right.remove(-position)
    return moved


MAX_DEPTH = 100
"""The deepest nesting that is compared in detail. Deeper values are compared as a whole."""

_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_ABSENT: Any = object()
_NUMBERS = (int, Decimal, float)
_encode = msgspec.json.Encoder(order="sorted", decimal_format="string").encode


class Identity(Protocol):
    """Knows which ids mean the same on both sides. `things` is how the interface names its things."""

    things: Things

    def is_same(self, name: str, bank: str, sandbox: str, learn: bool) -> bool:
        """Return whether two different texts mean the same in a member (or header) of this name.

        With `learn`, remember it.
        """
        ...

    def confirm(self, identifier: str) -> None:
        """Note that both sides have the same id for something."""
        ...

    def twin(self, bank: str) -> str:
        """Return the sandbox id for a bank id, or the same string if it is unknown."""
        ...

    def is_known(self, identifier: str) -> bool:
        """Return whether one of the sides has this id and a counterpart is known."""
        ...

    def learn_created(self, left: Any, right: Any) -> None:
        """Learn the ids of the things that both sides have just created, from the bodies of their answers."""
        ...


class Exact:
    """For two answers of one bank: different ids never mean the same."""

    def __init__(self, things: Things | None = None) -> None:
        self.things = things or default_things()

    def is_same(self, name: str, bank: str, sandbox: str, learn: bool) -> bool:
        return False

    def confirm(self, identifier: str) -> None:
        pass

    def twin(self, bank: str) -> str:
        return bank

    def is_known(self, identifier: str) -> bool:
        return True

    def learn_created(self, left: Any, right: Any) -> None:
        pass


def contrast(bank: Response, sandbox: Response, identity: Identity, headers: Collection[str] = ()) -> list[Difference]:
    """Return the differences of two answers. `headers` are lower-case names of further headers in the interface."""
    return AnswerDiff(identity, headers).answers(bank, body.read(bank.body), sandbox, body.read(sandbox.body))


class AnswerDiff:
    """Compares answers. Without `learn` no new ids are learned.

    If the request `makes` something, new ids in the answers are counterparts.
    """

    def __init__(
        self, identity: Identity, header_names: Collection[str] = (), learn: bool = True, makes: bool = False
    ) -> None:
        self._identity = identity
        self._identifiers, self._pages = identity.things.identifiers, identity.things.pages
        self._makes = makes
        self._header_names = ACTED_ON | frozenset(header_names)
        self._learn = learn
        self._differences: list[Difference] = []

    def answers(
        self, bank: Response, bank_content: Content, sandbox: Response, sandbox_content: Content
    ) -> list[Difference]:
        self._differences = []
        if bank.status != sandbox.status:
            self._differences.append(Difference("status"))
            if bank.status // 100 != sandbox.status // 100 and not _are_comparable(bank_content, sandbox_content):
                return self._differences  # an error and a success have nothing else in common
        if self._makes and bank.status < 300 > sandbox.status:
            self._identity.learn_created(bank_content.value, sandbox_content.value)
        self._headers(bank.headers, sandbox.headers)
        self._contents(bank_content, sandbox_content)
        return self._differences

    def values(self, bank: Any, sandbox: Any, name: str = "") -> list[Difference]:
        """Return the differences of two JSON values in a member of this name."""
        self._differences = []
        self._value(bank, sandbox, name, None, 0)
        return self._differences

    # Headers

    def _headers(self, bank: Sequence[tuple[str, str]], sandbox: Sequence[tuple[str, str]]) -> None:
        mine, theirs = collect_headers(bank), collect_headers(sandbox)
        for name, (written, value) in mine.items():
            if name not in theirs:
                self._header("header-missing", name, written)
            elif (other := theirs[name][1]) != value and not self._identity.is_same(name, value, other, self._learn):
                self._header("header-changed", name, written)
        for name, (written, _) in theirs.items():
            if name not in mine:
                self._header("header-extra", name, written)

    def _header(self, kind: Kind, name: str, written: str) -> None:
        self._differences.append(Difference(kind, header=written, named=name in self._header_names))

    # Bodies

    def _contents(self, bank: Content, sandbox: Content) -> None:
        if bank.kind == sandbox.kind == "json":
            self._value(bank.value, sandbox.value, "", None, 0)
        elif "json" in (bank.kind, sandbox.kind) or "nothing" in (bank.kind, sandbox.kind):
            if bank.kind != sandbox.kind:
                self._differences.append(Difference("type"))
        elif bank.value != sandbox.value:
            self._differences.append(Difference("value"))

    def _add(self, kind: Kind, here: "_Here", by: str | None = None, key: str | None = None) -> None:
        place, bank_place = _pointers(here)
        self._differences.append(Difference(kind, place, bank_place, by=by, key=key))

    def _value(self, bank: Any, sandbox: Any, name: str, here: "_Here", depth: int) -> None:
        mine, theirs = type(bank), type(sandbox)
        if depth > MAX_DEPTH:
            if not _are_equal(bank, sandbox):
                self._add("value", here)
        elif mine is dict and theirs is dict:
            self._object(bank, sandbox, name, here, depth + 1)
        elif mine is list and theirs is list:
            self._array(bank, sandbox, name, here, depth + 1)
        elif mine is str and theirs is str:
            if bank == sandbox:
                if name in self._identifiers and self._learn:
                    self._identity.confirm(bank)
            elif not self._identity.is_same(name, bank, sandbox, self._learn):
                self._add("value" if _format(bank) == _format(sandbox) else "format", here)
        elif mine in _NUMBERS and theirs in _NUMBERS:
            if bank != sandbox and not (
                name in self._identifiers and self._identity.is_same(name, str(bank), str(sandbox), self._learn)
            ):
                self._add("value", here)
        elif mine is not theirs:
            self._add("type", here)
        elif bank is not sandbox:
            self._add("value", here)

    def _object(self, bank: dict[str, Any], sandbox: dict[str, Any], above: str, here: "_Here", depth: int) -> None:
        both = 0
        for name, mine in bank.items():
            theirs = sandbox.get(name, _ABSENT)
            if theirs is _ABSENT:
                self._add("null" if mine is None else "member-missing", (here, name, name))
                continue
            both += 1
            kind = type(mine)
            if kind is str and mine == theirs:
                if name in self._identifiers and self._learn:
                    self._identity.confirm(mine)
            elif kind is dict and type(theirs) is dict and depth < MAX_DEPTH:
                self._object(mine, theirs, name, (here, name, name), depth + 1)
            elif mine is not theirs:
                self._value(mine, theirs, above if above in self._pages else name, (here, name, name), depth)
        if both != len(sandbox):
            for name, theirs in sandbox.items():
                if name not in bank:
                    self._add("null" if theirs is None else "member-extra", (here, name, name))

    def _array(self, bank: list[Any], sandbox: list[Any], name: str, here: "_Here", depth: int) -> None:
        aligned = self._align(bank, sandbox, name)
        for i, j in aligned.pairs:
            self._value(bank[i], sandbox[j], name, (here, i, j), depth)
        if aligned.reordered:
            self._add("order", here)
        if aligned.by is None:
            if len(bank) != len(sandbox):
                self._add("length", here)
                return
            # Elements without a similar one on the other side replace each other.
            for i, j in zip(aligned.bank_only, aligned.sandbox_only, strict=True):
                self._value(bank[i], sandbox[j], name, (here, i, j), depth)
            return
        for i in aligned.bank_only:
            self._add("element-missing", (here, i, i), aligned.by, self._identity.twin(bank[i][aligned.by]))
        for j in aligned.sandbox_only:
            self._add("element-extra", (here, j, j), aligned.by, sandbox[j][aligned.by])

    def _align(self, bank: list[Any], sandbox: list[Any], name: str) -> ArrayAlignment:
        if not bank or not sandbox:
            return by_position(bank, sandbox)
        if not self._learn:
            # Compare nested arrays only quickly: searching for the best pairs at every level would take forever.
            keyed = by_key(bank, sandbox, self._identity.things.keys, self._identity.twin, lambda mine, theirs: 0.0)
            return keyed or by_position(bank, sandbox)
        glance = AnswerDiff(self._identity, learn=False)
        sizes: dict[int, int] = {}

        def likeness(mine: Any, theirs: Any) -> float:
            size = max(_size(mine, sizes), _size(theirs, sizes))
            return max(0.0, 1.0 - len(glance.values(mine, theirs, name)) / size)

        if keyed := by_key(bank, sandbox, self._identity.things.keys, self._identity.twin, likeness):
            return keyed
        is_long_as = len(bank) == len(sandbox)
        if is_long_as and not any(glance.values(*pair, name) for pair in zip(bank, sandbox, strict=True)):
            return by_position(bank, sandbox)
        return by_likeness(bank, sandbox, lambda e, banks: self._canonicalise(e, name, banks), likeness)

    def _canonicalise(self, element: Any, name: str, banks: bool) -> bytes:
        """Return the same bytes for nearly equal elements: with the sandbox's ids, and without unknown UUIDs."""

        def simplify(value: Any, name: str, depth: int) -> Any:
            if depth > MAX_DEPTH:
                return None
            if type(value) is dict:
                return {inner: simplify(below, inner, depth + 1) for inner, below in value.items()}
            if type(value) is list:
                return [simplify(below, name, depth + 1) for below in value]
            if type(value) is str:
                if is_uuid(value) and not self._identity.is_known(value):
                    return "\0uuid"
                return self._identity.twin(value) if banks else value
            if type(value) is Decimal:
                return value.normalize() if value.adjusted() < 30 else value
            return value

        simple = simplify(element, name, 0)
        try:
            return _encode(simple)
        except ValueError:  # a lone surrogate
            return repr(simple).encode("utf-8", "surrogatepass")


_Here = tuple["_Here", str | int, str | int] | None
"""A place, from inside to outside: (its parent, the step on the bank's side, the step on the sandbox's)."""


def _pointers(here: _Here) -> tuple[Pointer, Pointer]:
    bank: list[str | int] = []
    sandbox: list[str | int] = []
    while here is not None:
        here, mine, theirs = here
        bank.append(mine)
        sandbox.append(theirs)
    return tuple(reversed(sandbox)), tuple(reversed(bank))


def _are_comparable(bank: Content, sandbox: Content) -> bool:
    """Return False if both are JSON objects with mostly different members, or if one of them is empty."""
    if type(bank.value) is not dict or type(sandbox.value) is not dict:
        return bank.kind == sandbox.kind or "nothing" not in (bank.kind, sandbox.kind)
    every = bank.value.keys() | sandbox.value.keys()
    return 2 * len(bank.value.keys() & sandbox.value.keys()) > len(every) or not every


def _format(text: str) -> str | None:
    if len(text) > 64:
        return None
    for name, fits in (("uuid", is_uuid), ("date", is_date), ("date-time", is_date_time), ("amount", is_amount)):
        if fits(text):
            return name
    return "iban" if _IBAN.fullmatch(text) else None


def _are_equal(bank: Any, sandbox: Any) -> bool:
    """Compare values that are nested too deep for a detailed comparison."""
    try:
        return _encode(bank) == _encode(sandbox)
    except (RecursionError, ValueError, TypeError):
        return False


def _size(value: Any, sizes: dict[int, int], depth: int = 0) -> int:
    """Return the number of scalars that are not null, at least 1."""
    if depth > MAX_DEPTH or type(value) not in (dict, list):
        return 1
    if (size := sizes.get(id(value))) is None:
        inner = value.values() if type(value) is dict else value
        sizes[id(value)] = size = max(1, sum(_size(member, sizes, depth + 1) for member in inner if member is not None))
    return size
