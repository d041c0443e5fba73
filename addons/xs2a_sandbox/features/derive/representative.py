"""Chooses exchanges that show everything a recording shows: learning from a long recording then takes no longer."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from xs2a_sandbox.bank.handlers.token import issue
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.rehearsal import shape
from xs2a_sandbox.http.target import split_target

ENOUGH = 200
"""Recordings with so many exchanges are learned completely."""
_SAMPLES = 5
"""The number of histories of one kind, and of equal reads in a history, that are learned."""
_TOO_MANY = 429


def find_representative(exchanges: Sequence[RecognisedExchange]) -> list[int]:
    """Return the positions of the exchanges to learn from, in their order.

    Exchanges about the same things, such as a consent and the accounts that are read with it, are a history. Histories
    of one kind have the same requests and answers, except for values. The first few of each kind are kept, without most
    of the reads that an app repeats in them.
    """
    everything = list(range(len(exchanges)))
    if len(exchanges) <= ENOUGH or any(_issues_token(exchange) for exchange in exchanges):
        # A token connects exchanges as well, but redaction removes it.
        return everything
    kinds = [_kind(exchange) for exchange in exchanges]
    seen: Counter[Hashable] = Counter()
    kept: list[int] = []
    for history in _histories(exchanges):
        shortened = _shorten(history, exchanges, kinds)
        kind = tuple(_without_repetitions(kinds[position] for position in shortened))
        seen[kind] += 1
        if seen[kind] <= _SAMPLES:
            kept += shortened
    return sorted(kept)


def _shorten(history: Sequence[int], exchanges: Sequence[RecognisedExchange], kinds: Sequence[Hashable]) -> list[int]:
    """Return the history with at most `_SAMPLES` of the exchanges of one kind until a new kind follows.

    Everything that changes something stays. If the bank limits how often it answers, everything stays.
    """
    if any(exchanges[position].entry.status == _TOO_MANY for position in history):
        return list(history)
    known: set[Hashable] = set()
    made: set[str] = set()
    repeated: Counter[Hashable] = Counter()
    shortened = []
    for position in history:
        exchange, kind = exchanges[position], kinds[position]
        if kind not in known:
            known.add(kind)
            repeated.clear()
        repeated[kind] += 1
        ids = set(exchange.made.values())
        # A bank may answer a request for a consent with one that it has given before.
        has_changed = not exchange.reads and not (ids and ids <= made)
        made |= ids
        if has_changed or repeated[kind] <= _SAMPLES:
            shortened.append(position)
    return shortened


def _issues_token(exchange: RecognisedExchange) -> bool:
    return exchange.operation is not None and exchange.operation.behaviour.handler == issue.name


def _histories(exchanges: Sequence[RecognisedExchange]) -> list[list[int]]:
    """Group the positions of exchanges that name a common thing with states, in the order of their first exchange."""
    leaders: dict[str, str] = {}

    def lead(id: str) -> str:
        while (leader := leaders.setdefault(id, id)) != id:
            leaders[id] = leaders[leader]
            id = leader
        return id

    ids = [sorted(_ids(exchange)) for exchange in exchanges]
    for first, *others in filter(None, ids):
        for other in others:
            leaders[lead(other)] = lead(first)
    histories: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, own in enumerate(ids):
        histories[lead(own[0]) if own else position].append(position)
    return list(histories.values())


def _ids(exchange: RecognisedExchange) -> set[str]:
    names = [naming.name for naming in exchange.interface.things.with_states]
    made = exchange.made
    return {id for name in names for id in (*exchange.ids(name), made.get(name, "")) if id}


def _kind(exchange: RecognisedExchange) -> Hashable:
    """Return what the exchange shows, without values other than states and codes."""
    states = exchange.interface.things.states
    target = split_target(exchange.entry.target)
    return (
        exchange.operation.id if exchange.operation else (exchange.entry.method, target.segments),
        exchange.path,
        exchange.entry.status,
        frozenset(name for name, _ in target.query),
        frozenset(name.lower() for name, _ in exchange.entry.headers),
        frozenset(name.lower() for name, _ in exchange.entry.answer_headers),
        frozenset(shape(exchange.body, states)),
        frozenset(shape(exchange.answer, states)),
    )


def _without_repetitions(kinds: Iterator[Hashable]) -> Iterator[Hashable]:
    """Yield each of several equal kinds in a row once, because apps poll."""
    last: Hashable = None
    for kind in kinds:
        if kind != last:
            yield kind
        last = kind
