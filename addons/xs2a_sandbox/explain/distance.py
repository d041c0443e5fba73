"""How far a request is from what is asked of it: 0 is a fit, 1 is nothing like it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xs2a_sandbox.cassette.matchers import OPERATORS
from xs2a_sandbox.cassette.path_pattern import LITERAL, PARAMETER, TAIL, Pattern, Segment
from xs2a_sandbox.cassette.values import LEAST, words_apart

_UNKNOWN = 0.5
"""A value is there, and nothing says how wrong it is: a regular expression, a schema."""
_IN_PARAMETER = 0.1
"""A parameter takes any word, so it says less of a path than a word that is as it should be."""
_IN_TAIL = 0.3
"""For each segment: a tail takes anything."""
_SKIPPED = 0.7
_LONGEST = 100
_DEEPEST = 24
_BEGINNINGS = 4


@dataclass(frozen=True, slots=True)
class PathAlignment:
    """A path laid over a pattern. `cost` is 0 where it fits, about 1 for each segment that does not.

    `parameters` are those that could be made out; `edits` say what differs; `vague` is how little it says that
    the path fits.
    """

    cost: float
    parameters: Mapping[str, str]
    edits: tuple[str, ...] = ()
    vague: float = 0.0


def align(pattern: Pattern, segments: Sequence[str]) -> PathAlignment:
    """Lays the path over the pattern, from its beginning or from a later segment that is the first word: before /v1
    anything may stand.
    """
    first = pattern.segments[0] if pattern.segments else None
    starts = [0, *(i for i, word in enumerate(segments[:_DEEPEST]) if i and first == Segment(LITERAL, word))]
    found = [_align_whole(pattern, segments[start:]) for start in starts[:_BEGINNINGS]]
    best = min(found, key=lambda one: one.cost)
    if best is not found[0] and not best.cost:
        return replace(best, cost=LEAST, edits=(f"only what begins at a later '{first.text if first else ''}' fits",))
    return best


def of_values(spec: Mapping[str, Any], values: Sequence[Any]) -> float:
    """The distance of the nearest of the values, none of which fits the matcher."""
    if not values:
        return 1.0
    return min(1.0, max(LEAST, min(_of_value(spec, value) for value in values[:_DEEPEST])))


def shortfall(spec: Mapping[str, Any], value: Any) -> str:
    """`1000 too little`, `3 days too late`; empty where there is no such measure."""
    texts = (OPERATORS[name].distance(operand, value)[1] for name, operand in spec.items())
    return next(filter(None, texts), "")


def _align_whole(pattern: Pattern, segments: Sequence[str]) -> PathAlignment:
    exact = _exact(pattern, segments)
    if exact is None:
        return _edit(pattern.segments, segments)
    tail = (
        len(segments) - len(pattern.segments) + 1 if pattern.segments[-1:] and pattern.segments[-1].kind == TAIL else 0
    )
    return PathAlignment(0.0, exact, (), _IN_PARAMETER * (len(exact) - bool(tail)) + _IN_TAIL * tail)


def _exact(pattern: Pattern, segments: Sequence[str]) -> dict[str, str] | None:
    """The parameters as the index finds them: one takes a segment that is not empty, a tail one segment or more."""
    parameters: dict[str, str] = {}
    for position, segment in enumerate(pattern.segments):
        if position == len(segments):
            return None
        if segment.kind == TAIL:
            return {**parameters, segment.text: "/".join(segments[position:])}
        if segment.kind == PARAMETER and segments[position]:
            parameters[segment.text] = segments[position]
        elif segment.kind == PARAMETER or segment.text != segments[position]:
            return None
    return parameters if len(segments) == len(pattern.segments) else None


def _edit(wanted: Sequence[Segment], given: Sequence[str]) -> PathAlignment:
    """Words exchanged, left out and put in, as cheaply as it can be done."""
    surplus = max(0, len(given) - _DEEPEST)
    given = given[:_DEEPEST]
    # costs[i][j]: from wanted[i:] and given[j:] to the end.
    costs = [[0.0] * (len(given) + 1) for _ in range(len(wanted) + 1)]
    for i in range(len(wanted), -1, -1):
        for j in range(len(given), -1, -1):
            if i < len(wanted) or j < len(given):
                costs[i][j] = min(cost for cost, *_ in _steps(wanted, given, i, j, costs))
    parameters, edits, i, j = {}, [], 0, 0
    while i < len(wanted) or j < len(given):
        _, to_i, to_j = min(_steps(wanted, given, i, j, costs), key=lambda step: step[0])
        if to_i == i:
            edits.append(f"{_quoted(given[j])} is too much")
        elif to_j == j:
            edits.append(f"{_name(wanted[i])} is missing")
        elif wanted[i].kind == PARAMETER and not given[j]:
            edits.append(f"{_name(wanted[i])} is empty")
        elif wanted[i].kind != LITERAL:
            parameters[wanted[i].text] = "/".join(given[j:to_j])
        elif wanted[i].text != given[j]:
            edits.append(f"{_quoted(given[j])} should be {_quoted(wanted[i].text)}")
        i, j = to_i, to_j
    if surplus:
        edits.append(f"{surplus} more segments are too much")
    return PathAlignment(max(LEAST, costs[0][0] + surplus * _SKIPPED), parameters, tuple(edits))


def _steps(
    wanted: Sequence[Segment], given: Sequence[str], i: int, j: int, costs: Sequence[Sequence[float]]
) -> Iterator[tuple[float, int, int]]:
    """All that can be done next: the cost up to the end, and where that leads."""
    if i < len(wanted) and j < len(given):
        segment = wanted[i]
        if segment.kind == TAIL:
            yield _IN_TAIL * (len(given) - j), i + 1, len(given)
        else:
            cost = words_apart(segment.text, given[j]) if segment.kind == LITERAL else _IN_PARAMETER
            yield cost + costs[i + 1][j + 1], i + 1, j + 1
    if i < len(wanted):
        yield _SKIPPED + costs[i + 1][j], i + 1, j
    if j < len(given):
        yield _SKIPPED + costs[i][j + 1], i, j + 1


def _name(segment: Segment) -> str:
    return _quoted(segment.text) if segment.kind == LITERAL else f"{{{segment.text}}}"


def _quoted(word: str) -> str:
    return f"'{word if len(word) <= _LONGEST else word[:_LONGEST] + '…'}'"


def _of_value(spec: Mapping[str, Any], value: Any) -> float:
    return max(OPERATORS[name].distance(operand, value)[0] for name, operand in spec.items()) or _UNKNOWN
