"""Faults as the control interface takes, lists and forgets them."""

from typing import Any

import pytest

from tests.support.admin import STATUS, Admin, governed, refused
from tests.support.engine_client import Client
from xs2a_sandbox.control.faults import MOST


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def test_they_are_added_listed_and_forgotten(admin: Admin) -> None:
    assert admin.get("faults") == {"faults": []}
    added = admin.ask("POST", "faults", {"operation": "consent-status", "fault": "reset", "next": 3})
    admin.ask("POST", "faults", {"delay": "2s", "method": "GET", "every": 5})

    assert (added.status, added.json()["id"]) == (201, "fault-1")
    assert [one["id"] for one in admin.get("faults")["faults"]] == ["fault-1", "fault-2"]
    assert admin.ask("DELETE", "faults/fault-1").status == 204
    assert admin.ask("DELETE", "faults").json() == {"forgotten": 1}
    assert admin.get("faults") == {"faults": []}
    assert admin.client.get(STATUS).status == 200


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "it names no fault"),
        ({"operation": "consent-status"}, "it names no fault"),
        ({"operation": "consent-staus", "status": 503}, "no operation 'consent-staus'; did you mean consent-status?"),
        ({"operation": "x-*", "status": 503}, "there is no operation 'x-*'"),
        ({"operation": None, "status": 503}, "there is no operation"),
        ({"method": "get", "status": 503}, "there is no method 'get'"),
        ({"error": "consent-expird"}, "no error 'consent-expird'; did you mean consent-expired?"),
        ({"rule": "nothing-like-it"}, "the bank has no rule 'nothing-like-it'"),
        ({"status": 503, "next": 0}, "next must be a whole number from 1 to"),
        ({"status": 503, "every": True}, "every must be a whole number from 1 to"),
        ({"status": 503, "times": 3}, "the body has a member 'times'; known here: "),
        ({"status": 503, "skip": -1}, "skip must be a whole number from 0 to"),
        ({"sca": "approve"}, "sca must be one of decline, timeout, error"),
        ({"sca": "decline", "operation": "consent-status"}, "sca and operation exclude each other"),
        ({"status": 5003}, "5003"),
        ({"delay": "1y"}, "a duration such as 250ms"),
    ],
)
def test_what_cannot_be_is_told(admin: Admin, body: Any, told: str) -> None:
    assert told in refused(admin.ask("POST", "faults", body), 400, "body-invalid")
    assert admin.get("faults") == {"faults": []}


def test_one_that_is_not_there(admin: Admin) -> None:
    assert "has no fault fault-9" in refused(admin.ask("DELETE", "faults/fault-9"), 404, "fault-unknown")


def test_there_is_an_end_to_them(admin: Admin) -> None:
    for _ in range(MOST):
        assert admin.ask("POST", "faults", {"status": 503}).status == 201
    refused(admin.ask("POST", "faults", {"status": 503}), 409, "too-many-faults")
