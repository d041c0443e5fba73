"""Values that are of one request alone, and those with which the bank recognises a request that was sent before."""

import re
from collections.abc import Collection

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.unknown.conditions.conditions import places_in
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form, read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind, World
from xs2a_sandbox.redaction.values import DROPPED

_REQUEST_ID = re.compile(r"idempotency|request.?(id|token|key)$")


def find_nonces(world: World) -> set[Place]:
    """Return the headers that have another value in nearly every request, and the members with other UUIDs or times."""
    values: dict[Place, list[str]] = {}
    for one in world.operation_of:
        for place, value in one.slots():
            if place[0] in ("headers", "body") and isinstance(value, str):
                values.setdefault(place, []).append(value)
    keys = {text for thing in world.things for text in thing.key_texts}
    return {
        place
        for place, ones in values.items()
        if len(ones) > 3 and len(set(ones)) > 0.7 * len(ones)
        if place[0] == "headers" or (keys.isdisjoint(ones) and all(map(_is_of_one_request, ones)))
    }


def _is_of_one_request(text: str) -> bool:
    form = date_form(text)
    return FORMATS["uuid"](text) or (form is not None and form.has_time)


def find_request_keys(world: World, nonces: Collection[Place]) -> dict[LearnedOperation, Place]:
    """Return the places of the keys by the operation that makes things.

    A header that only such operations have is a key of all of them, also of those whose requests were not repeated.
    """
    keys = {kind.made_by: place for kind in world.kinds if (place := _find_request_key(world, kind, nonces))}
    for place in dict.fromkeys(place for place in keys.values() if place[0] == "headers"):
        having = {operation for one, operation in world.operation_of.items() if one.at(place) is not None}
        if all(world.made_by(operation) for operation in having):
            keys |= {operation: place for operation in having if operation not in keys}
    return keys


def _find_request_key(world: World, kind: ThingKind, nonces: Collection[Place]) -> Place | None:
    """Return the place of the key with which the bank recognises a request that makes a thing if it is sent again.

    This is a header with such a name, or a value that differs for all things, and that a later request had, too. The
    fewer requests had it, the less it was an accident.
    """
    first, uses = kind.example, world.uses.get(kind.made_by, ())
    named = {use.place for use in uses}
    if any(use.kind is kind and use.place[0] == "path" for use in uses):
        return None
    repeated: dict[Place, int] = {}
    for place in [*(("headers", name) for name in first.headers), *places_in([first])]:
        made = {str(thing.created.at(place)): thing.created.number for thing in kind.things}
        is_own = len(made) == len(kind.things) and DROPPED not in made and place not in named
        is_header_key = len(made) > 1 or place in nonces
        if is_own and (is_header_key if place[0] == "headers" else all(map(_could_be_key, made))):
            later = [one for one in kind.made_by.seen if one.number > made.get(str(one.at(place)), one.number)]
            repeated |= {place: len(later)} if later else {}
    said = [name for name in first.headers if first.method == "POST" and _REQUEST_ID.search(name)]
    # If requests also have an id for the log, one that was sent twice is that of the thing.
    keys = [name for name in said if ("headers", name) in repeated]
    keys += sorted((str(place[1]) for place in repeated if place[0] == "headers"), key=lambda n: repeated["headers", n])
    named_by_errors = [place for place in repeated if place[0] == "body" and _is_named_by_errors(world, kind, place)]
    if named_by_errors and not keys:
        return named_by_errors[0]
    keys += [name for name in said if ("headers", name) in nonces or first.headers[name] == DROPPED]
    return ("headers", keys[0]) if keys else min(repeated, key=lambda place: repeated[place], default=None)


def _is_named_by_errors(world: World, kind: ThingKind, place: Place) -> bool:
    """Return whether the bank has refused a value that made a thing before, and has named its place, maybe in words."""
    made = {str(thing.created.at(place)): thing.created.number for thing in kind.things}
    known = (one for one in kind.made_by.seen if one.number > made.get(str(one.at(place)), one.number))
    refused = (one for one in known if not world.is_ok[one])
    told = [str(value) for one in refused for _, value in leaves(one.document)]
    name = str(place[-1])
    words = _say(name) if " " in _say(name) else name
    return any(name in re.findall(r"\w+", text) or f" {words} " in f" {_say(text)} " for text in told)


def _say(text: str) -> str:
    """Return the words of a name or a sentence: `client_reference` and `clientReference` are `client reference`."""
    return " ".join(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", text))


def _could_be_key(text: str) -> bool:
    return read_number(text) is None and not date_form(text) and text[:1] not in ("{", "[")
