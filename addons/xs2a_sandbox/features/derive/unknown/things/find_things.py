"""Follows ids from the answers that tell them to the requests that use them, which shows what things a bank has."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form, is_amount
from xs2a_sandbox.features.derive.unknown.recorded.names import identifier, new_name
from xs2a_sandbox.features.derive.unknown.recorded.outcomes import Envelope
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, anywhere, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.recorded_ids import RecordedIds
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, parts
from xs2a_sandbox.features.derive.unknown.things.decisions import find_copied
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import (
    RESERVED,
    LearnedThing,
    Rows,
    ThingKind,
    ThingUse,
    World,
    separator,
)

type _Uses = Mapping[str, Sequence[tuple[SeenExchange, Place]]]
"""The requests that have a text, in order, with its places."""
type _Fresh = dict[str, tuple[Place, Any, int]]
"""The texts that an answer tells first: the place, the value, and the position of the text in it."""


def find_things(
    operations: Sequence[LearnedOperation],
    is_ok: dict[SeenExchange, bool],
    envelope: Envelope | None,
    ids: RecordedIds,
) -> World:
    world = World(operations, is_ok, ids, envelope.place if envelope else None)
    for operation in operations:
        world.operation_of |= dict.fromkeys(operation.seen, operation)
    seen = sorted(world.operation_of, key=lambda one: one.number)
    used: defaultdict[str, list[tuple[SeenExchange, Place]]] = defaultdict(list)
    for one in seen:
        for place, value in one.values():
            if isinstance(value, str) and re.match("https?://", value):
                world.addresses.setdefault(value, place)
            for text in parts(value):
                used[text].append((one, place))
    world.users = {text: {world.operation_of[one] for one, _ in ones if not one.like} for text, ones in used.items()}
    known: set[str] = set()
    for one in seen:
        known |= {text for _, value in one.values() for text in parts(value)} | set(one.path)
        fresh = _find_fresh(world, one, known, used)
        if is_ok[one]:
            _add_thing(world, one, fresh, used)
        known |= {text for _, value in answer_values(one) for text in parts(value)}
    _add_unused(world)
    _fill_keys(world)
    _fill_prompts(world)
    _name(world, used)
    for one in seen:
        _find_uses(world, one)
    _share_uses(world)
    world.copied = find_copied(world)
    return world


def _later(used: _Uses, text: str, one: SeenExchange) -> list[tuple[SeenExchange, Place]]:
    return [(other, at) for other, at in used.get(text, ()) if other.number > one.number]


def _find_fresh(world: World, one: SeenExchange, known: set[str], used: _Uses) -> _Fresh:
    """Return the keys that an answer tells first, and that later requests use. Note lists and cursors on the way."""
    operation = world.operation_of[one]
    fresh: _Fresh = {}
    in_rows: set[str] = set()
    for place, value in answer_values(one):
        for position, text in enumerate(parts(value)):
            later = _later(used, text, one)
            if position == 0 and text not in known and (thing := _find_prompted(world, one, place, later)):
                _add_prompt(thing, operation, place, (value, one.number), str(later[0][1][-1]))
                in_rows.add(text)
            elif position == 0 and _is_prompt(world, operation, place):
                in_rows.add(text)
            elif position == 0 and _is_row(world, one, place, text, later) and not _repeats(world, one, place, used):
                _add_rows(world, operation, place)
                in_rows.add(text)
            is_version = place == ("headers", "etag")
            if text in known | in_rows or text in fresh or not later or is_version or not _is_key(world, text):
                continue
            pages = ("query", "body") if _has_list(one, place) else ("query",)
            is_of_entry = any(isinstance(step, int) for step in place) and position == 0
            if is_of_entry and (one.method == "GET" or all(at[0] in pages for _, at in later)):
                # It names an entry, such as an account, or the last known one.
                continue
            if all(world.operation_of[other] is operation and at[0] in pages for other, at in later):
                world.cursors.add(text)
            else:
                fresh[text] = (place, value if position == 0 else text, position)
    return fresh


def _find_prompted(
    world: World, one: SeenExchange, place: Place, later: Sequence[tuple[SeenExchange, Place]]
) -> LearnedThing | None:
    """Return the thing for which an entry is a prompt, if a value is the entry's id.

    Such an entry, as in a list on the customer's phone, has the id of the thing, too, and the decision has the entry's.
    """
    decides = any(at[0] == "path" and other.method not in ("GET", "HEAD") for other, at in later)
    if not decides or place[0] != "body" or len(place) < 3 or not isinstance(place[-2], int) or not world.is_ok[one]:
        return None
    return _find_in_entry(value_at(one.document, place[1:-1]), world.things)


def _is_prompt(world: World, operation: LearnedOperation, place: Place) -> bool:
    kinds = [kind for kind in world.kinds if kind.prompts_of(operation)]
    return any((operation, anywhere(place), 0) in kind.told.values() for kind in kinds)


def _find_in_entry(entry: Any, things: Sequence[LearnedThing]) -> LearnedThing | None:
    """Return the last thing of which an entry has a key."""
    texts = {str(inner) for _, inner in leaves(entry)}
    return next((thing for thing in reversed(things) if texts & thing.key_texts), None)


def _add_prompt(
    thing: LearnedThing, operation: LearnedOperation, place: Place, key: tuple[Any, int], name: str
) -> None:
    """Give a thing that waits for a decision the id of its prompt."""
    told = (operation, anywhere(place), 0)
    known = next((name for name, other in thing.kind.told.items() if other == told), None)
    name = known or new_name(identifier(name), {*thing.keys, *thing.kind.told}, "_")
    thing.kind.told[name] = told
    thing.keys.setdefault(name, key)


def _has_list(one: SeenExchange, place: Place) -> bool:
    """Return whether an answer has a list of objects, of which a cursor at a place next to it could be."""
    for other, _ in leaves(one.document):
        at = next((at for at, step in enumerate(other) if isinstance(step, int)), 0)
        if at and isinstance(other[-1], str) and len(other) > at + 1 and place[1:at] == other[: at - 1]:
            return True
    return False


def _is_key(world: World, text: str) -> bool:
    core = re.sub(r"\W", "", text)
    return len(core) >= 3 and world.ids.has(text) and "/" not in text and not date_form(text) and not is_amount(text)


def _add_thing(world: World, one: SeenExchange, fresh: _Fresh, used: _Uses) -> None:
    operation = world.operation_of[one]
    # The app may choose the id of a new thing itself.
    chosen = next((name for name, text in one.parameters.items() if _is_chosen(world, one, text, used)), None)
    if not fresh and chosen is None:
        return
    named = [text for text in one.parameters.values() if text in world.key_texts]
    above = [thing for thing in world.things for text in named if text in thing.key_texts]
    if above and (not _is_created(one, fresh) or _are_names_of(world, above[-1], one, fresh, used)):
        thing = above[-1]
    else:
        kind = world.made_by(operation)
        if kind is None:
            kind = ThingKind("", operation)
            world.kinds.append(kind)
        thing = LearnedThing(kind, one)
        kind.things.append(thing)
    if chosen is not None:
        thing.keys[chosen] = (one.parameters[chosen], one.number)
    for text, (place, value, position) in fresh.items():
        # A key keeps its name, also if requests have it at another place first.
        told = (operation, place, position)
        name = next((name for name, known in thing.kind.told.items() if known == told and name not in thing.keys), "")
        if not name:
            is_member = place[0] in ("body", "html") and str(value) == text and isinstance(place[-1], str)
            name = identifier(str(place[-1] if is_member else _later(used, text, one)[0][1][-1]))
            name = new_name(name, {*thing.keys, *thing.kind.told}, "_")
            thing.kind.told[name] = told
        thing.keys[name] = (value, one.number)
    world.key_texts |= thing.key_texts


def _is_created(one: SeenExchange, fresh: _Fresh) -> bool:
    """Return whether an answer tells that something of its own is there now, or will be soon, below the path."""
    location = one.answer_headers.get("location", "")
    return one.status == 201 or any(location.endswith(f"/{'/'.join(one.path)}/{text}") for text in fresh)


def _are_names_of(world: World, thing: LearnedThing, one: SeenExchange, fresh: _Fresh, used: _Uses) -> bool:
    """Return whether new keys name a thing itself: others of its kind got such keys when they were made.

    A customer's page can belong to a consent, or to an authorisation of it that the app has to start first.
    """
    ids = {thing.kind.told[key] for key, (value, _) in thing.keys.items() if str(value) in one.parameters.values()}
    names: set[str] = set()
    for other in thing.kind.made_by.seen:
        told = dict(answer_values(other))
        own = {parts(told.get(place))[position:][:1].pop() for _, place, position in ids if parts(told.get(place))}
        names |= {text for value in told.values() for text in parts(value)} - own
    places = {(world.operation_of[user], at) for name in names for user, at in used.get(name, ())}
    return any((world.operation_of[user], at) in places for text in fresh for user, at in _later(used, text, one))


def _is_chosen(world: World, one: SeenExchange, text: str, used: _Uses) -> bool:
    return one.status == 201 and bool(_later(used, text, one)) and text not in world.key_texts


def _add_unused(world: World) -> None:
    """Add the things that no later request names. Their answers have keys at the same places as those of the others."""
    for kind in world.kinds:
        made = {thing.created for thing in kind.things}
        common = set.intersection(*(set(thing.keys) for thing in kind.things))
        places = [kind.told[name][1:] for name in common if name in kind.told and kind.told[name][0] is kind.made_by]
        known = {text for thing in world.things for text in thing.key_texts}
        for one in kind.made_by.seen if places else ():
            told = dict(answer_values(one)) if world.is_ok[one] and one not in made else {}
            texts = [parts(told.get(place))[position : position + 1] for place, position in places]
            if all(text and _is_key(world, text[0]) and text[0] not in known for text in texts):
                kind.things.append(LearnedThing(kind, one))
                # A repeated request gets the same thing.
                known |= {text[0] for text in texts}
        kind.things.sort(key=lambda thing: thing.created.number)


def _fill_keys(world: World) -> None:
    """Give every thing the keys that no later request used, but that are told where those of others were."""
    for kind in world.kinds:
        for thing in kind.things:
            for name, (operation, place, position) in kind.told.items():
                telling = [one for one in operation.seen if thing.key_texts & set(one.parameters.values())]
                for one in [thing.created] if operation is kind.made_by else telling:
                    value = dict(answer_values(one)).get(place)
                    found = parts(value)
                    if name not in thing.keys and position < len(found) and _is_key(world, found[position]):
                        thing.keys[name] = (value if position == 0 else found[position], one.number)


def _fill_prompts(world: World) -> None:
    """Give the things that only their prompts and the customer's decisions name the keys of the prompts."""
    for kind in world.kinds:
        for name, (operation, place, _) in kind.told.items():
            for one in operation.seen if kind.is_of_prompt(name) else ():
                at = place.index("*")
                for entry in value_at(one.document, place[1:at]) or ():
                    value, thing = value_at(entry, place[at + 1 :]), _find_in_entry(entry, kind.things)
                    if value is not None and thing:
                        thing.keys.setdefault(name, (value, one.number))


def _is_row(
    world: World, one: SeenExchange, place: Place, text: str, later: Sequence[tuple[SeenExchange, Place]]
) -> bool:
    """Return whether a value names an entry of a list, which later requests ask for."""
    if place[0] != "body" or len(place) < 3 or not isinstance(place[-2], int) or not isinstance(place[-1], str):
        return False
    is_number = text.isdecimal() and len(text) < 3
    is_time = date_form(text) is not None and not text.isdecimal()
    if one.status == 201 or is_number or is_time or not world.ids.has(text) or text in world.key_texts:
        return False
    entry = value_at({"body": one.document}, place[:-1])
    if isinstance(entry, Mapping) and any(str(inner) in world.key_texts for inner in entry.values()):
        # It is a thing of the app's own that refers to something else.
        return False
    operation = world.operation_of[one]
    return any(
        at[0] in ("path", "body", "query", "form") and world.operation_of[other] is not operation for other, at in later
    )


def _repeats(world: World, one: SeenExchange, place: Place, used: _Uses) -> bool:
    """Return whether an entry is part of an answer about a thing and only has what the app has sent."""
    if world.key_texts.isdisjoint(one.parameters.values()):
        return False
    entry = value_at({"body": one.document}, place[:-1])

    def was_sent(value: Any) -> bool:
        return any(other.number < one.number and at[0] in ("body", "form") for other, at in used.get(str(value), ()))

    # An entry with one value only, such as an IBAN in the access of a consent, refers to an account.
    return isinstance(entry, Mapping) and (len(entry) == 1 or all(was_sent(value) for _, value in leaves(entry)))


def _add_rows(world: World, operation: LearnedOperation, place: Place) -> None:
    """Add a list with this member as its key: the first that differs in all entries, and that later requests use."""
    # Lists inside the entries of another one, such as the numbers of each account, are one.
    at = tuple(0 if isinstance(step, int) else step for step in place[:-2])
    rows = Rows("", str(place[-1]), operation, at)
    is_known = any(known.at == rows.at and known.told_by is operation for known in world.rows)
    lists = [[str(entry[rows.key]) for entry in entries if rows.key in entry] for entries in _lists(rows)]
    if all(len(keys) == len(set(keys)) for keys in lists) and not is_known:
        world.rows.append(rows)


def _lists(rows: Rows) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries of each answer of the operation."""
    for one in rows.told_by.seen:
        found = _lists_at({"body": one.document}, rows.at)
        yield [entry for entries in found for entry in entries if isinstance(entry, dict)]


def _lists_at(document: Any, at: Place) -> Iterator[list[Any]]:
    """Yield the lists at a place, in every entry of the lists around it."""
    if not at:
        yield from [document] if isinstance(document, list) else []
    elif isinstance(document, list):
        for entry in document:
            yield from _lists_at(entry, at[1:])
    elif isinstance(document, Mapping) and at[0] in document:
        yield from _lists_at(document[at[0]], at[1:])


def _name(world: World, used: _Uses) -> None:
    """Choose the main key of each kind, and name kinds and lists after the places of requests that have their keys."""
    taken: set[str] = set()
    for kind in world.kinds:
        first = kind.things[0]
        told_first = [name for name, (_, number) in first.keys.items() if number == first.created.number]
        kind.id = max(told_first or first.keys, key=lambda name: _fitness(kind, name, used))
        kind.things = [thing for thing in kind.things if kind.id in thing.keys]
        for key in sorted((RESERVED & kind.told.keys()) - {kind.id}):
            _rename(kind, key, new_name(key, {*kind.told, *RESERVED}, "_"))
        kind.name = new_name(_usual_place(used, [str(first.keys[kind.id][0])]) or kind.id, taken, "_")
        taken.add(kind.name)
    for rows in world.rows:
        every = (entry for entries in _lists(rows) for entry in entries if rows.key in entry)
        rows.entries = list({str(entry[rows.key]): entry for entry in sorted(every, key=len)}.values())
        texts = [str(entry[rows.key]) for entry in rows.entries]
        rows.name = new_name(_usual_place(used, texts) or rows.key, taken, "_")
        taken.add(rows.name)


def _rename(kind: ThingKind, key: str, name: str) -> None:
    kind.told[name] = kind.told.pop(key)
    for thing in kind.things:
        if key in thing.keys:
            thing.keys[name] = thing.keys.pop(key)


def _fitness(kind: ThingKind, key: str, used: _Uses) -> tuple[bool, bool, int, int]:
    """Return how fit a key is for the main one: a member of its own, such as an id, more than a part of a link.

    The id of something else inside, such as of an authorisation, is less fit.
    """
    _, place, position = kind.told.get(key, (None, ("path",), 0))
    is_member = place[0] in ("body", "path") and position == 0
    first = kind.things[0]
    text = str(first.keys[key][0])
    is_location = first.created.answer_headers.get("location", "").endswith(f"/{text}")
    return is_member, is_location, -len(place), len(used.get(text, ()))


def _usual_place(used: _Uses, texts: Iterable[str]) -> str:
    """Return the last step of the place where requests usually have one of these texts."""
    places = (at for text in texts for _, at in used.get(text, ()) if at[0] in ("path", "body", "query"))
    counts = Counter(str(at[-1]) for at in places)
    return identifier(counts.most_common(1)[0][0]) if counts else ""


def _share_uses(world: World) -> None:
    """A path that names things of several kinds does so in all operations that begin with it."""
    shared: defaultdict[tuple[str | None, ...], dict[ThingUse, None]] = defaultdict(dict)
    for operation, uses in world.uses.items():
        for use in uses:
            if start := _path_to(operation, use.place):
                shared[start][use] = None
    for operation, uses in world.uses.items():
        for use in list(uses):
            more = shared[_path_to(operation, use.place)]
            uses += [other for other in more if other not in uses and other.place == use.place]
    rows_in = {
        (_path_to(operation, place), place): rows
        for operation, own in world.row_uses.items()
        for place, rows in own
        if place[0] == "path"
    }
    for operation, own in world.row_uses.items():
        for name in operation.names.values():
            place: Place = ("path", name)
            is_known = any(at == place for at, _ in own) or any(use.place == place for use in world.uses[operation])
            if not is_known and (rows := rows_in.get((_path_to(operation, place), place))):
                own.append((place, rows))


def _path_to(operation: LearnedOperation, place: Place) -> tuple[str | None, ...]:
    """Return the pattern of a path up to a parameter."""
    at = next((at for at, name in operation.names.items() if place == ("path", name)), None)
    return () if at is None else operation.pattern[: at + 1]


def _find_uses(world: World, one: SeenExchange) -> None:
    """Note the places of a request that name a thing or an entry of a list."""
    operation = world.operation_of[one]
    uses, row_uses = world.uses.setdefault(operation, []), world.row_uses.setdefault(operation, [])
    for place, value in one.values():
        if any(isinstance(step, int) for step in place):
            continue
        texts: dict[int | None, str] = {} if isinstance(value, bool) else {None: str(value)}
        words = str(value).split(separator(place))
        if len(words) == 2 and words[0].isalpha():
            texts |= dict(enumerate(words))
        for word, text in texts.items():
            for kind in world.kinds:
                found = (ThingUse(place, kind, key, word) for _, key in kind.known_by(text, one))
                uses += [use for use in dict.fromkeys(found) if use not in uses]
        row_uses += [(place, rows) for rows in world.rows if rows.find(str(value)) and (place, rows) not in row_uses]
