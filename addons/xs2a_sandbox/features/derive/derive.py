"""Derives rules from recorded exchanges: `raw/*.har.jsonl` → `cassettes/<resource>.yaml`."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface, Operation, Rule, reader
from xs2a_sandbox.cassette.dialect.layers import Layered
from xs2a_sandbox.cassette.dialect.overlap import Rank, overlaps
from xs2a_sandbox.cassette.path_pattern import beginnings
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.documents.yaml_writer import write_exactly, yaml_text
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.features.derive import dialect, generated_file
from xs2a_sandbox.features.derive.dialect import SpokenDialect
from xs2a_sandbox.features.derive.generated_file import DerivedFile, Value, body_files, rule_hash
from xs2a_sandbox.features.derive.infer_match import make_recorded_request, present_parts, rules
from xs2a_sandbox.features.derive.recorded_answer import BODIES, only_bytes, write_answer
from xs2a_sandbox.features.derive.routes import LeftOut, RoutedExchange, Routes, by_route, read, slug
from xs2a_sandbox.features.derive.telling_headers import TellingHeaders, telling_headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.har_log import RAW, raw_files
from xs2a_sandbox.redaction.allowlist import is_kept_segment
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.wording import say_count

CASSETTES = "cassettes"
"""The folder of the rules, in the folder of the recording."""


@dataclass(frozen=True, slots=True)
class RecordedOperation:
    """The counts of an operation in all runs, or of a method and path without an operation.

    `redactions` are values that were replaced or dropped, `notes` bodies that were replaced with a note.
    """

    name: str
    exchanges: int
    rules: int
    redactions: int
    notes: int


@dataclass(frozen=True, slots=True)
class Derived:
    """`left_out` lists exchanges that are incomplete or missing, with the reason.

    `replaced` lists replaced older answers.

    `dialect` answers what was not recorded; `only_bytes` lists answers whose bodies do not match their media type, and
    are returned as the original bytes.
    """

    rules: int
    kept: int
    files: tuple[Path, ...]
    left_out: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    dialect: SpokenDialect | None = None
    only_bytes: tuple[str, ...] = ()
    operations: tuple[RecordedOperation, ...] = ()


def report_lines(derived: Derived, directory: Path) -> Iterator[str]:
    """Yield the result as lines for a terminal."""
    yield from (f"left out: {reason}" for reason in derived.left_out)
    yield from (f"replaced: {answers}" for answers in derived.replaced)
    yield from (f"as raw bytes: {reason}" for reason in derived.only_bytes)
    yield from _table(derived.operations)
    kept = f", {say_count(derived.kept, 'rule')} of yours kept" if derived.kept else ""
    yield f"{say_count(derived.rules, 'rule')} in {say_count(len(derived.files), 'file')}{kept}:"
    yield from (f"  {file}" for file in derived.files)
    if spoken := derived.dialect:
        answer = "with 404" if spoken.name == dialect.NONE else f"by the dialect {spoken.name}"
        yield (
            f"Requests that were not recorded are answered {answer}: {spoken.because} "
            f"({directory / CASSETTES / dialect.FILE})"
        )
    spoken_name = spoken.name if spoken else dialect.NONE
    flag = "" if spoken_name in (dialect.NONE, Settings().dialect) else f" --dialect {spoken_name}"
    yield f"Use them with: xs2a-sandbox serve --cassettes {directory / CASSETTES}{flag}"


def _table(operations: Sequence[RecordedOperation]) -> Iterator[str]:
    rows = [
        (operation.name, *map(str, (operation.exchanges, operation.rules, operation.redactions, operation.notes)))
        for operation in operations
    ]
    sums = (str(sum(int(row[column]) for row in rows)) for column in range(1, 5))
    rows = [("operation", "exchanges", "rules", "redacted", "not recorded"), *rows, ("together", *sums)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows if operations else ():
        aligned = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join((name.ljust(widths[0]), *aligned))


class _Home(NamedTuple):
    """The resource of a rule, the key of its pseudonyms, and its bank. Rules with the same home are in one file."""

    resource: str
    redacted: str
    bank: str

    def is_of(self, file: DerivedFile) -> bool:
        recorded = file.recorded or {}
        return (recorded.get("redacted") or "", recorded.get("bank")) == (self.redacted, self.bank)


_OWN_BODY = re.compile(r"[0-9a-f]{16}\.(json|txt|bin)")


@dataclass(frozen=True, slots=True)
class _Made:
    """A generated rule, the exchanges it was made from, and those of earlier runs with another answer."""

    value: Value
    exchanges: tuple[RoutedExchange, ...]
    replaced: tuple[RoutedExchange, ...]


def derive(
    directory: Path,
    interface: Interface | None,
    schemas: Schemas | None = None,
    progress: Callable[[int, int], None] = lambda done, count: None,
) -> Derived:
    """Writes cassettes of all runs of a recording. Rules that are somebody's stay as they are.

    The schemas decide whether the bank speaks the interface's dialect. `progress` is called with the number of routes
    that are done, and of all.

    Raises:
        ConfigError: there is no recording, one of its files cannot be read, or edited rules cannot be kept.
        Unreadable: a cassette is invalid. Nothing has been written then.
    """
    raw = raw_files(directory)
    if not raw:
        raise ConfigError(f"there is no recording in {directory}: choose a folder that contains {RAW}/*.har.jsonl")
    cassettes = directory / CASSETTES
    left_out: list[LeftOut] = []
    exchanges, tokens = read(directory, Routes(interface), left_out)
    bodies: dict[str, bytes] = {}
    telling = telling_headers(interface)
    made: list[_Made] = []
    routes = list(by_route(exchanges, left_out))
    for number, group in enumerate(routes, 1):
        made += _rules(group, tokens, telling, bodies)
        progress(number, len(routes))
    existing = _read_existing(cassettes)
    kept = [rule for file in existing for rule in file.kept]
    made = _beside(made, existing, interface.operations if interface else {}, left_out)
    texts = _texts(cassettes, made, existing, _find_unanswered(exchanges, left_out))
    theirs, ours = ({name for rule in ones for name in body_files(rule.value)} for ones in (kept, made))
    used = ours | theirs
    for name in sorted(ours - theirs):
        replace_file(cassettes / name, bodies[name])
    for file, text in texts.items():
        if text is None:
            file.unlink()
        elif not file.exists() or file.read_bytes() != text.encode():
            replace_file(file, text.encode())
    for leftover in (cassettes / BODIES).glob("*"):
        if _OWN_BODY.fullmatch(leftover.name) and f"{BODIES}/{leftover.name}" not in used:
            leftover.unlink()
    spoken = None
    if interface and interface.dialect:
        spoken = dialect.judge(interface, exchanges, schemas or _schemas())
        spoken = dialect.write(cassettes, spoken, existing)
    written = tuple(sorted(file for file, text in texts.items() if text is not None))
    replaced = tuple(_replace(rule, raw) for rule in made if rule.replaced)
    odd = tuple(str(LeftOut(recorded, reason)) for recorded in exchanges if (reason := only_bytes(recorded.entry)))
    operations = tuple(_operations(exchanges, made, left_out))
    return Derived(len(made), len(kept), written, tuple(map(str, left_out)), replaced, spoken, odd, operations)


def _operations(
    exchanges: Sequence[RoutedExchange], made: Sequence[_Made], left_out: Sequence[LeftOut]
) -> Iterator[RecordedOperation]:
    every: defaultdict[str, dict[int, Exchange]] = defaultdict(dict)
    replaced: dict[str, str] = {}
    for recorded in (*exchanges, *(omission.exchange for omission in left_out)):
        every[recorded.operation][recorded.number] = recorded.entry
        if recorded.redacted and recorded.route.operation is None:
            replaced[recorded.operation] = ", ".join(_pseudonyms(recorded.route.path))
    rules = Counter(rule.exchanges[0].operation for rule in made)
    for name, entries in sorted(every.items()):
        redactions = sum(entry.redactions for entry in entries.values())
        notes = sum(bool(note_of(body)) for entry in entries.values() for body in (entry.body, entry.answer_body))
        shown = f"{name} (pseudonyms: {replaced[name]})" if replaced.get(name) else name
        yield RecordedOperation(shown, len(entries), rules[name], redactions, notes)


def _pseudonyms(path: str) -> Iterator[str]:
    """Yield the pseudonyms in a path."""
    segments = path.split("/")
    for place, segment in enumerate(segments):
        if segment and not segment.startswith("{") and not is_kept_segment(segments, place):
            yield segment


def _replace(made: _Made, raw: Sequence[Path]) -> str:
    """Describe the rule, and how many answers of which runs it replaces."""
    newest, earlier = made.exchanges[0], Counter(replaced.file for replaced in made.replaced)
    answers = ", ".join(f"{say_count(number, 'answer')} of {_run(raw[file])}" for file, number in earlier.items())
    by = f"{say_count(len(made.exchanges), 'answer')} of {_run(raw[newest.file])}"
    return f"{made.value['id']} ({newest.request}): {answers}, by {by}"


def _run(file: Path) -> str:
    return file.name.partition(".")[0]


def _rules(
    group: Sequence[RoutedExchange], tokens: Mapping[str, int], telling: TellingHeaders, bodies: dict[str, bytes]
) -> Iterator[_Made]:
    """Yield rules without ids, ordered by their conditions, so that the order is the same after the next run."""
    answers = [write_answer(recorded.entry, bodies) for recorded in group]
    requests = [
        make_recorded_request(
            recorded.number,
            recorded.route.parameters,
            recorded.entry.target,
            recorded.entry.headers,
            recorded.entry.body,
            write_exactly(answer),
            telling,
            run=recorded.file,
            day=recorded.entry.time.astimezone(UTC).date(),
        )
        for recorded, answer in zip(group, answers, strict=True)
    ]
    match = {"method": group[0].route.method, "path": group[0].route.path}
    made = rules(match, requests, answers, tokens, telling)
    for rule, positions, replaced in sorted(made, key=lambda row: write_exactly(present_parts(row[0]["match"]))):
        yield _Made(
            rule, tuple(group[position] for position in positions), tuple(group[position] for position in replaced)
        )


def _read_existing(cassettes: Path) -> list[DerivedFile]:
    files = []
    problems: list[Problem] = []
    for file in sorted(cassettes.rglob("*.yaml")):
        try:
            files.append(generated_file.read(file))
        except Unreadable as unreadable:
            problems += unreadable.problems
    if problems:
        raise Unreadable(problems)
    return files


def _beside(
    made: Sequence[_Made], existing: Sequence[DerivedFile], operations: Mapping[str, Operation], left_out: list[LeftOut]
) -> list[_Made]:
    """Return the rules with unused ids, and without those that conflict with rules of the user."""
    kept = {rule.id: (rule, file) for file in existing for rule in file.kept}
    edited = {rule.was for rule, _ in kept.values()}
    rules = [rule for file in existing if file.kept for rule in _compile(file.document) if rule.id in kept]
    theirs = [(rule, rank) for rule in rules if (rank := _rank(rule, operations))]
    added: dict[str, _Made] = {}
    for made_rule in made:
        id = _id(made_rule)
        value = _identify(id, made_rule.value)
        if value["recorded"]["hash"] in edited:
            continue  # the user has edited it
        free = (name for name in chain([id], (f"{id}-{n}" for n in count(2))) if name not in kept.keys() | added)
        other: tuple[str, Path] | None = None
        if id in kept and kept[id][0].was:
            other = id, kept[id][1].file
        else:
            value = _identify(next(free), made_rule.value)
            if rule := _in_the_way(value, theirs, operations):
                other = rule.id, rule.origin.document.file
        if other:
            text = f"{other[0]!r} in {other[1].name} was edited and answers the same requests"
            left_out.append(LeftOut(made_rule.exchanges[0], text))
        else:
            added[value["id"]] = replace(made_rule, value=value)
    return list(added.values())


def _id(made: _Made) -> str:
    """Return an id of the bank, the operation, and a hash of the conditions, which is the same in all runs.

    Conditions on what is missing do not count, because they change when a run adds other requests.
    """
    entry, match = made.exchanges[0].entry, made.value["match"]
    host = urlsplit(entry.bank).netloc or entry.bank
    digest = hashlib.sha256(write_exactly([entry.bank, present_parts(match)]).encode()).hexdigest()[:8]
    return f"recorded-{slug(host)}-{slug(made.exchanges[0].route.name)}-{digest}"


def _identify(id: str, rule: Value) -> Value:
    identified = {"id": id, **rule}
    return {"id": id, "recorded": {"hash": rule_hash(identified)}, **rule}


def _in_the_way(value: Value, theirs: Sequence[tuple[Rule, Any]], operations: Mapping[str, Operation]) -> Rule | None:
    """Return the user's rule that conflicts with this one in the same layer."""
    if not theirs:
        return None
    (rule,) = _compile(yaml_reader.parse(yaml_text({"cassette": 1, "rules": [value]}), Path("generated")))
    mine = (rule, _rank_rule(rule, operations))
    pairs = ((other, sorted([mine, (other, rank)], key=itemgetter(1), reverse=True)) for other, rank in theirs)
    return next((other for other, pair in pairs if overlaps(pair, operations)), None)


def _compile(content: Document) -> tuple[Rule, ...]:
    # Problems that `lint` would report do not matter here.
    return reader.parse(content, _schemas(), []).rules


@cache
def _schemas() -> Schemas:
    return Schemas([bundled("schemas")])


def _rank(rule: Rule, operations: Mapping[str, Operation]) -> Rank | None:
    if rule.operation is not None and rule.operation not in operations:
        return None
    return _rank_rule(rule, operations) if rule.operation or rule.pattern else None


def _rank_rule(rule: Rule, operations: Mapping[str, Operation]) -> Rank:
    return Layered(rule, 0).rank(operations, beginnings(operation.pattern for operation in operations.values()))


def _find_unanswered(exchanges: Sequence[RoutedExchange], left_out: Sequence[LeftOut]) -> dict[_Home, list[LeftOut]]:
    """Return what was left out and is not answered by a newer run."""
    newest = {recorded.request: recorded.file for recorded in exchanges}
    unanswered: defaultdict[_Home, list[LeftOut]] = defaultdict(list)
    for omission in left_out:
        if omission.lacking and newest.get(omission.exchange.request, -1) <= omission.exchange.file:
            unanswered[_home(omission.exchange)].append(omission)
    return unanswered


def _texts(
    cassettes: Path, made: Sequence[_Made], existing: Sequence[DerivedFile], unanswered: Mapping[_Home, list[LeftOut]]
) -> dict[Path, str | None]:
    """Return the text of each file, or None to delete it.

    Files without generated rules, old or new, are not included.
    """
    texts: dict[Path, str | None] = {}
    by_file = {file.file: file for file in existing}
    rules: defaultdict[_Home, list[_Made]] = defaultdict(list)
    for made_rule in made:
        rules[_home(made_rule.exchanges[0])].append(made_rule)
    files = _files(cassettes, sorted({*rules, *unanswered}), by_file)
    for home, file in files.items():
        without = unanswered.get(home, [])
        every = [
            *(exchange for rule in rules[home] for exchange in rule.exchanges),
            *(omission.exchange for omission in without),
        ]
        latest = max(every, key=lambda exchange: exchange.number).entry
        at = latest.time.astimezone(UTC).date().isoformat()
        recorded: dict[str, Any] = {"bank": latest.bank, "at": at, "redacted": home.redacted or False}
        if without:
            recorded["left_out"] = sorted({omission.without_time for omission in without})
        title = f"{home.resource.replace('-', ' ').capitalize()}, recorded"
        texts[file] = generated_file.compose(by_file.get(file), title, recorded, [rule.value for rule in rules[home]])
    for file, old in by_file.items():
        if file not in texts and (old.generated or (old.is_derived and old.is_nothing_but_generated)):
            texts[file] = None if old.is_nothing_but_generated else generated_file.compose(old, "", None, [])
    return texts


def _home(exchange: RoutedExchange) -> _Home:
    return _Home(exchange.route.resource, exchange.redacted or "", exchange.entry.bank)


def _files(cassettes: Path, homes: Sequence[_Home], existing: Mapping[Path, DerivedFile]) -> dict[_Home, Path]:
    """Return a file for each home: its existing one, or the first free name.

    Generated rules are never put into files of the user.
    """
    files: dict[_Home, Path] = {}
    for home in homes:
        candidates = (cassettes / f"{name}.yaml" for name in _names(home, len(existing) + len(homes)))
        own = (file for file in candidates if file in existing and home.is_of(existing[file]))
        if file := next((file_name for file_name in own if file_name not in files.values()), None):
            files[home] = file
    for home in (home for home in homes if home not in files):
        candidates = (cassettes / f"{name}.yaml" for name in _names(home, len(existing) + len(homes)))
        files[home] = next(file for file in candidates if file not in files.values() and _is_free(existing.get(file)))
    return {home: files[home] for home in homes}


def _names(home: _Home, most: int) -> Iterator[str]:
    """Yield more names than there are files."""
    yield home.resource
    yield f"{home.resource}-{slug(home.redacted) if home.redacted else 'not-redacted'}"
    yield f"{home.resource}-{slug(home.bank.partition('://')[2])}"
    yield from (f"{home.resource}-{number}" for number in range(2, most + 3))


def _is_free(old: DerivedFile | None) -> bool:
    return old is None or (old.is_derived and old.is_nothing_but_generated)
