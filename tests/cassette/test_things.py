"""Things that a request refers to, found by the definitions of the interface."""

import json
from typing import Any

import pytest

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cassette.things import Act, Naming, Place, SentMessage, Things
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.target import split_target

INDEX = Index(bundled_engine().interface)


@pytest.mark.parametrize(
    ("text", "reads", "about"),
    [
        ("create consent", False, {"consent"}),
        ("list entry of account", True, {"entry", "account"}),
        ("read state of payment", True, {"state", "payment"}),
        ("decide authorisation of cancellation", False, {"authorisation", "cancellation", "payment"}),
        ("end basket", False, {"basket"}),
    ],
)
def test_acts_are_parsed(text: str, reads: bool, about: set[str]) -> None:
    act = Act.parse(text)
    assert (str(act), act.reads, act.about) == (text, reads, about)


def sent(body: Any = None, target: str = "/x", path: dict[str, str] | None = None, **headers: str) -> SentMessage:
    content = b"" if body is None else json.dumps(body).encode()
    return SentMessage(Request("POST", target, Headers(headers.items()), content), path or {})


def test_ids_are_found_in_every_part_of_a_request() -> None:
    places = [Place("path", ("p",)), Place("query", ("q",)), Place("headers", ("h",)), Place("body", ("a", "b"))]
    naming = Naming("consent", tuple(places))

    request = sent({"a": {"b": "4"}}, "/x?q=2&q=5", {"p": "1"}, H="3")
    assert list(naming.ids(request)) == ["1", "2", "3", "4"]
    assert list(naming.ids(sent({"a": "b"}, "/x?q="))) == []
    assert list(naming.ids(SentMessage(Request("POST", "/", body=b"{"), {}))) == []
    assert Things({"consent": naming}).ids_beside_path(request) == ("2", "3", "4")
    assert Things({"consent": naming}).ids_beside_path(sent(H="x")) == ("", "x", "")


@pytest.mark.parametrize(
    ("method", "target", "about", "used"),
    [
        ("GET", "/v1/consents/c/status", "c", None),
        ("GET", "/v1/accounts", None, "h"),
        ("GET", "/v1/accounts/a/transactions", None, "h"),
        ("POST", "/v1/payments/sepa-credit-transfers", None, "h"),
        ("GET", "/nowhere", None, "h"),
    ],
)
def test_a_consent_that_is_only_used_is_distinguished(
    method: str, target: str, about: str | None, used: str | None
) -> None:
    lookup = INDEX.find(method, split_target(target).segments)
    request = SentMessage(Request(method, target, Headers([("Consent-ID", "h")])), lookup.parameters)
    things = default_things()

    assert next(things.ids_about(lookup, request, "consent"), None) == about
    assert things.find_used_consent(lookup, request) == used


def test_the_customer_is_identified_if_sent() -> None:
    assert default_things().has_customer(sent(**{"PSU-IP-Address": "192.0.2.1"}))
    assert not default_things().has_customer(sent(**{"PSU-ID": "anna"}))


def test_the_state_in_an_answer() -> None:
    naming = Naming("payment", answered=(Place("answer", ("data", "id")),), state=Place("answer", ("data", "is")))
    answer = {"data": {"id": "p", "is": "SENT"}}
    assert (naming.id_in(answer), naming.state_in(answer)) == ("p", "SENT")
    assert (naming.id_in([]), naming.state_in({"data": {"is": 1}})) == (None, None)
