"""The bank's interface: cassettes in layers, put together and checked as one."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import handler, reader
from xs2a_sandbox.cassette.answers import Action, Answer
from xs2a_sandbox.cassette.dialect import quirks, request_ids
from xs2a_sandbox.cassette.dialect.foundation import Foundation, foundation
from xs2a_sandbox.cassette.dialect.overlap import Rank, clashes, overlaps, shadowed
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.model import (
    Cassette,
    ErrorAnswer,
    Operation,
    Pointer,
    Recorded,
    Requirement,
    Rule,
    ScaPages,
    SourcePlace,
    answers,
)
from xs2a_sandbox.cassette.path_pattern import WHOLE, beginnings
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.documents.yaml_reader import Document
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.signatures.rules import USUAL, SignatureRules

ENGINE_ERRORS = frozenset(
    "bank-garbled bank-late bank-loop bank-not-configured bank-private bank-unreachable body-too-large busy "
    "format-error headers-too-large internal media-type method-not-offered not-recorded path-unknown "
    "recording-failed sequence-exhausted session-invalid target-too-long timeout".split()
)
"""Errors that the engine itself raises."""

CHECK_ERRORS = frozenset(
    "access-exceeded access-missing certificate-blocked certificate-expired certificate-invalid certificate-missing "
    "certificate-revoked digest-wrong role-invalid sessions-not-supported signature-invalid signature-missing "
    "token-expired token-invalid token-key-wrong token-proof-invalid token-unknown token-unproven".split()
)
"""Errors of the setting `checks`: a dialect that does not say them says them as the bundled one."""

TESTDATA = "testdata.yaml"
"""The file in a dialect's folder that is none of its cassettes: its test data."""

_NEEDS_ALL = ("unknown-operation", "unknown-error", "behaviour", "incomplete")

type Layer = Sequence[Path | Cassette]


@dataclass(frozen=True, slots=True)
class Layered:
    """A rule, and the layer it stands in; later layers win."""

    rule: Rule
    layer: int

    def rank(self, operations: Mapping[str, Operation], beginnings: Collection[str]) -> Rank:
        """Greater wins: layer, priority, how literal the path is, how much is asked of the request.

        A path that is matched as a whole is more literal than any that may stand behind a prefix; those of operations
        begin with one of `beginnings`.
        """
        pattern = self.rule.pattern or operations[self.rule.operation or ""].pattern
        path = (WHOLE, *pattern.rank) if pattern.is_whole(beginnings) else pattern.rank
        return (self.layer, self.rule.priority, path, self.rule.strength)


@dataclass(frozen=True, slots=True)
class Interface:
    """Everything the cassettes say. `rules` are in order: the first that fits a request answers it.

    `layers` are the numbers of the layers that rules and operations stand in, by id; a higher one wins, and that of the
    dialect is 0. `tapes` says of derived files what they were derived from. `silent` are the ids of the dialect's
    operations and rules where recorded rules answer for a bank that has not been seen to speak it: then it answers
    nothing. `dialect` is its name.
    `replaced` are recorded rules that never answer, with the rules of later layers that do, and otherwise. `foundation`
    are the folders of the dialects that the dialect extends, lowest first.
    """

    operations: Mapping[str, Operation]
    rules: tuple[Rule, ...]
    errors: Mapping[str, ErrorAnswer]
    every_answer: Answer
    every_error: Answer
    layers: Mapping[str, int] = field(default_factory=dict)
    tapes: Mapping[Path, Recorded] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    dialect: str = ""
    replaced: tuple[tuple[Rule, Rule], ...] = ()
    foundation: tuple[Path, ...] = ()
    quirks: tuple[str, ...] = ()
    """Their names, in the order of their layers."""
    sca_pages: ScaPages = field(default_factory=ScaPages)
    heeds_request_ids: bool = True
    """False where no answer depends on which X-Request-ID a request has, but for its echo."""
    signatures: SignatureRules = USUAL

    def entry(self, id: str) -> Operation | Rule | None:
        """The rule or operation that X-Sandbox-Rule names."""
        return next((rule for rule in self.rules if rule.id == id), None) or self.operations.get(id)


def read(
    layers: Sequence[Layer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> Interface:
    """Each layer is some directories, files, or cassettes read before; `bank` tells of a real one for `bank: true`.

    Raises Unreadable, with every problem of every file.
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
    parsed = _read_layers(layers, schemas, problems)
    below = _foundation(layers, parsed, schemas, problems)
    readable = not problems
    operations: dict[str, Operation] = {}
    heights: dict[str, int] = {}
    rules: dict[str, Layered] = {}
    errors: dict[str, ErrorAnswer] = {}
    replaced: list[tuple[Rule, Rule]] = []
    mistaken: list[Problem] = []
    every_request, every_answer, every_error, pages = Requirement(), Answer(), None, ScaPages()
    signatures = USUAL
    parsed = [*map(list, below.layers), *parsed]
    for number, layer in enumerate(parsed, -len(below.layers)):
        both: list[Operation | Rule] = []
        for cassette in layer:
            both += (*cassette.operations, *cassette.rules)
        entries = _unique("id", ((entry.id, entry) for entry in both), problems)
        own = {id: entry for id, entry in entries.items() if isinstance(entry, Operation)}
        operations |= own
        heights |= dict.fromkeys(own, number)
        layered = {id: Layered(entry, number) for id, entry in entries.items() if isinstance(entry, Rule)}
        replaced += [
            (rules[id].rule, layered[id].rule)
            for id in rules.keys() & layered
            if rules[id].rule.tape and _differ(rules[id].rule, layered[id].rule, "match", "respond", "sequence")
        ]
        rules |= layered
        errors |= _unique("error", ((entry.name, entry) for c in layer for entry in c.errors), problems)
        problems += _twice(layer)
        for cassette in layer:
            every_request = cassette.every_request or every_request
            every_answer = cassette.every_answer or every_answer
            every_error = cassette.every_error or every_error
            pages = cassette.sca_pages.over(pages) if cassette.sca_pages else pages
            signatures = cassette.signatures or signatures
        for cassette in layer:
            if wrong := list(quirks.check_options(cassette, operations, handlers)):
                mistaken += wrong
            elif cassette.options:
                operations = {id: quirks.with_options(entry, cassette.options) for id, entry in operations.items()}
                rules = {id: replace(r, rule=quirks.with_options(r.rule, cassette.options)) for id, r in rules.items()}
    switched_on = [cassette for layer in parsed for cassette in layer if cassette.is_quirk]
    for rule in [rule for cassette in switched_on for rule in cassette.rules if quirks.is_elsewhere(rule, operations)]:
        rules.pop(rule.id, None)
    own_errors, errors = errors, {**_default_errors(), **errors}
    operations = {
        id: replace(operation, require=operation.require.with_every(every_request))
        for id, operation in operations.items()
    }
    dangling = list(
        _dangling(operations, [r.rule for r in rules.values()], errors, schemas, handlers, bank, below.gone)
    )
    mistaken += [p for quirk in switched_on if not mistaken for p in quirks.check_use(quirk, operations)]
    dangling += mistaken
    dangling += _errors(own_errors, operations, [r.rule for r in rules.values()], handlers, below.gone)
    # What a file that cannot be read defines is not known, so nothing that it may define is called missing.
    problems += dangling if readable else [p for p in dangling if p.code not in _NEEDS_ALL]
    if not readable:
        return None, problems
    problems += clashes([[o for cassette in layer for o in cassette.operations] for layer in parsed])
    if every_error is None:
        first = next((c.file for layer in parsed for c in layer), Path("cassettes"))
        text = "the cassettes do not define every_error, the body that errors are said in"
        problems.append(Problem(first, 1, 1, "incomplete", text))
    owned = [r for r in rules.values() if not r.rule.operation or r.rule.operation in operations]
    starts = beginnings(operation.pattern for operation in operations.values())
    ranked = _strongest_first(owned, operations, starts)
    problems += overlaps(ranked, operations)
    replaced += [pair for pair in shadowed(ranked, operations) if _differ(*pair, "respond", "sequence")]
    if every_error is None:
        return None, problems
    # Of operations with one path the index takes the first: that of the later layer.
    operations = {id: operations[id] for id in sorted(operations, key=lambda id: -heights[id])}
    numbers = heights | {r.rule.id: r.layer for r in owned}
    in_order = tuple(rule for rule, _ in ranked)
    tapes = {cassette.file: cassette.recorded for layer in parsed for cassette in layer if cassette.recorded}
    dialect = next((_folder(path).name for layer in layers for path in layer), "")
    silent = _silent(dialect, parsed, 1 + len(below.layers)) if tapes else frozenset()
    read = Interface(
        operations,
        in_order,
        errors,
        every_answer,
        every_error,
        numbers,
        tapes,
        silent,
        dialect,
        tuple(sorted(replaced, key=lambda pair: pair[0].id)),
        below.folders,
        tuple(quirk.file.stem for quirk in switched_on),
        pages,
        # A signature is of the id, too.
        signatures.answers is not None
        or any(
            cassette.origin is None or request_ids.heeds(cassette.origin.written)
            for layer in parsed
            for cassette in layer
        ),
        signatures,
    )
    return read, problems


def laid_over(
    interface: Interface,
    added: Sequence[Sequence[Cassette]],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> Interface:
    """The interface with the rules of more layers over all of its own; `bank` as for `read`. Raises Unreadable."""
    problems: list[Problem] = []
    layered: dict[str, Layered] = {}
    for number, layer in enumerate(added, 1 + max(interface.layers.values(), default=0)):
        entries = _unique("id", ((rule.id, rule) for one in layer for rule in one.rules), problems)
        layered |= {id: Layered(rule, number) for id, rule in entries.items()}
    operations, rules = interface.operations, [one.rule for one in layered.values()]
    problems += _dangling(operations, rules, interface.errors, schemas, handlers, bank, {})
    starts = beginnings(operation.pattern for operation in operations.values())
    owned = [one for one in layered.values() if not one.rule.operation or one.rule.operation in operations]
    ranked = _strongest_first(owned, operations, starts)
    problems += overlaps(ranked, operations)
    if problems:
        raise Unreadable(problems)
    kept = tuple(rule for rule in interface.rules if rule.id not in layered)
    return replace(
        interface,
        rules=(*(rule for rule, _ in ranked), *kept),
        layers={**interface.layers, **{id: one.layer for id, one in layered.items()}},
        silent=interface.silent - layered.keys(),
    )


def _strongest_first(
    rules: Iterable[Layered], operations: Mapping[str, Operation], starts: Collection[str]
) -> list[tuple[Rule, Rank]]:
    ranked = [(one.rule, one.rank(operations, starts)) for one in rules]
    # What changes an answer comes before who gives it.
    return sorted(ranked, key=lambda pair: (*_descending(pair[1]), pair[0].behaviour.amend is None, pair[0].id))


def _differ(left: Rule, right: Rule, *keys: str) -> bool:
    return any(left.origin.written.get(key) != right.origin.written.get(key) for key in keys)


def _silent(dialect: str, parsed: Sequence[Sequence[Cassette]], count: int) -> frozenset[str]:
    """`count` are the layers of the dialect."""
    if {cassette.dialect for layer in parsed for cassette in layer if cassette.dialect} == {dialect}:
        return frozenset()
    ids = [{id for cassette in layer for id in _ids(cassette)} for layer in parsed]
    return frozenset().union(*ids[:count]).difference(*ids[count:])


def _ids(cassette: Cassette) -> Iterator[str]:
    yield from (operation.id for operation in cassette.operations)
    yield from (rule.id for rule in cassette.rules)


def _folder(path: Path | Cassette) -> Path:
    return path if isinstance(path, Path) else path.file.parent


def _twice(layer: Sequence[Cassette]) -> Iterator[Problem]:
    """The problems with what a layer says once: a second time it would depend on the order of files."""
    for key in ("every_request", "every_answer", "every_error", "sca_pages", "signatures"):
        origins = [cassette.origin for cassette in layer if cassette.origin and key in cassette.origin.written]
        for other in origins[1:]:
            text = f"{key} stands already in {origins[0].document.file}, in the same layer"
            yield other.problem("duplicate-id", text, (key,), key=True)


def _foundation(
    layers: Sequence[Layer], parsed: Sequence[Sequence[Cassette]], schemas: Schemas, problems: list[Problem]
) -> Foundation:
    for extension in [cassette.extends for layer in parsed[1:] for cassette in layer if cassette.extends]:
        text = "only a dialect extends another; a layer over it needs no more than its own cassettes"
        problems.append(extension.origin.problem("extends", text, ("extends",), key=True))
    folder = next((_folder(path) for layer in layers[:1] for path in layer), None)
    if folder is None:
        return Foundation()

    def read(base: Path, change: Callable[[Document], Document]) -> list[Cassette]:
        return _read_path(base, schemas, problems, is_dialect=True, change=change)

    return foundation(parsed[0], folder, read, problems)


def _descending(rank: Rank) -> Rank:
    layer, priority, path, strength = rank
    return (-layer, -priority, tuple(-kind for kind in path), -strength)


def cassettes(layers: Sequence[Layer], schemas: Schemas) -> list[list[Cassette]]:
    """Each layer read once, for several interfaces. Raises Unreadable for what is wrong with a cassette by itself."""
    problems: list[Problem] = []
    parsed = _read_layers(layers, schemas, problems)
    if problems:
        raise Unreadable(problems)
    return parsed


def _read_layers(layers: Sequence[Layer], schemas: Schemas, problems: list[Problem]) -> list[list[Cassette]]:
    return [
        [c for path in layer for c in _read_path(path, schemas, problems, is_dialect=number == 0)]
        for number, layer in enumerate(layers)
    ]


def _read_path(
    path: Path | Cassette,
    schemas: Schemas,
    problems: list[Problem],
    *,
    is_dialect: bool = False,
    change: Callable[[Document], Document] = lambda document: document,
) -> list[Cassette]:
    if isinstance(path, Cassette):
        return [path]
    if path.is_dir():
        # What a link leads to nowhere is some editor's lock; anything else that is no file is told.
        yaml_files = [file for file in path.rglob("*") if file.suffix in (".yaml", ".yml")]
        if is_dialect:
            yaml_files = [file for file in yaml_files if file != path / TESTDATA]
        files = sorted(file for file in yaml_files if file.exists() and not file.is_dir())
        folder = path
    elif path.exists():
        files, folder = [path], path.parent
    else:
        problems.append(Problem(path, 1, 1, "unreadable", "there is no such file or directory"))
        return []
    cassettes = []
    for file in files:
        try:
            if file.suffix == ".yml":
                raise Unreadable([Problem(file, 1, 1, "file-name", "cassettes end in .yaml; rename this file")])
            parsed = yaml_reader.read(file, folder=folder)
            _expect_cassette(parsed)
        except Unreadable as error:
            problems += error.problems
        else:
            cassettes.append(reader.parse(change(parsed), schemas, problems))
    return cassettes


def _expect_cassette(document: yaml_reader.Document) -> None:
    first = next(iter(document.value), None) if isinstance(document.value, dict) else None
    if first == "cassette":
        return
    hint = "test data is named with --testdata FILE" if first == "testdata" else "move other YAML files elsewhere"
    raise Unreadable([document.problem((), "no-cassette", f"the first key of a cassette is `cassette: 1`; {hint}")])


def _unique[Entry: Operation | Rule | ErrorAnswer](
    kind: str, entries: Iterable[tuple[str, Entry]], problems: list[Problem]
) -> dict[str, Entry]:
    """The entries of one layer by their ids or, where that is their `kind` of name, by that of an error."""
    seen: dict[str, Entry] = {}
    for name, entry in entries:
        other = seen.setdefault(name, entry)
        if other is not entry:
            text = f"the {kind} {name!r} stands already at {other.origin.place}, in the same layer"
            below = ("id",) if kind == "id" else ()
            problems.append(entry.origin.problem("duplicate-id", text, below, key=kind == "error"))
    return seen


def _dangling(
    operations: Mapping[str, Operation],
    rules: Sequence[Rule],
    errors: Mapping[str, ErrorAnswer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    bank: bool,
    gone: Mapping[str, SourcePlace],
) -> Iterator[Problem]:
    """The problems with names of something that is not there, or not as it is used."""
    everybody: list[Operation | Rule] = [*operations.values(), *rules]
    answering = {name: one for name, one in handlers.items() if not one.is_action}
    for by in everybody:
        origin, behaviour = by.origin, by.behaviour
        owner = by if isinstance(by, Operation) else operations.get(by.operation or "")
        if isinstance(by, Operation):
            for parameter, name in by.otherwise.items():
                yield from _unknown(origin, "unknown-error", name, errors, "otherwise", parameter, gone=gone)
                if parameter not in by.pattern.names:
                    text = f"the path {by.pattern.text} has no parameter {parameter}"
                    yield origin.problem("where", text, ("otherwise", parameter), key=True)
        elif by.operation:
            yield from _unknown(origin, "unknown-operation", by.operation, operations, "match", "operation", gone=gone)
            for place in (c.place for c in by.constraints if owner and c.place.part == "where"):
                if owner and place.name not in owner.pattern.names:
                    text = f"the path {owner.pattern.text} has no parameter {place.name}"
                    yield origin.problem("where", text, ("match",))
        is_list = isinstance(origin.written.get("require"), list)
        for number, step in enumerate(by.require.steps if by.require else ()):
            at = ("require", number) if is_list else ("require",)
            for name in schema_names(step.schema, owner):
                yield from _unknown(origin, "unknown-schema", name, schemas, *at, "body", "schema")
            if step.error:
                yield from _unknown(origin, "unknown-error", step.error, errors, *at, "error", gone=gone)
        if behaviour.handler:
            yield from _unknown(origin, "unknown-handler", behaviour.handler, answering, "handler")
        for status, schema in (behaviour.answers or {}).items():
            for name in schema_names(schema, owner):
                yield from _unknown(origin, "unknown-schema", name, schemas, "answers", status)
        listed = behaviour.answers or (owner.behaviour.answers if owner else None) or {}
        for below, answer in answers(by):
            by_status = isinstance(answer.status, int) and str(answer.status) not in listed
            if answer.nulls == "fill" and not answer.schema and by_status:
                text = f"nulls: fill has no schema to go by: answers names none for {answer.status}"
                yield origin.problem("unknown-schema", text, (*below, "nulls"))
            if answer.error:
                yield from _unknown(origin, "unknown-error", answer.error, errors, *below, "error", gone=gone)
            if answer.schema:
                yield from _unknown(origin, "unknown-schema", answer.schema, schemas, *below, "schema")
        if owner or by.pattern:
            yield from handler.check(by, owner, handlers, operations)
            yield from handler.check_actions(by, owner, handlers, operations)
        if behaviour.handler and not behaviour.respond and not (owner and owner.behaviour.respond):
            where = "" if by is owner else ", here or in the operation"
            yield origin.problem("behaviour", f"the handler's result needs a respond{where}", ("handler",))
        if behaviour.bank and not bank:
            text = "no bank is configured, so bank: true could only answer 502; name it with --bank URL"
            yield origin.problem("no-bank", text, ("bank",))


@cache
def _default_errors() -> Mapping[str, ErrorAnswer]:
    """The errors as the bundled dialect says them: what another one does not say itself."""
    file = bundled("cassettes") / "xs2a-1.84" / "errors.yaml"
    problems: list[Problem] = []
    cassette = reader.parse(yaml_reader.read(file), Schemas([bundled("schemas")]), problems)
    if problems:
        raise Unreadable(problems)
    return {error.name: error for error in cassette.errors}


def _errors(
    errors: Mapping[str, ErrorAnswer],
    operations: Mapping[str, Operation],
    rules: Sequence[Rule],
    handlers: Mapping[str, Handler],
    gone: Mapping[str, SourcePlace],
) -> Iterator[Problem]:
    """The problems with the cassettes' own table of errors: what handlers raise and it lacks, and names of nothing."""
    raised = set(ENGINE_ERRORS | CHECK_ERRORS)
    raisers: dict[str, dict[str, None]] = {}
    everybody: list[Operation | Rule] = [*operations.values(), *rules]
    for by in everybody:
        raising = _raising(by, handlers)
        raised |= {answer.error for _, answer in answers(by) if answer.error}
        raised |= set(by.otherwise.values()) if isinstance(by, Operation) else set()
        raised |= {step.error for step in (by.require.steps if by.require else ()) if step.error}
        for at, name, raises in raising:
            raised |= raises
            for taken in sorted(raises & gone.keys() - errors.keys()):
                raisers.setdefault(taken, {})[name] = None
            if lacking := sorted(raises - errors.keys() - ENGINE_ERRORS - CHECK_ERRORS - gone.keys()):
                text = f"the cassettes do not define the errors that {name} raises: {', '.join(lacking)}"
                yield by.origin.problem("incomplete", text, at)
    for taken, names in raisers.items():
        who = f"{', '.join(names)} raise" if len(names) > 1 else f"{next(iter(names))} raises"
        yield gone[taken].problem("extends", f"this takes out the error {taken}, which {who}")
    elsewhere = frozenset().union(*(handler.errors for handler in handlers.values()))
    for error in errors.values():
        if error.name not in raised | elsewhere and (hint := did_you_mean(error.name, raised - errors.keys())):
            text = f"nothing raises the error {error.name!r}{hint}"
            yield error.origin.problem("unknown-error", text, key=True)
        for key, by_operation in (("status", error.statuses), ("code", error.codes), ("number", error.numbers)):
            for id in sorted(by_operation.keys() - {"default"} - gone.keys()):
                yield from _unknown(error.origin, "unknown-operation", id, operations, key, id, key=True)


def _raising(by: Operation | Rule, handlers: Mapping[str, Handler]) -> Iterator[tuple[Pointer, str, frozenset[str]]]:
    """The handler and the actions, each with its place and what it raises."""
    if own := handlers.get(by.behaviour.handler or ""):
        yield ("handler",), own.name, own.with_options(by.behaviour.options or {}).raises
    for number, effect in enumerate(by.behaviour.effects):
        if isinstance(effect, Action) and (own := handlers.get(effect.name)):
            yield ("effects", number, "do"), own.name, own.with_options(effect.written).raises


def schema_names(name: str | None, operation: Operation | None) -> list[str]:
    """The names that `payments/{product}` can become, by the values that the operation's `where` lists."""
    if name is None:
        return []
    names = {name}
    for alternative in operation.where if operation else ():
        for constraint in alternative:
            marker = "{" + constraint.place.name + "}"
            if constraint.values and any(marker in schema_name for schema_name in names):
                names = {
                    schema_name.replace(marker, str(value)) for schema_name in names for value in constraint.values
                }
    return sorted(names)


def _unknown(
    origin: SourcePlace,
    code: str,
    name: str,
    entries: Mapping[str, Any] | Schemas,
    *pointer: str | int,
    key: bool = False,
    gone: Mapping[str, SourcePlace] | None = None,
) -> Iterator[Problem]:
    """The problem that nothing of the kind has the name, or that it is `gone` from the dialect below, if so."""
    if name in entries:
        return
    kind = code.removeprefix("unknown-")
    if gone and name in gone:
        yield gone[name].problem("extends", f"this takes out the {kind} {name}, which {origin.place} needs")
        return
    names = sorted(entries.names() if isinstance(entries, Schemas) else entries)
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
    yield origin.problem(code, f"there is no {kind} {name!r}; {hint}", pointer, key=key)
