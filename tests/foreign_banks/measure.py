"""Measure how much of a second journey a derived dialect answers like the bank itself.

Both answer the same journey. A step has the right

- status, if the statuses are equal,
- structure, if also the bodies are of the same kind (JSON, a page, none) with the same members of the same JSON types,
  and every header of the bank is there. Entries of lists count by their members, not by their number,
- values, if everything is as the journey expects, such as codes of errors and amounts.

A chain is the sequence of states that all answers about one resource show.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.foreign_banks.walk import Answer, Step

_OF_THE_CONNECTION = {"date", "server", "connection", "content-length", "content-type", "transfer-encoding"}
_KINDS: dict[type, str] = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "null"}

type Chain = list[tuple[str, Any]]
"""The steps of the journey whose answers show a resource, by name, with its states in each."""


def structure(answer: Answer) -> set[str]:
    """Return what an answer consists of."""
    names = {f"header {name.lower()}" for name in answer.headers if name.lower() not in _OF_THE_CONNECTION}
    if not answer.text:
        return names | {"no body"}
    media = answer.headers.get("Content-Type", "").partition(";")[0]
    if not media.endswith("json"):
        return names | {media}
    return names | {media, *_members("body", json.loads(answer.text))}


def _members(place: str, value: Any) -> Iterator[str]:
    yield f"{place}: {_KINDS.get(type(value), 'number')}"
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _members(f"{place}.{name}", inner)
    if isinstance(value, list):
        for inner in value:
            yield from _members(f"{place}.*", inner)


@dataclass(frozen=True)
class Difference:
    """What the bank's answer to a step has and the dialect's has not, and the other way round."""

    missing: set[str]
    added: set[str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.added)


def compare(bank: Answer, other: Answer) -> Difference:
    theirs, ours = structure(bank), structure(other)
    added = {part for part in ours - theirs if not part.startswith("header ")}
    return Difference(theirs - ours, added)


def find_chains(steps: Sequence[Step], names: Sequence[Step], things: str, state: str) -> dict[str, Chain]:
    """Return the chain of each resource, by the id that the bank gave it.

    `names` are the bank's own steps: they tell which step is about which resource. `things` is a pattern for ids in
    requests and answers, and `state` one for members with a state. Links to a state do not count.
    """
    chains: defaultdict[str, Chain] = defaultdict(list)
    for step, named in zip(steps, names, strict=True):
        if any(True for _ in _states(named.answer.document, state)):
            texts = named.request, named.answer.headers.get("Location", ""), named.answer.text
            found = next((found for text in texts if (found := re.search(things, text))), None)
            if found:
                chains[found[0]].append((step.name, sorted(_states(step.answer.document, state), key=str)))
    return chains


def _states(value: Any, name: str, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for member, inner in value.items():
            if re.fullmatch(name, member) and isinstance(inner, str | int | Decimal) and not str(inner).startswith("/"):
                yield f"{place}.{member}", inner
            yield from _states(inner, name, f"{place}.{member}")
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _states(inner, name, f"{place}.{number}")


@dataclass(frozen=True)
class Measured:
    """Counts are of steps, except for those of chains. `followed` also counts chains as right that only differ in
    states that the recorded journey does not show: both have one of these.
    """

    steps: int
    status: int
    structure: int
    chains: int
    equal: int
    followed: int
    values: int
    wrong: Sequence[str]

    def __str__(self) -> str:
        counts = [(name, getattr(self, name), self.steps) for name in ("status", "structure", "values")]
        counts[2:2] = [(name, getattr(self, name), self.chains) for name in ("equal", "followed")]
        cells = [f"{count}/{number} {count / number:4.0%}" for _, count, number in counts]
        return " | ".join(cells)


def measure(first: Sequence[Step], bank: Sequence[Step], dialect: Sequence[Step], things: str, state: str) -> Measured:
    """Compare the second journeys; `first` is that which was recorded."""
    wrong, status, same = [], 0, 0
    for theirs, ours in zip(bank, dialect, strict=True):
        assert theirs.name == ours.name
        if theirs.answer.status != ours.answer.status:
            wrong.append(f"{ours.name}: status is {ours.answer.status}, not {theirs.answer.status}")
            continue
        status += 1
        if difference := compare(theirs.answer, ours.answer):
            missing, added = ", ".join(sorted(difference.missing)), ", ".join(sorted(difference.added))
            wrong.append(f"{ours.name}: without {missing or 'nothing'}; with {added or 'nothing'}")
        else:
            same += 1
    shown = {value for step in first for _, value in _states(step.answer.document, state)}
    expected, actual = find_chains(bank, bank, things, state), find_chains(dialect, bank, things, state)
    for id, chain in expected.items():
        pairs = zip(chain, actual[id], strict=True)
        if differing := next(((one, other) for one, other in pairs if one != other), None):
            wrong.append(f"chain of {id}: {differing[1]}, not {differing[0]}")
    return Measured(
        len(bank),
        status,
        same,
        len(expected),
        sum(chain == actual[id] for id, chain in expected.items()),
        sum(_hide(chain, shown) == _hide(actual[id], shown) for id, chain in expected.items()),
        sum(not step.differences for step in dialect),
        wrong,
    )


def _hide(chain: Chain, shown: set[Any]) -> Chain:
    """Return a chain with a mark in place of states that are not shown."""
    return [(step, [(at, one if one in shown else "?") for at, one in states]) for step, states in chain]
