"""Suggests amendments that make the sandbox answer like the bank, as cassettes for the user to review."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import Any, Literal, NamedTuple

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.amend import EVERY
from xs2a_sandbox.cassette.evaluation.expressions import is_plain
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.compare.diff import by_key
from xs2a_sandbox.compare.reports.report import NOT_SHOWN, UNKNOWN, ComparedExchange, Finding, Report, make_printable
from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.documents.json_pointer import Pointer, at_pointer, parse_pointer, pointer_text
from xs2a_sandbox.documents.yaml_writer import survives, yaml_text
from xs2a_sandbox.features.derive.routes import slug
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target

_MOST_SAID = 20
_LONGEST = 80
"""The most differences in a comment, and the most characters of a value in it."""
_MOST_MOVED = 20
"""The most entries of a list."""
_SHORTEST = 3
"""The minimum length of a string that may be an id."""
_DELIMITERS = re.compile(r"([/?&=#:;,\s]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Condition = tuple[Literal["where", "query"], str]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of an answer: of its status, of a header, or a step of a JSON Patch. `value` and `test` are JSON.

    If `test` is not empty, this value must be there before.
    """

    part: Literal["status", "header", "patch"]
    place: str = ""
    op: str = ""
    value: str = ""
    test: str = ""


class Change(NamedTuple):
    """A change of one place in one answer.

    `place` is in the sandbox's body, `entries` are the list entries around it.
    """

    op: str
    place: Pointer
    value: Any
    entries: tuple[Any, Any] | None = None
    test: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Cassettes by operation, and the differences that no amendment can remove, with the reasons."""

    cassettes: Mapping[str, str]
    left: tuple[str, ...]


def suggest(report: Report, interface: Interface) -> Suggestion:
    index = Index(interface)
    cassettes: dict[str, str] = {}
    left: list[str] = []
    for operation in report.operations:
        ones = [
            _Answered(e, index, report.redacted)
            for e in report.exchanges
            if e.operation == operation and e.bank and e.sandbox
        ]
        if not any(answered.exchange.findings for answered in ones):
            continue
        if operation == UNKNOWN:
            left.append(f"{operation}: the interface has no such operation, so there is nothing to amend")
            continue
        rules = list(_rules(operation, ones, left))
        if rules:
            head = yaml_text({"cassette": 1, "title": f"{operation}, as {report.bank} answers"})
            lines = [_line(group.first) for group in report.groups if group.operation == operation]
            comment = "".join(f"# {line}\n" for line in lines[:_MOST_SAID])
            cassettes[operation] = comment + head + "rules:\n" + indent(yaml_text(rules), "  ")
    return Suggestion(cassettes, tuple(dict.fromkeys(left)))


def write(cassettes: Mapping[str, str], directory: Path) -> dict[str, Path]:
    """Write the cassettes, and return their files by operation. Raises ConfigError."""
    files = {operation: directory / f"amend-{slug(operation)}.yaml" for operation in cassettes}
    for operation, file in files.items():
        replace_file(file, cassettes[operation].encode())
    return files


def find_remaining(before: Report, after: Report) -> dict[str, tuple[str, ...]]:
    """Return the remaining differences by operation. Masked ones stay masked, because a single run shows no noise."""
    compared = [exchange for exchange in before.exchanges if exchange.bank and exchange.sandbox]
    exchanges = []
    for exchange, other in zip(after.exchanges, compared, strict=True):
        masked = {(finding.kind, finding.place) for finding in other.masked}
        findings = tuple(finding for finding in exchange.findings if (finding.kind, finding.place) not in masked)
        exchanges.append(replace(exchange, findings=findings))
    places: dict[str, tuple[str, ...]] = {}
    for group in replace(after, exchanges=tuple(exchanges)).groups:
        place = f"{group.severity} {group.kind} at {group.place or 'the body'}"
        places[group.operation] = (*places.get(group.operation, ()), place)
    return places


def _line(finding: Finding) -> str:
    bank, sandbox = (text[:_LONGEST] for text in (finding.bank, finding.sandbox))
    line = f"{finding.severity} {finding.kind} at {finding.place or 'the body'}: bank {bank}, sandbox {sandbox}"
    return make_printable(line).replace("\n", " ")


class _Answered:
    """An exchange with answers of both sides, and the edits that the sandbox's answer needs.

    `reasons` are for the others.

    If it is `redacted`, each sentence is one pseudonym, and must not be changed in parts.
    """

    def __init__(self, exchange: ComparedExchange, index: Index, redacted: bool = False) -> None:
        if exchange.bank is None or exchange.sandbox is None:
            raise ValueError("only one side answered")
        self.exchange, self._redacted, self._things = exchange, redacted, index.interface.things
        self.bank, self.sandbox = exchange.bank, exchange.sandbox
        self.mine = content.read(self.bank.answer_body)
        self.ours = content.read(self.sandbox.answer_body)
        self.reasons: list[str] = []
        self._orders: dict[Pointer, Pointer] = {}
        self.parameters = _parameters(index, self.bank)
        own = _parameters(index, self.sandbox)
        query = dict(split_target(self.sandbox.target).query)
        stable = {name: value for name, value in own.items() if self.parameters.get(name) == value}
        self.conditions: dict[Condition, str] = {("where", name): value for name, value in stable.items()}
        self.conditions |= {("query", name): value for name, value in query.items()}
        self.edits = list(self._edits())

    def _leave(self, finding: Finding | None, why: str) -> None:
        self.reasons.append(f"{self.exchange.operation}: {finding.place or 'the body' if finding else 'status'}: {why}")

    def _edits(self) -> Iterator[Edit]:
        findings = self.exchange.findings
        if any(finding.kind == "status" for finding in findings):
            if self.bank.status < 400 <= self.sandbox.status:
                self._leave(None, "the sandbox refuses what the bank answers")
                return
            yield Edit("status", value=str(self.bank.status))
            is_json = self.mine.kind == self.ours.kind == "json" and _is_writable(self.mine.value)
            if self.sandbox.status < 400 <= self.bank.status and is_json:
                yield Edit("patch", "", "replace", _json(self._rename(self.mine.value)))
                return
        yield from self._headers(findings)
        yield from self._patch(findings)

    def _headers(self, findings: Iterable[Finding]) -> Iterator[Edit]:
        for finding in findings:
            if finding.header is None:
                continue
            if finding.kind == "header-extra":
                yield Edit("header", finding.header, value="null")
            elif NOT_SHOWN in (finding.header, finding.bank) or not (value := finding.bank).isprintable():
                self._leave(finding, "its value is not shown")
            else:
                yield Edit("header", finding.header, value=_json(self._rename(value)))

    # Bodies

    def _patch(self, findings: Iterable[Finding]) -> Iterator[Edit]:
        body = [difference for difference in findings if difference.pointer is not None]
        if body and not self.mine.kind == self.ours.kind == "json":
            self._leave(body[0], "only JSON can be amended")
            return
        for difference in body:
            if difference.kind == "order":
                yield from self._reorder(difference)
        body = [
            difference for difference in body if difference.kind != "order" or difference.pointer not in self._orders
        ]
        lists = self._lists(body)
        changes = [
            Change("replace", place, value)
            for place, bank_place in lists.items()
            for value in at_pointer(self.mine.value, _texts(bank_place))
            if _is_writable(value)
        ]
        for finding in body:
            if not any(finding.pointer and finding.pointer[: len(place)] == place for place in lists):
                changes += self._changes(finding)
        key = lambda change: (change.op, _star(change), change.test)  # noqa: E731
        alike = [list(ones) for _, ones in groupby(sorted(changes, key=key), key)]
        # Removals last, from the end, so that positions stay valid; insertions at the bank's positions.
        order = {"replace": 0, "remove": 2, "add": 1}
        for ones in sorted(alike, key=lambda ones: order[ones[0].op]):
            yield from self._write(ones)

    def _reorder(self, finding: Finding) -> Iterator[Edit]:
        """Yield the steps that move entries to the bank's order."""
        place, bank_place = finding.pointer or (), finding.bank_pointer or ()
        (mine,) = at_pointer(self.mine.value, _texts(bank_place))
        (ours,) = at_pointer(self.ours.value, _texts(place))
        aligned = by_key(mine, ours, self._things.keys, str, lambda one, other: 0.0)
        if aligned is None or aligned.bank_only or aligned.sandbox_only:
            return
        self._orders[place] = bank_place
        now, moves = list(range(len(ours))), []
        if [entry for _, entry in aligned.pairs] == now[::-1]:
            where = "".join(_step(step) if isinstance(step, str) else f"[{step}]" for step in place)
            yield Edit(
                "patch", pointer_text(place), "replace", _json(f"{{{{ (answer.body{where} or []) | reverse | list }}}}")
            )
            return
        for end, entry in aligned.pairs:
            if (start := now.index(entry)) != end:
                moves.append((start, end))
                now.insert(end, now.pop(start))
        if len(moves) > _MOST_MOVED:
            self._leave(
                finding, f"{len(moves)} entries are in a different place, but at most {_MOST_MOVED} can be moved"
            )
            moves = []
        for start, end in moves:
            yield Edit("patch", pointer_text((*place, end)), "move", _json(pointer_text((*place, start))))

    def _now(self, place: Pointer, bank_place: Pointer) -> Pointer:
        """Return the place after lists have been put into the bank's order."""
        for above, bank_above in self._orders.items():
            if place[: len(above)] == above and len(place) > len(above):
                place = (*above, bank_place[len(bank_above)], *place[len(above) + 1 :])
        return place

    def _lists(self, findings: Iterable[Finding]) -> dict[Pointer, Pointer]:
        """Return the lists that are replaced as a whole, because their entries have no stable places."""
        kinds: dict[tuple[Pointer, Pointer], set[str]] = {}
        for finding in findings:
            if finding.pointer is not None and finding.bank_pointer is not None:
                inside = finding.kind.startswith("element-")
                places = (
                    (finding.pointer[:-1], finding.bank_pointer[:-1])
                    if inside
                    else (finding.pointer, finding.bank_pointer)
                )
                kinds.setdefault(places, set()).add(finding.kind)
        whole = ({"order"}, {"length"}, {"element-missing", "element-extra"})
        return {place: bank for (place, bank), ones in kinds.items() if any(each <= ones for each in whole)}

    def _changes(self, finding: Finding) -> Iterator[Change]:
        place, bank_place = finding.pointer or (), finding.bank_pointer or ()
        mine = at_pointer(self.mine.value, _texts(bank_place))
        ours = at_pointer(self.ours.value, _texts(place))
        name = str(place[-1]) if place else ""
        if finding.kind == "state":
            self._leave(finding, "no cassette can express this change of state")
        elif name in self._things.identifiers and mine and ours:
            self._leave(finding, "each side has its own name for it")
        elif finding.kind == "drift" and mine == ours:
            self._leave(finding, "both sides have it, so the schema is wrong")
        elif mine and not _is_writable(mine[0]):
            self._leave(finding, "a cassette cannot contain the value")
        elif mine and (not ours or finding.kind == "element-missing"):
            where = place
            if finding.kind == "element-missing":
                (entries,) = at_pointer(self.ours.value, _texts(place[:-1])) or ([],)
                where = place if int(place[-1]) <= len(entries) else (*place[:-1], "-")
            yield Change("add", self._now(where, bank_place), mine[0], self._entries(place, bank_place))
        elif ours and (not mine or finding.kind == "element-extra"):
            yield Change("remove", self._now(place, bank_place), None)
        elif mine and ours:
            test = _json(ours[0]) if name in self._things.states and isinstance(ours[0], str) else ""
            yield Change("replace", self._now(place, bank_place), mine[0], self._entries(place, bank_place), test)
        else:
            self._leave(finding, "its place is not shown")

    def _entries(self, place: Pointer, bank_place: Pointer) -> tuple[Any, Any] | None:
        """Return the innermost list entries that contain the two places."""
        last = max((number for number, step in enumerate(place[:-1]) if isinstance(step, int)), default=None)
        if last is None:
            return None
        mine, ours = at_pointer(self.mine.value, _texts(bank_place[: last + 1])), self.ours.value
        return (mine[0], at_pointer(ours, _texts(place[: last + 1]))[0]) if mine else None

    def _write(self, changes: Sequence[Change]) -> Iterator[Edit]:
        """Yield the changes at similar places: a single one for every entry if it is the same for all."""
        first = changes[0]
        starred = _star(first)
        if EVERY in starred:
            above = starred[:-1] if first.op == "add" else starred
            values = {
                _json(self._rename(change.value, change.entries)) if change.op != "remove" else "" for change in changes
            }
            if len(values) == 1 and len(changes) == len(list(_find_values(self.ours.value, above))):
                yield Edit("patch", pointer_text(starred), first.op, values.pop(), first.test)
                return
        backwards = first.op == "remove"
        for change in sorted(changes, key=lambda change: [(str(type(s)), s) for s in change.place], reverse=backwards):
            value = "" if change.op == "remove" else _json(self._rename(change.value))
            yield Edit("patch", pointer_text(change.place), change.op, value, change.test)

    def _rename(self, value: Any, entries: tuple[Any, Any] | None = None) -> Any:
        """Return the bank's value, with its ids replaced by expressions for the sandbox's ids.

        `entries` are those of the two sides that contain the value.
        """
        names = {f"path{_step(name)}": text for name, text in self.parameters.items()}
        names |= _identifiers(self.mine.value, self.ours.value, "answer.body", self._things)
        names |= _identifiers(*entries, "entry", self._things) if entries else {}
        expressions = {text: where for where, text in names.items() if isinstance(text, str) and len(text) >= _SHORTEST}
        return _replace(value, self.bank.bank.rstrip("/"), expressions, not self._redacted)

    def is_changed_by(self, edit: Edit) -> bool:
        """Return whether the edit would change this answer, for which it is not known to be right."""
        if edit.part == "status":
            return self.sandbox.status != int(edit.value)
        if edit.part == "header":
            return bool(self.sandbox.answer_headers.get(edit.place) != _value(edit.value))
        if self.ours.kind != "json":
            return False
        path = parse_pointer(edit.place)
        if edit.op == "move":
            return bool(at_pointer(self.ours.value, path[:-1]))
        if edit.op == "add":
            return any(_find_values(self.ours.value, path[:-1]))
        there = list(_find_values(self.ours.value, path))
        if edit.test:
            there = [value for value in there if value == _value(edit.test)]
        return bool(there) and (edit.op == "remove" or any(value != _value(edit.value) for value in there))


def _rules(operation: str, ones: Sequence[_Answered], left: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a rule for each set of edits that the same answers need. Edits without a rule go to `left`."""
    left += [reason for answered in ones for reason in answered.reasons]
    needing: dict[tuple[Edit, int | None], list[int]] = {}
    for position, answered in enumerate(ones):
        for edit in dict.fromkeys(answered.edits):
            # A header is set for every status.
            status = None if edit.part == "header" else answered.sandbox.status
            needing.setdefault((edit, status), []).append(position)
    together: dict[tuple[tuple[int, ...], int | None, str], list[Edit]] = {}
    for (edit, status), several in needing.items():
        together.setdefault((tuple(several), status, edit.test), []).append(edit)
    rules: dict[str, dict[str, Any]] = {}
    for (positions, status, _), edits in together.items():
        parts: list[tuple[int, ...]] = [positions, *((position,) for position in positions)]
        for part in parts:
            match = _distinction(ones, part, positions, status, edits)
            if match is not None:
                is_refused = any(ones[position].sandbox.status >= 400 for position in part)
                rule = _rule(operation, match, status, edits, is_refused)
                rules.setdefault(yaml_text(rule), rule)
                if part == positions:
                    break
            elif len(part) == 1:
                places = ", ".join(edit.place or edit.part for edit in edits)
                left.append(
                    f"{operation}: {places}: other requests are the same, but their answers need a different change"
                )
    for number, rule in enumerate(rules.values(), 1):
        yield {"id": f"amend-{slug(operation)}-{number}", **rule}


def _distinction(
    ones: Sequence[_Answered],
    positions: Sequence[int],
    needing: Sequence[int],
    status: int | None,
    edits: Sequence[Edit],
) -> dict[str, Any] | None:
    """Return a match for these requests that excludes requests whose answers the edits would spoil, or None."""
    spoiled = [
        one
        for position, one in enumerate(ones)
        if position not in needing
        and any(one.is_changed_by(edit) for edit in edits if status in (None, one.sandbox.status))
    ]
    shared = set.intersection(*(set(ones[position].conditions.items()) for position in positions))
    several: list[tuple[Condition, str | None]] = [*sorted(shared, key=lambda pair: (pair[0][0] != "where", pair))]
    lacking: set[tuple[Condition, str | None]] = {
        (("query", name), None)
        for one in spoiled
        for kind, name in one.conditions
        if kind == "query" and not any((kind, name) in ones[position].conditions for position in positions)
    }
    choices = [[], *([place] for place in several), several, [*several, *sorted(lacking)]]
    for chosen in choices:
        if not any(all(other.conditions.get(place) == value for place, value in chosen) for other in spoiled):
            match: dict[str, Any] = {}
            for (kind, name), value in chosen:
                match.setdefault(kind, {})[name] = {"absent": True} if value is None else value
            return match
    return None


def _rule(
    operation: str, match: Mapping[str, Any], status: int | None, edits: Sequence[Edit], is_refused: bool
) -> dict[str, Any]:
    amend: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []
    for edit in edits:
        if edit.part == "status":
            amend["status"] = f"{{{{ {edit.value} if answer.status == {status} else answer.status }}}}"
        elif edit.part == "header":
            amend.setdefault("headers", {})[edit.place] = _value(edit.value)
        else:
            if edit.test:
                steps.append({"op": "test", "path": edit.place, "value": _value(edit.test)})
            key = "from" if edit.op == "move" else "value"
            steps.append({"op": edit.op, "path": edit.place} | ({key: _value(edit.value)} if edit.value else {}))
    if any(EVERY not in parse_pointer(step["path"]) for step in steps):
        # An answer with another status has another body.
        steps.insert(0, {"op": "test", "path": "", "value": f"{{{{ answer.body if answer.status == {status} }}}}"})
    if steps:
        amend["patch"] = steps
    # If requirements reject the request, only a rule without requirements can amend the answer.
    lax = {"require": "none"} if is_refused else {}
    return {"match": {"operation": operation, **match}, **lax, "amend": amend}


def _parameters(index: Index, exchange: Exchange) -> Mapping[str, str]:
    return index.find(exchange.method, split_target(exchange.target).segments).parameters


def _json(value: Any) -> str:
    return to_json(value).decode()


def _is_writable(value: Any) -> bool:
    """Return whether a cassette can contain the value. JSON can contain more, such as lone surrogates."""
    try:
        to_json(value)
    except (ValueError, OverflowError, RecursionError):
        return False
    return survives(value) and is_plain(value)


def _value(text: str) -> Any:
    return content.read(text.encode()).value


def _texts(place: Pointer) -> tuple[str, ...]:
    return tuple(map(str, place))


def _star(change: Change) -> tuple[str, ...]:
    """Return the place with `*` for list entries, except for one that is added or removed."""
    *above, last = change.place or ("",)
    steps = [EVERY if isinstance(step, int) else step for step in above]
    return (*steps, str(last)) if change.place else ()


def _find_values(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at all places that a path with `*` matches."""
    if not path:
        yield value
    elif path[0] == EVERY:
        if isinstance(value, list):
            for entry in value:
                yield from _find_values(entry, path[1:])
    else:
        for below in at_pointer(value, path[:1]):
            yield from _find_values(below, path[1:])


def _identifiers(mine: Any, ours: Any, root: str, things: Things) -> dict[str, Any]:
    """Return the bank's ids by the expression for the sandbox's id of the same thing."""
    if not isinstance(mine, dict) or not isinstance(ours, dict):
        return {}
    names = things.identifiers.union(things["account"].key)
    return {f"{root}{_step(name)}": mine[name] for name in mine.keys() & ours.keys() & names}


def _step(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else f"[{name!r}]"


def _replace(value: Any, url: str, names: Mapping[str, str], sentences: bool) -> Any:
    if isinstance(value, dict):
        return {name: _replace(inner, url, names, sentences) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, url, names, sentences) for inner in value]
    if not isinstance(value, str):
        return value
    if url and value.startswith(f"{url}/"):
        value = value[len(url) :]
    pieces = _DELIMITERS.split(value)
    if not sentences and " " in value:
        names = {}
    return "".join(
        f"{{{{ {names[piece]} }}}}" if piece in names else piece.replace("{{", "{{ '{{' }}") for piece in pieces
    )
