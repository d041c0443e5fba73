"""Derives a dialect from a recording: the bank's differences from the documented dialect that is nearest."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent, wrap
from typing import Any

from xs2a_sandbox.bank import TestData, testdata
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.recorded_data import recorded_data
from xs2a_sandbox.bundled import NO_DIALECTS, bundled, dialects
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers, shapes
from xs2a_sandbox.cassette.dialect.authorisation import SECTION
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA
from xs2a_sandbox.cassette.schema_names import answer_schemas
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.features.derive.learned_options import learn_options
from xs2a_sandbox.features.derive.learning.as_recorded import RecordedRule, as_recorded
from xs2a_sandbox.features.derive.learning.by_effects import MAKES, by_effects
from xs2a_sandbox.features.derive.learning.changes import OperationChange, change, change_require, written_value
from xs2a_sandbox.features.derive.learning.courses import StateSequences, courses
from xs2a_sandbox.features.derive.learning.documented_states import documented_states
from xs2a_sandbox.features.derive.learning.errors import LearnedErrors, error_body, learn_errors, read_words
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange, recognise_exchanges
from xs2a_sandbox.features.derive.null_members import null_members
from xs2a_sandbox.features.derive.rating import Rating
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, read_dialect, rehearse, require_answers
from xs2a_sandbox.features.derive.representative import find_representative
from xs2a_sandbox.features.derive.unknown.learned_dialect import learn_dialect
from xs2a_sandbox.features.derive.unknown.recorded.seen import see
from xs2a_sandbox.features.derive.unknown.tried.other_values import invent_values
from xs2a_sandbox.features.derive.unknown.tried.renamed import rename_request
from xs2a_sandbox.http import body
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.redaction.values import DROPPED
from xs2a_sandbox.wording import say_count

DIALECT = "dialect.yaml"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_WIDTH = 116
_MOST_PLACES = 8
_SAID = ("respond", "answers")
"""The keys of an operation that define its answers."""
_ENOUGH = 0.9
"""A dialect derived from a documented one is kept if it answers this share of the recorded requests like the bank."""
_LEAST_OPERATIONS = 0.3
"""The share of requests that a documented dialect must have operations for. Otherwise it only repeats answers."""
_WITH_DIGIT = re.compile(r"[\w-]*\d[\w-]*")
_MISSING = re.compile(r"the key (\S+) is missing")


@dataclass(frozen=True, slots=True)
class Nearness:
    """The numbers of exchanges that match a dialect's operations, its statuses and its shapes."""

    dialect: str
    operations: int
    statuses: int
    shapes: int

    @property
    def score(self) -> int:
        return self.operations + self.statuses + self.shapes

    def __str__(self) -> str:
        return (
            f"{self.dialect} has the operations of {self.operations} exchanges, "
            f"the statuses of {self.statuses} and the bodies of {self.shapes}"
        )


@dataclass(frozen=True, slots=True)
class DerivedDialect:
    """The files of a dialect by name. `unknown` is what could not be learned; `rehearsed` are its answers.

    `left_out` is the number of exchanges at the end of the recording that show nothing new, and were not used.
    """

    name: str
    files: Mapping[str, str]
    base: str
    nearness: tuple[Nearness, ...]
    unknown: tuple[str, ...]
    rehearsed: tuple[Rehearsed, ...]
    rating: Rating
    left_out: int = 0

    @property
    def alike(self) -> int:
        return _count_alike(self.rehearsed)


def _count_alike(rehearsed: Sequence[Rehearsed]) -> int:
    return sum(not outcome.unlike for outcome in rehearsed)


@dataclass(slots=True)
class _Draft:
    """All changes so far, with the reasons."""

    base: str
    nearness: Nearness
    exchanges: Sequence[RecognisedExchange]
    options: Mapping[str, tuple[Mapping[str, Any], Sequence[str]]] = field(default_factory=dict)
    authorisation: tuple[Mapping[str, Any], Sequence[str]] = ({}, ())
    operations: dict[str, OperationChange] = field(default_factory=dict)
    errors: LearnedErrors = field(default_factory=LearnedErrors)
    data: TestData | None = None
    rules: list[RecordedRule] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    rehearsed: list[Rehearsed] = field(default_factory=list)

    @property
    def alike(self) -> int:
        return _count_alike(self.rehearsed)

    @property
    def changed(self) -> int:
        """The number of changed keys of operations, changed errors, and rules."""
        keys = sum(len(operation.value) for operation in self.operations.values())
        return keys + len(self.errors.errors) + len(self.rules) + (self.errors.every is not None)


def derive_dialect(
    name: str, tape: Tape, schemas: Schemas, progress: Callable[[int, int], None] = lambda done, count: None
) -> DerivedDialect:
    """Derive the dialect from the most similar documented one, or learn it from the recording alone if that is better.

    Raises ConfigError if nothing can be learned from the recording.
    """
    require_answers(tape)
    interfaces = {
        base: layers.read([[bundled("cassettes") / base]], schemas, collect_handlers()) for base in dialects()
    }
    near = [_nearness(base, interface, tape, schemas) for base, interface in interfaces.items()]
    if max(nearness.operations for nearness in near) < _LEAST_OPERATIONS * len(tape.entries):
        return _learn_unknown(name, tape, schemas, progress)
    near = [nearness for nearness in near if nearness.operations]
    samples = {nearness.dialect: _choose_sample(tape, interfaces[nearness.dialect]) for nearness in near}
    work = _Work(progress, samples.values(), tape)
    drafts, unread = [], []
    for nearness in near:
        try:
            drafts.append(_draft(interfaces[nearness.dialect], nearness, samples[nearness.dialect], schemas, work))
        except Unreadable as error:
            unread.append(error.problems[0])
        work.finish_draft(samples[nearness.dialect])
    if not drafts:
        raise ConfigError(f"{tape.path}: the derived dialect is invalid: {unread[0].text}; please report this as a bug")
    drafts.sort(
        key=lambda draft: (draft.alike, -len(draft.unknown), -draft.changed, draft.nearness.score), reverse=True
    )
    best = drafts[0]
    interface, sample = interfaces[best.base], samples[best.base]
    rating = _rate_second_journey(best, interface, sample, schemas, work)
    if sample is not tape:
        _rehearse_all(best, interface, tape, schemas, work)
    work.finish()
    if best.alike < _ENOUGH * len(tape.entries):
        with suppress(ConfigError):
            learned = _learn_unknown(name, tape, schemas, progress)
            alike = best.alike / len(tape.entries)
            if learned.rating.share + learned.alike / len(learned.rehearsed) > rating.share + alike:
                return learned
    files = _files(name, best, interface, tape, rating)
    unknown = tuple(dict.fromkeys(best.unknown))
    return DerivedDialect(
        name,
        files,
        best.base,
        tuple(draft.nearness for draft in drafts),
        unknown,
        tuple(best.rehearsed),
        rating,
    )


class _Work:
    """The progress of a derivation in sent requests. Their number is estimated, and corrected after each draft."""

    def __init__(self, show: Callable[[int, int], None], samples: Iterable[Tape], tape: Tape) -> None:
        self._show = show
        sizes = [len(sample.entries) for sample in samples]
        self._done = self._finished = 0
        self._count = sum(sizes) * _REHEARSALS + max(sizes, default=0) + len(tape.entries)

    def step(self) -> None:
        self._done = min(self._done + 1, self._count - 1)
        self._show(self._done, self._count)

    def finish_draft(self, tape: Tape) -> None:
        self._finished += len(tape.entries) * _REHEARSALS
        self._done = min(self._finished, self._count - 1)
        self._show(self._done, self._count)

    def finish(self) -> None:
        self._show(self._count, self._count)


_REHEARSALS = 8
"""About how often a draft is tried."""


def _choose_sample(tape: Tape, interface: Interface) -> Tape:
    """Return the recording without what it only repeats, or the recording itself if everything is needed."""
    chosen = find_representative(recognise_exchanges(tape.places, tape.entries, interface))
    return tape if len(chosen) == len(tape.entries) else _pick(tape, chosen)


def _pick(tape: Tape, positions: Sequence[int]) -> Tape:
    return replace(
        tape,
        entries=tuple(tape.entries[position] for position in positions),
        keys=tuple(tape.keys[position] for position in positions),
        places=tuple(tape.places[position] for position in positions),
    )


def _rehearse_all(best: _Draft, interface: Interface, tape: Tape, schemas: Schemas, work: _Work) -> None:
    """Try a dialect that was learned from a sample on the whole recording, which is then its evidence."""
    unlike = set(_describe_unlike(best.exchanges, best.rehearsed))
    best.exchanges = recognise_exchanges(tape.places, tape.entries, interface)
    learned_courses = courses(best.exchanges, *documented_states(interface))
    best.rehearsed = _rehearse(best, tape, schemas, learned_courses, work)
    places: dict[str, list[str]] = {}
    for exchange in best.exchanges:
        if exchange.operation:
            places.setdefault(exchange.operation.id, []).append(exchange.place)
    for id, made in best.operations.items():
        made.places = places[id]
    best.unknown = [text for text in best.unknown if text not in unlike]
    best.unknown += _describe_unlike(best.exchanges, best.rehearsed)


def _rate_second_journey(best: _Draft, interface: Interface, tape: Tape, schemas: Schemas, work: _Work) -> Rating:
    """Count how many requests are answered like the bank after other values have replaced what the app chooses.

    What the test data have stays, such as customers and their accounts: the dialect knows no others.
    """
    seen = see(tape)
    data = {str(text) for text in _texts_of(best.data.collections if best.data else {})}
    values = invent_values(seen, {one: one.status < 400 for one in seen})
    names = {text: other for text, other in values.accepted.items() if text not in data}
    requests = [rename_request(entry, names) for entry in tape.entries]
    entries = tuple(
        replace(entry, target=request.target, headers=request.headers, body=request.body)
        for entry, request in zip(tape.entries, requests, strict=True)
    )
    exchanges = recognise_exchanges(tape.places, entries, interface)
    learned_courses = courses(exchanges, *documented_states(interface))
    return Rating.of(_rehearse(best, replace(tape, entries=entries), schemas, learned_courses, work))


def _texts_of(value: Any) -> Iterator[Any]:
    """Yield the values and the names of members."""
    if isinstance(value, Mapping):
        yield from value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _texts_of(inner)
    else:
        yield value


def _learn_unknown(name: str, tape: Tape, schemas: Schemas, progress: Callable[[int, int], None]) -> DerivedDialect:
    _check_one_bank_url(tape)
    try:
        learned = learn_dialect(name, tape, schemas, progress)
    except Unreadable as error:
        text = error.problems[0].text
        raise ConfigError(f"{tape.path}: the learned dialect is invalid: {text}; please report this as a bug") from None
    return DerivedDialect(
        name,
        {DIALECT: learned.text},
        "",
        (),
        tuple(learned.unknown),
        tuple(learned.rehearsed),
        Rating.of(learned.rated),
        learned.left_out,
    )


def _draft(interface: Interface, nearness: Nearness, tape: Tape, schemas: Schemas, work: _Work) -> _Draft:
    exchanges = recognise_exchanges(tape.places, tape.entries, interface)
    _check_one_bank(tape, exchanges)
    draft = _Draft(interface.dialect, nearness, exchanges)
    learned_courses = courses(exchanges, *documented_states(interface))
    learned = learn_options(exchanges, interface, learned_courses)
    draft.options, draft.authorisation = learned.options, learned.authorisation
    draft.unknown = list(learned.unknown)
    draft.data = _data(tape, draft, interface)
    _learn_operations(draft, interface, learned_courses, schemas)
    _leave_unreadable(draft, schemas)
    _keep_usual(draft, interface, tape, schemas, learned_courses, work)
    _make_by_effects(draft, interface, _rehearse(draft, tape, schemas, learned_courses, work))
    _leave_unreadable(draft, schemas)
    _learn_errors(draft, interface, _rehearse(draft, tape, schemas, learned_courses, work))
    _leave_unreadable(draft, schemas)
    draft.rehearsed = _rehearse(draft, tape, schemas, learned_courses, work)
    draft.rules = list(null_members(zip(exchanges, draft.rehearsed, strict=True)))
    _leave_unreadable(draft, schemas)
    if draft.rules:
        draft.rehearsed = _rehearse(draft, tape, schemas, learned_courses, work)
    _answer_as_recorded(draft, tape, schemas, learned_courses, work)
    draft.unknown += [text for made in draft.operations.values() for text in made.unknown]
    draft.unknown += [*learned_courses.unknown, *_describe_unlike(exchanges, draft.rehearsed)]
    return draft


def check_name(name: str, places: Iterable[Path], hint: str = "") -> None:
    """Check that the name is valid for a folder, and not used in these places. Raises ConfigError."""
    if not _NAME.fullmatch(name) or name in NO_DIALECTS:
        raise ConfigError(f"{name!r} cannot be the name of a dialect: use lower-case letters, digits, '.', '_' and '-'")
    for place in places:
        if (place / name).exists():
            raise ConfigError(f"the dialect {name} already exists in {place / name}: choose another name{hint}")


def report_lines(derived: DerivedDialect, folder: Path) -> Iterator[str]:
    """Yield the result as lines for a terminal."""
    yield from (
        f"{'nearest: ' if nearness.dialect == derived.base else '         '}{nearness}" for nearness in derived.nearness
    )
    yield from (f"not learned: {line}" for line in dict.fromkeys(derived.unknown))
    yield from (f"  {folder / name}" for name in derived.files)
    number = len(derived.rehearsed)
    if not derived.base:
        yield "no documented dialect answers like this bank: the dialect was learned from the recording alone"
    if derived.left_out:
        left_out = say_count(derived.left_out, "request")
        yield f"left out: the last {left_out} of the recording, in which nothing is new"
    asked = f"the other {number}" if derived.left_out else f"the recording's {number}"
    yield f"{derived.alike} of {asked} requests get the recorded answer from the dialect {derived.name}"
    yield from derived.rating.lines(derived.name)
    if (own := folder.parent / TESTDATA).exists() and TESTDATA in derived.files:
        yield f"note: {own} is used in place of the dialect's own test data"
    yield f"Use it with: xs2a-sandbox serve --dialect {derived.name}"


def write(derived: DerivedDialect, cassettes: Path) -> Path:
    """Write the folder of the dialect completely or not at all, and return it. Raises ConfigError."""
    folder, is_new = cassettes / derived.name, not cassettes.exists()
    try:
        cassettes.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=cassettes, prefix=f".{derived.name}.", ignore_cleanup_errors=True) as made:
            for name, text in derived.files.items():
                replace_file(Path(made) / derived.name / name, text.encode())
            os.rename(Path(made) / derived.name, folder)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                cassettes.rmdir()
        raise ConfigError(f"cannot write {folder}: {error.strerror or error}") from None
    return folder


def _check_one_bank(tape: Tape, exchanges: Sequence[RecognisedExchange]) -> None:
    banks = sorted(
        {str(Origin.parse(exchange.entry.bank)) for exchange in exchanges if exchange.operation and exchange.entry.bank}
    )
    if len(banks) > 1:
        raise ConfigError(
            f"{tape.path} contains several banks ({', '.join(banks)}): derive a dialect from a recording of each bank"
        )


def _check_one_bank_url(tape: Tape) -> None:
    banks = sorted({str(Origin.parse(entry.bank)) for entry in tape.entries if entry.bank})
    if len(banks) > 1:
        raise ConfigError(
            f"{tape.path} is of several banks ({', '.join(banks)}): derive one dialect from the recording of each bank"
        )


def _nearness(name: str, interface: Interface, tape: Tape, schemas: Schemas) -> Nearness:
    counted: Counter[str] = Counter()
    for exchange in recognise_exchanges(tape.places, tape.entries, interface):
        if exchange.operation is None:
            continue
        status = exchange.entry.status
        statuses = {answer.status for answer in exchange.operation.behaviour.respond}
        names = answer_schemas(exchange.operation, status, interface.every_error.schema)
        fitting = [schemas[name] for name in names if name in schemas]
        counted["operations"] += 1
        counted["statuses"] += status in statuses
        counted["shapes"] += any(schema.accepts(exchange.answer) for schema in fitting)
    return Nearness(name, counted["operations"], counted["statuses"], counted["shapes"])


# Learning


def _learn_operations(draft: _Draft, interface: Interface, learned_courses: StateSequences, schemas: Schemas) -> None:
    templates = shapes.templates(interface.sections)
    makers = {id: exchange for exchange in draft.exchanges for id in exchange.made.values()}
    for operation in interface.operations.values():
        own = [exchange for exchange in draft.exchanges if exchange.operation is operation]
        if own:
            draft.operations[operation.id] = change(
                operation, own, makers, collect_handlers(), learned_courses, schemas, templates
            )


def _keep_usual(
    draft: _Draft,
    interface: Interface,
    tape: Tape,
    schemas: Schemas,
    learned_courses: StateSequences,
    work: _Work,
) -> None:
    """Undo learned answers if the documented ones match as well or better.

    Also remove the requirements for which the documented operations refuse requests that the bank has answered.
    """
    learned = {id: operation.value for id, operation in draft.operations.items()}
    usual = {id: {key: member for key, member in value.items() if key not in _SAID} for id, value in learned.items()}

    def rehearse_with(values: Mapping[str, dict[str, Any]]) -> list[Rehearsed]:
        for id, made in draft.operations.items():
            made.value = values[id]
        return _rehearse(draft, tape, schemas, learned_courses, work)

    outcomes = [rehearse_with(usual)]
    refused: dict[str, set[str]] = {}
    while unneeded := _find_unneeded(draft, interface, outcomes[0], schemas, refused):
        id, require = unneeded
        if any(tape.keys) and draft.operations[id].hidden is None:
            draft.operations[id].hidden = usual[id].get("require", {})
        learned[id] = {**learned[id], "require": require}
        usual[id] = {**usual[id], "require": require}
        outcomes = [rehearse_with(usual)]
    outcomes.append(rehearse_with(learned))
    for id, made in draft.operations.items():
        before, after = (
            [two for exchange, two in zip(draft.exchanges, ones, strict=True) if _is(exchange, id)] for ones in outcomes
        )
        is_enough = all(not two.unlike for two in before if two.recorded.status < 400)
        if _rate(after) <= _rate(before) if is_enough else _count_alike(after) < _count_alike(before):
            made.value, made.unknown = usual[id], []


def _rate(rehearsed: Sequence[Rehearsed]) -> tuple[int, int]:
    """Return how many answers are like the bank's, and how many are the same except for ids."""
    return _count_alike(rehearsed), sum(outcome.is_same for outcome in rehearsed)


def _find_unneeded(
    draft: _Draft,
    interface: Interface,
    rehearsed: Sequence[Rehearsed],
    schemas: Schemas,
    refused: dict[str, set[str]],
) -> tuple[str, Any] | None:
    """Return the operation that is the first to refuse a request which the bank has answered, and its requirements
    without the reason. Later refusals may be consequences.

    Its error is added to `refused`, the errors by operation.
    """
    tried: set[tuple[str, str]] = set()
    for exchange, outcome in zip(draft.exchanges, rehearsed, strict=True):
        if exchange.operation is None or not exchange.succeeded or outcome.error is None:
            continue
        if (pair := (exchange.operation.id, outcome.error)) in tried:
            continue
        tried.add(pair)
        id, errors = exchange.operation.id, refused.get(exchange.operation.id, set())
        answered = [other for other in draft.exchanges if other.succeeded and other.operation is exchange.operation]
        require = change_require(interface.operations[id], answered, schemas, errors | {outcome.error})
        if require and require != draft.operations[id].value.get("require"):
            refused[id] = errors | {outcome.error}
            return id, require
    return None


def _make_by_effects(draft: _Draft, interface: Interface, rehearsed: Sequence[Rehearsed]) -> None:
    """Use effects to create what the bank has created and a handler rejects."""
    for id, made in draft.operations.items():
        operation = interface.operations[id]
        pairs = [
            pair for pair in zip(draft.exchanges, rehearsed, strict=True) if pair[0].succeeded and _is(pair[0], id)
        ]
        if operation.behaviour.handler not in MAKES or not any(outcome.error for _, outcome in pairs):
            continue
        for exchange, outcome in pairs:
            if outcome.error:
                reason = f"the handler {operation.behaviour.handler} refuses the recorded request with {outcome.error}"
                made.unknown.append(f"{exchange.request} ({exchange.place}): {reason}, so effects answer instead")
        options, _ = draft.options.get(operation.behaviour.handler, ({}, ()))
        made.value = by_effects(operation, made.value, [exchange for exchange, _ in pairs], options.get("ids"))


def _is(exchange: RecognisedExchange, id: str) -> bool:
    return exchange.operation is not None and exchange.operation.id == id


def _find_unsaid(exchanges: Sequence[RecognisedExchange], rehearsed: Sequence[Rehearsed]) -> list[RecognisedExchange]:
    """Return exchanges that change nothing and that the dialect answers differently."""
    pairs = zip(exchanges, rehearsed, strict=True)
    changes = [exchange for exchange in exchanges if exchange.operation and not exchange.reads]
    return [
        exchange for exchange, outcome in pairs if exchange.succeeded and outcome.unlike and exchange not in changes
    ]


def _answer_as_recorded(
    draft: _Draft, tape: Tape, schemas: Schemas, learned_courses: StateSequences, work: _Work
) -> None:
    """Add rules that answer as recorded, except for those that make other answers worse."""
    recorded = list(as_recorded(_find_unsaid(draft.exchanges, draft.rehearsed), _consents(draft.exchanges)))
    if not recorded:
        return
    learned, before = draft.rules, draft.rehearsed
    draft.rules = [*learned, *recorded]
    draft.rehearsed = _rehearse(draft, tape, schemas, learned_courses, work)
    triples = zip(draft.exchanges, before, draft.rehearsed, strict=True)
    worse = {
        exchange.operation.id for exchange, was, now in triples if exchange.operation and now.unlike and not was.unlike
    }
    if worse:
        draft.rules = [*learned, *(rule for rule in recorded if rule.value["match"].get("operation") not in worse)]
        draft.rehearsed = _rehearse(draft, tape, schemas, learned_courses, work)


def _consents(exchanges: Sequence[RecognisedExchange]) -> set[str]:
    return {exchange.made["consent"] for exchange in exchanges if "consent" in exchange.made}


def _learn_errors(draft: _Draft, interface: Interface, rehearsed: Sequence[Rehearsed]) -> None:
    raised: list[tuple[str, RecognisedExchange]] = []
    other: set[str] = set()
    every_body = _every_error(interface)
    for exchange, outcome in zip(draft.exchanges, rehearsed, strict=True):
        if exchange.succeeded or exchange.operation is None:
            continue
        # A request on which the dialect itself fails does not show an error of the bank.
        if outcome.error and outcome.error != "internal" and outcome.error in interface.errors:
            raised.append((outcome.error, exchange))
            if not _has_same_words(exchange, outcome, error_body(interface.errors[outcome.error], every_body)):
                other.add(outcome.error)
    draft.errors = learn_errors(raised, interface.errors, every_body)
    if draft.errors.every is None:
        draft.errors.errors = {name: learned for name, learned in draft.errors.errors.items() if name in other}
    draft.unknown += draft.errors.unknown


def _has_same_words(exchange: RecognisedExchange, outcome: Rehearsed, template: Any) -> bool:
    """Return whether the dialect's error has the bank's status and words. Words with digits may be ids."""
    if outcome.answer is None or outcome.answer.status != exchange.entry.status:
        return False
    both = (exchange.answer, body.read(outcome.answer.answer_body).value)
    mine, ours = (read_words(template, answer) for answer in both)
    texts = [_WITH_DIGIT.sub("", one.text or "") for one in (mine, ours)]
    return mine.code == ours.code and texts[0] == texts[1]


def _every_error(interface: Interface) -> Any:
    """Return the body of errors in a dialect, as it is written."""
    for folder in (bundled("cassettes") / interface.dialect, *reversed(interface.foundation)):
        for file in sorted(folder.rglob("*.yaml")):
            value = parse(file.read_text(encoding="utf-8"), file).value
            if isinstance(value, dict) and "every_error" in value:
                return value["every_error"].get("body")
    return None


def _describe_unlike(exchanges: Sequence[RecognisedExchange], rehearsed: Sequence[Rehearsed]) -> Iterator[str]:
    for exchange, outcome in zip(exchanges, rehearsed, strict=True):
        if outcome.unlike:
            yield f"{exchange.request} ({exchange.place}): {'; '.join(outcome.unlike[:3])}"


_FILLED = {
    "bic": "NOTKNOWNXXX",
    "reference_date": "{{ today() }}",
    "booked_on": "{{ today() }}",
    "value_on": "{{ today() }}",
    "last_action_on": "{{ today() }}",
    "valid_until": "{{ today(90) }}",
    "recurring": True,
    "frequency": 4,
    "creditor_account": {"bban": "-"},
    "debtor_account": {"bban": "-"},
}
"""Values for members that test data require and the bank does not show."""
_MOST_TRIES = 1000


def _data(tape: Tape, draft: _Draft, interface: Interface) -> TestData | None:
    """Return the customers and accounts in the recording that test data can express."""
    recorded = recorded_data(tape.entries, TestData({}, ()), interface)
    collections: dict[str, dict[str, Any]] = {}
    for name, entries in recorded.collections.items():
        for id, entry in entries.items():
            if (fitting := _as_test_data(name, id, entry)) is None:
                draft.unknown.append(f"{name} {id} of the recording cannot be expressed in test data")
            else:
                collections.setdefault(name, {})[id] = fitting
    if not any(tape.keys):
        credentials = _credentials(draft.exchanges)
        for psu in collections.get("psus", {}).values():
            psu |= credentials
    _add_known_secrets(draft, collections.get("clients", {}))
    accounts = collections.get("accounts", {})
    for consent in collections.get("consents", {}).values():
        consent["accounts"] = [id for id in consent["accounts"] if id in accounts]
    return TestData(collections, ()) if accounts else None


def _add_known_secrets(draft: _Draft, clients: Mapping[str, dict[str, Any]]) -> None:
    """Use the secrets of the documented dialect's test data for clients whose secrets were redacted."""
    own = bundled("cassettes") / draft.base / TESTDATA
    documented = testdata.load([own]).collections.get("clients", {}) if own.exists() else {}
    for id, client in clients.items():
        if client["secret"] == DROPPED and id in documented:
            client["secret"] = documented[id]["secret"]
        elif client["secret"] == DROPPED:
            draft.unknown.append(
                f"the secret of the client {id} is not in the recording: in {TESTDATA}, write the secret that your app "
                f"sends in place of {DROPPED!r}"
            )


def _credentials(exchanges: Sequence[RecognisedExchange]) -> dict[str, str]:
    """Return the accepted password and one-time password, if the recording is not redacted."""
    credentials: dict[str, str] = {}
    for exchange in exchanges:
        for name in ("password", "otp") if exchange.entry.status < 300 else ():
            if isinstance(secret := exchange.take(name), str):
                credentials[name] = secret
    return credentials


def _as_test_data(name: str, id: str, entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the entry as valid test data: required members are added, others removed. None if that is impossible."""
    if name == "accounts" and not testdata.is_account_key(id):
        return None
    schema = bundled_schema("testdata")
    document: Any = {"testdata": 2, name: {id: deepcopy(_without_nulls(entry))}}
    for _ in range(_MOST_TRIES):
        complaint = next(iter(schema.complaints(document)), None)
        if complaint is None:
            fitting: dict[str, Any] | None = document[name].get(id)
            return fitting
        missing = _MISSING.search(complaint.text) if complaint.code == "missing-key" else None
        pointer = (*complaint.pointer, missing[1]) if missing else complaint.pointer
        *above, last = pointer
        holder: Any = reduce(getitem, above, document)
        if missing and last not in holder:
            holder[last] = _balances(holder) if last == "balances" else deepcopy(_FILLED.get(str(last), "-"))
        elif len(pointer) <= len((name, id)):
            return None
        else:
            del holder[last]
    return None


def _balances(account: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return balances for an account whose balances were not recorded, large enough for later payments."""
    amount = {"currency": account.get("currency", "EUR"), "amount": "10000.00"}
    return [{"type": "ITAV", "amount": amount, "reference_date": "{{ today() }}"}]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return list(value) if isinstance(value, list) else value


def _leave_unreadable(draft: _Draft, schemas: Schemas) -> None:
    """Undo and report each change that no cassette can express."""
    if not _trouble(_cassette(draft), schemas):
        return
    base = {"cassette": 1, "extends": draft.base}
    for id, made in draft.operations.items():
        if made.value and (trouble := _trouble({**base, "changes": {"operations": {id: made.value}}}, schemas)):
            made.value = {}
            made.unknown.append(f"{id}: {trouble} ({_list(made.places)}), so it is not changed")
    for name, (value, places) in list(draft.errors.errors.items()):
        if trouble := _trouble({**base, "changes": {"errors": {name: value}}}, schemas):
            del draft.errors.errors[name]
            draft.unknown.append(f"the error {name}: {trouble} ({_list(places)})")
    for rule in list(draft.rules):
        if trouble := _trouble({**base, "rules": [rule.value]}, schemas):
            draft.rules.remove(rule)
            draft.unknown.append(f"{trouble} ({_list(rule.places)})")


def _trouble(cassette: Mapping[str, Any], schemas: Schemas) -> str | None:
    """Return the first problem of a cassette, or None if it is valid."""
    try:
        read_dialect(yaml_text(cassette), schemas)
    except Unreadable as error:
        return error.problems[0].text
    return None


def _rehearse(
    draft: _Draft, tape: Tape, schemas: Schemas, learned_courses: StateSequences, work: _Work
) -> list[Rehearsed]:
    interface = read_dialect(yaml_text(_cassette(draft)), schemas)
    data = draft.data or testdata.load([bundled("cassettes") / TESTDATA])
    return rehearse(tape.entries, interface, schemas, data, learned_courses, work.step)


# Writing


def _cassette(draft: _Draft) -> dict[str, Any]:
    changes = {
        "options": {name: value for name, (value, _) in draft.options.items()},
        "operations": {id: operation.value for id, operation in draft.operations.items() if operation.value},
        "errors": {name: value for name, (value, _) in draft.errors.errors.items()},
    }
    cassette: dict[str, Any] = {"cassette": 1, "extends": draft.base}
    if draft.authorisation[0]:
        cassette[SECTION] = draft.authorisation[0]
    if changes := {name: value for name, value in changes.items() if value}:
        cassette["changes"] = changes
    if draft.errors.every is not None:
        cassette["every_error"] = {"body": draft.errors.every}
    if draft.rules:
        cassette["rules"] = [rule.value for rule in draft.rules]
    return cassette


def _files(name: str, draft: _Draft, interface: Interface, tape: Tape, rating: Rating) -> dict[str, str]:
    text = "".join(f"# {line}\n" if line else "#\n" for line in _head(name, draft, tape, rating))
    bank = str(Origin.parse(tape.entries[0].bank)) if tape.entries[0].bank else "the bank"
    text += yaml_text({"cassette": 1, "title": f"{name}, from a recording of {bank}", "extends": draft.base})
    authorisation, places = draft.authorisation
    if authorisation:
        text += f"\n{_comment(places, '')}{yaml_text({SECTION: authorisation})}"
    sections: dict[str, dict[str, tuple[Mapping[str, Any], str, Sequence[str]]]] = {
        "options": {id: (value, "", places) for id, (value, places) in draft.options.items()},
        "operations": dict(_operations(draft, interface)),
        "errors": {id: (value, "", places) for id, (value, places) in draft.errors.errors.items()},
    }
    written = "".join(_section(key, entries) for key, entries in sections.items() if entries)
    text += f"\nchanges:\n{written}" if written else ""
    if draft.errors.every is not None:
        text += f"\n{_comment(draft.errors.places, '')}{yaml_text({'every_error': {'body': draft.errors.every}})}"
    if draft.rules:
        entries = (_comment(rule.places, "") + yaml_text([rule.value]) for rule in draft.rules)
        text += f"\nrules:\n{indent(''.join(entries), '  ')}"
    files = {DIALECT: text}
    if draft.data:
        head = "# The bank's customers and accounts, as far as the recording shows them.\n"
        files[TESTDATA] = head + yaml_text({"testdata": 2, **_make_plain(draft.data.collections)})
    return files


def _head(name: str, draft: _Draft, tape: Tape, rating: Rating) -> Iterator[str]:
    days = sorted(f"{entry.time:%Y-%m-%d}" for entry in tape.entries)
    number = len(tape.entries)
    yield f"Derived from {number} exchange{'s' * (number != 1)} of {days[0]} to {days[-1]}:"
    yield f"xs2a-sandbox derive --dialect {name}"
    yield f"The nearest documented dialect: {draft.nearness}."
    for line in rating.lines(name):
        yield from wrap(line, _WIDTH)
    if draft.unknown:
        yield ""
        yield "Not learned:"
        for unknown in dict.fromkeys(draft.unknown):
            first, *rest = wrap(unknown, _WIDTH - 4) or [""]
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _operations(draft: _Draft, interface: Interface) -> Iterator[tuple[str, tuple[dict[str, Any], str, list[str]]]]:
    """Yield every changed operation with its evidence."""
    days: dict[str, str] = {}
    for exchange in draft.exchanges:
        if exchange.operation:
            days[exchange.operation.id] = max(days.get(exchange.operation.id, ""), f"{exchange.entry.time:%Y-%m-%d}")
    for id, operation in interface.operations.items():
        made = draft.operations.get(id)
        doc = str(operation.origin.written.get("doc", ""))
        if made is None:
            rests = f"Not recorded, so as in {draft.base}."
            yield id, ({"doc": f"{rests} {doc}".strip()}, "", [])
            continue
        number, value = len(made.places), written_value(made)
        rests = f"Recorded {days[id]}, {number} exchange{'s' * (number != 1)}; "
        rests += "derived from these." if value else f"as in {draft.base}."
        yield (
            id,
            (
                {"doc": f"{rests} {doc}".strip(), **value},
                f"{operation.method} {operation.pattern.text}",
                made.places,
            ),
        )


def _section(key: str, entries: Mapping[str, tuple[Mapping[str, Any], str, Sequence[str]]]) -> str:
    text = ""
    for id, (value, title, places) in entries.items():
        text += _comment(places, title) + yaml_text({id: value})
    return f"  {key}:\n{indent(text, '    ')}"


def _comment(places: Sequence[str], title: str) -> str:
    line = ": ".join(filter(None, (title, _list(places))))
    return "".join(f"# {part}\n" for part in wrap(line, _WIDTH)) if line else ""


def _list(places: Sequence[str]) -> str:
    """Group places by file: `x.har.jsonl, exchanges 2, 3`."""
    by_file: dict[str, list[str]] = {}
    for place in dict.fromkeys(places):
        file, _, number = place.rpartition(" ")
        by_file.setdefault(file, []).append(number)
    texts = []
    for file, numbers in by_file.items():
        more = f" and {len(numbers) - _MOST_PLACES} more" if numbers[_MOST_PLACES:] else ""
        texts.append(f"{file}{'s' * (len(numbers) > 1)} {', '.join(numbers[:_MOST_PLACES])}{more}")
    return "; ".join(texts)


def _make_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _make_plain(member) for key, member in value.items()}
    return [_make_plain(item) for item in value] if isinstance(value, list | tuple) else value
