"""A guess: where the bank tells the address of a list of things, it lists those that belong there."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.seen import answer_values
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation, write_operation
from xs2a_sandbox.features.derive.unknown.written.thing_entries import find_owner, write_entry


def write_unread_lists(learned: LearnedInterface) -> Iterator[WrittenOperation]:
    """Yield operations that list things at addresses that nobody asked for, like the lists next to them."""
    for operation in learned.listings:
        for word, number in sorted(_told_words(learned, operation).items()):
            for kind in learned.world.kinds:
                words = [step for step in kind.made_by.pattern if step is not None]
                entry = write_entry(learned, kind) if words and words[-1] == word else None
                owner = find_owner(learned, operation, kind)
                if entry is not None and owner:
                    yield _write(learned, operation, kind, word, owner, entry, number)


def _told_words(learned: LearnedInterface, operation: LearnedOperation) -> dict[str, int]:
    """Return the last words of addresses next to that of a list, with the exchange that has told each."""
    *first, last = operation.pattern
    if last is None or None not in first:
        return {}
    start = "/" + "/".join("[^/]+" if word is None else re.escape(word) for word in first)
    known = {other.pattern[-1] for other in learned.world.operations if other.pattern[:-1] == operation.pattern[:-1]}
    told: dict[str, int] = {}
    for one in learned.seen:
        for _, value in answer_values(one) if learned.scopes.is_ok[one] else ():
            if found := re.fullmatch(rf"{start}/([a-z][\w-]*)", str(value)):
                told.setdefault(found[1], one.number)
    return {word: number for word, number in told.items() if word not in known}


def _write(
    learned: LearnedInterface,
    operation: LearnedOperation,
    kind: ThingKind,
    word: str,
    owner: str,
    entry: dict[str, Any],
    number: int,
) -> WrittenOperation:
    like = write_operation(learned, operation).value
    name = str(learned.listings[operation].place[-1])
    every = {"each": braced(f"let.all_{kind.name}"), "as": "thing", "when": owner, "give": entry}
    value = {
        **like,
        "id": f"{operation.id}-{word}-unread",
        "doc": "Not recorded: a guess, because the bank tells this address.",
        "path": operation.path.rpartition("/")[0] + f"/{word}",
        "let": {**like["let"], "entries": every},
        "respond": [_rename(answer, name, word) for answer in like["respond"]],
    }
    return WrittenOperation(value, [f"a guess, after exchange {number}; record such a request to be sure"])


def _rename(answer: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return an answer whose list has another name."""

    def change(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                new if name == old and inner == "{{ let.rows }}" else name: change(inner)
                for name, inner in value.items()
            }
        return value

    return {name: change(inner) for name, inner in answer.items()}
