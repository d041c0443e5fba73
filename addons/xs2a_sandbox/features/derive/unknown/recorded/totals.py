"""Finds out which numbers are totals of others, such as an amount with its fee, and which a word decides."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, product
from typing import Any

from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form, number_source, read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves

_MOST_SUMMANDS = 3
_MOST_CHOICES = 8
_WORD = re.compile(r"[A-Za-z]+([_-][A-Za-z]+)*")


@dataclass(frozen=True)
class Summand:
    """A number that is known in each answer, and the expression for it."""

    source: str
    numbers: tuple[Decimal, ...]


def read_numbers(values: Sequence[Any]) -> tuple[Decimal, ...]:
    """Return the numbers that all values are, or nothing."""
    numbers = [read_number(value) for value in values]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(values) and not any(map(date_form, values)) else ()


def find_places(documents: Sequence[Any]) -> Iterator[tuple[Place, list[Any]]]:
    """Yield the places at which all documents have numbers that are not always 0."""
    every = [dict(leaves(document)) for document in documents]
    for place in every[0] if every else ():
        values = [document.get(place) for document in every]
        if any(read_numbers(values)):
            yield place, values


def write_summand(values: Sequence[Any], source: str | None) -> Summand | None:
    """Return the summand for numbers with this expression, or without one for a number that is always the same."""
    numbers = read_numbers(values)
    if source:
        return Summand(number_source(values[0], source), numbers)
    is_constant = len(numbers) > 1 and len(set(numbers)) == 1
    return Summand(f"({literal(str(numbers[0]))} | decimal)", numbers) if is_constant else None


def find_total(values: Sequence[Any], summands: Sequence[Summand]) -> str | None:
    """Return the expression for numbers that are the sum or the difference of two or three summands in all answers."""
    numbers = read_numbers(values)
    if len(set(numbers)) < 2:
        return None
    for size in range(2, _MOST_SUMMANDS + 1):
        for chosen in combinations(summands[:_MOST_CHOICES], size):
            for signs in product((1, -1), repeat=size):
                signed = sorted(zip(signs, chosen, strict=True), key=lambda one: -one[0])
                if signed[0][0] > 0 and _add(signed) == numbers:
                    text = " ".join(f"{'+' if sign > 0 else '-'} {summand.source}" for sign, summand in signed)
                    return _write_like(values[0], text.removeprefix("+ "))
    return None


def _add(signed: Sequence[tuple[int, Summand]]) -> tuple[Decimal, ...]:
    every = zip(*(summand.numbers for _, summand in signed), strict=True)
    return tuple(
        sum((sign * number for (sign, _), number in zip(signed, row, strict=True)), Decimal()) for row in every
    )


def find_by_word(values: Sequence[Any], words: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the expression for values that a word of the request decides. `words` has what is said at each place."""
    for source, said in words.items():
        table: dict[str, Any] = {}
        is_decided = all(
            isinstance(word, str) and _WORD.fullmatch(word) and table.setdefault(word, value) == value
            for word, value in zip(said, values, strict=True)
        )
        if is_decided and 1 < len(table) < len(values) and len({str(value) for value in table.values()}) > 1:
            last = next(reversed(table.values()))
            return f"{literal(table)}[{source}] if {source} in {literal(list(table))} else {literal(last)}"
    return None


def _write_like(example: Any, source: str) -> str:
    """Return the expression for a number that is written like the example."""
    if isinstance(example, str):
        return f"({source}) | string" + (" | replace('.', ',')" if "," in example else "")
    return f"({source}) | int" if isinstance(example, int) else source
