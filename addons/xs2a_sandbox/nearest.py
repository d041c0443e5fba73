"""The rules and operations that a request comes nearest to."""

from collections.abc import Sequence
from heapq import nsmallest

from xs2a_sandbox.call import Call
from xs2a_sandbox.candidate import METHOD, PATH, Candidate, hold, path_and_methods
from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.distance import Alignment, align
from xs2a_sandbox.index import Found
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.pattern import LITERAL, Pattern

_ALIGNED = 200
"""Paths that are looked at closely, of the thousands that a recording may bring."""


def nearest(
    entries: Sequence[Operation | Rule], interface: Interface, call: Call, count: int, found: Found | None = None
) -> list[Candidate]:
    """Best first. Of equals the one of which more fits, then the earlier of `entries`.

    Nothing comes nearer than its path and method let it, so few are looked at in full.
    """
    aligned = _alignments(entries, interface, call.segments)
    costs = []
    for entry in entries:
        pattern, methods = path_and_methods(entry, interface)
        if alignment := aligned.get(pattern.text):
            wrong = bool(methods) and call.request.method not in methods
            costs.append(((alignment.cost + alignment.vague) * PATH + wrong * METHOD, entry, alignment))
    best: list[Candidate] = []
    for cost, entry, alignment in sorted(costs, key=lambda one: one[0]):
        if len(best) == count and cost > best[-1].cost:
            break
        best.append(hold(entry, interface, call, alignment, found))
        best.sort(key=lambda one: (one.cost, -_strength(one)))
        del best[count:]
    return best


def _alignments(
    entries: Sequence[Operation | Rule], interface: Interface, segments: Sequence[str]
) -> dict[str, Alignment]:
    """By the text of the path."""
    patterns: dict[str, Pattern] = {}
    for entry in entries:
        pattern, _ = path_and_methods(entry, interface)
        patterns[pattern.text] = pattern
    words = frozenset(segments)

    def strangeness(pattern: Pattern) -> tuple[int, int]:
        literals = [segment.text for segment in pattern.segments if segment.kind == LITERAL]
        return sum(word not in words for word in literals), abs(len(pattern.segments) - len(segments))

    return {one.text: align(one, segments) for one in nsmallest(_ALIGNED, patterns.values(), strangeness)}


def _strength(candidate: Candidate) -> int:
    """Of what fits."""
    if not isinstance(candidate.entry, Rule):
        return 0
    missed = {check.what for check in candidate.missed}
    return sum(one.strength for one in candidate.entry.constraints if str(one.place) not in missed)
