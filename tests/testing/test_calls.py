"""The journal in the pytest fixtures."""

import inspect
from typing import Any

import pytest

from xs2a_sandbox.features.pytest.calls import Calls
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.journal.assertions import FILTERS, Times
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.journal.log_line import LogEntry


@pytest.fixture
def calls() -> Calls:
    journal = Journal()
    for method, target in (("GET", "/v1/accounts"), ("POST", "/v1/consents"), ("GET", "/v1/accounts?a=b")):
        exchange = LogEntry("default", method, target, 200, 1.0, "handler", "op")
        journal.add(Request(method, target, Headers([("Consent-ID", "c")]), b'{"x": 1}'), Response(), exchange)
    return Calls(journal)


def test_the_last_call_of_an_empty_journal_is_an_error() -> None:
    with pytest.raises(LookupError, match="no request has reached"):
        Calls(Journal()).last  # noqa: B018


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({"method": "GET", "path": "/v1/accounts"}, [1, 3]),
        ({"path": "/v1/*", "times": 3}, [1, 2, 3]),
        ({"times": Times(2)}, [1, 2, 3]),
        ({"method": "GET", "times": Times(0, 2)}, [1, 3]),
        ({"query": {"a": "b"}, "times": 1}, [3]),
        ({"method": "POST", "body": {"x": 1}, "headers": {"consent-id": "c"}, "status": 200, "rule": "op"}, [2]),
        ({"source": "handler"}, [1, 2, 3]),
        ({"method": "PUT", "times": 0}, []),
    ],
)
def test_asserted_calls_are_returned(calls: Calls, given: dict[str, Any], numbers: list[int]) -> None:
    assert [call.number for call in calls.assert_called(**given)] == numbers


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"method": "PUT"}, "expected at least once: PUT any path\nfound never"),
        ({"method": "GET", "times": 1}, "expected once: GET any path\nfound twice"),
        ({"path": "/v1/x", "times": 2}, "expected twice: any method /v1/x\nfound never"),
        ({"status": 401}, "      the status is 200, not 401"),
    ],
)
def test_a_missing_call_is_an_assertion_error(calls: Calls, given: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError) as caught:
        calls.assert_called(**given)
    assert text in str(caught.value)


def test_a_call_can_be_asserted_not_to_have_happened(calls: Calls) -> None:
    calls.assert_not_called("DELETE")
    calls.assert_not_called("GET", "/v1/accounts", query={"a": "c"})
    with pytest.raises(AssertionError, match="expected never: GET"):
        calls.assert_not_called("GET")


def test_find_asserts_nothing(calls: Calls) -> None:
    assert [call.number for call in calls.find("GET", query={"a": "b"})] == [3]
    assert calls.find("PUT") == []


def test_every_filter_limits_the_calls() -> None:
    parameters = inspect.signature(Calls.assert_called).parameters.keys() - {"self", "times"}
    # A test has one session, and starts again with `clear`. Only the console uses pages and text search.
    assert parameters == {filter_.name for filter_ in FILTERS} - {"session", "since", "before", "text"}


def test_the_journal_can_be_cleared(calls: Calls) -> None:
    calls.clear()
    calls.assert_not_called()
    assert str(calls) == "  no request has reached the sandbox"
