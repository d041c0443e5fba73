"""Check a log of operations against the final documents: nothing lost, nothing made twice, only allowed transitions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.model.histories import reachable
from tests.support.state_words import default_states
from tests.wide.operation import Operation
from xs2a_sandbox.bank.domain.lifecycle import SCA

KINDS = {"consent": "consents", "payment": "payments"}
"""Kinds of resources, and their collections in the control interface."""
_ARROWS = [tuple(default_states().word(SCA.name, state) or state for state in arrow) for arrow in SCA.arrows]
"""The transitions, in the words of the interface."""
DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class FinalDocument:
    """A document at the end. `label` is that of the request that created it."""

    kind: str
    session: str
    id: str
    label: str
    state: str


def complaints(operations: Iterable[Operation], kept: Iterable[FinalDocument]) -> Iterator[str]:
    """Yield everything that cannot happen in a bank that loses nothing."""
    by_resource: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    races: defaultdict[str, list[Operation]] = defaultdict(list)
    created: dict[tuple[str, str], Operation] = {}
    labels: dict[str, Operation] = {}
    for one in operations:
        if one.resource:
            by_resource[one.kind, one.resource].append(one)
        if one.race:
            races[one.race].append(one)
        if one.label:
            labels[one.label] = one
            if one.has_succeeded:
                key = one.kind, one.resource
                if key in created:
                    yield f"two creations were told the same {one.kind} {one.resource}"
                created[key] = one
    documents = {(one.kind, one.id): one for one in kept}
    yield from _unequal_races(races)
    for key, observed in by_resource.items():
        yield from _impossible_moves(key, observed, documents.get(key))
    yield from _lost(created, by_resource, documents)
    yield from _made_twice(documents.values(), labels)


def _unequal_races(races: Mapping[str, list[Operation]]) -> Iterator[str]:
    for name, racing in races.items():
        winners = sum(one.has_succeeded for one in racing)
        if winners > 1:
            yield f"{winners} of {len(racing)} have won the race {name}"
        elif winners == 0 and not any(one.is_unknown for one in racing):
            yield f"nobody has won the race {name}: {[one.status for one in racing]}"


def _impossible_moves(key: tuple[str, str], operations: list[Operation], last: FinalDocument | None) -> Iterator[str]:
    kind, id = key
    reads = sorted((one for one in operations if one.state and not one.is_unknown), key=lambda one: one.began)
    for number, later in enumerate(reads):
        for earlier in reads[:number]:
            if earlier.ended <= later.began and not follows(kind, earlier.state, later.state):
                yield (
                    f"{kind} {id} was {earlier.state} by {earlier.name} until {earlier.ended:.3f}, and {later.state} "
                    f"by {later.name} from {later.began:.3f} on"
                )
                return
    for one in reads if last else ():
        if last and not follows(kind, one.state, last.state):
            yield f"{kind} {id} was {one.state} by {one.name}, and is {last.state} in the end"
            return


def _lost(
    created: Mapping[tuple[str, str], Operation],
    by_resource: Mapping[tuple[str, str], list[Operation]],
    documents: Mapping[tuple[str, str], FinalDocument],
) -> Iterator[str]:
    for (kind, id), creation in created.items():
        may_be_deleted = kind == "consent" and any(
            one.name == "delete" and (one.has_succeeded or one.is_unknown) for one in by_resource[kind, id]
        )
        document = documents.get((kind, id))
        if document is None and not may_be_deleted:
            yield f"{kind} {id} of session {creation.session} was acknowledged, and is not there"
        elif document and document.label != creation.label:
            yield f"{kind} {id} was made by {creation.label}, and is that of {document.label}"


def _made_twice(documents: Iterable[FinalDocument], labels: Mapping[str, Operation]) -> Iterator[str]:
    for label, count in Counter(one.label for one in documents).items():
        if count > 1:
            yield f"{count} were made by {label}"
        if label not in labels:
            yield f"something is there that nobody has made: {label}"
        elif not labels[label].has_succeeded and not labels[label].is_unknown:
            yield f"{label} was refused with {labels[label].status}, and is there"


def follows(kind: str, before: str, after: str) -> bool:
    """Return whether the state machine leads from one state to the other."""
    if kind != "authorisation":
        return reachable(kind, before, after)
    near, far = {before}, {before}
    while near:
        near = {to for state, to in _ARROWS if state in near} - far
        far |= near
    return after in far
