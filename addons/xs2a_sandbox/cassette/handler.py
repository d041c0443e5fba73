"""Handlers: domain logic that cassettes name, each with a declaration of what it reads, returns, raises and takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import Formatter
from typing import Any

from xs2a_sandbox.cassette.answers import Action
from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.cassette.model import Behaviour, Operation, Pointer, Rule, answers
from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.errors import Problem

type Parts = frozenset[RequestPart]

_WITHOUT_BODY = (204, *range(300, 400))


@dataclass(frozen=True, slots=True)
class ReadsAndRaises:
    """Places of the request that are read, and errors that are raised, by name."""

    reads: Parts = frozenset()
    raises: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Input:
    """One thing that a handler takes of the request, from where the dialect (`request`) or operation (`input`) has it.

    Without one that `is_needed` it cannot work.
    """

    name: str
    doc: str
    is_needed: bool = False

    @property
    def needed(self) -> "Input":
        return replace(self, is_needed=True)


@dataclass(frozen=True, slots=True)
class Option:
    """One key of `with`; `schema` is the JSON Schema of its value, `default` what it is where it is left out.

    A `shared` one that a rule leaves out is that of the operation with the same handler. Of a `template`, which names
    path parameters and these words in braces, nothing else can be filled in. Where it is set, the handler `takes`
    more, and does its `deeds`; `choices` come with some of its values; `instead` is what is not read then.
    """

    doc: str
    schema: Mapping[str, Any]
    required: bool = False
    shared: bool = False
    default: Any = None
    template: frozenset[str] | None = None
    takes: tuple[Input, ...] = ()
    deeds: ReadsAndRaises = ReadsAndRaises()
    choices: Mapping[str, ReadsAndRaises] = field(default_factory=dict)
    instead: Parts = frozenset()


@dataclass(frozen=True)
class Handler:
    """Answers a call with its result as plain data, or raises a BankError.

    An action is one that effects name (`do`), whose options may be computed. It `raises` no other errors than these
    and those of its options, beside `internal`; of the request it takes and reads nothing else; `returns` are the
    members of its result, and members of those, as `payment.creditorName`.
    """

    name: str
    run: Callable[[Call], Any]
    doc: str
    deeds: ReadsAndRaises
    returns: tuple[str, ...]
    options: Mapping[str, Option]
    takes: tuple[Input, ...] = ()
    is_action: bool = False
    shares: str | None = None
    """The handler whose operation's options count, where a shared one is left out; its own when there is none."""

    def __call__(self, call: Call) -> Any:
        return self.run(call)

    def with_options(self, options: Mapping[str, Any]) -> ReadsAndRaises:
        """Lists what it reads and raises where `with` says this."""
        reads, raises = self.deeds.reads, self.deeds.raises
        for name, option in self.options.items():
            if value := options.get(name, option.default):
                chosen = option.choices.get(value, ReadsAndRaises()) if isinstance(value, str) else ReadsAndRaises()
                reads = (reads | option.deeds.reads | chosen.reads) - option.instead
                raises = raises | option.deeds.raises | chosen.raises
        return ReadsAndRaises(reads, raises)

    @cached_property
    def inputs(self) -> Mapping[str, Input]:
        """All that it can take, by name."""
        more = (input for option in self.options.values() for input in option.takes)
        return {input.name: input for input in (*self.takes, *more)}

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """Its options where nobody says them; shared ones are first those of the operation."""
        options = self.options.items()
        return {name: option.default for name, option in options if option.default is not None and not option.shared}

    @cached_property
    def result(self) -> dict[str, Any]:
        """The members of its result by name, each with its own; None for one that may hold whatever."""
        shape: dict[str, Any] = {}
        for path in self.returns:
            name, _, member = path.partition(".")
            shape[name] = {**(shape.get(name) or {}), member: None} if member else shape.get(name)
        return shape

    @property
    def errors(self) -> frozenset[str]:
        """All that it can raise, whatever its options are."""
        options = [deeds for option in self.options.values() for deeds in (option.deeds, *option.choices.values())]
        return self.deeds.raises.union(*(deeds.raises for deeds in options))


def places(text: str) -> Parts:
    """Parts of requests as declarations name them: `headers.psu-id query.page where.account-id body/access`."""
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
) -> Callable[[Callable[[Call], dict[str, Any]]], Handler]:
    """Makes a handler of a function; its docstring says what it does."""

    def declare(run: Callable[[Call], dict[str, Any]]) -> Handler:
        doc = " ".join((run.__doc__ or "").split())
        return Handler(name, run, doc, deeds(reads, raises), tuple(returns.split()), options or {}, tuple(takes))

    return declare


def action(name: str, *, shares: str | None = None, **declaration: Any) -> Callable[[Callable[[Call], Any]], Handler]:
    """Makes an action of a function, as `handler` does a handler."""
    return lambda run: replace(handler(name, **declaration)(run), is_action=True, shares=shares)


def complaints(own: Handler, options: Mapping[str, Any]) -> Iterator[Complaint]:
    """Finds what no such option can be."""
    schema = {
        "additionalProperties": False,
        "properties": {name: option.schema for name, option in own.options.items()},
    }
    return iter(Schema(own.name, schema, lambda uri: {}).complaints(options))


def gaps(
    own: Handler, options: Mapping[str, Any], pattern: Pattern, usual: Mapping[str, Any] | None = None
) -> Iterator[Complaint]:
    """Finds required options that are missing, and templates that nothing fills in on this path.

    `usual` are the options of the operation that shares the handler.
    """
    for name, option in own.options.items():
        if option.required and name not in options and not (option.shared and name in (usual or {})):
            yield Complaint((), "missing-key", f"the handler {own.name} needs the key {name} in `with`")
        if option.template is not None and isinstance(template := options.get(name), str):
            for text in _find_unfilled(template, option.template.union(pattern.names)):
                yield Complaint((name,), "wrong-value", text)


def options_of(by: Operation | Rule, operation: Operation | None) -> Mapping[str, Any]:
    """The options that its handler is told: its own `with`, else that of the operation."""
    default = operation.behaviour if operation else Behaviour()
    return by.behaviour.options if by.behaviour.options is not None else (default.options or {})


def check(
    by: Operation | Rule,
    operation: Operation | None,
    handlers: Mapping[str, Handler],
    operations: Mapping[str, Operation],
) -> Iterator[Problem]:
    """Finds what its handler could not work with. `operation` is itself, or the one that a rule names."""
    own = handlers.get(by.behaviour.handler or "")
    if own is None or own.is_action:
        return
    for below, answer in answers(by):
        if own.returns and not answer.error and answer.is_empty and answer.status not in _WITHOUT_BODY:
            text = f"this answers {answer.status} with nothing of what {own.name} returns"
            yield by.origin.problem(
                "behaviour", f"{text}: it needs a body, such as {{{{ result }}}}, or status 204", below
            )
    pattern = operation.pattern if operation else by.pattern or Pattern("/", ())
    options = options_of(by, operation)
    if by.behaviour.options is not None:
        for complaint in complaints(own, by.behaviour.options):
            yield by.origin.problem(complaint.code, complaint.text, ("with", *complaint.pointer), key=complaint.key)
    at: Pointer = ("with",) if by.behaviour.options is not None else ("handler",)
    usual = {} if isinstance(by, Operation) else _find_usual(own, options, operations)
    for complaint in gaps(own, options, pattern, usual):
        yield by.origin.problem(complaint.code, complaint.text, (*at, *complaint.pointer))
    for place in sorted(own.with_options(options).reads, key=str):
        if place.part == "where" and place.name not in pattern.names:
            text = f"the handler {own.name} reads the path parameter {place.name}, which {pattern.text} does not have"
            yield by.origin.problem("where", text, ("handler",))


def check_actions(
    by: Operation | Rule,
    operation: Operation | None,
    handlers: Mapping[str, Handler],
    operations: Mapping[str, Operation],
) -> Iterator[Problem]:
    """Finds what the actions that its effects name could not work with, as far as nothing of it is computed."""
    pattern = operation.pattern if operation else by.pattern or Pattern("/", ())
    for number, effect in enumerate(by.behaviour.effects):
        if not isinstance(effect, Action):
            continue
        own, at = handlers.get(effect.name), ("effects", number)
        if own is None or not own.is_action:
            actions = sorted(name for name, handler_there in handlers.items() if handler_there.is_action)
            hint = did_you_mean(effect.name, actions) or f"; there are {', '.join(actions)}"
            yield by.origin.problem("unknown-action", f"there is no action {effect.name!r}{hint}", (*at, "do"))
            continue
        written = effect.written
        for complaint in complaints(own, written):
            if not is_computed(written, complaint.pointer):
                pointer = (*at, "with", *complaint.pointer)
                yield by.origin.problem(complaint.code, complaint.text, pointer, key=complaint.key)
        usual = _find_usual(own, written, operations)
        chosen = [name for name, option in own.options.items() if option.choices]
        is_open = any(written.get(name) not in own.options[name].choices for name in chosen)
        for name, option in own.options.items():
            if option.required and name not in written and not (option.shared and (is_open or name in usual)):
                text = f"the action {own.name} needs the key {name} in `with`"
                yield by.origin.problem("missing-key", text, (*at, "with" if "with" in by.origin.at(at) else "do"))
            template = written.get(name)
            if option.template is not None and isinstance(template, str) and "{{" not in template:
                for text in _find_unfilled(template, option.template.union(pattern.names)):
                    yield by.origin.problem("wrong-value", text, (*at, "with", name))


def is_computed(value: Any, pointer: Pointer) -> bool:
    """Tells if there is an expression at the place, or above it."""
    for step in pointer:
        if isinstance(value, str):
            break
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return isinstance(value, str) and "{{" in value


def _find_usual(own: Handler, options: Mapping[str, Any], operations: Mapping[str, Operation]) -> Mapping[str, Any]:
    """The options of the operation that has this handler, for the same choices."""
    chosen = [name for name, option in own.options.items() if option.choices]
    sharing = [
        operation for operation in operations.values() if operation.behaviour.handler == (own.shares or own.name)
    ]
    for operation in sharing:
        theirs = operation.behaviour.options or {}
        if all(theirs.get(name) == options.get(name) for name in chosen):
            return theirs
    return {}


def _find_unfilled(template: str, names: frozenset[str]) -> Iterator[str]:
    try:
        words = [word for _, word, _, _ in Formatter().parse(template) if word is not None]
    except ValueError as error:
        yield f"is no template: {error}"
        return
    for word in words:
        if word not in names:
            hint = did_you_mean(word, names) or f"; there are {', '.join(sorted(names))}"
            yield f"nothing is filled in for {{{word}}} here{hint}"
