"""Finds rules that conflict: ambiguous if neither is stronger, unreachable if a stronger rule always answers first."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from xs2a_sandbox.cassette.evaluation.values import canonical, is_equal, make_comparable
from xs2a_sandbox.cassette.matchers import OPERATORS, Constraint, RequestPart
from xs2a_sandbox.cassette.model import Operation, Rule
from xs2a_sandbox.cassette.path_pattern import LITERAL, Pattern
from xs2a_sandbox.errors import Problem

Rank = tuple[int, int, tuple[int, ...], int]

_MAX_PROBLEMS = 50
"""Without a limit, rules that all conflict would bury the first mistake under thousands of lines."""


def overlaps(rules: Sequence[tuple[Rule, Rank]], operations: Mapping[str, Operation]) -> list[Problem]:
    """Return the conflicts within each layer. Rules of different layers do not conflict, because the later layer wins.

    `rules` are paired with their ranks, strongest first.
    """
    problems: list[Problem] = []
    for pair in _pairs([(_position(rule, operations), rank) for rule, rank in rules], operations):
        (stronger, rank), (weaker, weaker_rank) = pair
        if stronger.behaviour.amend:
            continue  # the weaker rule still answers
        if rank == weaker_rank:
            if not _are_disjoint(stronger, weaker, operations):
                text = (
                    f"can match the same request as {stronger.id!r} ({stronger.origin.place}), and neither has priority"
                )
                text += "; give one a priority, or make them exclude each other"
                problems.append(weaker.origin.problem("ambiguous", f"the rule {weaker.id!r} {text}", ("id",)))
        elif subsumes(stronger, weaker, operations):
            text = f"{stronger.id!r} ({stronger.origin.place}) answers every request that {weaker.id!r} could answer"
            problems.append(weaker.origin.problem("unreachable", text, ("id",)))
        if len(problems) >= _MAX_PROBLEMS:
            break
    return problems


def meetings(rules: Sequence[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Yield the pairs of rules that one request might match, in the order of the rules."""
    for (one, _), (other, _) in _pairs([(_position(rule, {}), (0, 0, (), 0)) for rule in rules], {}):
        if not _are_disjoint(one, other, {}):
            yield one, other


def find_shadowed(rules: Sequence[tuple[Rule, Rank]], operations: Mapping[str, Operation]) -> list[tuple[Rule, Rule]]:
    """Return recorded rules that never answer because a recorded rule of a later layer answers all their requests.

    Each is paired with that later rule.
    """
    layers = {rule.id: rank[0] for rule, rank in rules if rule.tape}
    if len(set(layers.values())) < 2:
        return []
    # Treat all rules as one layer, because only rules of one layer are compared.
    recorded = [(_position(rule, operations), (0, *rank[1:])) for rule, rank in rules if rule.tape]
    pairs: dict[str, tuple[Rule, Rule]] = {}
    for (stronger, _), (weaker, _) in _pairs(recorded, operations):
        is_later = layers[stronger.id] > layers[weaker.id] and not stronger.behaviour.amend
        if is_later and subsumes(stronger, weaker, operations):
            pairs.setdefault(weaker.id, (weaker, stronger))
    return list(pairs.values())


def clashes(layers: Sequence[Sequence[Operation]]) -> list[Problem]:
    """Return a problem for each pair of operations in one layer that the same request can match.

    Operations of different layers do not clash: the later one wins.
    """
    groups: defaultdict[tuple[int, str, tuple[int, ...]], list[Operation]] = defaultdict(list)
    problems = []
    for number, layer in enumerate(layers):
        for operation in layer:
            group = groups[number, operation.method, operation.pattern.rank]
            for other in group:
                if other.pattern.overlaps(operation.pattern) and not _apart(other, operation):
                    text = (
                        f"{operation.id!r} and {other.id!r} ({other.origin.place}) have the same method and "
                        "path; change one of them"
                    )
                    problems.append(operation.origin.problem("ambiguous", f"the operation {text}", ("path",)))
                    break
            group.append(operation)
    return problems


def _apart(left: Operation, right: Operation) -> bool:
    """Return whether conditions on path parameters keep every request from matching both operations."""
    return all(
        any(_exclude(a, b) for a in mine for b in theirs if a.place == b.place)
        for mine in (_by_position(alternative, left.pattern) for alternative in left.where)
        for theirs in (_by_position(alternative, right.pattern) for alternative in right.where)
    )


def _position(rule: Rule, operations: Mapping[str, Operation]) -> Rule:
    return replace(rule, constraints=_by_position(rule.constraints, _pattern(rule, operations)))


def _by_position(constraints: Sequence[Constraint], pattern: Pattern) -> tuple[Constraint, ...]:
    """Rename path parameters to their positions, because two paths may name the same segment differently."""
    at = {segment.text: str(i) for i, segment in enumerate(pattern.segments) if segment.kind != LITERAL}
    return tuple(
        replace(c, place=RequestPart("where", at.get(c.place.name, c.place.name))) if c.place.part == "where" else c
        for c in constraints
    )


def _pairs(
    rules: Sequence[tuple[Rule, Rank]], operations: Mapping[str, Operation]
) -> Iterator[tuple[tuple[Rule, Rank], tuple[Rule, Rank]]]:
    """Yield pairs of rules in one layer, the stronger first.

    Pairs that their paths or an `equals` condition keep apart are left out.
    """
    groups: defaultdict[tuple[int, Pattern], list[int]] = defaultdict(list)
    for position, (rule, rank) in enumerate(rules):
        groups[rank[0], Pattern("", _pattern(rule, operations).segments)].append(position)
    # Paths without parameters overlap only if they are equal, so thousands of them need not be compared in pairs.
    open_groups = [group for group in groups if group[1].names]
    for (layer, pattern), left in groups.items():
        for other_layer, other_pattern in groups if pattern.names else [(layer, pattern), *open_groups]:
            right = groups[other_layer, other_pattern]
            if layer == other_layer and pattern.overlaps(other_pattern):
                for position, other in _find_near(rules, left, right):
                    yield rules[position], rules[other]


def _find_near(rules: Sequence[tuple[Rule, Rank]], left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    for mine, ours in _by_places(rules, left).items():
        for theirs, others in _by_places(rules, right).items():
            shared = tuple(place for place in mine if place in theirs)
            tables: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
            for position in others:
                for key in _keys(rules[position][0], shared):
                    tables[key].append(position)
            for position in ours:
                near = {other for key in _keys(rules[position][0], shared) for other in tables[key]}
                yield from ((position, other) for other in sorted(near) if position < other)


def _by_places(rules: Sequence[tuple[Rule, Rank]], positions: list[int]) -> dict[tuple[RequestPart, ...], list[int]]:
    groups: defaultdict[tuple[RequestPart, ...], list[int]] = defaultdict(list)
    for position in positions:
        places = (c.place for c in rules[position][0].constraints if c.values)
        groups[tuple(sorted(places, key=str))].append(position)
    return groups


def _keys(rule: Rule, places: tuple[RequestPart, ...]) -> Iterator[tuple[Any, ...]]:
    values = {c.place: c.values for c in rule.constraints if c.values}
    return product(*(values[place] or () for place in places))


def _pattern(rule: Rule, operations: Mapping[str, Operation]) -> Pattern:
    return rule.pattern or operations[rule.operation or ""].pattern


def _methods(rule: Rule, operations: Mapping[str, Operation]) -> frozenset[str]:
    return frozenset([operations[rule.operation].method]) if rule.operation else rule.methods


def _are_disjoint(left: Rule, right: Rule, operations: Mapping[str, Operation]) -> bool:
    """Return whether paths, methods and matchers prove that no request matches both rules."""
    if left.operation and right.operation and left.operation != right.operation:
        return True
    if not _pattern(left, operations).overlaps(_pattern(right, operations)):
        return True
    mine, theirs = _methods(left, operations), _methods(right, operations)
    if mine and theirs and not mine & theirs:
        return True
    return any(_exclude(a, b) for a in left.constraints for b in right.constraints if a.place == b.place)


def _exclude(left: Constraint, right: Constraint) -> bool:
    """Return whether no value can match both."""
    if left.values and right.values and not left.values & right.values:
        return True
    if (_must_be_absent(left) and _must_be_present(right)) or (_must_be_present(left) and _must_be_absent(right)):
        return True
    for low, high in ((left, right), (right, left)):
        floor, ceiling = _bound_value(low, "gt", "gte"), _bound_value(high, "lt", "lte")
        if floor and ceiling and (pair := make_comparable(floor[1], ceiling[1])):
            strict = floor[0] == "gt" or ceiling[0] == "lt"
            if pair[0] > pair[1] or (pair[0] == pair[1] and strict):
                return True
    return False


def _bound_value(constraint: Constraint, strict: str, loose: str) -> tuple[str, Any] | None:
    for operator in (strict, loose, "equals"):
        if operator in constraint.spec:
            return operator, constraint.spec[operator]
    return None


def _must_be_absent(constraint: Constraint) -> bool:
    return constraint.spec.get("absent") is True or constraint.spec.get("exists") is False


def _must_be_present(constraint: Constraint) -> bool:
    if constraint.spec.get("exists") is True or constraint.spec.get("absent") is False:
        return True
    return any(OPERATORS[name].looks_at_values for name in constraint.spec)


def subsumes(stronger: Rule, weaker: Rule, operations: Mapping[str, Operation]) -> bool:
    """Return whether every request that matches the weaker rule also matches the stronger one.

    Only the structure is compared, so a few cases are missed.
    """
    if stronger.when and stronger.when_text != weaker.when_text:
        return False
    if stronger.operation:
        if weaker.operation != stronger.operation:
            return False
    elif not _pattern(stronger, operations).covers(_pattern(weaker, operations)):
        return False
    mine, theirs = _methods(stronger, operations), _methods(weaker, operations)
    if mine and not (theirs and theirs <= mine):
        return False
    if weaker.skips_requirements and not stronger.skips_requirements:
        return False
    return all(any(a.place == b.place and _implies(b, a) for b in weaker.constraints) for a in stronger.constraints)


def _implies(narrow: Constraint, wide: Constraint) -> bool:
    """Return whether every value that matches `narrow` matches `wide`."""
    if is_equal(narrow.spec, wide.spec):
        return True
    if narrow.values and wide.values and set(wide.spec) <= {"equals", "in"}:
        return narrow.values <= wide.values
    if wide.spec in ({"exists": True}, {"absent": False}):
        return _must_be_present(narrow)
    if narrow.values and "equals" in narrow.spec and not (set(wide.spec) & {"exists", "absent", "not"}):
        return wide.fits((narrow.spec["equals"],)) and canonical(narrow.spec["equals"]) is not None
    return False
