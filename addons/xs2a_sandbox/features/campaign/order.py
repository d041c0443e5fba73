"""The order in which a campaign tries its faults: what most likely finds a bug first, the unlike before the like."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.amend import PatchStep
from xs2a_sandbox.cassette.model import Cassette, Rule
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault


class Kind(IntEnum):
    """The kinds of faults, those first that most apps handle wrongly.

    The answer is lost; the consent, the token or the approval ends; the bank fails; it limits the number of calls; its
    answer has wrong content; it refuses the request; it is late; it has a quirk.
    """

    LOST = 0
    ENDED = 1
    FAILED = 2
    LIMITED = 3
    GARBLED = 4
    REFUSED = 5
    LATE = 6
    QUIRK = 7


class Subject(IntEnum):
    """What an operation is about, the most expensive mistakes first."""

    MONEY = 0
    ACCESS = 1
    READS = 2


_MONEY = frozenset({"payment", "cancellation", "mandate", "basket"})
_READS = frozenset({"account", "balance", "entry", "funds", "payee"})


CONSENT_EXPIRES, TOKEN_EXPIRES = "consent expires", "token expires"
QUIRKS, ENVIRONMENT = "quirks", "environment"
"""The keys of an order for a whole run: the names of the bank's quirks, and variables for the app."""
ZONES = ("zone-west", "zone-east", "clock-change")
"""The faults in which the app runs in another time zone: far west or east, or with a change of the clocks."""
_OF_REQUEST = re.compile(r"\bquery\b|\binput\.(?!account|consent)")
"""What conditions of rules read that depend on the request; which account it is about cannot be asked differently."""
_OF_ACCESS = ("consent-", "token-")
"""The beginnings of the names of errors that concern the whole access."""


def ends_access(name: str) -> bool:
    """Return whether a fault of this name says that the consent or the token is not valid."""
    return name.startswith(_OF_ACCESS) or name in (CONSENT_EXPIRES, TOKEN_EXPIRES)


def subject_of(operation: Operation) -> Subject:
    """Return the subject. An operation that changes something, and does not declare what, may cost money."""
    if operation.does is None:
        return Subject.READS if operation.reads else Subject.MONEY
    about = operation.does.about
    return Subject.MONEY if about & _MONEY else Subject.READS if about & _READS else Subject.ACCESS


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault, and the order for it: one for the sandbox, or for a whole run what surrounds the app.

    Quirks with equal `likeness` change the same part of the bank. `is_avoidable` if a bank with the quirk refuses some
    requests because of their parameters, so that the app can ask in another way.
    """

    fault: InjectedFault
    order: Mapping[str, Any]
    kind: Kind = Kind.LOST
    likeness: Hashable = None
    is_avoidable: bool = False


def in_order(faults: Iterable[PlannedFault], interface: Interface) -> list[PlannedFault]:
    """Return the faults in rounds: each round has one fault of each kind for each operation.

    In a round, faults that concern money are first, then those of the access, then those of reads. All quirks are in
    the first round: the first of each likeness after the faults that concern money, because a single run shows what it
    does to the app, and the others at the end.
    """
    classes: dict[Hashable, list[tuple[int, PlannedFault]]] = defaultdict(list)
    repetitions: Counter[Hashable] = Counter()
    placed: list[tuple[int, Subject, Kind, PlannedFault]] = []
    likenesses: set[Hashable] = set()
    for planned in faults:
        fault = planned.fault
        if planned.kind is Kind.QUIRK:
            subject = Subject.READS if planned.likeness in likenesses else Subject.MONEY
            likenesses.add(planned.likeness)
            placed.append((0, subject, Kind.QUIRK, planned))
            continue
        same = (fault.operation, fault.name, fault.phase)
        classes[fault.operation, planned.kind].append((repetitions[same], planned))
        repetitions[same] += 1
    for members in classes.values():
        members.sort(key=lambda member: member[0])
        for place, (_, planned) in enumerate(members):
            placed.append((place, _subject(planned, interface), planned.kind, planned))
    placed.sort(key=lambda one: one[:3])
    return [planned for *_, planned in placed]


def likeness_of(quirk: Cassette) -> Hashable:
    """Return what a quirk does: the subject of its first rule, whether it refuses, and the first member it changes."""
    for rule in quirk.rules:
        is_refusal = bool(rule.behaviour.respond or rule.behaviour.sequence)
        steps = _changes(rule)
        return frozenset(act.thing for act in rule.does), is_refusal, steps[0].path[-1] if steps else None
    return tuple(quirk.options)[:1] or tuple(quirk.sections)


def removes_values(quirk: Cassette) -> bool:
    """Return whether values are missing from the answers of a bank with this quirk, which breaks most apps."""
    return any(step.value is None for rule in quirk.rules for step in _changes(rule))


def refuses_by_request(quirk: Cassette) -> bool:
    """Return whether a bank with this quirk refuses some requests because of their parameters, and accepts others."""
    return any(rule.behaviour.respond and _OF_REQUEST.search(rule.when_text or "") for rule in quirk.rules)


def _changes(rule: Rule) -> Sequence[PatchStep]:
    return rule.behaviour.amend.result.patch if rule.behaviour.amend else ()


def _subject(planned: PlannedFault, interface: Interface) -> Subject:
    match planned.fault.operation:
        case None:
            return Subject.READS
        case operation if operation == SCA:
            return Subject.ACCESS
        case operation:
            return subject_of(interface.operations[operation])
