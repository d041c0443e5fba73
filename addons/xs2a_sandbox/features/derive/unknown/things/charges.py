"""Finds the amounts that a bank adds to what an app has sent, such as the fee of a payment and the amount with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression
from xs2a_sandbox.features.derive.unknown.recorded.forms import read_number
from xs2a_sandbox.features.derive.unknown.recorded.names import identifier, new_name
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.totals import (
    find_by_word,
    find_places,
    find_total,
    read_numbers,
    write_summand,
)
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind


@dataclass(frozen=True)
class Charge:
    """An amount that the answer about a new thing has at a place, and the expression for it, from the request."""

    name: str
    place: Place
    source: str


def find_charges(kind: ThingKind) -> list[Charge]:
    """Return the amounts that a word of the request decides, and totals of these and of amounts in the request."""
    made = [one.created for one in kind.things if isinstance(one.created.body, Mapping)]
    documents = [one.document for one in made if isinstance(one.document, Mapping)]
    if len(made) < 2 or len(documents) < len(made):
        return []
    sent = [dict(leaves(one.body)) for one in made]
    said = {expression("body", place): [body.get(place) for body in sent] for place in sent[0]}
    amounts = dict(find_places([one.body for one in made]))
    summands = [
        summand for place, values in amounts.items() if (summand := write_summand(values, expression("body", place)))
    ]
    repeated = {summand.numbers for summand in summands}
    charges, others = list[Charge](), list[tuple[Place, list[Any]]]()
    for place, values in find_places(documents):
        if read_numbers(values) in repeated:
            continue
        source = find_by_word(values, said)
        if source:
            charges.append(Charge(_name(place, charges), place, source))
        if summand := write_summand(values, f"({source})" if source else None):
            summands.append(summand)
        else:
            others.append((place, values))
    for place, values in others:
        if source := find_total(values, summands):
            charges.append(Charge(_name(place, charges), place, source))
    return charges


def _name(place: Place, taken: Sequence[Charge]) -> str:
    return new_name(identifier("_".join(map(str, place[-2:]))), [charge.name for charge in taken], "_")


def told_charges(charges: Sequence[Charge], document: Any) -> dict[str, Any]:
    """Return the amounts of a thing by their names, from the answer that made it."""
    found = {charge.name: value_at(document, charge.place) for charge in charges}
    return {name: value for name, value in found.items() if read_number(value) is not None}
