"""One cassette: its operations, errors and rules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.cassette.amend import Amendment
from xs2a_sandbox.cassette.answers import Action, Effect, ResponseTemplate
from xs2a_sandbox.cassette.evaluation.expressions import Render, Scope
from xs2a_sandbox.cassette.inputs import InputSource
from xs2a_sandbox.cassette.matchers import WHEN_STRENGTH, Constraint
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.cassette.requirement_source import IsMet, compile_requirement
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.http.messages import SAFE_METHODS

Pointer = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place where something was written. `pointer` leads to it in its document."""

    document: Document
    pointer: Pointer

    @property
    def place(self) -> str:
        return f"{self.document.file}:{self.document.line(self.pointer)}"

    @property
    def written(self) -> Any:
        return reduce(getitem, self.pointer, self.document.value)

    def at(self, below: Pointer) -> Any:
        return reduce(getitem, below, self.written)

    def problem(self, code: str, text: str, below: Pointer = (), *, key: bool = False) -> Problem:
        return self.document.problem((*self.pointer, *below), code, text, key=key)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The source of a recording: the bank's URL, the day, and the fingerprint of the key for pseudonyms.

    `redacted` is None if the recording contains the real traffic. `left_out` lists requests whose response no rule can
    give, with the reason.
    """

    bank: str
    at: date
    redacted: str | None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Requirement:
    """The requirements for a request.

    `schema` names the JSON Schema of the body; a `{parameter}` in it is a path parameter.

    The body must have one of the types `media`, or else JSON. An `optional` body is checked only if there is one.
    `that` is a condition. A failure raises `error` with these `values`, or by default the error for the kind of
    mistake. Those `following` are checked in order after this one is met.
    """

    constraints: tuple[Constraint, ...] = ()
    schema: str | None = None
    optional: bool = False
    media: tuple[str, ...] = ()
    that: Callable[[Scope], bool] | None = None
    that_text: str = ""
    error: str | None = None
    values: Any = None
    following: tuple["Requirement", ...] = ()

    @property
    def steps(self) -> tuple["Requirement", ...]:
        """The requirement itself and those following, in order."""
        return (self, *self.following)

    @cached_property
    def is_met(self) -> IsMet:
        """A quick function that returns true only if the requirement is met and causes no warnings."""
        return compile_requirement(self)

    def with_every(self, every: "Requirement") -> "Requirement":
        """Return the requirement with those for every request, except for places that it has conditions on itself."""
        places = {constraint.place for step in self.steps for constraint in step.constraints}
        added = tuple(constraint for constraint in every.constraints if constraint.place not in places)
        return replace(self, constraints=self.constraints + added)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The source of the response: `respond`, a `sequence`, a `handler` with `respond` for its result, or the real bank.

    A rule with `amend` has none of these; it changes another response. `inputs` are those of the dialect, overridden by
    its own.
    """

    respond: tuple[ResponseTemplate, ...] = ()
    sequence: tuple[ResponseTemplate, ...] = ()
    on_exhausted: Literal["repeat_last", "restart", "fail"] = "repeat_last"
    handler: str | None = None
    options: Mapping[str, Any] | None = None
    inputs: Mapping[str, InputSource] = field(default_factory=dict)
    bank: bool = False
    answers: Mapping[str, str] | None = None
    effects: tuple[Effect | Action, ...] = ()
    let: tuple[tuple[str, Any], ...] = ()
    amend: Amendment | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the interface. `where` is a list of alternatives, each a set of conditions on path parameters.

    If `roles` is not empty and certificates are checked, a TPP needs one of these roles. If `is_for_browsers`, it is
    requested by the payment user's browser, which has neither token nor certificate. `does` describes what the
    operation does; by default it comes from its handler.
    """

    id: str
    method: str
    pattern: Pattern
    where: tuple[tuple[Constraint, ...], ...]
    otherwise: Mapping[str, str]
    require: Requirement
    behaviour: Behaviour
    examples: tuple[Mapping[str, Any], ...]
    origin: SourcePlace
    roles: tuple[str, ...] = ()
    is_for_browsers: bool = False
    checks: Mapping[str, tuple[Requirement, ...]] = field(default_factory=dict)
    """By name of a check: requirements that apply only at banks that make this check."""
    does: Act | None = None
    reads: bool = field(init=False)
    """Whether the operation only reads. Without `does`, the HTTP method decides."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", self.does.reads if self.does else self.method in SAFE_METHODS)


@dataclass(frozen=True, slots=True)
class Rule:
    """A case. It names an operation, matches by `does`, or has its own path (and methods; none means any).

    A rule with `does` is expanded to one rule for each operation that does this; all have the same id.

    `recorded` is the hash that a generated rule had when it was written; `tape` is the recording it comes from.
    """

    id: str
    priority: int
    operation: str | None
    methods: frozenset[str]
    pattern: Pattern | None
    constraints: tuple[Constraint, ...]
    when: Callable[[Scope], bool] | None
    when_text: str | None
    require: Requirement | None
    skips_requirements: bool
    behaviour: Behaviour
    examples: tuple[Mapping[str, Any], ...]
    origin: SourcePlace
    recorded: str | None = None
    tape: Recorded | None = None
    does: tuple[Act, ...] = ()

    @property
    def strength(self) -> int:
        return sum(c.strength for c in self.constraints) + (WHEN_STRENGTH if self.when else 0)


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """One entry of the table of errors.

    `body` replaces the body that `every_error` gives. If `empty` is set, the answer has no body. Statuses,
    codes and numbers are keyed by operation id; the key `default` is for all others.
    """

    name: str
    statuses: Mapping[str, int]
    codes: Mapping[str, str]
    numbers: Mapping[str, str]
    text: Render | str
    headers: tuple[tuple[str, Any], ...]
    body: Any
    origin: SourcePlace
    empty: bool = False

    def status(self, operation: str | None = None) -> int:
        return self.statuses.get(operation or "") or self.statuses["default"]

    def code(self, operation: str | None = None) -> str:
        return self.codes.get(operation or "") or self.codes["default"]

    def number(self, operation: str | None = None) -> str:
        return self.numbers.get(operation or "") or self.numbers["default"]


@dataclass(frozen=True, slots=True)
class Extension:
    """The dialect that another one extends, with the removed and changed entries by section and name."""

    dialect: str
    without: tuple[str, ...]
    changes: Mapping[str, Mapping[str, Any]]
    origin: SourcePlace

    def at(self, pointer: Pointer) -> Any:
        return reduce(getitem, pointer, self.origin.document.value)

    def place(self, *pointer: str | int) -> SourcePlace:
        return SourcePlace(self.origin.document, pointer)


@dataclass(frozen=True, slots=True)
class ScaPages:
    """The bank on the payment user's pages: its name, colours by name for light and dark, texts by language.

    `languages` are the offered languages; browsers that want none of them get the first one. Empty means all with
    texts.
    """

    name: str | None = None
    colours: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def over(self, below: "ScaPages") -> "ScaPages":
        """Return these pages, with gaps filled from `below`."""
        return ScaPages(
            self.name or below.name,
            _join(below.colours, self.colours),
            self.languages or below.languages,
            _join(below.texts, self.texts),
        )


def _join(
    below: Mapping[str, Mapping[str, str]], above: Mapping[str, Mapping[str, str]]
) -> dict[str, Mapping[str, str]]:
    return {name: {**below.get(name, {}), **above.get(name, {})} for name in {**below, **above}}


@dataclass(frozen=True, slots=True)
class Cassette:
    file: Path
    operations: tuple[Operation, ...]
    rules: tuple[Rule, ...]
    errors: tuple[ErrorAnswer, ...]
    every_request: Requirement | None
    every_answer: ResponseTemplate | None
    every_error: ResponseTemplate | None
    recorded: Recorded | None = None
    dialect: str | None = None
    """The dialect that answers requests that were not recorded."""
    extends: Extension | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options for handlers of lower layers, by name, in a cassette that does not extend a dialect."""
    operation_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options for single operations of lower layers, by id, in such a cassette."""
    is_quirk: bool = False
    sca_pages: ScaPages | None = None
    checks: Mapping[str, tuple[Requirement, ...]] = field(default_factory=dict)
    """The requirements of each check that apply to every operation."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The content of its sections by name."""
    origin: SourcePlace | None = None

    @property
    def place(self) -> SourcePlace:
        """Return the place where it was written. Raises ValueError if the file could not be read."""
        if self.origin is None:
            raise ValueError(f"{self.file} could not be read as a cassette")
        return self.origin


def answers(by: Operation | Rule) -> Iterator[tuple[Pointer, ResponseTemplate]]:
    """Yield all responses that it can give, each with its place below the operation or rule."""
    behaviour, written = by.behaviour, by.origin.written
    for key, entries in (("respond", behaviour.respond), ("sequence", behaviour.sequence)):
        for position, answer in enumerate(entries):
            yield ((key, position) if isinstance(written[key], list) else (key,)), answer
