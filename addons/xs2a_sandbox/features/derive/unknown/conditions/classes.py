"""Groups the answers of an operation: each group becomes one answer of the cassette."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.routes import slug
from xs2a_sandbox.features.derive.unknown.recorded.names import new_name
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, anywhere, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, field_names, parts
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.things.decisions import redirect_choices
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind, World

_CODE = re.compile(r"[A-Za-z][\w:.-]{1,80}")


@dataclass(eq=False)
class AnswerClass:
    """Answers of one operation that say the same. `name` is unique in the operation.

    `like` says what an answer that was not recorded is made from.
    """

    operation: LearnedOperation
    is_ok: bool
    seen: list[SeenExchange]
    name: str
    like: str = ""

    @property
    def status(self) -> int:
        return self.seen[0].status


def find_classes(world: World, machines: Mapping[ThingKind, StateMachine]) -> dict[LearnedOperation, list[AnswerClass]]:
    states = {machine.member for machine in machines.values()}
    repeated = _repeated(world)
    names = {
        name
        for one in world.operation_of
        for place, _ in one.values()
        for steps in [[str(step) for step in place[1:] if isinstance(step, str)]]
        for name in (".".join(steps), ".".join(map(str, place)), *steps)
    }
    secrets = [str(value) for thing in world.things for value, _ in thing.keys.values()]

    def is_code(one: SeenExchange, place: Place, value: Any) -> bool:
        if place == world.envelope:
            return True
        if value in one.headers.values():
            return False
        is_word = isinstance(value, str) and _CODE.fullmatch(value) and states.isdisjoint(place[-1:])
        return bool(is_word and (place in repeated or value in names))

    found = {}
    for operation in world.operations:
        groups: defaultdict[tuple[int, Any], list[SeenExchange]] = defaultdict(list)
        cursors = {
            place
            for one in operation.seen
            for place, value in leaves(one.document)
            if _leads_on(world, one, place, value)
        }
        for one in operation.seen:
            is_ok = world.is_ok[one]
            said: Any = (
                (_success(world, one, secrets, cursors), _repeats(world, one)) if is_ok else _error(one, is_code)
            )
            if one.form and world.made(one):
                # A token for a code is for what the code is about.
                said = said, frozenset(use.place for use, _ in world.named(one) if use.place[0] == "form")
            groups[one.status, said].append(one)
        found[operation] = list(_name_classes(operation, world, groups))
    return found


def _repeats(world: World, one: SeenExchange) -> bool:
    """Return whether an answer shows a thing that an earlier request of the operation has made, and makes nothing."""
    kind = world.made_by(world.operation_of[one])
    if kind is None or world.made(one):
        return False
    shown = {text for _, value in answer_values(one) for text in parts(value)}
    return any(thing.created.number < one.number and str(thing.keys[kind.id][0]) in shown for thing in kind.things)


def _name_classes(
    operation: LearnedOperation, world: World, groups: Mapping[tuple[int, Any], list[SeenExchange]]
) -> Iterator[AnswerClass]:
    taken: set[str] = set()
    for (status, said), seen in groups.items():
        is_ok = world.is_ok[seen[0]]
        seen = [one for one in seen if not one.is_copy] or seen
        name = new_name("done" if is_ok else _error_name(status, said), taken)
        taken.add(name)
        yield AnswerClass(operation, is_ok, seen, name)


def _error_name(status: int, said: Sequence[tuple[Place, Any]]) -> str:
    """Return the longest code of an error in words, after its numbers."""
    codes = [str(value) for place, value in said if place]
    numbers, words = [code for code in codes if code.isdecimal()], [code for code in codes if not code.isdecimal()]
    if words:
        numbers.append(slug(max(words, key=len).rpartition(":")[2]))
    return "-".join(numbers or [str(status)])


def _repeated(world: World) -> set[Place]:
    """Return places of errors whose values are words or occur again: those of codes, and not of the ids of errors."""
    values: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
    for one in world.operation_of:
        if not world.is_ok[one] and not one.like:
            for place, value in leaves(one.document):
                values[place][str(value)] += 1
    return {
        place
        for place, counts in values.items()
        if len(counts) in (1, *range(counts.total())) or not any(map(world.ids.has, counts))
    }


def _error(one: SeenExchange, is_code: Callable[[SeenExchange, Place, Any], bool]) -> tuple[tuple[Place, Any], ...]:
    if one.document is None:
        return (((), re.sub(r"\d+", "#", one.text)[:2000]),)
    return tuple((place, value) for place, value in leaves(one.document) if is_code(one, place, value))


def _success(world: World, one: SeenExchange, secrets: Sequence[str], cursors: set[Place]) -> Any:
    if one.document is not None:
        asked = {step for place, _ in leaves(one.body) for step in place}
        sent = {_last_name(place) for _, thing in world.named(one) for place, _ in leaves(thing.created.body)}
        return frozenset(_members(one.document, asked, sent, cursors))
    if one.answer_headers.get("location"):
        return redirect_choices(world, one)
    if fields := field_names(one.text):
        return fields
    text = one.text
    for secret in secrets:
        text = text.replace(secret, "#")
    return re.sub(r"\d+", "#", text)


def _leads_on(world: World, one: SeenExchange, place: Place, value: Any) -> bool:
    """Return whether a value is a cursor, or the address or the number of another page of the same list."""
    if type(value) is int and place and "next" in str(place[-1]).lower():
        return True
    path, mark, _ = value.partition("?") if isinstance(value, str) else ("", "", "")
    is_page = mark and one.path and path.endswith("/" + "/".join(one.path))
    return bool(is_page or world.cursors.intersection(parts(value)))


def _members(document: Any, asked: set[Any], sent: set[Any], cursors: set[Place]) -> Iterator[tuple[Any, Any]]:
    """Yield the places of members, except for those that repeat what was sent, or that lead to other pages.

    The entries of a list count as one, but each link counts by its word.
    """
    for place, value in leaves(document):
        plain = anywhere(place)
        if (
            not any(step in asked for step in plain)
            and _last_name(place) not in sent
            and place not in cursors
            and value != {}
        ):
            yield (plain[:-1] if value == [] else plain[: plain.index("*")] if "*" in plain else plain), None
    yield from _relations(document)


def _last_name(place: Place) -> str:
    return next((step for step in reversed(place) if isinstance(step, str)), "")


def _relations(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    if isinstance(document, Mapping):
        for name, inner in document.items():
            yield from _relations(inner, (*place, name))
    elif isinstance(document, list) and document and all(isinstance(entry, Mapping) for entry in document):
        texts = [[value for value in entry.values() if isinstance(value, str)] for entry in document]
        for own in texts if all(any(map(is_link, own)) for own in texts) else ():
            yield place, next((text for text in own if not is_link(text)), "")


def is_link(text: str) -> bool:
    return text.startswith(("/", "http://", "https://"))
