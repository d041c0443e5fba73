"""Which members of the request that makes a thing are repeated by answers about it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from xs2a_sandbox.cassette.evaluation.values import is_equal
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

type RepeatedMembers = Mapping[ThingKind, Mapping[str, set[frozenset[str]]]]
"""For each member, the sets of other members that an object with it repeats: some answers show less of a thing."""


def find_repeated_members(shown: Iterable[tuple[SeenExchange, LearnedThing]]) -> RepeatedMembers:
    """Return the repeated members, from exchanges and the things that their answers are about."""
    repeated: defaultdict[ThingKind, defaultdict[str, set[frozenset[str]]]] = defaultdict(lambda: defaultdict(set))
    for one, thing in shown:
        sent = thing.created.body
        for document in _objects(one.document) if isinstance(sent, Mapping) else ():
            own = frozenset(name for name, value in document.items() if name in sent and is_equal(value, sent[name]))
            for name in own if len(own) > 2 else ():
                repeated[thing.kind][name].add(own - {name})
    return repeated


def _objects(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a document that are in no list."""
    if isinstance(document, Mapping):
        yield document
        for inner in document.values():
            yield from _objects(inner)
