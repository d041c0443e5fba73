"""Infers rules from the exchanges of one route: finds equal requests, and the matchers that distinguish the others.

A place is compared by value for all requests of a route, or by format for all, so that two rules with different
matchers exclude each other.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any

from xs2a_sandbox.cassette.call import parse_json
from xs2a_sandbox.cassette.evaluation.values import canonical
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.features.derive.telling_headers import TellingHeaders
from xs2a_sandbox.http import Headers, body_members
from xs2a_sandbox.http.body_members import Member
from xs2a_sandbox.http.messages import is_field_value
from xs2a_sandbox.http.multipart import without_boundary
from xs2a_sandbox.http.target import split_target

Tokens = Mapping[str, int]
"""Texts that the bank has used first, with the number of the exchange."""

_OWN_WORDS = re.compile(
    "endToEnd(Id|Identification)|instructionId(entification)?|(x-?)?request-?id|correlation-?id"
    "|MsgId|CreDtTm|PmtInfId|InstrId|code_verifier",
    re.IGNORECASE,
)
"""Members and parameters that a client generates for each request."""
_SIGNED = {"client_assertion": re.compile("(?s).*"), "request": re.compile(r"[\w-]{10,}\.[\w-]*\.[\w-]+")}
"""Members and parameters that are a client's signature or signed by it. They never count."""

_LONGEST_NAME = 150
_MOST_SPELLINGS = 64
_NUMBER = re.compile(r"-?[0-9.]{1,1000}(E[+-]?[0-9]{1,3})?")

Mode = str
"""`equals`, `exists`, or the name of a format."""

Kinds = Mapping[Hashable, list[Any]]
_SOFT = ("date", "iban", "amount", "ip")
"""Formats that are replaced by values if different values got different answers."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as matchers see it. `number` counts exchanges, `run` recordings; equal answers have an equal `answer`.

    `places` contain scalars and empty values; `around` are the mappings and lists in the body that contain them. `day`
    is that of the exchange, because clients may count dates from there.
    """

    number: int
    places: Mapping[RequestPart, tuple[Any, ...]]
    around: frozenset[RequestPart]
    answer: str
    run: int = 0
    day: date = date.min


def make_recorded_request(
    number: int,
    parameters: Mapping[str, str],
    target: str,
    headers: Headers,
    body: bytes,
    answer: str,
    telling: TellingHeaders,
    *,
    run: int = 0,
    day: date = date.min,
) -> RecordedRequest:
    places: dict[RequestPart, tuple[Any, ...]] = {
        RequestPart("where", name): (value,) for name, value in parameters.items()
    }
    for name, value in split_target(target).query:
        if len(name) <= _LONGEST_NAME:
            places[RequestPart("query", name)] = (*places.get(RequestPart("query", name), ()), value)
    for name in telling.names:
        if values := tuple(filter(is_field_value, headers.all(name))):
            # Clients generate the boundary of a multipart body for each request.
            places[RequestPart("headers", name)] = tuple(map(without_boundary, values))
    leaves, around = _leaves(body, headers.get("content-type"))
    places = {place: values for place, values in (places | leaves).items() if not _is_signed(place, values)}
    return RecordedRequest(number, places, frozenset(around), answer, run, day)


def _is_signed(place: RequestPart, values: tuple[Any, ...]) -> bool:
    signed = _SIGNED.get(place.name.removeprefix("/"))
    return bool(signed and all(isinstance(value, str) and signed.fullmatch(value) for value in values))


def rules(
    match: Mapping[str, Any],
    requests: Sequence[RecordedRequest],
    answers: Sequence[Any],
    tokens: Tokens,
    telling: TellingHeaders,
) -> Iterator[tuple[dict[str, Any], list[int], list[int]]]:
    """Yield rules without ids, in the order of the first request of each.

    Each is paired with the positions of the requests whose answers it gives, and of those with other answers in an
    earlier run. `match` is common to all requests, `answers` are what each got. Equal requests in one run get their
    answers as a sequence; that of the newest run counts.
    """
    alike: dict[str, list[int]] = {}
    matches = tell_apart(requests, tokens, telling)
    for position, distinction in enumerate(matches):
        alike.setdefault(write_exactly(distinction), []).append(position)
    for positions in alike.values():
        runs: dict[int, list[int]] = {}
        for position in positions:
            runs.setdefault(requests[position].run, []).append(position)
        sequences = {run: _sequence([answers[position] for position in runs[run]]) for run in runs}
        newest = max(runs)
        sequence = sequences[newest]
        behaviour = {"respond": sequence[0]} if len(sequence) == 1 else {"sequence": sequence}
        rule = {"match": {**match, **matches[positions[0]]}, "require": "none", **behaviour}
        others = [run for run in runs if write_exactly(sequences[run]) != write_exactly(sequence)]
        yield rule, runs[newest], [position for run in others for position in runs[run]]


def _sequence(answers: list[Any]) -> list[Any]:
    """Return the answers without repetitions at the end, because the last answer is repeated anyway."""
    last = len(answers)
    while last > 1 and write_exactly(answers[last - 1]) == write_exactly(answers[last - 2]):
        last -= 1
    return answers[:last]


def present_parts(match: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions on what requests contain, without those on what they lack."""
    parts: dict[str, Any] = {}
    for part, value in match.items():
        if not isinstance(value, dict):
            parts[part] = value
        elif has := {name: matcher for name, matcher in value.items() if matcher != {"absent": True}}:
            parts[part] = has
    return parts


def tell_apart(
    requests: Sequence[RecordedRequest], tokens: Tokens, telling: TellingHeaders
) -> list[dict[str, dict[str, Any]]]:
    """Return `where`, `query`, `headers` and `body` for each request. Equal requests get equal results."""
    places = _telling(requests, telling)
    modes = {place: _mode(place, requests, tokens, telling) for place in places}
    kinds = {place: _kinds(place, requests) for place in places}
    while True:
        matches = [_match(request, modes, kinds, telling) for request in requests]
        alike: dict[str, list[RecordedRequest]] = {}
        for request, match in zip(requests, matches, strict=True):
            alike.setdefault(write_exactly(match), []).append(request)
        hasty = {place for group in alike.values() for place in _find_decisive(group, modes)}
        if not hasty:
            return matches
        modes |= dict.fromkeys(hasty, "equals")


def _leaves(body: bytes, content_type: str | None) -> tuple[dict[RequestPart, tuple[Any, ...]], set[RequestPart]]:
    """Return the values in a body by place.

    Text, bytes, and places that no cassette can name are skipped.
    """
    leaves: dict[RequestPart, tuple[Any, ...]] = {}
    around: set[RequestPart] = set()
    try:
        if body and (members := body_members.members(body, content_type)):
            return _members(members)
    except ValueError:
        return leaves, around
    try:
        value = parse_json(body, []) if body else None
    except BankError:
        return leaves, around

    def walk(pointer: str, value: Any) -> bool:
        """Add the value. Return whether there is anything to compare."""
        is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if len(pointer) > _LONGEST_NAME or "\n" in pointer or (is_number and not _NUMBER.fullmatch(str(value))):
            return False
        place = RequestPart("body", pointer)
        pairs = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        below = [walk(pointer + pointer_text((step,)), member) for step, member in pairs]
        if any(below):
            around.add(place)
        elif pointer:
            leaves[place] = (value,)
        return True

    walk("", value)
    return leaves, around


def _members(members: Member) -> tuple[dict[RequestPart, tuple[Any, ...]], set[RequestPart]]:
    leaves: dict[RequestPart, tuple[Any, ...]] = {}
    around: set[RequestPart] = set()
    for steps, value in body_members.leaves(members):
        pointer = pointer_text(steps)
        if len(pointer) <= _LONGEST_NAME and pointer.isprintable():
            leaves[RequestPart("body", pointer)] = (value,)
            around |= {RequestPart("body", pointer_text(spelling)) for spelling in _spellings(steps)}
    return leaves, around - leaves.keys()


def _spellings(steps: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the spellings of this place: repeated members can also be meant without their number."""
    spellings: list[tuple[str, ...]] = [()]
    for step in steps:
        with_it = [(*spelling, step) for spelling in spellings]
        spellings = [*spellings, *with_it] if step.isdecimal() and len(spellings) < _MOST_SPELLINGS else with_it
        yield from spellings


def _telling(requests: Sequence[RecordedRequest], telling: TellingHeaders) -> list[RequestPart]:
    """Return the places in order of appearance, without headers that do not matter here."""
    places = list(dict.fromkeys(place for request in requests for place in request.places))
    return [place for place in places if place.part != "headers" or _header_tells(place, requests, telling)]


def _header_tells(place: RequestPart, requests: Sequence[RecordedRequest], telling: TellingHeaders) -> bool:
    if place.name in telling.always:
        return True
    values = {request.places.get(place, ()) for request in requests}
    return () in values and len(values) > 1 if place.name in telling.present else len(values) > 1


def _mode(place: RequestPart, requests: Sequence[RecordedRequest], tokens: Tokens, telling: TellingHeaders) -> Mode:
    if place.name in telling.present and place.part == "headers":
        return "exists"
    seen = [(request.number, value) for request in requests for value in request.places.get(place, ())]
    several = len({_key(place, value) for _, value in seen}) > 1
    if any(value or several for _, value in seen if isinstance(value, dict | list)):
        return "exists"  # nothing could prove that a list differs from another value
    if place.part in ("where", "headers") or not all(isinstance(value, str) for _, value in seen):
        return "equals"
    brought_up = any(tokens.get(value.lower(), number) < number for number, value in seen)
    for name in ("uuid", "date-time"):
        if not brought_up and all(FORMATS[name](value) for _, value in seen):
            return name
    last = place.name.rpartition("/")[2]
    for name in _SOFT:
        # A page number or limit looks like an amount, too.
        if name == "amount" and not last.lower().endswith(("amount", "amt")):
            continue
        if (several or name == "date") and all(FORMATS[name](value) for _, value in seen):
            return name
    return "exists" if _OWN_WORDS.fullmatch(last) else "equals"


def _find_decisive(group: Sequence[RecordedRequest], modes: Mapping[RequestPart, Mode]) -> set[RequestPart]:
    """Return places compared by format whose values vary among requests with different answers."""
    if len({request.answer for request in group}) == 1:
        return set()
    return {place for place, mode in modes.items() if mode in _SOFT and _varies(place, mode, group)}


def _varies(place: RequestPart, mode: Mode, group: Sequence[RecordedRequest]) -> bool:
    """Return whether requests differ there. Dates with the same distance from the day of their exchange are equal."""
    values = {request.places.get(place, ()) for request in group}
    if mode != "date" or len(values) == 1:
        return len(values) > 1
    return len({_days(request.places.get(place, ()), request.day) for request in group}) > 1


def _days(values: Sequence[str], day: date) -> tuple[int, ...]:
    return tuple((date.fromisoformat(value) - day).days for value in values)


def _kinds(place: RequestPart, requests: Sequence[RecordedRequest]) -> Kinds:
    """Return the values that count as the same for each value, because a rule cannot ask for repeated ones."""
    kinds: dict[Hashable, list[Any]] = {}
    for request in requests:
        values = request.places.get(place, ())
        joined: dict[Hashable, Any] = {}
        for other in chain.from_iterable(kinds.get(_key(place, value), [value]) for value in values):
            joined.setdefault(_key(place, other), other)
        kinds |= {key: list(joined.values()) for key in joined}
    return kinds


def _key(place: RequestPart, value: Any) -> Hashable:
    stand_in: Hashable = canonical(value, place.part != "body")
    return ("empty", write_exactly(value)) if stand_in is None else stand_in


def _match(
    request: RecordedRequest,
    modes: Mapping[RequestPart, Mode],
    kinds: Mapping[RequestPart, Kinds],
    telling: TellingHeaders,
) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {"where": {}, "query": {}, "headers": {}, "body": {}}
    # In an order that stays the same after the next run.
    for place in sorted(modes, key=lambda place: "" if place.part == "where" else place.name):
        mode = modes[place]
        name = telling.names[place.name] if place.part == "headers" else place.name
        if (matcher := _matcher(request, place, mode, kinds[place])) is not _ANYTHING:
            parts[place.part][name] = matcher
    return {part: matchers for part, matchers in parts.items() if matchers}


_ANYTHING: dict[str, Any] = {}


def _matcher(request: RecordedRequest, place: RequestPart, mode: Mode, kinds: Kinds) -> Any:
    values = request.places.get(place, ())
    if not values:
        return _ANYTHING if place in request.around else {"absent": True}
    if mode == "exists":
        return {"exists": True}
    if mode != "equals":
        return {"format": mode}
    same = kinds[_key(place, values[0])]
    if len(same) > 1:
        return {"in": sorted(same)}
    return {"equals": same[0]} if isinstance(same[0], dict | list) else same[0]
