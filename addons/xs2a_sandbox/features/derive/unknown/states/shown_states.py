"""The words for states that answers show: about which thing, and in which member."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange, answer_values
from xs2a_sandbox.features.derive.unknown.states.machines import DELETED
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind, World

_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
SOON = 60
"""The seconds in which a state hardly changes by itself."""


def primary(world: World, one: SeenExchange) -> LearnedThing | None:
    """Return the thing that a request is about: the one that it creates, or that its path or its only id names.

    A request that was sent twice is about what the first one has made.
    """
    if made := world.made(one) or find_repeated(world, one):
        return made
    named = list(world.named(one))
    in_path = [thing for use, thing in named if use.place[0] == "path"]
    if in_path:
        return in_path[-1]
    # A session or an access is older than what it is used for.
    others = [thing for use, thing in named if use.place[0] != "headers"]
    if others:
        return max(others, key=lambda thing: thing.created.number)
    # The id of a consent tells more than a token, which has a word before it.
    return next((thing for _, thing in sorted(named, key=lambda one: one[0].word is not None)), None)


def find_repeated(world: World, one: SeenExchange) -> LearnedThing | None:
    """Return the earlier thing that the answer of an operation that makes things shows in place of a new one."""
    kind = world.made_by(world.operation_of[one])
    told = kind.told.get(kind.id) if kind and world.is_ok[one] else None
    shown = dict(answer_values(one)).get(told[1]) if told else None
    known = kind.known_by(str(shown), one) if kind else ()
    return next((thing for thing, key in known if key == thing.kind.id), None)


def _nested(world: World, document: Any, place: Place = ()) -> Iterator[tuple[LearnedThing, Mapping[str, Any]]]:
    """Yield the objects in an answer that show other things: entries of lists, or what a token is for."""
    if isinstance(document, list):
        for entry in document:
            yield from _nested(world, entry, (*place, 0))
    for kind in world.kinds if isinstance(document, Mapping) and place else ():
        told = kind.told.get(kind.id)
        key = str(document.get(told[1][-1])) if told and told[1][0] == "body" else ""
        yield from ((thing, document) for thing, name in kind.with_key(key) if name == kind.id)
    for name, inner in document.items() if isinstance(document, Mapping) else ():
        yield from _nested(world, inner, (*place, name))


def find_shown(world: World) -> dict[LearnedThing, list[tuple[SeenExchange, str, Any]]]:
    shown: dict[LearnedThing, list[tuple[SeenExchange, str, Any]]] = defaultdict(list)
    for one in sorted(world.operation_of, key=lambda one: one.number):
        thing = primary(world, one)
        for other, document in _nested(world, one.document) if world.is_ok[one] else ():
            if other is not thing and other.created.number < one.number:
                other.events.append(one)
                said = list(_said_of(other.kind, document))
                own = [] if said and _is_about(thing, document) else _own_words(document)
                shown[other] += [(one, name, value) for name, value in (*said, *own) if is_word(value)]
        if thing is None:
            continue
        thing.events.append(one)
        for owner in _find_named_above(world, thing, one):
            if said := list(_said_of(owner.kind, one.document)):
                owner.events.append(one)
                shown[owner] += [(one, name, value) for name, value in said]
        is_redirect = one.status in REDIRECTS
        if is_redirect:
            link = urlsplit(one.answer_headers.get("location", ""))
            shown[thing] += [(one, name, value) for name, value in parse_qsl(link.query) if is_word(value)]
        if thing.created is one or is_redirect:
            # A token for a code changes what the code is for, and so does the customer's decision about it.
            for other in _find_exchanged(world, one):
                other.events.append(one)
        if one is not thing.created and (is_redirect or (one.method == "PUT" and world.is_ok[one])):
            # What a customer decides about an authorisation is decided about the consent that it belongs to.
            for owner in _find_owners(world, thing):
                owner.events.append(one)
        if one is not thing.created and one.method != "GET" and world.is_ok[one]:
            for owner in _find_subjects(world, thing):
                owner.events.append(one)
        places = [use.place[0] for use, named in world.named(one) if named is thing]
        is_of_access = bool(places) and set(places) == {"headers"}
        for place, value in leaves(one.document):
            name = next((step for step in reversed(place) if isinstance(step, str)), "")
            is_text = is_word(value) and not (is_of_access and world.is_ok[one])
            is_small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1000
            is_number = is_small and not is_of_access
            if (not is_text and not is_number) or value == one.status or any(isinstance(step, int) for step in place):
                continue
            is_own = _names_kind(thing.kind, name) or not _is_of_other(world, thing, one, place)
            if place != world.envelope and is_own:
                shown[thing].append((one, name, value))
    return shown


def _own_words(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of an entry, also those of an object in it that has no id: `state: {word: done}`."""
    for name, value in document.items():
        yield name, value
        if isinstance(value, Mapping) and "id" not in value:
            yield from value.items()


def _is_about(thing: LearnedThing | None, document: Mapping[str, Any]) -> bool:
    """Return whether an object has the id of a thing, so that what else it has is about this thing."""
    told = thing.kind.told.get(thing.kind.id) if thing else None
    return bool(thing and told and str(document.get(str(told[1][-1]))) == str(thing.keys[thing.kind.id][0]))


def _find_named_above(world: World, thing: LearnedThing, one: SeenExchange) -> list[LearnedThing]:
    """Return the other things that the path of a request names."""
    named = (other for use, other in world.named(one) if use.place[0] == "path" and other is not thing)
    return list(dict.fromkeys(named))


def _said_of(kind: ThingKind, document: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an answer about something else says of a thing of this kind: `transferPhase` is its `phase`."""
    for place, value in leaves(document):
        found = _names_kind(kind, str(place[-1])) if place and is_word(value) else None
        if found:
            yield found[1][0].lower() + found[1][1:], value


def _names_kind(kind: ThingKind, name: str) -> re.Match[str] | None:
    return re.fullmatch(rf"{re.escape(kind.name)}_?([A-Z]\w+|(?<=_)\w+)", name)


def find_shown_below(
    world: World, kind: ThingKind, member: str
) -> dict[LearnedThing, list[tuple[SeenExchange, str, Any]]]:
    """Return the states of things that answers about something below them show, such as their authorisations."""
    shown: dict[LearnedThing, list[tuple[SeenExchange, str, Any]]] = {}
    for one in sorted(world.operation_of, key=lambda one: one.number):
        value = one.document.get(member) if world.is_ok[one] and isinstance(one.document, Mapping) else None
        named = world.named(one) if is_word(value) else ()
        for thing in dict.fromkeys(other for use, other in named if use.place[0] == "path" and other.kind is kind):
            if primary(world, one) is not thing:
                thing.events.append(one)
                shown.setdefault(thing, []).append((one, member, value))
    return shown


def is_word(value: Any) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _find_exchanged(world: World, one: SeenExchange) -> Iterator[LearnedThing]:
    """Yield what the page or code in a request is for, and what the page was for that has made it."""
    for use, thing in world.named(one):
        if use.place[0] in ("form", "query") or use.kind.is_code:
            is_asked = use.place[0] == "query" and one.status in REDIRECTS
            if use.key != use.kind.id or use.word is not None or is_asked:
                yield thing
            if thing.created.number < one.number:
                yield from _find_exchanged(world, thing.created)


def _find_owners(world: World, thing: LearnedThing) -> list[LearnedThing]:
    """Return what the path of the request names that has made a thing."""
    return [owner for use, owner in world.named(thing.created) if use.place[0] == "path" and owner is not thing]


def _find_subjects(world: World, thing: LearnedThing) -> list[LearnedThing]:
    """Return what a thing is about, such as the payment of a challenge: its own request names that, and little else."""
    sent = [str(value) for place, value in leaves(thing.created.body) if place]
    named = [owner for use, owner in world.named(thing.created) if use.place[0] == "body"]
    return named if len(named) == 1 and all(text in named[0].key_texts or is_word(text) for text in sent) else []


def _is_of_other(world: World, thing: LearnedThing, one: SeenExchange, place: Place) -> bool:
    """Return whether a value belongs to something else with a key, such as the challenge of a consent.

    The innermost object with a key, or with the name of the object in which the key was told, tells whose it is.
    """
    for end in range(len(place) - 1, -1, -1):
        found = [_has_key(thing, one, place[:end], kind, key) for kind in world.kinds for key in kind.told]
        if known := [is_own for is_own in found if is_own is not None]:
            return not any(known)
    return False


def _has_key(thing: LearnedThing, one: SeenExchange, around: Place, kind: ThingKind, key: str) -> bool | None:
    """Return whether an object has a key of the thing itself, or one of something else; None for neither."""
    _, at, _ = kind.told[key]
    inner = value_at(one.document, around)
    if at[0] != "body" or not isinstance(inner, Mapping):
        return None
    # The object can be all about the thing: `consent: {id: ...}`.
    told = inner.get(at[-1], inner.get("id") if key == kind.id else None)
    if kind is thing.kind and key in thing.keys:
        mine = str(thing.keys[key][0])
        is_main = key == kind.id or kind.is_told_late(key)
        is_here = str(told) == mine or (told is None and around and around[-1:] == at[-2:-1])
        if is_here and (is_main or len(at) > 2 or mine in one.parameters.values()):
            return is_main
    is_other = told is not None and key == kind.id and len(at) > 2 and at[1:-1] == around
    return False if is_other and str(told) not in thing.key_texts else None


def add_deletion(world: World, thing: LearnedThing, member: str) -> None:
    """A thing that was deleted without a word about its state is in a state of its own.

    If only something else, such as its challenge, has a word, the thing has it, too.
    """
    told = {number for number, _ in thing.states}
    for one in thing.events:
        is_told = any(number >= one.number for number in told)
        if one.method == "DELETE" and world.is_ok[one] and not is_told and thing.states:
            words = (value for place, value in leaves(one.document) if place[-1:] == (member,))
            thing.states.append((one.number, next(words, DELETED)))
            thing.states.sort(key=lambda state: state[0])


def find_state_member(
    world: World, kind: ThingKind, shown: Mapping[LearnedThing, Sequence[tuple[SeenExchange, str, Any]]]
) -> str | None:
    """Return the member with the most different words for the same things.

    Currencies are not states, nor are numbers next to words, such as versions. A member that an answer has twice, with
    different words, does not tell the state. One that the answer which made a thing has tells more than others, which
    may be about something else.
    """
    made = {place[-1] for thing in kind.things for place, _ in leaves(thing.created.document) if place}
    words: defaultdict[str, set[Any]] = defaultdict(set)
    told: Counter[str] = Counter()
    for thing in kind.things:
        values: defaultdict[str, list[Any]] = defaultdict(list)
        own = [(one, name, value) for one, name, value in shown.get(thing, ()) if world.is_ok[one]]
        in_answer: defaultdict[tuple[SeenExchange, str], set[Any]] = defaultdict(set)
        for one, name, value in own:
            in_answer[one, name].add(value)
        for one, name, value in own:
            if len(in_answer[one, name]) == 1:
                values[name].append(value)
        for name, ones in values.items():
            told[name] += len(ones)
            if len(set(ones)) > 1 and not all(FORMATS["currency"](str(one)) for one in ones):
                words[name] |= set(ones)

    def rank(name: str) -> tuple[bool, bool, int, int]:
        return name in made, any(isinstance(word, str) for word in words[name]), len(words[name]), told[name]

    return max(words, key=rank, default=None)


def find_synonyms(
    world: World, kind: ThingKind, member: str, shown: Mapping[LearnedThing, Sequence[tuple[SeenExchange, str, Any]]]
) -> dict[Any, Any]:
    """Return words for states that only answers to requests with a later key have, with those of the other answers.

    Such a consent can be `approved` in the answer about the request for it, and `active` in that about itself.
    """
    told: list[tuple[LearnedThing, SeenExchange, Any, bool]] = []
    for thing in kind.things:
        for one, name, value in shown[thing]:
            keys = [use.key for use, named in world.named(one) if named is thing and use.place[0] == "path"]
            if name == member and world.is_ok[one]:
                told.append((thing, one, value, any(map(kind.is_told_late, keys))))
    usual = {value for _, _, value, is_late in told if not is_late}
    synonyms: dict[Any, Any] = {}
    for (thing, one, value, is_late), (same, other, word, by_later_key) in pairwise(told):
        is_soon = same is thing and (other.time - one.time).total_seconds() < SOON
        between = [event for event in thing.events if one.number < event.number < other.number]
        is_soon &= all(event.method == "GET" for event in between)
        if is_soon and not is_late and by_later_key and word not in usual and other.method == "GET":
            synonyms.setdefault(word, value)
    return synonyms
