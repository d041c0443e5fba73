"""Handlers: domain logic that cassettes refer to by name. Each declares its inputs, result, errors and options."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from xs2a_sandbox.cassette.answers import Action
from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.evaluation.expressions import is_special
from xs2a_sandbox.cassette.inputs import Inputs
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.cassette.model import Behaviour, Operation, Pointer, Rule, answers
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.errors import Problem

type Parts = frozenset[RequestPart]

_WITHOUT_BODY = (204, *range(300, 400))


@dataclass(frozen=True, slots=True)
class ReadsAndRaises:
    """The parts of the request that are read, and the names of errors that are raised."""

    reads: Parts = frozenset()
    raises: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a handler. The dialect (`request`) or the operation (`input`) defines where requests have it.

    If it `is_needed`, the handler cannot work without it.
    """

    name: str
    doc: str
    is_needed: bool = False

    @property
    def needed(self) -> "Input":
        return replace(self, is_needed=True)


@dataclass(frozen=True, slots=True)
class Option:
    """One key of `with`. `schema` is the JSON Schema of its value; `default` applies if the key is missing.

    The default of an option with a `section` comes from that section of the dialect; with `in_rules`, only rules may
    set it, for their own calls. If it is set, the handler also `takes` these inputs and does these `deeds`; `choices`
    do the same for single values.
    """

    doc: str
    schema: Mapping[str, Any]
    required: bool = False
    section: str | None = None
    in_rules: bool = False
    default: Any = None
    takes: tuple[Input, ...] = ()
    deeds: ReadsAndRaises = ReadsAndRaises()
    choices: Mapping[str, ReadsAndRaises] = field(default_factory=dict)


@dataclass(frozen=True)
class Handler:
    """Answers a call with a result of plain data, or raises a BankError.

    An action is a handler that effects call (`do`); its options may be computed. A handler raises only the errors in
    `deeds`, those of its options, and `internal`. It reads only its inputs and the parts of the request in `deeds`.
    `returns` are the members of its result, and nested members such as `payment.debtor`. `does` describes what an
    operation with it does; it may contain options in braces: `read consent`, `list authorisation of {family}`.
    """

    name: str
    run: Callable[[Call], Any]
    doc: str
    deeds: ReadsAndRaises
    returns: tuple[str, ...]
    options: Mapping[str, Option]
    takes: tuple[Input, ...] = ()
    is_action: bool = False
    does: str | None = None

    def __call__(self, call: Call) -> Any:
        if not self.inputs or not isinstance(call.inputs, Inputs):
            return self.run(call)
        call.taken = call.inputs.read(self.name, self.inputs, call)
        try:
            return self.run(call)
        finally:
            call.taken = {}

    def with_options(self, options: Mapping[str, Any]) -> ReadsAndRaises:
        """Return what the handler reads and raises with these options."""
        reads, raises = self.deeds.reads, self.deeds.raises
        for name, option in self.options.items():
            if value := options.get(name, option.default):
                chosen = option.choices.get(value, ReadsAndRaises()) if isinstance(value, str) else ReadsAndRaises()
                reads = reads | option.deeds.reads | chosen.reads
                raises = raises | option.deeds.raises | chosen.raises
        return ReadsAndRaises(reads, raises)

    def act(self, options: Mapping[str, Any]) -> Act | None:
        """Return what an operation with these options does, or None if that is unknown."""
        try:
            return Act.parse(self.does.format_map(options)) if self.does else None
        except (LookupError, ValueError):
            return None

    @cached_property
    def inputs(self) -> Mapping[str, Input]:
        """All inputs that it can take, by name."""
        more = (input for option in self.options.values() for input in option.takes)
        return {input.name: input for input in (*self.takes, *more)}

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of its options, without those that a section of the dialect defines."""
        options = self.options.items()
        return {name: option.default for name, option in options if option.default is not None and not option.section}

    @cached_property
    def result(self) -> dict[str, Any]:
        """The members of its result by name, each with its own members, or None if they are not declared."""
        shape: dict[str, Any] = {}
        for path in self.returns:
            name, _, member = path.partition(".")
            shape[name] = {**(shape.get(name) or {}), member: None} if member else shape.get(name)
        return shape

    @property
    def errors(self) -> frozenset[str]:
        """All errors that it can raise with any options."""
        options = [deeds for option in self.options.values() for deeds in (option.deeds, *option.choices.values())]
        return self.deeds.raises.union(*(deeds.raises for deeds in options))


def places(text: str) -> Parts:
    """Parse parts of requests, written as `headers.psu-id query.page where.account-id body/access`."""
    parts = set()
    for word in text.split():
        part, slash, member = word.partition("/")
        kind, _, name = (part, "", f"/{member}") if slash else word.partition(".")
        parts.add(RequestPart(kind, name))  # type: ignore[arg-type]
    return frozenset(parts)


def deeds(reads: str = "", raises: str = "") -> ReadsAndRaises:
    return ReadsAndRaises(places(reads), frozenset(raises.split()))


def handler(
    name: str,
    *,
    takes: Sequence[Input] = (),
    reads: str = "",
    raises: str = "",
    returns: str = "",
    options: Mapping[str, Option] | None = None,
    does: str | None = None,
) -> Callable[[Callable[[Call], dict[str, Any]]], Handler]:
    """Turn a function into a handler. Its docstring becomes the handler's documentation."""

    def declare(run: Callable[[Call], dict[str, Any]]) -> Handler:
        doc = " ".join((run.__doc__ or "").split())
        own = deeds(reads, raises)
        return Handler(name, run, doc, own, tuple(returns.split()), options or {}, tuple(takes), does=does)

    return declare


def action(name: str, **declaration: Any) -> Callable[[Callable[[Call], Any]], Handler]:
    """Turn a function into an action, in the same way as `handler`."""
    return lambda run: replace(handler(name, **declaration)(run), is_action=True)


def complaints(own: Handler, options: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield the mistakes in options by their schemas."""
    schema = {
        "additionalProperties": False,
        "properties": {name: option.schema for name, option in own.options.items()},
    }
    return iter(Schema(own.name, schema, lambda uri: {}).complaints(options))


def gaps(own: Handler, options: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield a complaint for each required option that is missing."""
    for name, option in own.options.items():
        if option.required and name not in options:
            yield Complaint((), "missing-key", f"the handler {own.name} needs the key {name} in `with`")


def misplaced(own: Handler, options: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield a complaint for each option that belongs to a section of the dialect, not to an operation."""
    for name in options:
        if (option := own.options.get(name)) and option.in_rules:
            text = f"a single operation cannot set {name}: set it for all operations, in the section {option.section}"
            yield Complaint((name,), "unknown-key", text, key=True)


def options_of(by: Operation | Rule, operation: Operation | None) -> Mapping[str, Any]:
    """Return the options for the handler: `with` of the entry itself, or that of the operation."""
    default = operation.behaviour if operation else Behaviour()
    return by.behaviour.options if by.behaviour.options is not None else (default.options or {})


def result_of(by: Operation | Rule, own: Handler, handlers: Mapping[str, Handler]) -> Mapping[str, Any]:
    """Return the members of the handler's result.

    For a rule that matches by `does`, these are the members of every handler that does it.
    """
    if isinstance(by, Operation) or not by.does:
        return own.result
    return {name: inner for one in handlers.values() if one.does == own.does for name, inner in one.result.items()}


def check(by: Operation | Rule, operation: Operation | None, handlers: Mapping[str, Handler]) -> Iterator[Problem]:
    """Yield the problems that keep the handler from working.

    `operation` is the entry itself, or the one that a rule names.
    """
    if by.behaviour.amend and by.behaviour.amend.result and operation:
        yield from _check_result_change(by, operation, handlers)
    own = handlers.get(by.behaviour.handler or "")
    if own is None or own.is_action:
        return
    for below, answer in answers(by):
        if own.returns and not answer.error and answer.is_empty and answer.status not in _WITHOUT_BODY:
            text = f"the answer {answer.status} has no body, so the result of {own.name} is lost"
            yield by.origin.problem(
                "behaviour", f"{text}: add a body, such as {{{{ result }}}}, or use status 204", below
            )
    pattern = operation.pattern if operation else by.pattern or Pattern("/", ())
    options = options_of(by, operation)
    if by.behaviour.options is not None and not by.origin.document.is_sound:
        others = misplaced(own, by.behaviour.options) if isinstance(by, Operation) else ()
        for complaint in (*complaints(own, by.behaviour.options), *others):
            yield by.origin.problem(complaint.code, complaint.text, ("with", *complaint.pointer), key=complaint.key)
    at: Pointer = ("with",) if by.behaviour.options is not None else ("handler",)
    for complaint in gaps(own, options):
        yield by.origin.problem(complaint.code, complaint.text, (*at, *complaint.pointer))
    for place in sorted(own.with_options(options).reads, key=str):
        if place.part == "where" and place.name not in pattern.names:
            text = f"the handler {own.name} reads the path parameter {place.name}, which {pattern.text} does not have"
            yield by.origin.problem("where", text, ("handler",))


def _check_result_change(
    by: Operation | Rule, operation: Operation, handlers: Mapping[str, Handler]
) -> Iterator[Problem]:
    """Yield problems with changes of a handler's result that has no such member."""
    at, own = ("amend", "result"), handlers.get(operation.behaviour.handler or "")
    if own is None:
        text = f"the operation {operation.id} has no handler, so there is no result to change"
        yield by.origin.problem("behaviour", text, at, key=True)
        return
    written, result = by.origin.at(at), result_of(by, own, handlers)
    if isinstance(written, list):
        named: list[tuple[Pointer, str]] = []
        named += [((number, "path"), step["path"].lstrip("/").partition("/")[0]) for number, step in enumerate(written)]
    else:
        named = [((name,), name) for name in written]
    for below, name in named:
        if name not in result:
            text = f"{own.name} returns no {name}; it" if name else f"the path must be a member; {own.name}"
            text += f" returns {', '.join(result)}"
            yield by.origin.problem("member", text, (*at, *below))


def check_actions(by: Operation | Rule, handlers: Mapping[str, Handler]) -> Iterator[Problem]:
    """Yield problems with the options of actions in effects, except for computed ones."""
    for number, effect in enumerate(by.behaviour.effects):
        if not isinstance(effect, Action):
            continue
        own, at = handlers.get(effect.name), ("effects", number)
        if own is None or not own.is_action:
            actions = sorted(name for name, handler_there in handlers.items() if handler_there.is_action)
            hint = did_you_mean(effect.name, actions) or f"; there are {', '.join(actions)}"
            yield by.origin.problem("unknown-action", f"unknown action {effect.name!r}{hint}", (*at, "do"))
            continue
        written = effect.written
        for complaint in complaints(own, written):
            if not is_computed(written, complaint.pointer):
                pointer = (*at, "with", *complaint.pointer)
                yield by.origin.problem(complaint.code, complaint.text, pointer, key=complaint.key)
        for name, option in own.options.items():
            if option.required and name not in written:
                text = f"the action {own.name} needs the key {name} in `with`"
                yield by.origin.problem("missing-key", text, (*at, "with" if "with" in by.origin.at(at) else "do"))


def is_computed(value: Any, pointer: Pointer) -> bool:
    """Return whether the value at the place, or above it, is an expression or made by `merge`, `each` or `shape`."""
    for step in pointer:
        if isinstance(value, str) or _is_made(value):
            break
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return _is_made(value) or (isinstance(value, str) and "{{" in value)


def _is_made(value: Any) -> bool:
    return isinstance(value, dict) and is_special(value)
