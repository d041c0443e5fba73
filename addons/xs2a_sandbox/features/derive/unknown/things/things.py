"""The things of a bank, such as consents and payments, and the places of requests that name them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.recorded_ids import RecordedIds
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation

RESERVED = frozenset(
    """
    id kind number made since lifetime ended version state reads uncovered paid wrong
    sent entered ticked told headers of
    """.split()
)
"""The members that each thing has in a dialect. Its keys have other names, except for the main one, which is `id`."""


@dataclass(frozen=True)
class StateChange:
    """A new state, in the exchange with this number. `by` is request, time or reading."""

    number: int
    state: Any
    by: str


@dataclass(eq=False)
class LearnedThing:
    """A thing that a request created. `keys` has values by name, each with the number of the exchange that told it."""

    kind: "ThingKind"
    created: SeenExchange
    keys: dict[str, tuple[Any, int]] = field(default_factory=dict)
    states: list[tuple[int, Any]] = field(default_factory=list)
    events: list[SeenExchange] = field(default_factory=list)
    changes: list["StateChange"] = field(default_factory=list)

    @property
    def first(self) -> Any:
        """The state in which the thing was made, or None if no answer shows its states."""
        return self.states[0][1] if self.states and self.states[0][0] == self.created.number else None

    @property
    def key_texts(self) -> set[str]:
        return {str(value) for value, _ in self.keys.values()}


@dataclass(eq=False)
class ThingKind:
    """Things of one kind: created by one operation, and known by `id`, the name of their first key."""

    name: str
    made_by: LearnedOperation
    id: str = ""
    things: list[LearnedThing] = field(default_factory=list)
    told: dict[str, tuple[LearnedOperation, Place, int]] = field(default_factory=dict)

    @cached_property
    def _by_text(self) -> Mapping[str, Sequence[tuple[LearnedThing, str]]]:
        known: defaultdict[str, list[tuple[LearnedThing, str]]] = defaultdict(list)
        for thing in self.things:
            for key, (value, _) in thing.keys.items():
                known[str(value)].append((thing, key))
        return known

    @cached_property
    def number_of(self) -> Mapping[LearnedThing, int]:
        return {thing: number for number, thing in enumerate(self.things)}

    def with_key(self, text: str | None) -> Sequence[tuple[LearnedThing, str]]:
        """Return the things that have a key of this text, and its name. Call it when all things and keys are known."""
        return self._by_text.get(text, ()) if text is not None else ()

    def known_by(self, text: str | None, one: SeenExchange) -> Iterator[tuple[LearnedThing, str]]:
        """Yield the things whose key of this text was told before an exchange, and the name of the key."""
        yield from ((thing, key) for thing, key in self.with_key(text) if thing.keys[key][1] < one.number)

    def is_told_late(self, key: str) -> bool:
        """Return whether a thing has a key only after a while, such as the id of a consent after the approval."""
        return key != self.id and key in self.told and self.told[key][0] is not self.made_by

    def prompts_of(self, operation: LearnedOperation) -> str:
        """Return the name of the key that the entries of a list have, if they are prompts for these things, or ''."""
        return next((key for key, (by, _, _) in self.told.items() if by is operation and self.is_of_prompt(key)), "")

    def is_of_prompt(self, key: str) -> bool:
        """Return whether a key is that of a list entry that asks the customer for a decision about a thing."""
        return key in self.told and "*" in self.told[key][1]

    def is_asked_like(self, other: "ThingKind") -> bool:
        """Return whether the requests for things of two kinds have mostly the same members."""
        mine, theirs = ({place for place, _ in leaves(one.example.body)} for one in (self, other))
        return len(mine & theirs) * 2 > len(mine | theirs)

    @property
    def is_code(self) -> bool:
        """Whether a page gives these to the app, in the link back."""
        return self.example.status in REDIRECTS

    @property
    def example(self) -> SeenExchange:
        """The request that created the first one."""
        return self.things[0].created


@dataclass(frozen=True)
class ThingUse:
    """A place in requests that names a thing by a key. `word` is the position in a text of two words: `Bearer 1`."""

    place: Place
    kind: ThingKind
    key: str
    word: int | None = None


@dataclass(eq=False)
class Rows:
    """Things that the bank has anyway, such as accounts: the entries of a list, by the member `key`."""

    name: str
    key: str
    told_by: LearnedOperation
    at: Place
    entries: list[dict[str, Any]] = field(default_factory=list)

    def find(self, text: str) -> dict[str, Any] | None:
        return next((entry for entry in self.entries if str(entry.get(self.key)) == text), None)


@dataclass
class World:
    """All things, and for every operation the places of its requests that name one.

    `key_texts` are the keys of all things that later requests name. `addresses` are those of apps, to which customers
    return, with the places in requests. `users` are the operations whose requests have a text. `copied` are the
    parameters of links back to the app that repeat what it has sent.
    """

    operations: Sequence[LearnedOperation]
    is_ok: dict[SeenExchange, bool]
    ids: RecordedIds
    envelope: Place | None = None
    kinds: list[ThingKind] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    uses: dict[LearnedOperation, list[ThingUse]] = field(default_factory=dict)
    row_uses: dict[LearnedOperation, list[tuple[Place, Rows]]] = field(default_factory=dict)
    cursors: set[str] = field(default_factory=set)
    key_texts: set[str] = field(default_factory=set)
    addresses: dict[str, Place] = field(default_factory=dict)
    operation_of: dict[SeenExchange, LearnedOperation] = field(default_factory=dict)
    users: dict[str, set[LearnedOperation]] = field(default_factory=dict)
    copied: dict[LearnedOperation, frozenset[str]] = field(default_factory=dict)

    @property
    def things(self) -> list[LearnedThing]:
        return [thing for kind in self.kinds for thing in kind.things]

    def made_by(self, operation: LearnedOperation) -> ThingKind | None:
        return next((kind for kind in self.kinds if kind.made_by is operation), None)

    def made(self, one: SeenExchange) -> LearnedThing | None:
        return next((thing for thing in self.things if thing.created is one), None)

    def is_payment(self, kind: ThingKind) -> bool:
        """Return whether the request that makes a thing names one account. An access can have a list of them."""
        own = {str(value) for rows in self.rows for row in rows.entries for value in row.values()}
        named = (value for place, value in leaves(kind.example.body) if all(isinstance(step, str) for step in place))
        return any(str(value) in own and is_id(str(value)) for value in named)

    def decided(self, one: SeenExchange) -> list[LearnedThing]:
        """Return the things about which the customer decides with a request: its path has the key of a prompt."""
        return [thing for use, thing in self.named(one) if use.place[0] == "path" and use.kind.is_of_prompt(use.key)]

    def named(self, one: SeenExchange) -> Iterator[tuple[ThingUse, LearnedThing]]:
        """Yield the places of a request that name a thing that was known before."""
        for use in self.uses.get(self.operation_of[one], ()):
            text = pick(one, use.place, use.word)
            found = (thing for thing, key in use.kind.known_by(text, one) if key == use.key)
            yield from ((use, thing) for thing in islice(found, 1))


def write_account(place: Place, example: Any) -> str:
    """Return the expression for the account of `thing`, in its request or in the customer's form.

    A form without one, as from a page that was not recorded, is for the account in the example.
    """
    source = expression("thing", place)
    return f"({source} or {literal(example)})" if place[0] == "form" else source


def pick(one: SeenExchange, place: Place, word: int | None = None) -> str | None:
    """Return the text at a place of a request."""
    value = one.at(place)
    if value is None or isinstance(value, Mapping | list):
        return None
    if word is None:
        return str(value)
    words = str(value).split(separator(place))
    return words[word] if word < len(words) else None


def separator(place: Place) -> str:
    """Return what separates the words of a text with an id: `Bearer 1` in headers, else `AIS:1`."""
    return " " if place[0] == "headers" else ":"
