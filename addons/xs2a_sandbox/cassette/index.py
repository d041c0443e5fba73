"""Finds the operation and the rules for a request by path, method and required values, without scanning all rules."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.evaluation.values import canonical
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.cassette.model import Operation, Rule
from xs2a_sandbox.cassette.path_pattern import LITERAL, PARAMETER, TAIL, Pattern, beginnings
from xs2a_sandbox.http.messages import SAFE_METHODS

Values = Callable[[RequestPart], Sequence[Any]]
"""Returns all values that a request has at a place."""

Parameters = dict[str, str]

_KEPT = 1024
_LONGEST = 1000
"""Longer paths are not cached. Apps do not poll them, and they would fill the memory."""


class Lookup(NamedTuple):
    """The result of looking up a path. If `operation` is None, `unfit` and `methods` say why.

    Requests for the same path share it, so `parameters` must not be changed.
    """

    segments: tuple[str, ...]
    parameters: Parameters
    operation: Operation | None
    rules: tuple[tuple["Bucket", Parameters], ...]
    unfit: str | None = None
    methods: tuple[str, ...] = ()

    def is_read(self, method: str) -> bool:
        """Return whether such a request changes nothing. Without an operation, the HTTP method decides."""
        return self.operation.reads if self.operation else method in SAFE_METHODS

    @property
    def is_known(self) -> bool:
        """Return whether any operation or rule has this path, regardless of its other conditions."""
        return bool(self.operation or self.rules or self.methods or self.unfit)


class Index:
    """The operations and rules of one interface. It is built once and read by every request."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._paths = _Paths(interface)
        # TPPs poll, so the next path has probably been requested before.
        self._find_again = lru_cache(_KEPT)(self._paths.find)

    def find(self, method: str, segments: tuple[str, ...]) -> Lookup:
        """Match operations from the first segment at which one matches (with any method), otherwise the whole path.

        Rules whose path starts with further segments before that are also matched against the whole path.
        """
        if sum(map(len, segments)) + len(segments) > _LONGEST:
            return self._paths.find(method, segments)
        return self._find_again(method, segments)


class _Paths:
    def __init__(self, interface: Interface) -> None:
        self._operations: _Node[Operation] = _Node()
        by_operation: dict[str, list[tuple[int, Rule]]] = {}
        by_pattern: dict[tuple[str, str | None], list[tuple[int, Rule]]] = {}
        for operation in interface.operations.values():
            self._operations.add(operation.pattern, operation)
        for position, rule in enumerate(interface.rules):
            if rule.operation:
                by_operation.setdefault(rule.operation, []).append((position, rule))
            elif rule.pattern:
                for method in rule.methods or (None,):
                    by_pattern.setdefault((rule.pattern.text, method), []).append((position, rule))
        self._by_operation = {id: Bucket(rules) for id, rules in by_operation.items()}
        self._by_pattern: _Node[tuple[str | None, Bucket]] = _Node()
        self._by_whole: _Node[tuple[str | None, Bucket]] = _Node()
        self._starts = beginnings(operation.pattern for operation in interface.operations.values())
        for (_, method), rules in by_pattern.items():
            pattern = rules[0][1].pattern
            if pattern:
                tree = self._by_whole if pattern.is_whole(self._starts) else self._by_pattern
                tree.add(pattern, (method, Bucket(rules)))

    def find(self, method: str, segments: tuple[str, ...]) -> Lookup:
        lookup = self._find(method, segments)
        whole = _of_method(method, self._by_whole.find(segments))
        return lookup._replace(rules=(*whole, *lookup.rules)) if whole else lookup

    def _find(self, method: str, segments: tuple[str, ...]) -> Lookup:
        near: Lookup | None = None
        for start, word in enumerate(segments):
            if word not in self._starts:
                continue
            rest = segments[start:] if start else segments
            lookup = self._look(method, rest)
            if lookup.operation or lookup.methods:
                return lookup
            if near is None or (lookup.unfit and not near.unfit) or (lookup.rules and not near.rules):
                near = lookup
        if near and (near.unfit or near.rules):
            return near
        return self._look(method, segments)

    def _look(self, method: str, segments: tuple[str, ...]) -> Lookup:
        operation, parameters, methods = None, {}, []
        unfit: dict[bool, str | None] = {}  # the mistake in the path parameters, by whether the method matches
        for candidate, values in self._operations.find(segments):
            missed = _misfit(candidate, values)
            if missed is None:
                if candidate.method == method:
                    operation, parameters = candidate, values
                    break
                methods.append(candidate.method)
            else:
                own = candidate.method == method
                unfit[own] = unfit.get(own) or candidate.otherwise.get(missed)
        buckets = _of_method(method, self._by_pattern.find(segments))
        if operation and (bucket := self._by_operation.get(operation.id)):
            buckets.append((bucket, parameters))
        error = unfit[True] if True in unfit else unfit.get(False)
        return Lookup(segments, parameters, operation, tuple(buckets), error, tuple(methods))


def _of_method(
    method: str, ends: Iterator[tuple[tuple[str | None, "Bucket"], Parameters]]
) -> list[tuple["Bucket", Parameters]]:
    return [(bucket, values) for (only, bucket), values in ends if only is None or only == method]


class Bucket:
    """Rules for one path or operation. Rules with conditions on equal values are looked up by value, not scanned."""

    def __init__(self, rules: Sequence[tuple[int, Rule]]) -> None:
        tables: dict[tuple[RequestPart, ...], dict[tuple[Any, ...], list[tuple[int, Rule]]]] = {}
        for position, rule in rules:
            equal = sorted(((c.place, c.values) for c in rule.constraints if c.values), key=lambda pair: str(pair[0]))
            table = tables.setdefault(tuple(place for place, _ in equal), {})
            for key in product(*(values or () for _, values in equal)):
                table.setdefault(key, []).append((position, rule))
        self._tables = tuple(tables.items())

    def candidates(self, values: Values) -> list[tuple[int, Rule]]:
        """Return rules with their positions in the order of all rules, not sorted."""
        rules: list[tuple[int, Rule]] = []
        for places, table in self._tables:
            if not places:
                rules += table[()]
                continue
            choices = [{canonical(v, place.part != "body") for v in values(place)} for place in places]
            # A query may repeat each key a thousand times, so never look up more often than there are rules.
            many = prod(map(len, choices)) > len(table)
            for key in table if many else product(*choices):
                if not many or all(value in choice for value, choice in zip(key, choices, strict=True)):
                    rules += table.get(key, ())
        return rules


def candidates(lookup: Lookup, values: Callable[[Parameters], Values]) -> Iterator[tuple[Rule, Parameters]]:
    """Yield the rules that may match, strongest first."""
    merged: dict[int, tuple[Rule, Parameters]] = {}
    for bucket, parameters in lookup.rules:
        merged |= {position: (rule, parameters) for position, rule in bucket.candidates(values(parameters))}
    for position in sorted(merged):
        yield merged[position]


def _misfit(operation: Operation, values: Mapping[str, str]) -> str | None:
    """Return None if the path parameters fit the operation.

    Otherwise returns the only parameter that does not match, or "" if there are several.
    """
    best = None
    for alternative in operation.where:
        wrong = [c.place.name for c in alternative if not c.fits((values[c.place.name],))]
        if not wrong:
            return None
        best = wrong[0] if len(wrong) == 1 else best or ""
    return best


@dataclass(slots=True)
class _Node[T]:
    """One segment of a tree of paths. `tail` holds the paths that match all remaining segments."""

    words: dict[str, "_Node[T]"] = field(default_factory=dict)
    parameter: "_Node[T] | None" = None
    tail: "_Node[T] | None" = None
    ends: list[tuple[tuple[str, ...], T]] = field(default_factory=list)

    def add(self, pattern: Pattern, value: T) -> None:
        node = self
        for segment in pattern.segments:
            if segment.kind == LITERAL:
                node = node.words.setdefault(segment.text, _Node())
            elif segment.kind == PARAMETER:
                node.parameter = node.parameter or _Node()
                node = node.parameter
            elif segment.kind == TAIL:
                node.tail = node.tail or _Node()
                node = node.tail
        node.ends.append((pattern.names, value))

    def find(self, segments: tuple[str, ...]) -> Iterator[tuple[T, Parameters]]:
        """Yield the values of the matching paths, the most literal path first."""
        count = len(segments)
        left: list[tuple[_Node[T], int, tuple[str, ...]]] = [(self, 0, ())]
        while left:
            node, position, taken = left.pop()
            if position == count:
                for names, value in node.ends:
                    yield value, dict(zip(names, taken, strict=True))
                continue
            word = segments[position]
            if node.tail:
                left.append((node.tail, count, (*taken, "/".join(segments[position:]))))
            if node.parameter and word:
                left.append((node.parameter, position + 1, (*taken, word)))
            if below := node.words.get(word):
                left.append((below, position + 1, taken))
