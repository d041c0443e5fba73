"""A session's rules in the control interface: add, list and delete, and their effects."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.admin import STATUS, TOKEN, Admin, governed, refused
from tests.support.doors import DEADLINE
from tests.support.engine_client import Client
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.control.rules import LONGEST, MOST

BUSY = {"id": "busy", "match": {"operation": "consent-status"}, "respond": {"status": 503}}
SLOW = "match: {operation: consent-status}\namend: {headers: {X-Slow: 'yes'}}\n"


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def add(admin: Admin, *rules: Any) -> Any:
    answer = admin.ask("POST", "rules", {"rules": list(rules)})
    assert answer.status == 201, answer.body
    return answer.json()


def test_rules_are_added_counted_and_deleted(admin: Admin) -> None:
    assert admin.get("rules") == {"added": []}
    for _ in range(2):  # so that an answer is cached
        assert admin.client.get(STATUS).status == 200
    added = add(admin, BUSY, SLOW)
    assert (added["id"], added["rules"][1], added["hits"]) == ("rules-1", SLOW, {"busy": 0, "added-1.2": 0})

    answer = admin.client.get(STATUS)

    assert (answer.status, answer.headers["x-sandbox-rule"], answer.headers["x-slow"]) == (503, "busy", "yes")
    assert admin.get("rules") == {"added": [{**added, "hits": {"busy": 1, "added-1.2": 1}}]}
    assert admin.named("other").client.get(STATUS).status == 200
    assert admin.named("other").get("rules") == {"added": []}
    assert admin.ask("DELETE", "rules/rules-1").status == 204
    assert admin.client.get(STATUS).status == 200
    add(admin, BUSY)
    assert admin.ask("DELETE", "rules").json() == {"deleted": 1}
    assert admin.client.get(STATUS).status == 200


def test_the_rule_added_last_wins_and_counts(admin: Admin) -> None:
    add(admin, BUSY)
    add(admin, {**BUSY, "respond": {"status": 502}})

    assert admin.client.get(STATUS).status == 502
    assert [one["hits"] for one in admin.get("rules")["added"]] == [{"busy": 0}, {"busy": 1}]
    admin.ask("DELETE", "rules/rules-2")
    assert admin.client.get(STATUS).status == 503


def test_an_own_path_is_found_behind_any_prefix(admin: Admin) -> None:
    add(
        admin,
        {"match": {"path": "/v1/own/{id}"}, "respond": {"body": {"is": "{{ path.id }}", "at": "{{ request.path }}"}}},
    )

    assert admin.client.get("/psd2/v1/own/7").json() == {"is": "7", "at": "/v1/own/7"}
    assert admin.get("rules")["added"][0]["hits"] == {"added-1": 1}


def test_explain_uses_added_rules_but_does_not_count_a_hit(admin: Admin) -> None:
    add(admin, BUSY)

    headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
    explained = admin.ask("POST", "explain", {"method": "GET", "url": STATUS, "headers": headers}).json()

    assert (explained["by"]["rule"], explained["by"]["place"]) == ("busy", "<rule 1>:1")
    assert admin.get("rules")["added"][0]["hits"] == {"busy": 0}


def test_a_fault_replaces_the_answer_of_an_added_rule(admin: Admin) -> None:
    add(admin, {**BUSY, "match": {"path": "/never"}}, {**BUSY, "id": "other"})
    admin.ask("POST", "faults", {"status": 500, "next": 1})

    assert admin.client.get(STATUS).status == 500
    assert admin.get("rules")["added"][0]["hits"] == {"busy": 0, "other": 0}


def test_a_request_that_a_requirement_refuses_does_not_count_as_a_hit(admin: Admin) -> None:
    add(admin, BUSY)

    assert admin.client.get(STATUS, headers={"X-Request-ID": "none"}).status == 400
    assert admin.get("rules")["added"][0]["hits"] == {"busy": 0}


def test_added_rules_survive_setting_the_clock_but_not_a_reset(admin: Admin) -> None:
    add(admin, BUSY)
    admin.ask("PUT", "clock", {"frozen": "2030-01-01T00:00"})
    assert admin.client.get(STATUS).status == 503
    admin.ask("POST", "reset", {})
    assert (admin.client.get(STATUS).status, admin.get("rules")) == (200, {"added": []})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "rules must be a list"),
        ({"rules": []}, "rules must be a list"),
        ({"rules": [7]}, "rules must be a list"),
        ({"rules": BUSY}, "rules must be a list"),
        ({"rules": ["[]"]}, "rules must contain at least one rule"),
        ({"rule": [BUSY]}, "unknown member 'rule' in the body; the members are rules"),
        ({"rules": [{**BUSY, "repond": {}}]}, "<rule 1>:9:3: error unknown-key"),
        ({"rules": [BUSY, "match: {operation: consent-staus}\nrespond: {}"]}, "<rule 2>:1:20: error unknown-operation"),
        ({"rules": ["match: ["]}, "<rule 1>:1:"),
        ({"rules": [BUSY, {**BUSY, "id": "busy-too"}]}, "error ambiguous"),
        ({"rules": [BUSY, {**BUSY, "match": {"path": "/a"}}]}, "error duplicate-id"),
        ({"rules": [{**BUSY, "respond": {"file": "pyproject.toml"}}]}, "`file` works only in cassettes on disk"),
        ({"rules": ["cassette: 1\nerrors: {}\nrules: []"]}, "<rule 1>:2:1: error behaviour: only rules can be added"),
        ({"rules": [{"match": {"path": "/a"}, "bank": True}]}, "error no-bank"),
    ],
)
def test_an_invalid_rule_is_refused_with_its_position(admin: Admin, body: Any, reason: str) -> None:
    assert reason in refused(admin.ask("POST", "rules", body), 400, "body-invalid")
    assert admin.get("rules") == {"added": []}


def test_unknown_added_rules_are_not_found(admin: Admin) -> None:
    assert "has no added rules with the id" in refused(admin.ask("DELETE", "rules/rules-9"), 404, "rules-unknown")


def paths(numbers: range) -> list[Any]:
    return [{"id": f"rule-{n}", "match": {"path": f"/{n}"}, "respond": {}} for n in numbers]


def test_the_number_of_added_rules_is_limited(admin: Admin) -> None:
    add(admin, *paths(range(MOST - 1)))
    before = admin.get("rules")

    many = admin.ask("POST", "rules", {"rules": paths(range(1000, 13_000))})
    message = refused(many, 409, "too-many-rules")
    assert "at most 500 added rules, and with these it would have 12,499" in message
    text = "".join(f"- {{id: text-{n}, match: {{path: /{n}}}, respond: {{}}}}\n" for n in (1000, 1001))
    refused(admin.ask("POST", "rules", {"rules": [text]}), 409, "too-many-rules")
    long = {"match": {"path": "/long"}, "respond": {"body": "x" * LONGEST}}
    message = refused(admin.ask("POST", "rules", {"rules": [long]}), 409, "too-many-rules")
    assert "262,144 characters" in message
    assert admin.get("rules") == before

    add(admin, *paths(range(1000, 1001)))
    refused(admin.ask("POST", "rules", {"rules": [BUSY]}), 409, "too-many-rules")
    assert admin.named("other").ask("POST", "rules", {"rules": [BUSY]}).status == 201
    assert admin.client.get("/1000").status == 200


def test_other_requests_are_answered_while_rules_are_compiled(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are compiled when they are added, and again for the first request that they apply to."""
    compile = layers.with_rules
    begun, may_end = threading.Semaphore(0), threading.Semaphore(0)

    def slow(*arguments: Any, **options: Any) -> Any:
        begun.release()
        assert may_end.acquire(timeout=DEADLINE)
        return compile(*arguments, **options)

    monkeypatch.setattr(layers, "with_rules", slow)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    rule = {"match": {"path": "/slow"}, "respond": {"status": 234}}

    async def others_are_answered(slow: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.create_task(slow)
        assert await asyncio.to_thread(begun.acquire, timeout=DEADLINE)
        for _ in range(3):
            assert (await admin.client.named("other").send("GET", STATUS)).status == 200
        assert not task.done()
        may_end.release(10)
        return await task

    async def main() -> None:
        add = admin.client.send("POST", "/_sandbox/rules", json={"rules": [rule]}, headers=headers)
        assert (await others_are_answered(add)).status == 201
        while may_end.acquire(blocking=False) or begun.acquire(blocking=False):
            pass
        assert (await others_are_answered(admin.client.send("GET", "/slow"))).status == 234

    asyncio.run(main())
