"""Computes the distance between a request and the conditions of a rule, from 0 (matches) to 1 (different)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xs2a_sandbox.cassette.evaluation.values import LEAST, words_apart
from xs2a_sandbox.cassette.matchers import OPERATORS
from xs2a_sandbox.cassette.path_pattern import LITERAL, PARAMETER, TAIL, Pattern, Segment

_UNKNOWN = 0.5
"""There is a value, but its distance is unknown: regular expressions, schemas."""
_IN_PARAMETER = 0.1
"""A parameter matches every word, so it says less about a path than a matching word."""
_IN_TAIL = 0.3
"""The same for each segment in a tail, which matches everything."""
_SKIPPED = 0.7
_LONGEST = 100
_DEEPEST = 24
_BEGINNINGS = 4


@dataclass(frozen=True, slots=True)
class PathAlignment:
    """A path aligned with a pattern. `cost` is 0 if it matches, about 1 for each segment that does not.

    `parameters` are those that could be recognised; `edits` describe the differences; `vague` is how little the path
    says, because parameters match any word.
    """

    cost: float
    parameters: Mapping[str, str]
    edits: tuple[str, ...] = ()
    vague: float = 0.0


def align(pattern: Pattern, segments: Sequence[str]) -> PathAlignment:
    """Align a path with a pattern, from its first segment or from a later one that equals the pattern's first word.

    Paths may have any prefix before /v1.
    """
    first = pattern.segments[0] if pattern.segments else None
    starts = [0, *(i for i, word in enumerate(segments[:_DEEPEST]) if i and first == Segment(LITERAL, word))]
    alignments = [_align_whole(pattern, segments[start:]) for start in starts[:_BEGINNINGS]]
    best = min(alignments, key=lambda alignment: alignment.cost)
    if best is not alignments[0] and not best.cost:
        return replace(
            best, cost=LEAST, edits=(f"only the part from a later '{first.text if first else ''}' on matches",)
        )
    return best


def of_values(spec: Mapping[str, Any], values: Sequence[Any]) -> float:
    """Return the distance of the nearest value. None of the values matches."""
    if not values:
        return 1.0
    nearest = min(
        max(OPERATORS[name].distance(operand, value)[0] for name, operand in spec.items()) or _UNKNOWN
        for value in values[:_DEEPEST]
    )
    return min(1.0, max(LEAST, nearest))


def shortfall(spec: Mapping[str, Any], value: Any) -> str:
    """Return `1000 too little` or `3 days too late`, or an empty string if the difference cannot be measured."""
    texts = (OPERATORS[name].distance(operand, value)[1] for name, operand in spec.items())
    return next(filter(None, texts), "")


def _align_whole(pattern: Pattern, segments: Sequence[str]) -> PathAlignment:
    exact = _match_exactly(pattern, segments)
    if exact is None:
        return _edit(pattern.segments, segments)
    has_tail = bool(pattern.segments) and pattern.segments[-1].kind == TAIL
    tail = len(segments) - len(pattern.segments) + 1 if has_tail else 0
    return PathAlignment(0.0, exact, (), _IN_PARAMETER * (len(exact) - has_tail) + _IN_TAIL * tail)


def _match_exactly(pattern: Pattern, segments: Sequence[str]) -> dict[str, str] | None:
    """Match like the index: a parameter takes one non-empty segment, a tail one segment or more."""
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


def _edit(pattern: Sequence[Segment], words: Sequence[str]) -> PathAlignment:
    """Align by replacing, removing and inserting words at the lowest cost."""
    surplus = max(0, len(words) - _DEEPEST)
    words = words[:_DEEPEST]
    # costs[i][j]: from pattern[i:] and words[j:] to the end.
    costs = [[0.0] * (len(words) + 1) for _ in range(len(pattern) + 1)]
    for i in range(len(pattern), -1, -1):
        for j in range(len(words), -1, -1):
            if i < len(pattern) or j < len(words):
                costs[i][j] = min(cost for cost, *_ in _steps(pattern, words, i, j, costs))
    parameters, edits, i, j = {}, [], 0, 0
    while i < len(pattern) or j < len(words):
        _, to_i, to_j = min(_steps(pattern, words, i, j, costs), key=lambda step: step[0])
        if to_i == i:
            edits.append(f"{_quote(words[j])} is one segment too many")
        elif to_j == j:
            edits.append(f"{_name(pattern[i])} is missing")
        elif pattern[i].kind == PARAMETER and not words[j]:
            edits.append(f"{_name(pattern[i])} is empty")
        elif pattern[i].kind != LITERAL:
            parameters[pattern[i].text] = "/".join(words[j:to_j])
        elif pattern[i].text != words[j]:
            edits.append(f"{_quote(words[j])} should be {_quote(pattern[i].text)}")
        i, j = to_i, to_j
    if surplus:
        edits.append(f"there are {surplus} segments too many")
    return PathAlignment(max(LEAST, costs[0][0] + surplus * _SKIPPED), parameters, tuple(edits))


def _steps(
    pattern: Sequence[Segment], words: Sequence[str], i: int, j: int, costs: Sequence[Sequence[float]]
) -> Iterator[tuple[float, int, int]]:
    """Yield all possible next steps: the cost from there to the end, and the position after the step."""
    if i < len(pattern) and j < len(words):
        segment = pattern[i]
        if segment.kind == TAIL:
            yield _IN_TAIL * (len(words) - j), i + 1, len(words)
        else:
            cost = words_apart(segment.text, words[j]) if segment.kind == LITERAL else _IN_PARAMETER
            yield cost + costs[i + 1][j + 1], i + 1, j + 1
    if i < len(pattern):
        yield _SKIPPED + costs[i + 1][j], i + 1, j
    if j < len(words):
        yield _SKIPPED + costs[i][j + 1], i, j + 1


def _name(segment: Segment) -> str:
    return _quote(segment.text) if segment.kind == LITERAL else f"{{{segment.text}}}"


def _quote(word: str) -> str:
    return f"'{word if len(word) <= _LONGEST else word[:_LONGEST] + '…'}'"
