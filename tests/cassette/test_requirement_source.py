"""The compiled requirements of an operation agree with the interpreter."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import bodies
from tests.support.compared_requirements import differences, is_silent
from tests.support.engine_client import CONFDIR
from xs2a_sandbox.bank import Bank
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.matchers import Part, RequestPart, constrain
from xs2a_sandbox.cassette.model import Operation, Requirement
from xs2a_sandbox.cassette.requirement_source import RequirementSource
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents.formats import SAMPLES
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.http import Headers, Request, to_json
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Transaction

DIALECTS = ("xs2a-1.84", "berlin-group-1.3", "obie-4.0")
VALUES = (*SAMPLES.values(), "", "true", "TRUE", "1", "booked", "both", "https://tpp.example/ back", "ä")
BODIES = (
    *(to_json(bodies.payment(product)) for product in bodies.PRODUCTS),
    to_json(bodies.payment(bodies.SEPA, nickname="unlisted")),
    to_json(bodies.payment(bodies.SEPA, amount="ten")),
    to_json(bodies.consent()),
    b"",
    b" ",
    b"{}",
    b"null",
    b'{"a": 1, "a": 2}',
    b"{",
    b"\xff",
    b"[" * 100 + b"]" * 100,
)
TYPES = (
    None,
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/problem+json",
    "text/json",
    "text/xml",
)


@cache
def bank(dialect: str) -> Bank:
    settings = Settings(dialect=dialect, state="memory:", confdir=Path(CONFDIR.name))
    return build(settings).parts.banks.default


def called(request: Request, path: dict[str, str]) -> Call:
    state = Transaction(MemoryStore(), "default", lambda _: {})
    call = Call(request, split_target(request.target), Session.from_name("default", ""), REAL, state)
    call.path = path
    return call


@st.composite
def requests(draw: st.DrawFn, operation: Operation) -> tuple[Request, dict[str, str]]:
    """Draw a request to the operation, whose headers, query and body may or may not be right."""
    places = [constraint.place for step in operation.require.steps for constraint in step.constraints]

    def pairs(part: str, *more: str) -> list[tuple[str, str]]:
        names = [*(place.name for place in places if place.part == part), *more]
        found = [(name, draw(st.sampled_from((None, *VALUES)))) for name in names]
        found += draw(st.lists(st.sampled_from(found), max_size=1)) if found else []
        return [(name, value) for name, value in found if value is not None]

    content_type = draw(st.sampled_from(TYPES))
    headers = pairs("headers") + ([("Content-Type", content_type)] if content_type else [])
    if draw(st.integers(0, 9)) == 0:
        headers.append(("Content-Encoding", draw(st.sampled_from(("identity", "gzip")))))
    query = "&".join(f"{name}={value}" for name, value in pairs("query") if value.isalnum())
    choices = {c.place.name: c.values for alternative in operation.where for c in alternative if c.values}
    path = {
        name: str(draw(st.sampled_from(sorted(choices[name], key=str)))) if name in choices else "x"
        for name in operation.pattern.names
    }
    target = f"/v1/x?{query}"
    return Request(operation.method, target, Headers(headers), draw(st.sampled_from(BODIES))), path


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_compiled_requirements_agree_with_the_interpreter(dialect: str, data: st.DataObject) -> None:
    own = bank(dialect)
    operation = data.draw(st.sampled_from(sorted(own.interface.operations.values(), key=lambda one: one.id)))
    request, path = data.draw(requests(operation))

    assert list(differences(operation.require, called(request, path), own.schemas)) == []


def right(operation: str, **headers: str) -> Request:
    given = {"X-Request-ID": SAMPLES["uuid"], "PSU-IP-Address": SAMPLES["ip"], "Content-Type": "application/json"}
    return Request("POST", "/v1/x", Headers((given | headers).items()), to_json(bodies.payment(bodies.SEPA)))


def test_a_correct_payment_is_decided_by_the_compiled_function() -> None:
    own, path = bank("xs2a-1.84"), {"product": "sepa-credit-transfers"}
    requirement = own.interface.operations["initiate-payment"].require

    assert requirement.is_met(called(right("initiate-payment"), path), own.schemas)
    wrong = called(right("initiate-payment", **{"PSU-IP-Address": "here"}), path)
    assert not requirement.is_met(wrong, own.schemas)
    assert not is_silent(requirement, wrong, own.schemas)


PLACES: tuple[tuple[Part, str], ...] = (("headers", "it's"), ("query", "q"), ("body", "/a"))
MATCHERS: tuple[Any, ...] = (
    "a",
    {"in": ["a", "b"]},
    {"in": ["a", 1]},
    {"exists": True},
    {"exists": False},
    {"absent": True},
    {"format": "date-time"},
    {"any": [{"absent": True}, {"format": "currency"}]},
    {"any": [{"absent": True}, {"regex": "^a"}]},
    {"any": [{"absent": True}, {"in": ["a"]}, {"in": ["b"]}]},
    {"prefix": "a", "not": {"in": ["ab"]}},
    {"regex": "a'\"\n"},
)


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize(
    "place", [RequestPart("headers", "it's"), RequestPart("query", "q"), RequestPart("body", "/a")]
)
@pytest.mark.parametrize("value", [None, "", "a", "ab", "b", "EUR", "1", "2026-11-21T09:00:00Z"])
def test_every_matcher_agrees(matcher: Any, place: RequestPart, value: str | None) -> None:
    own = bank("xs2a-1.84")
    requirement = Requirement((constrain(place, matcher, lambda name: lambda value: True),))
    headers = Headers([("It's", value)] if value is not None else [])
    body = b"{}" if value is None else to_json({"a": value})
    target = "/v1/x" if value is None else f"/v1/x?q={value}"

    assert list(differences(requirement, called(Request("POST", target, headers, body), {}), own.schemas)) == []


def test_texts_of_a_cassette_cannot_become_code() -> None:
    condition = Requirement(that=lambda scope: True, that_text="true\n    raise SystemExit # '\ud800")

    assert condition.is_met(called(Request("GET", "/v1/x"), {}), bank("xs2a-1.84").schemas)
    assert "\n    raise" not in RequirementSource(condition).text
