"""A guess: what the recording shows for one payment product holds for another one, which has its own path."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.places import change_texts
from xs2a_sandbox.features.derive.unknown.things.operations import find_other_word
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation


def write_other_products(learned: LearnedInterface, written: Sequence[WrittenOperation]) -> Iterator[WrittenOperation]:
    """Yield operations like those written for things of another kind, at the path of each kind.

    Payments that have little in common are at least cancelled in the same way.
    """
    world = learned.world
    for kind in world.kinds:
        for other in world.kinds:
            if not (words := _find_words(learned, kind, other)):
                continue
            are_alike, are_payments = kind.is_asked_like(other), world.is_payment(kind) and world.is_payment(other)
            for one in written:
                is_cancellation = are_payments and one.value.get("method") == "DELETE"
                if (are_alike or is_cancellation) and (made := _rewrite(one, other, kind, *words)):
                    yield made


def _find_words(learned: LearnedInterface, kind: ThingKind, other: ThingKind) -> tuple[str, str] | None:
    """Return the only words in which the paths differ that make things of two kinds with the same member for states."""
    machines = learned.scopes.machines.get(kind), learned.scopes.machines.get(other)
    is_same = None not in machines and len({machine.member for machine in machines if machine}) == 1
    return find_other_word(other.made_by, kind.made_by) if is_same else None


def _rewrite(
    one: WrittenOperation, other: ThingKind, kind: ThingKind, theirs: str, mine: str
) -> WrittenOperation | None:
    """Return an operation on things of another kind as one on this kind, or None if it is about neither or both."""
    path = str(one.value.get("path", ""))
    if not re.search(rf"/{re.escape(theirs)}/.*\{{", path) or kind.name in one.value["let"]:
        return None
    name = re.compile(rf"(?<!\w)(all_|our_)?{re.escape(other.name)}(?=(?:_state|_after|_uses)?\b|-now)")

    def change(text: str) -> str:
        text = name.sub(lambda found: (found[1] or "") + kind.name, text)
        return text.replace(f"/{theirs}/", f"/{mine}/")

    value = change_texts(_rename_members(dict(one.value), name, kind), change)
    value["id"] = f"{one.value['id']}-{mine}-unread"
    value["doc"] = f"Not recorded: a guess, like the same for {theirs}."
    return WrittenOperation(value, ["a guess; record such a request to be sure"])


def _rename_members(value: dict[str, Any], name: re.Pattern[str], kind: ThingKind) -> dict[str, Any]:
    lets = {name.sub(lambda found: (found[1] or "") + kind.name, key): inner for key, inner in value["let"].items()}
    return {**value, "let": lets}
