"""Compares rules and operations with a request: which conditions it meets, which not, and how far it is from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Call, Interface, Operation, Rule, requirements
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.cassette.matchers import Constraint, RequestPart, in_words
from xs2a_sandbox.cassette.model import Requirement
from xs2a_sandbox.cassette.path_pattern import LITERAL, Pattern
from xs2a_sandbox.cassette.schema_names import fill_name
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError, SandboxError
from xs2a_sandbox.explain import distance
from xs2a_sandbox.explain.distance import PathAlignment, align
from xs2a_sandbox.http import to_json

_SHOWN = 80
_KINDS = {
    "headers": "header",
    "query": "query parameter",
    "tls": "client certificate's",
    "where": "path parameter",
    "body": "body member",
}

PATH, METHOD, PARAMETER, CONSTRAINT = 10.0, 1.0, 5.0, 1.0
"""Weights of differences. The path says most about the purpose of a request."""
_HALF = 10.0
"""The cost that gives a distance of 0.5."""


@dataclass(frozen=True, slots=True)
class MatcherCheck:
    """A condition. `distance` is 0 if it is met; `broken` is why it cannot be checked."""

    what: str
    distance: float
    text: str
    weight: float = CONSTRAINT
    broken: bool = False

    @property
    def cost(self) -> float:
        return self.distance * self.weight


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule or operation compared with a request.

    `methods` and `pattern` are its own or its operation's; no methods means all.

    `vague` is how little the path says, because parameters match any word.
    """

    entry: Operation | Rule
    pattern: Pattern
    methods: frozenset[str]
    parameters: Mapping[str, str]
    checks: tuple[MatcherCheck, ...]
    vague: float = 0.0

    @property
    def fits(self) -> bool:
        return not self.missed

    @property
    def missed(self) -> list[MatcherCheck]:
        return [check for check in self.checks if check.distance]

    @property
    def cost(self) -> float:
        return sum(check.cost for check in self.checks) + self.vague * PATH

    @property
    def distance(self) -> float:
        """A number from 0 (fits) to 1 (completely different)."""
        return round(self.cost / (self.cost + _HALF), 3) if self.missed else 0.0

    @property
    def place(self) -> str:
        return place_of(self.entry)


def place_of(entry: Operation | Rule) -> str:
    """Return the place of the entry, relative if possible, so that clients do not learn the server's folders."""
    place = entry.origin.place
    for root in (Path.cwd(), bundled("cassettes").parent):
        if place.startswith(f"{root}/"):
            return place.removeprefix(f"{root}/")
    return place


def owner(entry: Operation | Rule, interface: Interface) -> Operation | None:
    """Return the operation itself, or the one that a rule names."""
    return entry if isinstance(entry, Operation) else interface.operations.get(entry.operation or "")


def requirements_of(entry: Operation | Rule, interface: Interface) -> Iterator[Requirement]:
    """Yield the requirements: those of the operation, unless a rule skips them, and those of the rule."""
    operation = owner(entry, interface)
    if operation and not (isinstance(entry, Rule) and entry.skips_requirements):
        yield from operation.require.steps
    if isinstance(entry, Rule) and entry.require:
        yield from entry.require.steps


def path_and_methods(entry: Operation | Rule, interface: Interface) -> tuple[Pattern, frozenset[str]]:
    operation = owner(entry, interface)
    if operation:
        return operation.pattern, frozenset([operation.method])
    return entry.pattern or Pattern("/", ()), entry.methods if isinstance(entry, Rule) else frozenset()


def hold(
    entry: Operation | Rule,
    interface: Interface,
    call: Call,
    alignment: PathAlignment,
    lookup: Lookup | None = None,
    condition: MatcherCheck | None = None,
) -> Candidate:
    """Check all conditions of the entry. `lookup` is the result for the path, if any.

    `condition` is the check of a rule's `when`, if it was computed before.
    """
    pattern, methods = path_and_methods(entry, interface)
    operation = owner(entry, interface)
    parameters = alignment.parameters
    checks = [_method(methods, call.request.method), _path(pattern, alignment)]
    if operation:
        checks += _where(operation, call, parameters)
    if lookup and operation and lookup.operation is not operation and not any(check.distance for check in checks):
        leads = f"the operation {lookup.operation.id}" if lookup.operation else "no operation"
        checks.append(MatcherCheck("operation", 1.0, f"the path belongs to {leads}, not to {operation.id}", PARAMETER))
    if isinstance(entry, Rule):
        checks += [
            _constraint(constraint, call.values(constraint.place, parameters)) for constraint in entry.constraints
        ]
        if entry.when:
            checks.append(condition or _when(entry, call, parameters))
    return Candidate(entry, pattern, methods, parameters, tuple(checks), alignment.vague)


def lacks(required: Requirement, call: Call, schemas: Schemas) -> list[str]:
    """Return everything that the request lacks, in the words in which the bank reports the first of it.

    `call.path` has the path parameters. A schema name that needs other parameters is skipped.
    """
    own = [Requirement((constraint,), None, required.optional) for constraint in required.constraints]
    own.sort(key=lambda requirement: requirement.constraints[0].place.part == "body")
    if required.schema and "{" not in fill_name(required.schema, call.path):
        own.append(Requirement((), required.schema, required.optional))
    if required.that:
        own.append(Requirement(that=required.that, that_text=required.that_text))
    missing: dict[str, None] = {}
    for requirement in own:
        try:
            requirements.check(requirement, call, schemas)
        except BankError as error:
            missing[str(error.values["expected"])] = None
    return list(missing)


def value_text(value: Any) -> str:
    text = to_json(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def place_text(place: RequestPart) -> str:
    if place.part == "body" and not place.name:
        return "body"
    name = requirements.header_name(place.name) if place.part == "headers" else place.name
    return f"{_KINDS[place.part]} {name}"


def _method(methods: frozenset[str], method: str) -> MatcherCheck:
    if not methods or method in methods:
        return MatcherCheck("method", 0.0, f"method {method}")
    return MatcherCheck("method", 1.0, f"method is {method}, must be {' or '.join(sorted(methods))}", METHOD)


def _path(pattern: Pattern, alignment: PathAlignment) -> MatcherCheck:
    if not alignment.cost:
        return MatcherCheck("path", 0.0, f"path {pattern.text}")
    return MatcherCheck("path", alignment.cost, f"path: {', '.join(alignment.edits)}", PATH)


def _where(operation: Operation, call: Call, parameters: Mapping[str, str]) -> list[MatcherCheck]:
    """Return the checks of the alternative that is nearest."""
    alternatives = [
        [_constraint(constraint, call.values(constraint.place, parameters), PARAMETER) for constraint in alternative]
        for alternative in operation.where
    ]
    return min(alternatives, key=lambda checks: sum(check.cost for check in checks), default=[])


def _constraint(constraint: Constraint, values: Sequence[Any], weight: float = CONSTRAINT) -> MatcherCheck:
    what, name = str(constraint.place), place_text(constraint.place)
    has = f"is {', '.join(map(value_text, values[:3]))}" if values else "is absent"
    if constraint.fits(values):
        return MatcherCheck(what, 0.0, f"{name} {has}")
    expected = in_words(constraint.spec)
    if values:
        by = distance.shortfall(constraint.spec, values[0])
        text = f"{name} {has}, must be {expected}{f': {by}' if by else ''}"
    else:
        text = f"{name} is missing" if expected == "there" else f"{name} is missing, must be {expected}"
    return MatcherCheck(what, distance.of_values(constraint.spec, values), text, weight)


def check_of_condition(rule: Rule, holds: bool, error: SandboxError | None = None) -> MatcherCheck:
    condition = f"when {rule.when_text}"
    if error:
        return MatcherCheck("when", 1.0, f"{condition}: evaluation failed: {error}", broken=True)
    return MatcherCheck("when", 0.0 if holds else 1.0, condition if holds else f"{condition}: is false")


def _when(rule: Rule, call: Call, parameters: Mapping[str, str]) -> MatcherCheck:
    try:
        scope = call.with_path(call.scope(), parameters)
        return check_of_condition(rule, rule.when is None or rule.when(scope))
    except SandboxError as error:
        return check_of_condition(rule, holds=False, error=error)


_ALIGNED = 200
"""The most paths that are compared in detail, of the thousands in a recording."""


def find_nearest(
    entries: Sequence[Operation | Rule], interface: Interface, call: Call, count: int, lookup: Lookup | None = None
) -> list[Candidate]:
    """Return the nearest entries, best first. On a tie: those that meet more conditions, then the order of `entries`.

    Path and method give a lower limit for the cost, so only a few entries are compared completely.
    """
    aligned = _alignments(entries, interface, call.segments)
    costs = []
    for entry in entries:
        pattern, methods = path_and_methods(entry, interface)
        if alignment := aligned.get(pattern.text):
            wrong = bool(methods) and call.request.method not in methods
            costs.append(((alignment.cost + alignment.vague) * PATH + wrong * METHOD, entry, alignment))
    best: list[Candidate] = []
    for cost, entry, alignment in sorted(costs, key=lambda priced: priced[0]):
        if len(best) == count and cost > best[-1].cost:
            break
        best.append(hold(entry, interface, call, alignment, lookup))
        best.sort(key=lambda candidate: (candidate.cost, -_strength(candidate)))
        del best[count:]
    return best


def _alignments(
    entries: Sequence[Operation | Rule], interface: Interface, segments: Sequence[str]
) -> dict[str, PathAlignment]:
    """Align the paths of the entries with the segments. The result is keyed by the text of the path."""
    patterns = {pattern.text: pattern for pattern, _ in (path_and_methods(entry, interface) for entry in entries)}
    words = frozenset(segments)

    def strangeness(pattern: Pattern) -> tuple[int, int]:
        literals = [segment.text for segment in pattern.segments if segment.kind == LITERAL]
        return sum(word not in words for word in literals), abs(len(pattern.segments) - len(segments))

    return {pattern.text: align(pattern, segments) for pattern in nsmallest(_ALIGNED, patterns.values(), strangeness)}


def _strength(candidate: Candidate) -> int:
    """Return the strength of the conditions that are met."""
    if not isinstance(candidate.entry, Rule):
        return 0
    missed = {check.what for check in candidate.missed}
    return sum(constraint.strength for constraint in candidate.entry.constraints if str(constraint.place) not in missed)
