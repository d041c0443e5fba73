"""Breakpoints in the control interface: add, list and delete."""

from typing import Any

import pytest

from tests.support.admin import Admin, governed, refused
from tests.support.engine_client import Client
from xs2a_sandbox.control.breaks import MOST, read_edits
from xs2a_sandbox.engine.stack import Parts
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http.edits import Edits
from xs2a_sandbox.state import RemoteStore


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def test_breakpoints_are_added_listed_and_deleted(admin: Admin) -> None:
    assert admin.get("breaks") == {"breaks": []}
    added = admin.ask("POST", "breaks", {"operation": "consent-*"})
    admin.ask("POST", "breaks", {"does": "create payment", "on": "response", "next": 3, "timeout": "2m"})

    whole = {"id": "break-1", "on": "request", "next": 1, "timeout": "60s", "operation": "consent-*", "hits": 0}
    assert (added.status, added.json()) == (201, whole)
    assert [one["id"] for one in admin.get("breaks")["breaks"]] == ["break-1", "break-2"]
    assert admin.ask("DELETE", "breaks/break-1").status == 204
    assert admin.ask("DELETE", "breaks").json() == {"deleted": 1}
    assert admin.get("breaks") == {"breaks": []}
    assert admin.get("held") == {"held": []}


def test_breakpoints_stay_when_the_clock_is_set(admin: Admin) -> None:
    admin.ask("POST", "breaks", {"method": "GET"})
    admin.ask("POST", "clock", {"move": "1d"})
    assert len(admin.get("breaks")["breaks"]) == 1
    assert admin.named("other").get("breaks") == {"breaks": []}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"operation": "consent-staus"}, "unknown operation 'consent-staus'; did you mean consent-status?"),
        ({"does": "fly"}, "does: "),
        ({"method": "get"}, "unknown method 'get'"),
        ({"on": "both"}, "on must be request or response"),
        ({"next": 0}, "next must be a whole number from 1 to"),
        ({"next": True}, "next must be a whole number from 1 to"),
        ({"timeout": "301s"}, "timeout: 301s is too long: the maximum is 300s"),
        ({"timeout": "1h"}, "timeout: '1h' is not a duration"),
        ({"timeout": 30}, "timeout: '' is not a duration"),
        ({"timeout": "0s"}, "timeout must be longer than 0s"),
        ({"every": 3}, "unknown member 'every' in the body; the members are "),
    ],
)
def test_an_invalid_breakpoint_is_refused_with_the_reason(admin: Admin, body: Any, reason: str) -> None:
    assert reason in refused(admin.ask("POST", "breaks", body), 400, "body-invalid")
    assert admin.get("breaks") == {"breaks": []}


def test_an_unknown_breakpoint_or_held_message_is_not_found(admin: Admin) -> None:
    assert "has no breakpoint break-9" in refused(admin.ask("DELETE", "breaks/break-9"), 404, "break-unknown")
    text = refused(admin.ask("POST", "held/held-9", {"continue": True}), 404, "held-unknown")
    assert text.startswith("nothing with the id held-9 is held")


def test_the_number_of_breakpoints_is_limited(admin: Admin) -> None:
    for _ in range(MOST):
        assert admin.ask("POST", "breaks", {}).status == 201
    refused(admin.ask("POST", "breaks", {}), 409, "too-many-breaks")


def test_sandboxes_that_share_state_in_redis_have_no_breakpoints_for_a_real_bank(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xs2a_sandbox.control.api.RemoteStore", (RemoteStore, type(admin.client.engine.store)))
    monkeypatch.setattr(Parts, "may_be_personal", True)
    text = refused(admin.ask("POST", "breaks", {}), 409, "breaks-not-shared")
    assert "--state" in text


@pytest.mark.parametrize(
    ("body", "edits"),
    [
        ({"continue": True}, Edits()),
        ({"drop": True}, Edits(drop=True)),
        ({"status": 503}, Edits(status=503)),
        ({"headers": {"A": "1", "B": ["1", "2"], "C": None, "D": ""}},
         Edits(headers={"A": ("1",), "B": ("1", "2"), "C": (), "D": ("",)})),
        ({"body": "text"}, Edits(body=b"text")),
        ({"body": {"a": [1]}}, Edits(body=b'{"a":[1]}')),
        ({"body": None}, Edits(body=b"")),
    ],
)  # fmt: skip
def test_edits_are_read(body: Any, edits: Edits) -> None:
    assert read_edits(body) == edits


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "send {"),
        ({"continue": True, "drop": True}, "send {"),
        ({"drop": True, "status": 503}, "send {"),
        ({"continue": False}, "continue must be true"),
        ({"status": "503"}, "status must be a number from 200 to 599"),
        ({"status": 600}, "status must be a number from 200 to 599"),
        ({"headers": []}, "headers must be an object, not a list"),
        ({"headers": {"a b": "1"}}, "'a b' is not a header name"),
        ({"headers": {"A": 1}}, "the header A must be a string without line breaks"),
        ({"headers": {"A": "1\r\nB: 2"}}, "the header A must be a string without line breaks"),
        ({"headers": {"Content-Length": "1"}}, "the header Content-Length cannot be edited"),
    ],
)
def test_invalid_edits_are_refused_with_the_reason(body: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        read_edits(body)
