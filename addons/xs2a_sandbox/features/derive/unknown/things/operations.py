"""Finds the operations of an interface: method and path, with parameters where paths name things."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xs2a_sandbox.features.derive.routes import slug
from xs2a_sandbox.features.derive.unknown.recorded.names import identifier, new_name, singular
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, anywhere, leaves
from xs2a_sandbox.features.derive.unknown.recorded.recorded_ids import RecordedIds
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, parts
from xs2a_sandbox.redaction.allowlist import is_kept_segment
from xs2a_sandbox.redaction.values import DROPPED, LETTERS_OF_AN_ID

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_UNKNOWN = (400, 403, 404, 410, 422)
"""Statuses with which banks refuse unknown ids."""


@dataclass(eq=False)
class LearnedOperation:
    """`pattern` has a word, or None for a parameter, at each place. `names` are the parameters by place.

    `hidden` are places of words that have pseudonyms: the bank's own words are accepted there.
    """

    method: str
    pattern: tuple[str | None, ...]
    names: dict[int, str] = field(default_factory=dict)
    seen: list[SeenExchange] = field(default_factory=list)
    hidden: frozenset[int] = frozenset()
    id: str = ""

    @property
    def path(self) -> str:
        return "/" + "/".join(self._write(at, word) for at, word in enumerate(self.pattern))

    def _write(self, at: int, word: str | None) -> str:
        if word is None:
            return f"{{{self.names[at]}}}"
        return f"{{{identifier(word)}_at_{at}}}" if at in self.hidden else word

    @cached_property
    def created_members(self) -> frozenset[Place]:
        """The members of bodies that tell of something new."""
        created = [one for one in self.seen if one.status == 201 and one.body]
        return frozenset(place for one in created for place, _ in answer_values(one) if place[0] == "body")

    @property
    def name(self) -> str:
        words = [word for word in self.pattern if word is not None]
        if len(words) > 3:
            words = words[-3:] if None in self.pattern else words[-2:]
        is_one = self.pattern and self.pattern[-1] is None
        return slug(" ".join((self.method, *words, *(("one",) if is_one else ()))))


def find_operations(seen: Sequence[SeenExchange], ids: RecordedIds) -> list[LearnedOperation]:
    """Group the exchanges by operation, and give each its path parameters."""
    variable = _variable_segments(seen, ids)
    patterns = {
        one: tuple(
            None if segment in variable or segment == DROPPED or _UUID.fullmatch(segment) else segment
            for segment in one.path
        )
        for one in seen
    }
    patterns = _merge_refused(seen, patterns)
    groups: dict[tuple[str, tuple[str | None, ...]], LearnedOperation] = {}
    for one in seen:
        key = one.method, patterns[one]
        groups.setdefault(key, LearnedOperation(*key)).seen.append(one)
    found = list(groups.values())
    _name_parameters(found)
    for operation in found:
        for one in operation.seen:
            one.parameters.update({name: one.path[at] for at, name in operation.names.items()})
    if ids.is_redacted:
        _find_hidden(found)
    taken: set[str] = set()
    for operation in found:
        operation.id = new_name(operation.name, taken)
        taken.add(operation.id)
    return found


def _find_hidden(operations: Sequence[LearnedOperation]) -> None:
    """Find the words in paths that have pseudonyms, where nothing but such a word tells two paths apart."""
    seen = sorted((one for operation in operations for one in operation.seen), key=lambda one: one.number)
    is_kept: defaultdict[str, list[bool]] = defaultdict(list)
    for one in seen:
        for at, segment in enumerate(one.path):
            is_kept[segment].append(is_kept_segment(["", *one.path], at + 1, one.method))
    # Redaction keeps a word wherever it comes after it was kept. It hides a long one that an answer has told before.
    known = {segment for segment, kept in is_kept.items() if all(kept) or (kept[0] and len(segment) < LETTERS_OF_AN_ID)}
    shapes: defaultdict[tuple[str | None, ...], set[tuple[str | None, ...]]] = defaultdict(set)
    for operation in operations:
        shape = tuple(word if word in known else None for word in operation.pattern)
        shapes[shape].add(operation.pattern)
    for operation in operations:
        shape = tuple(word if word in known else None for word in operation.pattern)
        # A pseudonym has letters and digits where its word has them: `h0` for `r3`.
        words = ((at, word) for at, word in enumerate(operation.pattern) if word and word not in known)
        places = (at for at, word in words if word.isalpha() or re.fullmatch(r"[a-z]{1,3}\d{1,2}", word))
        operation.hidden = frozenset(places if len(shapes[shape]) == 1 else ())


def _variable_segments(seen: Sequence[SeenExchange], ids: RecordedIds) -> set[str]:
    """Return the segments that an earlier answer has told, or the body of an earlier request, and no earlier path."""
    before: set[str] = set()
    introduced: set[str] = set()
    variable: set[str] = set()
    for one in seen:
        variable |= {segment for segment in one.path if segment in introduced and ids.has(segment)}
        before |= set(one.path)
        for _, value in (*leaves(one.body), *answer_values(one)):
            introduced |= {part for part in parts(value) if part not in before}
    used = {segment for one in seen for segment in one.path}
    sent: set[str] = set()
    for one in seen:
        # The name of a customer, as in a request before.
        variable |= {segment for segment in one.path if segment in sent and re.search(r"[a-z][.@]\w", segment)}
        sent |= {value for _, value in leaves(one.body) if isinstance(value, str)}
    for one in seen:
        columns: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
        for place, value in leaves(one.document):
            if isinstance(value, str) and any(isinstance(step, int) for step in place):
                columns[anywhere(place)].add(value)
        # Ids of entries that look like words are next to others that do not.
        variable |= {value for column in columns.values() if _are_ids(column, variable, ids) for value in column & used}
    return variable


def _are_ids(column: set[str], variable: set[str], ids: RecordedIds) -> bool:
    is_alike = len({len(value) for value in column}) == 1 and any(map(ids.has, column))
    return is_alike or not column.isdisjoint(variable)


def is_beside(operation: LearnedOperation, other: LearnedOperation) -> bool:
    """Return whether two operations create the same at paths that differ in one word, such as a payment product."""
    is_alike = operation.created_members == other.created_members != frozenset()
    return operation.method == "POST" and is_alike and find_other_word(operation, other) is not None


def find_other_word(operation: LearnedOperation, other: LearnedOperation) -> tuple[str, str] | None:
    """Return the only words, one of each, in which the paths of two operations with the same method differ."""
    if operation.method != other.method or not 1 < len(operation.pattern) == len(other.pattern):
        return None
    words = [pair for pair in zip(operation.pattern, other.pattern, strict=True) if pair[0] != pair[1]]
    mine, theirs = words[0] if len(words) == 1 else (None, None)
    return (mine, theirs) if mine and theirs else None


def _merge_refused(
    seen: Sequence[SeenExchange], patterns: dict[SeenExchange, tuple[str | None, ...]]
) -> dict[SeenExchange, tuple[str | None, ...]]:
    """Count an unknown id, which was only refused, as a value of the parameter at its place."""
    by_shape: defaultdict[tuple[str | None, ...], list[SeenExchange]] = defaultdict(list)
    for one in seen:
        by_shape[patterns[one]].append(one)
    merged = {}
    for pattern, ones in by_shape.items():
        if all(one.status >= 400 for one in ones) and any(one.status in _UNKNOWN for one in ones):
            for other in by_shape:
                places = [at for at, (mine, theirs) in enumerate(zip(pattern, other, strict=False)) if mine != theirs]
                if len(other) >= len(pattern) and len(places) == 1 and other[places[0]] is None:
                    merged[pattern] = other[: len(pattern)]
    return {one: merged.get(pattern, pattern) for one, pattern in patterns.items()}


def _name_parameters(operations: Sequence[LearnedOperation]) -> None:
    for operation in operations:
        for at, word in enumerate(operation.pattern):
            if word is None:
                before = next((w for w in reversed(operation.pattern[:at]) if w is not None), "id")
                name = singular(identifier(before))
                operation.names[at] = name if name not in operation.names.values() else f"{name}_{at}"
