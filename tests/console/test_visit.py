"""A visit asks the sandbox in its session, and leads to pages of it."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.console.browser import BASE, TOKEN
from xs2a_sandbox.config import Settings
from xs2a_sandbox.console.visit import ConsoleVisit, ShownSandbox, wrong_field
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http import Headers, Request, Response


class Answering(ShownSandbox):
    """A sandbox with one answer for all requests, which it keeps."""

    guard: Any = SimpleNamespace(token=TOKEN)

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def control(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answer


def a_visit(answer: Response, session: str = "ci", method: str = "GET") -> tuple[ConsoleVisit, Answering]:
    sandbox = Answering(answer)
    request = Request(method, "/_sandbox/console/bank", Headers([]))
    return ConsoleVisit(request, session, ("bank",), {}, {}, sandbox, Settings(), BASE), sandbox


def test_it_asks_in_its_session_as_who_holds_the_token() -> None:
    visit, sandbox = a_visit(Response(200, (), b'{"payments": {}}'))
    assert asyncio.run(visit.ask("POST", "state/payments/p", {"event": "settled"})) == {"payments": {}}
    (request,) = sandbox.requests
    assert (request.method, request.target) == ("POST", "/_sandbox/state/payments/p")
    assert request.headers.get("Authorization") == f"Bearer {TOKEN}"
    assert request.headers.get("X-Sandbox-Session") == "ci"
    assert json.loads(request.body) == {"event": "settled"}


def test_an_answer_without_a_body_is_nothing() -> None:
    visit, sandbox = a_visit(Response(204, ()))
    assert asyncio.run(visit.ask("DELETE", "faults")) is None
    assert sandbox.requests[0].body == b""


def test_what_the_sandbox_refuses_is_refused() -> None:
    visit, _ = a_visit(Response(409, (), b'{"error": "event-invalid", "message": "it cannot happen to it"}'))
    with pytest.raises(Refused, match="it cannot happen to it") as refused:
        asyncio.run(visit.ask("POST", "state/payments/p"))
    assert refused.value.status == 409


@pytest.mark.parametrize(("session", "prefix"), [("default", "/_sandbox"), ("ci", "/_sandbox/s/ci")])
def test_it_leads_to_pages_of_its_session(session: str, prefix: str) -> None:
    visit, _ = a_visit(Response(200, ()), session)
    answer = visit.go("bank/payments/p")
    assert (answer.status, dict(answer.headers)["Location"]) == (303, f"{prefix}/console/bank/payments/p")


@pytest.mark.parametrize(("method", "is_sent"), [("GET", False), ("POST", True), ("HEAD", False)])
def test_a_form_is_sent_by_post_alone(method: str, is_sent: bool) -> None:
    assert a_visit(Response(200, ()), method=method)[0].is_sent is is_sent


@pytest.mark.parametrize(
    ("problem", "sent", "field"),
    [
        ("status must be a whole number", {}, "status"),
        ("next: 0 is less than 1", {"status": "0"}, "next"),
        ("there is no operation 'acount-list'", {"rule": "acount-list"}, "operation"),
        ("there is no 'acount-list', is it account-list?", {"rule": "acount-list"}, "rule"),
        ("something else is wrong", {"rule": "", "status": "503"}, ""),
        ("", {"rule": "x"}, ""),
    ],
)
def test_a_refusal_is_about_the_field_that_it_names_or_quotes(problem: str, sent: dict[str, str], field: str) -> None:
    assert wrong_field(problem, ("operation", "status", "rule", "next"), sent) == field
