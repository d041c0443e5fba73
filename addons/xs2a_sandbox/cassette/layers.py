"""The bank's interface: cassettes in layers, put together and checked as one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xs2a_sandbox.cassette import handler, reader
from xs2a_sandbox.cassette.answers import Answer
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.model import (
    Cassette,
    ErrorAnswer,
    Operation,
    Recorded,
    Requirement,
    Rule,
    SourcePlace,
    answers,
)
from xs2a_sandbox.cassette.overlap import clashes, overlaps
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.errors import Problem, Unreadable

ENGINE_ERRORS = frozenset(
    "bank-garbled bank-late bank-loop bank-not-configured bank-private bank-unreachable body-too-large busy "
    "format-error headers-too-large internal media-type method-not-offered path-unknown recording-failed "
    "sequence-exhausted session-invalid target-too-long timeout".split()
)
"""Errors that the engine itself raises; every dialect must say them."""

_NEEDS_ALL = ("unknown-operation", "unknown-error", "behaviour")

_FLAGS = {"testdata": "test data is named with --testdata FILE"}


type Layer = Sequence[Path | Cassette]


@dataclass(frozen=True, slots=True)
class Layered:
    """A rule, and the layer it stands in; later layers win."""

    rule: Rule
    layer: int

    def rank(self, operations: Mapping[str, Operation]) -> tuple[int, int, tuple[int, ...], int]:
        """Greater wins: layer, priority, how literal the path is, how much is asked of the request."""
        pattern = self.rule.pattern or operations[self.rule.operation or ""].pattern
        return (self.layer, self.rule.priority, pattern.rank, self.rule.strength)


@dataclass(frozen=True, slots=True)
class Interface:
    """Everything the cassettes say. `rules` are in order: the first that fits a request answers it.

    `layers` are the numbers of the layers that rules stand in, by id; a higher one wins. `tapes` says of derived files
    what they were derived from.
    """

    operations: Mapping[str, Operation]
    rules: tuple[Rule, ...]
    errors: Mapping[str, ErrorAnswer]
    every_answer: Answer
    every_error: Answer
    layers: Mapping[str, int] = field(default_factory=dict)
    tapes: Mapping[Path, Recorded] = field(default_factory=dict)

    def named(self, id: str) -> Operation | Rule | None:
        """The rule or operation that X-Sandbox-Rule names."""
        return next((rule for rule in self.rules if rule.id == id), None) or self.operations.get(id)


def read(
    layers: Sequence[Layer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> Interface:
    """Each layer is some directories, files, or cassettes read before.

    `bank` says whether there is a real one for `bank: true`.

    Raises:
        Unreadable: with every problem of every file.
    """
    interface, problems = check(layers, schemas, handlers, bank=bank)
    if problems or interface is None:
        raise Unreadable(problems)
    return interface


def check(
    layers: Sequence[Layer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> tuple[Interface | None, list[Problem]]:
    """The interface as far as it can be read, and every problem of every file."""
    problems: list[Problem] = []
    parsed = [[c for path in layer for c in _read_path(path, schemas, problems)] for layer in layers]
    readable = not problems
    operations: dict[str, Operation] = {}
    heights: dict[str, int] = {}
    rules: dict[str, Layered] = {}
    errors: dict[str, ErrorAnswer] = {}
    every_request, every_answer, every_error = Requirement(), Answer(), None
    for number, layer in enumerate(parsed):
        for found in (_unique(layer, lambda c: (*c.operations, *c.rules), problems), _unique_errors(layer, problems)):
            for entry in found:
                if isinstance(entry, Operation):
                    operations[entry.id] = entry
                    heights[entry.id] = number
                elif isinstance(entry, Rule):
                    rules[entry.id] = Layered(entry, number)
                else:
                    errors[entry.name] = entry
        for one in layer:
            every_request = one.every_request or every_request
            every_answer = one.every_answer or every_answer
            every_error = one.every_error or every_error
    operations = {
        id: replace(operation, require=operation.require.with_every(every_request))
        for id, operation in operations.items()
    }
    dangling = _dangling(operations, [r.rule for r in rules.values()], errors, schemas, handlers, bank)
    # What a file that cannot be read defines is not known, so nothing that it may define is called missing.
    problems += dangling if readable else [p for p in dangling if p.code not in _NEEDS_ALL]
    if not readable:
        return None, problems
    problems += clashes([[o for one in layer for o in one.operations] for layer in parsed])
    missing = sorted(ENGINE_ERRORS.union(*(one.errors for one in handlers.values())) - errors.keys())
    if missing or every_error is None:
        what = [f"the errors {', '.join(missing)}"] if missing else []
        what += [] if every_error else ["every_error, the body that errors are said in"]
        first = next((c.file for layer in parsed for c in layer), Path("cassettes"))
        problems.append(Problem(first, 1, 1, "incomplete", f"the cassettes do not define {' and '.join(what)}"))
    known = [r for r in rules.values() if not r.rule.operation or r.rule.operation in operations]
    ordered = sorted(known, key=lambda r: (*_descending(r.rank(operations)), r.rule.id))
    problems += overlaps([(r.rule, r.rank(operations)) for r in ordered], operations)
    if every_error is None:
        return None, problems
    # Of operations with one path the index takes the first: that of the later layer.
    operations = {id: operations[id] for id in sorted(operations, key=lambda id: -heights[id])}
    numbers = {r.rule.id: r.layer for r in ordered}
    in_order = tuple(r.rule for r in ordered)
    tapes = {one.file: one.recorded for layer in parsed for one in layer if one.recorded}
    return Interface(operations, in_order, errors, every_answer, every_error, numbers, tapes), problems


def _descending(rank: tuple[int, int, tuple[int, ...], int]) -> tuple[int, int, tuple[int, ...], int]:
    layer, priority, path, strength = rank
    return (-layer, -priority, tuple(-kind for kind in path), -strength)


def cassettes(layers: Sequence[Layer], schemas: Schemas) -> list[list[Cassette]]:
    """Each layer read once, for several interfaces. Raises Unreadable for what is wrong with a cassette by itself."""
    problems: list[Problem] = []
    found = [[c for path in layer for c in _read_path(path, schemas, problems)] for layer in layers]
    if problems:
        raise Unreadable(problems)
    return found


def _read_path(path: Path | Cassette, schemas: Schemas, problems: list[Problem]) -> list[Cassette]:
    if isinstance(path, Cassette):
        return [path]
    if path.is_dir():
        # What a link leads to nowhere is some editor's lock; anything else that is no file is told.
        named = [file for file in path.rglob("*") if file.suffix in (".yaml", ".yml")]
        files = sorted(file for file in named if file.exists() and not file.is_dir())
        folder = path
    elif path.exists():
        files, folder = [path], path.parent
    else:
        problems.append(Problem(path, 1, 1, "unreadable", "there is no such file or directory"))
        return []
    found = []
    for file in files:
        try:
            if file.suffix == ".yml":
                raise Unreadable([Problem(file, 1, 1, "file-name", "cassettes end in .yaml; rename this file")])
            one = yaml_reader.read(file, folder=folder)
            _expect_cassette(one)
        except Unreadable as error:
            problems += error.problems
        else:
            found.append(reader.parse(one, schemas, problems))
    return found


def _expect_cassette(one: yaml_reader.Document) -> None:
    first = next(iter(one.value), None) if isinstance(one.value, dict) else None
    if first == "cassette":
        return
    hint = _FLAGS.get(str(first), "move other YAML files elsewhere")
    raise Unreadable([one.problem((), "no-cassette", f"the first key of a cassette is `cassette: 1`; {hint}")])


def _unique(
    layer: Iterable[Cassette], entries: Callable[[Cassette], tuple[Operation | Rule, ...]], problems: list[Problem]
) -> list[Operation | Rule]:
    seen: dict[str, Operation | Rule] = {}
    for entry in [entry for one in layer for entry in entries(one)]:
        other = seen.setdefault(entry.id, entry)
        if other is not entry:
            text = f"the id {entry.id!r} stands already at {other.origin.place}, in the same layer"
            problems.append(entry.origin.problem("duplicate-id", text, ("id",)))
    return list(seen.values())


def _unique_errors(layer: Iterable[Cassette], problems: list[Problem]) -> list[ErrorAnswer]:
    seen: dict[str, ErrorAnswer] = {}
    for entry in [entry for one in layer for entry in one.errors]:
        other = seen.setdefault(entry.name, entry)
        if other is not entry:
            text = f"the error {entry.name!r} stands already at {other.origin.place}, in the same layer"
            problems.append(entry.origin.problem("duplicate-id", text, key=True))
    return list(seen.values())


def _dangling(
    operations: Mapping[str, Operation],
    rules: Sequence[Rule],
    errors: Mapping[str, ErrorAnswer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    bank: bool,
) -> list[Problem]:
    problems: list[Problem] = []
    for operation in operations.values():
        problems += [
            operation.origin.problem("unknown-error", _unknown("error", name, errors), ("otherwise", parameter))
            for parameter, name in operation.otherwise.items()
            if name not in errors
        ]
        problems += _unknown_schema(operation.require.schema, operation, operation.origin, schemas)
        problems += _behaviour(operation, errors, schemas, handlers)
        problems += handler.check(operation, operation, handlers, operations)
        if operation.behaviour.handler and not operation.behaviour.respond:
            text = "the handler's result needs a respond"
            problems.append(operation.origin.problem("behaviour", text, ("handler",)))
    for rule in rules:
        owner = operations.get(rule.operation) if rule.operation else None
        if rule.operation and owner is None:
            text = _unknown("operation", rule.operation, operations)
            problems.append(rule.origin.problem("unknown-operation", text, ("match", "operation")))
        if owner:
            problems += [
                rule.origin.problem(
                    "where", f"the path {owner.pattern.text} has no parameter {c.place.name}", ("match",)
                )
                for c in rule.constraints
                if c.place.part == "where" and c.place.name not in owner.pattern.names
            ]
        if rule.require:
            problems += _unknown_schema(rule.require.schema, owner, rule.origin, schemas)
        problems += _behaviour(rule, errors, schemas, handlers)
        problems += handler.check(rule, owner, handlers, operations) if owner or rule.pattern else []
        if rule.behaviour.handler and not rule.behaviour.respond and not (owner and owner.behaviour.respond):
            text = "the handler's result needs a respond, here or in the operation"
            problems.append(rule.origin.problem("behaviour", text, ("handler",)))
        if rule.behaviour.bank and not bank:
            text = "no bank is configured, so bank: true could only answer 502; name it with --bank URL"
            problems.append(rule.origin.problem("no-bank", text, ("bank",)))
    return problems


def _behaviour(
    by: Operation | Rule, errors: Mapping[str, ErrorAnswer], schemas: Schemas, handlers: Mapping[str, Handler]
) -> list[Problem]:
    behaviour, origin = by.behaviour, by.origin
    problems = []
    if behaviour.handler and behaviour.handler not in handlers:
        problems.append(
            origin.problem("unknown-handler", _unknown("handler", behaviour.handler, handlers), ("handler",))
        )
    problems += [
        origin.problem("unknown-schema", _unknown("schema", name, schemas.names()), ("answers", status))
        for status, name in (behaviour.answers or {}).items()
        if name not in schemas
    ]
    for below, answer in answers(by):
        if answer.error and answer.error not in errors:
            text = _unknown("error", answer.error, errors)
            problems.append(origin.problem("unknown-error", text, (*below, "error")))
        if answer.schema and answer.schema not in schemas:
            text = _unknown("schema", answer.schema, schemas.names())
            problems.append(origin.problem("unknown-schema", text, (*below, "schema")))
    return problems


def _unknown_schema(
    name: str | None, operation: Operation | None, origin: SourcePlace, schemas: Schemas
) -> list[Problem]:
    return [
        origin.problem("unknown-schema", _unknown("schema", one, schemas.names()), ("require", "body", "schema"))
        for one in schema_names(name, operation)
        if one not in schemas
    ]


def schema_names(name: str | None, operation: Operation | None) -> list[str]:
    """The names that `payments/{product}` can become, by the values that the operation's `where` lists."""
    if name is None:
        return []
    names = {name}
    for alternative in operation.where if operation else ():
        for constraint in alternative:
            marker = "{" + constraint.place.name + "}"
            if constraint.values and any(marker in one for one in names):
                names = {one.replace(marker, str(value)) for one in names for value in constraint.values}
    return sorted(names)


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
    return f"there is no {kind} {name!r}; {hint}"
