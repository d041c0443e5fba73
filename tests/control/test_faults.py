"""Faults in the control interface: add, list and delete."""

from typing import Any

import pytest

from tests.support.admin import STATUS, Admin, governed, refused
from tests.support.engine_client import Client
from xs2a_sandbox.control.faults import MOST


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def test_faults_are_added_listed_and_deleted(admin: Admin) -> None:
    assert admin.get("faults") == {"faults": []}
    added = admin.ask("POST", "faults", {"operation": "consent-status", "fault": "reset", "next": 3})
    admin.ask("POST", "faults", {"delay": "2s", "method": "GET", "every": 5})

    assert (added.status, added.json()["id"]) == (201, "fault-1")
    assert [one["id"] for one in admin.get("faults")["faults"]] == ["fault-1", "fault-2"]
    assert admin.ask("DELETE", "faults/fault-1").status == 204
    assert admin.ask("DELETE", "faults").json() == {"deleted": 1}
    assert admin.get("faults") == {"faults": []}
    assert admin.client.get(STATUS).status == 200


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "it contains no fault"),
        ({"operation": "consent-status"}, "it contains no fault"),
        (
            {"operation": "consent-staus", "status": 503},
            "unknown operation 'consent-staus'; did you mean consent-status?",
        ),
        ({"operation": "x-*", "status": 503}, "unknown operation 'x-*'"),
        ({"operation": None, "status": 503}, "operation must be a string"),
        ({"method": "get", "status": 503}, "unknown method 'get'"),
        ({"error": "consent-expird"}, "no error 'consent-expird'; did you mean consent-expired?"),
        ({"rule": "nothing-like-it"}, "the bank has no rule 'nothing-like-it'"),
        ({"status": 503, "next": 0}, "next must be a whole number from 1 to"),
        ({"status": 503, "every": True}, "every must be a whole number from 1 to"),
        ({"status": 503, "times": 3}, "unknown member 'times' in the body; the members are "),
        ({"status": 503, "skip": -1}, "skip must be a whole number from 0 to"),
        ({"sca": "approve"}, "sca must be one of decline, timeout, error"),
        ({"sca": "decline", "operation": "consent-status"}, "sca cannot be combined with operation"),
        ({"payee": "nomatch"}, "payee must be one of match, close-match, no-match, not-possible"),
        (
            {"payee": "no-match", "status": 503},
            "payee cannot be combined with status: payee affects verifications of payees",
        ),
        ({"payee": "no-match", "sca": "decline"}, "payee cannot be combined with sca"),
        ({"status": 5003}, "5003"),
        ({"delay": "1y"}, "a duration such as 250ms"),
    ],
)
def test_an_invalid_fault_is_refused_with_the_reason(admin: Admin, body: Any, reason: str) -> None:
    assert reason in refused(admin.ask("POST", "faults", body), 400, "body-invalid")
    assert admin.get("faults") == {"faults": []}


def test_an_unknown_fault_is_not_found(admin: Admin) -> None:
    assert "has no fault fault-9" in refused(admin.ask("DELETE", "faults/fault-9"), 404, "fault-unknown")


def test_the_number_of_faults_is_limited(admin: Admin) -> None:
    for _ in range(MOST):
        assert admin.ask("POST", "faults", {"status": 503}).status == 201
    refused(admin.ask("POST", "faults", {"status": 503}), 409, "too-many-faults")


# -- faults for all sessions


def down(admin: Admin, **more: Any) -> str:
    answer = admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "sessions": "all", **more})
    assert answer.status == 201, answer.body
    return str(answer.json()["id"])


def statuses(admin: Admin, count: int) -> list[int]:
    return [admin.client.get(STATUS).status for _ in range(count)]


def test_a_fault_for_all_sessions_counts_separately_in_each_session(admin: Admin) -> None:
    other = admin.named("ci")
    assert statuses(other, 3) == [200, 200, 200]  # the last one is a cached answer
    assert down(admin, next=2) == "fault-all-1"
    for one in (admin, other, admin.named("later")):
        assert statuses(one, 3) == [503, 503, 200]
    (listed,) = other.get("faults")["faults"]
    assert listed == {
        "id": "fault-all-1",
        "operation": "consent-status",
        "status": 503,
        "sessions": "all",
        "next": 2,
        "seen": 3,
        "hits": 2,
    }
    assert admin.named("new").get("faults")["faults"][0]["seen"] == 0


def test_a_fault_for_all_sessions_is_deleted_from_any_session(admin: Admin) -> None:
    id = down(admin)
    assert admin.named("ci").ask("DELETE", f"faults/{id}").status == 204
    assert statuses(admin, 2) == [200, 200]
    assert down(admin) == "fault-all-2"
    assert admin.ask("DELETE", "faults").json() == {"deleted": 0}
    assert statuses(admin, 1) == [503]
    assert admin.named("ci").ask("DELETE", "faults?sessions=all").json() == {"deleted": 1}
    assert admin.ask("DELETE", "faults?sessions=all").json() == {"deleted": 0}
    assert statuses(admin, 2) == [200, 200]


def test_a_session_keeps_its_own_faults_next_to_the_faults_for_all(admin: Admin) -> None:
    down(admin, next=1)
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 429, "skip": 1})
    assert [one["id"] for one in admin.get("faults")["faults"]] == ["fault-1", "fault-all-1"]
    assert statuses(admin, 2) == [503, 429]
    admin.ask("PUT", "clock", {"frozen": "2026-11-21T10:00:00+01:00"})
    assert [one["seen"] for one in admin.get("faults")["faults"]] == [2, 2]
    assert admin.ask("DELETE", "faults").json() == {"deleted": 1}
    assert [(one["id"], one["seen"]) for one in admin.get("faults")["faults"]] == [("fault-all-1", 2)]
    assert [one["id"] for one in admin.named("ci").get("faults")["faults"]] == ["fault-all-1"]


def test_a_reset_restarts_the_counts_and_a_reset_of_all_deletes_the_fault(admin: Admin) -> None:
    down(admin, next=1)
    assert statuses(admin, 2) == [503, 200]
    admin.ask("POST", "reset")
    assert statuses(admin, 2) == [503, 200]
    assert [one["id"] for one in admin.get("sessions")["sessions"]] == ["default"]
    admin.ask("POST", "reset", {"all": True})
    assert admin.get("faults") == {"faults": []}
    assert statuses(admin, 2) == [200, 200]


@pytest.mark.parametrize("sessions", ["ci", "*", None, ["all"]])
def test_sessions_must_be_all_or_absent(admin: Admin, sessions: Any) -> None:
    answer = admin.ask("POST", "faults", {"status": 503, "sessions": sessions})
    assert 'sessions must be "all"' in refused(answer, 400, "body-invalid")


def test_an_invalid_query_for_deleting_faults_is_refused(admin: Admin) -> None:
    assert "sessions=all" in refused(admin.ask("DELETE", "faults?sessions=ci"), 400, "query-invalid")
    assert "the only one is sessions" in refused(admin.ask("DELETE", "faults?session=ci"), 400, "query-invalid")


def test_the_number_of_faults_for_all_sessions_is_limited(admin: Admin) -> None:
    for _ in range(MOST):
        down(admin)
    answer = admin.ask("POST", "faults", {"status": 503, "sessions": "all"})
    assert f"all sessions together can have at most {MOST} faults" in refused(answer, 409, "too-many-faults")
    assert admin.ask("POST", "faults", {"status": 503}).status == 201
