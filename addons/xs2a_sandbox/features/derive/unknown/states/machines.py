"""The states of a kind of thing, and what changes them: requests, time, reading, newer things, and payments."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm
from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

DELETED = "deleted"
DECIDED = "decided"
"""The state after the customer's decision, if the recording goes on before the app looks at it."""
NEW = "new"
"""The first state of things of which the recording shows only later ones."""
OWN_WORDS = frozenset({DELETED, DECIDED, NEW})
"""States that are not the bank's own."""


@dataclass(frozen=True)
class ByRequest:
    """A request of `one`'s operation that was answered like `one` changes the state."""

    before: Any
    after: Any
    one: SeenExchange


@dataclass(frozen=True)
class ByTime:
    """The state changes this many seconds after the last change by a request. It was seen at `one`.

    It does not change so if the thing's own request has a value at `unless`, such as a later day.
    """

    before: Any
    after: Any
    seconds: int
    one: SeenExchange
    unless: Place = ()


@dataclass(frozen=True)
class ByEnd:
    """The state changes after the day or time that the thing's own request has at a place. It was seen at `one`.

    With `is_first_day`, it changes when the day begins.
    """

    before: Any
    after: Any
    place: Place
    one: SeenExchange
    is_first_day: bool = False


@dataclass(frozen=True)
class ByReading:
    """The state changes with the n-th read in the state."""

    before: Any
    after: Any
    reads: int
    one: SeenExchange


@dataclass(frozen=True)
class ByNewer:
    """The state changes when another thing of the kind gets the state `before`. It was seen at `one`."""

    before: Any
    after: Any
    one: SeenExchange


@dataclass(frozen=True)
class ByPayments:
    """The state changes when a standing order has paid for the last time: a guess, because `one` shows only a payment.

    It pays as often as its own request has at `count`, the first time on the day at `start`, then after so many `days`.
    The members `left` and `next` of answers tell how often and when it will pay.
    """

    before: Any
    after: Any
    start: Place
    count: Place
    form: DateForm
    days: int
    left: str
    next: str
    one: SeenExchange


@dataclass(frozen=True)
class IfUncovered:
    """If a balance does not cover the amount, the state is `after`. `condition` says so about a request like `one`.

    The thing gets this state with the request, in place of the usual one. If there are `seconds`, it gets the usual
    state first, and this one so long after `before`, which is None for a new thing. A guess was not recorded.
    """

    before: Any
    after: Any
    condition: str
    one: SeenExchange
    seconds: int = 0
    is_guess: bool = False


type Change = ByRequest | ByTime | ByEnd | ByReading | ByPayments | ByNewer | IfUncovered


@dataclass
class StateMachine:
    """The states of one kind: the member that shows them, the first one, and the changes."""

    kind: ThingKind
    member: str
    first: Any
    by_request: list[ByRequest] = field(default_factory=list)
    by_time: list[ByTime] = field(default_factory=list)
    by_end: list[ByEnd] = field(default_factory=list)
    by_reading: list[ByReading] = field(default_factory=list)
    by_payments: list[ByPayments] = field(default_factory=list)
    by_newer: list[ByNewer] = field(default_factory=list)
    uncovered: list[IfUncovered] = field(default_factory=list)

    @property
    def changes(self) -> list[Change]:
        later: list[Change] = [*self.by_time, *self.by_end, *self.by_reading, *self.by_payments, *self.by_newer]
        return [*self.by_request, *later, *(one for one in self.uncovered if one.before is not None)]

    @property
    def words(self) -> list[Any]:
        return list(dict.fromkeys([self.first, *(word for one in self.changes for word in (one.before, one.after))]))

    @property
    def lasts(self) -> list[Any]:
        """The states that nothing changes."""
        return [word for word in self.words if not self.later(word)]

    def soon_after(self, shown: Collection[Any]) -> Iterator[Any]:
        """Yield the states that follow by time on states that answers show, and that they do not show themselves.

        What follows on the first state is left out: things that end in this way differ more.
        """
        for change in self.by_time:
            if change.before in shown and change.before != self.first and change.after not in shown:
                yield change.after
                yield from self.soon_after([*shown, change.after])

    def later(self, word: Any) -> set[Any]:
        """Return the states that can follow a state, directly or not."""
        found: set[Any] = set()
        new = {word}
        while new:
            new = {one.after for one in self.changes if one.before in new} - found
            found |= new
        return found


def changes_by(
    ones: Sequence[SeenExchange], machines: Sequence[StateMachine]
) -> list[tuple[SeenExchange, LearnedThing, Any]]:
    """Return the changes of state by these requests."""
    by_number = {one.number: one for one in ones}
    return [
        (by_number[change.number], thing, change.state)
        for machine in machines
        for thing in machine.kind.things
        for change in thing.changes
        if change.by == "request" and change.number in by_number
    ]
