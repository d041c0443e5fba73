"""The bank's interface: layers of cassettes, merged and checked together."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from xs2a_sandbox.bundled import SCENARIOS, bundled
from xs2a_sandbox.cassette.answers import ResponseTemplate
from xs2a_sandbox.cassette.dialect import (
    authorisation,
    callbacks,
    doers,
    error_table,
    lets,
    quirks,
    references,
    request,
    request_ids,
    shapes,
    states,
    things,
)
from xs2a_sandbox.cassette.dialect.authorisation import Authorisation
from xs2a_sandbox.cassette.dialect.callbacks import Callback
from xs2a_sandbox.cassette.dialect.foundation import Foundation, foundation
from xs2a_sandbox.cassette.dialect.layer_files import Layer, folder_of, read_layers, read_path
from xs2a_sandbox.cassette.dialect.overlap import Rank, clashes, find_shadowed, overlaps
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import chains
from xs2a_sandbox.cassette.evaluation.shapes import CompiledShape
from xs2a_sandbox.cassette.evaluation.state_words import StateWords
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.inputs import InputSource
from xs2a_sandbox.cassette.model import (
    Cassette,
    ErrorAnswer,
    Operation,
    Recorded,
    Requirement,
    Rule,
    ScaPages,
)
from xs2a_sandbox.cassette.path_pattern import WHOLE, beginnings
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.signatures.rules import SignatureRules

_SCENARIOS = bundled("cassettes") / SCENARIOS
_NEEDS_ALL = ("unknown-operation", "unknown-error", "unknown-shape", "behaviour", "incomplete")


@dataclass(frozen=True, slots=True)
class Layered:
    """A rule and the number of its layer. Later layers win."""

    rule: Rule
    layer: int

    def rank(self, operations: Mapping[str, Operation], beginnings: Collection[str]) -> Rank:
        """Return the rank of the rule; the greater rank wins.

        It compares, in this order: layer, priority, how literal the path is, how many conditions the request must meet.

        A path that is matched as a whole is more literal than a path that may follow a prefix. Paths of operations
        start with one of `beginnings`.
        """
        pattern = self.rule.pattern or operations[self.rule.operation or ""].pattern
        path = (WHOLE, *pattern.rank) if pattern.is_whole(beginnings) else pattern.rank
        return (self.layer, self.rule.priority, path, self.rule.strength)


@dataclass(frozen=True, slots=True)
class Interface:
    """The merged cassettes. `rules` are sorted: the first one that matches a request answers it.

    `layers` gives the layer number of each rule and operation by id; a higher number wins, and the dialect is 0.
    `tapes` maps derived files to their recordings. `silent` are ids of the dialect's operations and rules that do not
    answer, because the recorded bank is not known to use the dialect. `dialect` is its name. `replaced` are recorded
    rules that never answer, each with the rule of a later layer that gives a different answer instead. `foundation` are
    the folders of the dialects that the dialect extends, lowest first.
    """

    operations: Mapping[str, Operation]
    rules: tuple[Rule, ...]
    errors: Mapping[str, ErrorAnswer]
    every_answer: ResponseTemplate
    every_error: ResponseTemplate
    layers: Mapping[str, int] = field(default_factory=dict)
    tapes: Mapping[Path, Recorded] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    dialect: str = ""
    replaced: tuple[tuple[Rule, Rule], ...] = ()
    foundation: tuple[Path, ...] = ()
    quirks: tuple[str, ...] = ()
    """The names of the quirks, in the order of their layers."""
    sca_pages: ScaPages = field(default_factory=ScaPages)
    varies_by_request_id: bool = True
    """False if no response depends on the X-Request-ID of the request, except for its echo."""
    signatures: SignatureRules = field(default_factory=SignatureRules)
    inputs: Mapping[str, InputSource] = field(default_factory=dict)
    """The place of each handler input in the dialect's requests."""
    shapes: Mapping[str, CompiledShape] = field(default_factory=dict)
    unused: tuple[Problem, ...] = ()
    """Entries that are defined for all operations but used by none. Only `lint` reports them."""
    lets: Mapping[str, Any] = field(default_factory=dict)
    """The compiled values that the dialect names for all operations and rules."""
    things: Things = field(default_factory=Things)
    states: StateWords = field(default_factory=StateWords)
    authorisation: Authorisation = field(default_factory=Authorisation)
    callbacks: tuple[Callback, ...] = ()
    """The requests that the bank sends to apps."""
    sections: Sections = field(default_factory=Sections)
    """The sections as they were written, before they are compiled."""

    def entry(self, id: str) -> Operation | Rule | None:
        """Return the rule or operation with this id, as in X-Sandbox-Rule."""
        return next((rule for rule in self.rules if rule.id == id), None) or self.operations.get(id)

    @property
    def finds_consent_by_token(self) -> bool:
        """Whether the token of a request says which consent it uses."""
        source = self.inputs.get("consent")
        written = source.written if source else None
        return isinstance(written, str) and any(root == "token" for root, _ in chains(written))


def read(
    layers: Sequence[Layer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> Interface:
    """Read and merge layers. A layer is a list of directories, files, or cassettes read before.

    `bank` says whether there is a real bank, which rules with `bank: true` need.

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
    """Return the interface, or None if it cannot be built, and every problem of every file."""
    problems: list[Problem] = []
    parsed = read_layers(layers, schemas, problems)
    below = _foundation(layers, parsed, schemas, problems)
    is_readable = not problems
    parsed = [*map(list, below.layers), *parsed]
    merge = _Merge(handlers)
    for number, layer in enumerate(parsed, -len(below.layers)):
        problems += merge.lay(layer, number)
    cassettes = [cassette for layer in parsed for cassette in layer]
    quirks_on = [cassette for cassette in cassettes if cassette.is_quirk]
    for_every_dialect = [*quirks_on, *(one for one in cassettes if one.file.is_relative_to(_SCENARIOS))]
    merge.finish(for_every_dialect)
    problems += merge.bind()
    templates = shapes.read(merge.sections, problems)
    dangling = [
        *_find_dangling(merge, schemas, handlers, bank, below, for_every_dialect),
        *shapes.check_uses(merge.entries, merge.errors.values(), templates),
        *shapes.check_every(cassettes, templates),
        *shapes.check_callbacks(merge.sections, templates),
    ]
    named = lets.compile_lets(merge.sections, problems)
    # Do not report a name as missing if an unreadable file may define it.
    problems += dangling if is_readable else [p for p in dangling if p.code not in _NEEDS_ALL]
    if not is_readable:
        return None, problems
    problems += _find_unknown_lets(merge, parsed, named)
    authorising, mistakes = authorisation.read(merge.sections)
    problems += mistakes
    problems += clashes([[o for cassette in layer for o in cassette.operations] for layer in parsed])
    if merge.every_error is None:
        first = next((c.file for layer in parsed for c in layer), Path("cassettes"))
        text = "the cassettes do not define every_error, the body of errors"
        problems.append(Problem(first, 1, 1, "incomplete", text))
    operations = merge.operations
    owned = [r for r in merge.laid if not r.rule.operation or r.rule.operation in operations]
    starts = beginnings(operation.pattern for operation in operations.values())
    ranked = _sort_by_strength(owned, operations, starts)
    problems += overlaps(ranked, operations)
    if merge.every_error is None:
        return None, problems
    replaced = [*merge.replaced, *(p for p in find_shadowed(ranked, operations) if _differ(*p, "respond", "sequence"))]
    tapes = {cassette.file: cassette.recorded for layer in parsed for cassette in layer if cassette.recorded}
    dialect = next((folder_of(path).name for layer in layers for path in layer), "")
    interface = Interface(
        # If two operations share a path, the index takes the first one, which must be the one of the later layer.
        operations={id: operations[id] for id in sorted(operations, key=lambda id: -merge.heights[id])},
        rules=tuple(rule for rule, _ in ranked),
        errors=merge.all_errors,
        every_answer=merge.every_answer,
        every_error=merge.every_error,
        layers=merge.heights | {r.rule.id: r.layer for r in owned},
        tapes=tapes,
        silent=_find_silent(dialect, parsed, 1 + len(below.layers)) if tapes else frozenset(),
        dialect=dialect,
        replaced=tuple(sorted(replaced, key=lambda pair: pair[0].id)),
        foundation=below.folders,
        quirks=tuple(quirk.file.stem for quirk in quirks_on),
        sca_pages=merge.sca_pages,
        varies_by_request_id=_heeds_request_ids(parsed, merge.signatures),
        signatures=merge.signatures,
        inputs=merge.inputs,
        shapes=templates,
        unused=tuple(shapes.find_unused(merge.sections, templates, merge.entries, merge.errors.values(), cassettes)),
        lets=named,
        things=things.read(merge.sections, problems),
        states=states.read(merge.sections, problems),
        authorisation=authorising,
        callbacks=callbacks.read(merge.sections, problems),
        sections=merge.sections,
    )
    return interface, problems


class _Merge:
    """Merges layers one by one, each over those before it."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self.operations: dict[str, Operation] = {}
        self.heights: dict[str, int] = {}
        """The layer number of each operation."""
        self.rules: dict[str, Layered] = {}
        self.laid: list[Layered] = []
        """The rules, each for one operation or path. It is filled when all layers have been added."""
        self.errors: dict[str, ErrorAnswer] = {}
        self.replaced: list[tuple[Rule, Rule]] = []
        self.every_answer = ResponseTemplate()
        self.every_error: ResponseTemplate | None = None
        self.sca_pages = ScaPages()
        self.sections = Sections()
        self.inputs: Mapping[str, InputSource] = {}
        self.own_sections: set[str] = set()
        """The sections that a layer other than a quirk defines."""
        self.mistaken: list[Problem] = []
        """The problems with options that layers give to handlers."""
        self._every_request = Requirement()
        self._checks: dict[str, tuple[Requirement, ...]] = {}
        self._handlers = handlers

    def lay(self, layer: Sequence[Cassette], number: int) -> list[Problem]:
        """Add a layer on top. Returns the problems with duplicates in it."""
        problems: list[Problem] = []
        both: list[Operation | Rule] = []
        for cassette in layer:
            both += (*cassette.operations, *cassette.rules)
        entries = _collect_unique("id", ((entry.id, entry) for entry in both), problems)
        problems += quirks.check_order(layer)
        given = [cassette for cassette in layer if self._takes_options(cassette, entries)]
        for cassette in given:
            self._give_options(cassette)
            entries = {id: quirks.below_options(entry, cassette.options) for id, entry in entries.items()}
        # Options for one operation override options for all, regardless of their file in the layer.
        for cassette in given:
            for id in cassette.operation_options.keys() & self.operations.keys():
                self.operations[id] = quirks.with_own_options(self.operations[id], cassette.operation_options[id])
        operations = {id: entry for id, entry in entries.items() if isinstance(entry, Operation)}
        self.operations |= operations
        self.heights |= dict.fromkeys(operations, number)
        rules = {id: Layered(entry, number) for id, entry in entries.items() if isinstance(entry, Rule)}
        self.replaced += [
            (self.rules[id].rule, rules[id].rule)
            for id in self.rules.keys() & rules
            if self.rules[id].rule.tape and _differ(self.rules[id].rule, rules[id].rule, "match", "respond", "sequence")
        ]
        self.rules |= rules
        self.errors |= _collect_unique("error", ((entry.name, entry) for c in layer for entry in c.errors), problems)
        problems += _twice(layer)
        problems += self.sections.lay(layer)
        self.own_sections |= {name for cassette in layer if not cassette.is_quirk for name in cassette.sections}
        for cassette in layer:
            self._every_request = cassette.every_request or self._every_request
            self.every_answer = cassette.every_answer or self.every_answer
            self.every_error = cassette.every_error or self.every_error
            self.sca_pages = cassette.sca_pages.over(self.sca_pages) if cassette.sca_pages else self.sca_pages
            self._checks |= cassette.checks
        return problems

    def _give_options(self, cassette: Cassette) -> None:
        """Pass the options on to the handlers of the layers below.

        In the same layer, the options of an entry itself win.
        """
        if options := cassette.options:
            self.operations = {id: quirks.with_options(entry, options) for id, entry in self.operations.items()}
            self.rules = {id: replace(r, rule=quirks.with_options(r.rule, options)) for id, r in self.rules.items()}

    def _takes_options(self, cassette: Cassette, entries: Mapping[str, Operation | Rule]) -> bool:
        """Record the mistakes in options for operations of the layers below and of this layer.

        Return whether there are none.
        """
        own = {id: entry for id, entry in entries.items() if isinstance(entry, Operation)}
        operations = {**self.operations, **own}
        mistaken = [
            *quirks.check_options(cassette, operations, own, self._handlers),
            *quirks.check_operation_options(cassette, operations, own, self._handlers),
        ]
        self.mistaken += mistaken
        return not mistaken

    @property
    def signatures(self) -> SignatureRules:
        return SignatureRules.read(self.sections.get("signatures"))

    @property
    def entries(self) -> list[Operation | Rule]:
        return [*self.operations.values(), *(layered.rule for layered in self.laid)]

    @property
    def all_errors(self) -> dict[str, ErrorAnswer]:
        """Return the errors of the layers, completed with those of the bundled dialect."""
        return {**error_table.default_errors(), **self.errors}

    def finish(self, for_every_dialect: Sequence[Cassette]) -> None:
        """Add the common requirements to every operation, and remove rules that match no operation.

        Such a rule is a mistake, unless it belongs to one of the cassettes `for_every_dialect`.
        """
        self.operations = {
            id: operation
            if operation.is_for_browsers
            else replace(
                operation,
                require=operation.require.with_every(self._every_request),
                checks={
                    name: (*self._checks.get(name, ()), *operation.checks.get(name, ()))
                    for name in {**self._checks, **operation.checks}
                },
            )
            for id, operation in self.operations.items()
        }
        self.operations = {id: self._with_act(operation) for id, operation in self.operations.items()}
        of_these = {rule.id for cassette in for_every_dialect for rule in cassette.rules}
        others = (layered.rule for id, layered in self.rules.items() if id not in of_these)
        self.mistaken += doers.check(others, self.operations)
        for layered in self.rules.values():
            self.laid += (replace(layered, rule=rule) for rule in doers.for_each(layered.rule, self.operations))

    def _with_act(self, operation: Operation) -> Operation:
        """Return the operation. If it has no `does`, use that of its handler."""
        own = self._handlers.get(operation.behaviour.handler or "")
        if operation.does or own is None:
            return operation
        return replace(operation, does=own.act(operation.behaviour.options or {}))

    def bind(self) -> list[Problem]:
        """Give each operation and rule the places of its handler's inputs in the dialect's requests."""
        problems: list[Problem] = []
        self.inputs = request.read(self.sections, self._handlers, problems)
        self.operations = {id: request.bind(operation, None, self.inputs) for id, operation in self.operations.items()}
        self.laid = [
            replace(one, rule=request.bind(one.rule, self.operations.get(one.rule.operation or ""), self.inputs))
            for one in self.laid
        ]
        return problems


def _find_dangling(
    merge: _Merge,
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    bank: bool,
    below: Foundation,
    for_every_dialect: Sequence[Cassette],
) -> Iterator[Problem]:
    """Yield the problems with names that do not exist or are used in a wrong way."""
    operations, rules = merge.operations, [layered.rule for layered in merge.laid]
    yield from references.check(operations, rules, merge.all_errors, schemas, handlers, bank, below.gone)
    yield from merge.mistaken
    for cassette in for_every_dialect if not merge.mistaken else ():
        yield from quirks.check_use(cassette, operations, merge.own_sections)
    yield from error_table.check(merge.errors, operations, rules, handlers, below.gone)


def _find_unknown_lets(
    merge: _Merge, layers: Sequence[Sequence[Cassette]], names: Collection[str]
) -> Iterator[Problem]:
    for by in merge.entries:
        yield from lets.find_unknown(by, names)
    yield from lets.find_unknown_in_all((cassette for layer in layers for cassette in layer), names)


def _heeds_request_ids(layers: Sequence[Sequence[Cassette]], signatures: SignatureRules) -> bool:
    if signatures.answers is not None:
        return True  # the signature covers the id, too
    origins = [cassette.origin for layer in layers for cassette in layer]
    return any(origin is None or request_ids.heeds(keep_for_reads(origin.written)) for origin in origins)


def keep_for_reads(written: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the cassette without the parts that change no answer to a read.

    These are the input `once`, the id of repeated requests, which only payments use, and the callbacks, which do not
    see the request.
    """
    inputs = written.get(request.SECTION, {})
    kept = {name: value for name, value in written.items() if name != callbacks.SECTION}
    return {**kept, request.SECTION: {name: value for name, value in inputs.items() if name != "once"}}


def with_rules(
    interface: Interface,
    added: Sequence[Sequence[Cassette]],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    *,
    bank: bool = False,
) -> Interface:
    """Return the interface with more layers of rules above its own. `bank` has the same meaning as in `read`.

    Raises Unreadable.
    """
    problems: list[Problem] = []
    layered: dict[str, list[Layered]] = {}
    operations = interface.operations
    for number, layer in enumerate(added, 1 + max(interface.layers.values(), default=0)):
        written = [rule for one in layer for rule in one.rules]
        problems += doers.check(written, operations)
        entries = _collect_unique("id", ((rule.id, rule) for rule in written), problems)
        layered |= {
            id: [
                Layered(request.bind(one, operations.get(one.operation or ""), interface.inputs), number)
                for one in doers.for_each(rule, operations)
            ]
            for id, rule in entries.items()
        }
    laid = [one for same in layered.values() for one in same]
    rules = [one.rule for one in laid]
    problems += references.check(operations, rules, interface.errors, schemas, handlers, bank, {})
    problems += shapes.check_uses(rules, (), interface.shapes)
    for rule in rules:
        problems += lets.find_unknown(rule, interface.lets)
    starts = beginnings(operation.pattern for operation in operations.values())
    owned = [one for one in laid if not one.rule.operation or one.rule.operation in operations]
    ranked = _sort_by_strength(owned, operations, starts)
    problems += overlaps(ranked, operations)
    if problems:
        raise Unreadable(problems)
    kept = tuple(rule for rule in interface.rules if rule.id not in layered)
    return replace(
        interface,
        rules=(*(rule for rule, _ in ranked), *kept),
        layers={**interface.layers, **{one.rule.id: one.layer for one in laid}},
        silent=interface.silent - layered.keys(),
    )


def _sort_by_strength(
    rules: Iterable[Layered], operations: Mapping[str, Operation], starts: Collection[str]
) -> list[tuple[Rule, Rank]]:
    ranked = [(one.rule, one.rank(operations, starts)) for one in rules]
    # A rule that amends an answer goes before the rule that gives the answer.
    return sorted(ranked, key=lambda pair: (*_invert(pair[1]), pair[0].behaviour.amend is None, pair[0].id))


def _differ(left: Rule, right: Rule, *keys: str) -> bool:
    return any(left.origin.written.get(key) != right.origin.written.get(key) for key in keys)


def _find_silent(dialect: str, parsed: Sequence[Sequence[Cassette]], count: int) -> frozenset[str]:
    """Return the ids that do not answer if the recordings are not known to be of this dialect.

    `count` is the number of the dialect's layers.
    """
    if {cassette.dialect for layer in parsed for cassette in layer if cassette.dialect} == {dialect}:
        return frozenset()
    ids = [{id for cassette in layer for id in _ids(cassette)} for layer in parsed]
    return frozenset().union(*ids[:count]).difference(*ids[count:])


def _ids(cassette: Cassette) -> Iterator[str]:
    yield from (operation.id for operation in cassette.operations)
    yield from (rule.id for rule in cassette.rules)


def _twice(layer: Sequence[Cassette]) -> Iterator[Problem]:
    """Yield a problem for each key that two files of a layer have, because the order of files would decide."""
    for key in ("every_request", "every_answer", "every_error", "sca_pages", "checks"):
        origins = [cassette.origin for cassette in layer if cassette.origin and key in cassette.origin.written]
        for other in origins[1:]:
            text = f"{key} is already in {origins[0].document.file}, in the same layer"
            yield other.problem("duplicate-id", text, (key,), key=True)


def _foundation(
    layers: Sequence[Layer], parsed: Sequence[Sequence[Cassette]], schemas: Schemas, problems: list[Problem]
) -> Foundation:
    for extension in [cassette.extends for layer in parsed[1:] for cassette in layer if cassette.extends]:
        text = "only a dialect can extend another dialect, not a layer over a dialect; remove extends"
        problems.append(extension.origin.problem("extends", text, ("extends",), key=True))
    folder = next((folder_of(path) for layer in layers[:1] for path in layer), None)
    if folder is None:
        return Foundation()

    def read(base: Path, change: Callable[[Document], Document]) -> list[Cassette]:
        return read_path(base, schemas, problems, is_dialect=True, change=change)

    return foundation(parsed[0], folder, read, problems)


def _invert(rank: Rank) -> Rank:
    layer, priority, path, strength = rank
    return (-layer, -priority, tuple(-kind for kind in path), -strength)


def _collect_unique[Entry: Operation | Rule | ErrorAnswer](
    kind: str, entries: Iterable[tuple[str, Entry]], problems: list[Problem]
) -> dict[str, Entry]:
    """Return the entries of one layer by name: by id, or for errors by name."""
    seen: dict[str, Entry] = {}
    for name, entry in entries:
        other = seen.setdefault(name, entry)
        if other is not entry:
            text = f"the {kind} {name!r} is already at {other.origin.place}, in the same layer"
            below = ("id",) if kind == "id" else ()
            problems.append(entry.origin.problem("duplicate-id", text, below, key=kind == "error"))
    return seen
