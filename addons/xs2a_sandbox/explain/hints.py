"""Hints at typical mistakes of XS2A clients, in one sentence each."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, count, pairwise
from urllib.parse import quote

from xs2a_sandbox.cassette import Call, Interface, Rule
from xs2a_sandbox.cassette.call import parse_json
from xs2a_sandbox.cassette.matchers import Constraint, RequestPart
from xs2a_sandbox.cassette.path_pattern import LITERAL, Pattern, beginnings
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.things import Naming, SentMessage, Things
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.explain.candidates import Candidate, requirements_of, value_text
from xs2a_sandbox.explain.distance import align
from xs2a_sandbox.http.target import split_target

_REQUEST_ID = RequestPart("headers", "x-request-id")
_MAX_WORD = 100


@dataclass(frozen=True, slots=True)
class Hint:
    """`code` is stable (docs/explain.md)."""

    code: str
    text: str


def hints(call: Call, interface: Interface, candidate: Candidate | None) -> list[Hint]:
    """Return hints about a request and the candidate that answers it, or probably should."""
    every = [*_find_doubled(call, interface), *_consent(call, interface.things, candidate)]
    if candidate:
        every += [*_path(call, candidate), *_headers(call, interface, candidate), *_body(call, interface, candidate)]
    return every


def _find_doubled(call: Call, interface: Interface) -> Iterator[Hint]:
    segments = split_target(call.request.target).segments
    starts = _beginnings(interface)
    for word, following in pairwise(segments):
        if word == following and word in starts:
            text = f"the path says /{word} twice: the base URL of the app probably ends in /{word} already"
            yield Hint("path-doubled", text)
            return


def _beginnings(interface: Interface) -> frozenset[str]:
    return beginnings(operation.pattern for operation in interface.operations.values())


def _path(call: Call, candidate: Candidate) -> Iterator[Hint]:
    missed = {check.what for check in candidate.missed}
    first = candidate.pattern.segments[:1]
    if "path" in missed and first and first[0].kind == LITERAL and first[0].text not in call.segments:
        if align(candidate.pattern, (first[0].text, *call.segments)).cost == 0:
            yield Hint("path-incomplete", f"the path does not start with /{first[0].text}")
    elif "method" in missed and "path" not in missed:
        methods = " or ".join(sorted(candidate.methods))
        yield Hint("method-wrong", f"the path is right, the method is not: {methods}, not {call.request.method}")
    if isinstance(candidate.entry, Rule):
        return
    constraint = next(
        (condition for condition in chain(*candidate.entry.where) if str(condition.place) in missed), None
    )
    if constraint and constraint.values is not None and (word := candidate.parameters.get(constraint.place.name)):
        name, word, offered = constraint.place.name, word[:_MAX_WORD], sorted(map(str, constraint.values))
        near = get_close_matches(word, offered, 1)
        rest = f"did you mean {near[0]}?" if near else f"the values are {', '.join(offered)}"
        yield Hint(f"{name}-unknown", f"unknown {name} {word}; {rest}")


def _headers(call: Call, interface: Interface, candidate: Candidate) -> Iterator[Hint]:
    for constraint in (expected for expected in _constraints(candidate, interface) if expected.place.part == "headers"):
        values = call.values(constraint.place)
        if constraint.fits(values):
            continue
        if constraint.place in _headers_of(interface.things["consent"]) and not values:
            name = header_name(constraint.place.name)
            text = f"the header {name} is missing: account information needs the id of a valid consent"
            yield Hint("consent-missing", text)
        elif constraint.place == _REQUEST_ID and not any(map(FORMATS["uuid"], values)):
            fault = f"{value_text(values[0])} is not a UUID" if values else "it is missing"
            yield Hint("request-id-invalid", f"the header X-Request-ID must be a UUID, new for each request: {fault}")


def _constraints(candidate: Candidate, interface: Interface) -> Iterator[Constraint]:
    if isinstance(candidate.entry, Rule):
        yield from candidate.entry.constraints
    for requirement in requirements_of(candidate.entry, interface):
        yield from requirement.constraints


def _headers_of(naming: Naming) -> list[RequestPart]:
    """Return the headers that contain ids of these things."""
    return [RequestPart("headers", place.name) for place in naming.sent if place.part == "headers"]


def _consent(call: Call, things: Things, candidate: Candidate | None) -> Iterator[Hint]:
    """Yield a hint for a consent anywhere in the request that does not exist."""
    for id in things["consent"].ids(SentMessage(call.request, candidate.parameters if candidate else {})):
        with suppress(StoreUnavailable):
            if call.state.get("consents", id.lower()) is None:
                yield Hint("consent-unknown", _why_unknown(call, id))
                return


def _why_unknown(call: Call, id: str) -> str:
    session = call.session.id
    if id.lower() in call.state.testdata().get("consents", {}):
        rest = f"it was deleted there; `xs2a-sandbox reset --session {session}` restores it"
    else:
        rest = "a consent is known only in the session that created it"
    return f"the consent {id[:_MAX_WORD]} is unknown in the session {session}; {rest}"


def _body(call: Call, interface: Interface, candidate: Candidate) -> Iterator[Hint]:
    counts = any(constraint.place.part == "body" for constraint in _constraints(candidate, interface))
    if call.request.body and (
        counts or any(requirement.schema for requirement in requirements_of(candidate.entry, interface))
    ):
        try:
            parse_json(call.request.body, [])
        except BankError as error:
            yield Hint("body-unreadable", f"no condition on the body can match: {error.values['expected']}")


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_LONGEST_PATH = 1000
_LONGEST_ID = 60


@dataclass(frozen=True, slots=True)
class RuleSuggestion:
    """`yaml` is a complete cassette, but its rule can also be added to another one. `file` is where to save it."""

    file: str
    yaml: str


def suggest(interface: Interface, call: Call) -> RuleSuggestion | None:
    """Return a suggestion, or None if the path is too long to be shown."""
    method, path = call.request.method, _rule_path(call.segments)
    if Pattern.parse(path).is_whole(_beginnings(interface)):
        path = _rule_path(split_target(call.request.target).segments)
    if len(path) > _LONGEST_PATH:
        return None
    id = re.sub(r"[^a-z0-9]+", "-", f"{method} {path}".lower())[:_LONGEST_ID].strip("-") or "case"
    id = free_id(interface, id)
    match = {"method": method, "path": path} if method in _METHODS else {"path": path}
    rule = {"id": id, "match": match, **_priority(interface, path), "respond": {"status": 200, "body": {}}}
    return RuleSuggestion(f"cassettes/cases/{id}.yaml", yaml_text({"cassette": 1, "rules": [rule]}))


def _rule_path(segments: tuple[str, ...]) -> str:
    """Return the path of a rule without parameters: characters that would start one are escaped."""
    path = "/" + "/".join(quote(segment, safe="", errors="replace") for segment in segments)
    # A trailing slash does not matter, but an empty last segment is a second one.
    return f"{path}/" if segments and not segments[-1] else path


def free_id(interface: Interface, id: str) -> str:
    """Return the id, with a number if an operation or a rule already has it."""
    taken = {*interface.operations, *(rule.id for rule in interface.rules)}
    return next(name for name in chain([id], (f"{id}-{number}" for number in count(2))) if name not in taken)


def _priority(interface: Interface, path: str) -> dict[str, int]:
    """Return a priority that is not above a rule for the same path with more conditions, which would be unreachable."""
    pattern = Pattern.parse(path)
    same = [rule.priority for rule in interface.rules if rule.pattern and rule.pattern.segments == pattern.segments]
    lowest = min(same, default=0)
    return {"priority": lowest} if lowest < 0 else {}
