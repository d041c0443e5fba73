"""Faults in every mode: their effects and reports, and that no bank sees them."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract import facts
from tests.state.test_snapshot import Far
from tests.support.admin import CONSENT, STATUS, Admin, governed
from tests.support.engine_client import Client
from tests.support.far_bank import FarBank, ok
from xs2a_sandbox.cassette.fault import PREFER
from xs2a_sandbox.config import settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.recording.har_log import raw_files
from xs2a_sandbox.state import MemoryStore

REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@pytest.fixture
def engine() -> Engine:
    return governed()


@pytest.fixture
def admin(engine: Engine) -> Admin:
    return Admin(Client(engine))


def prefer(admin: Admin, wish: str, path: str = STATUS) -> Any:
    return admin.client.get(path, headers={PREFER: wish})


def test_a_request_can_ask_for_its_fault(admin: Admin) -> None:
    answer = prefer(admin, "status=503")

    assert (answer.status, answer.body, answer.headers["x-sandbox-rule"]) == (503, b"", PREFER)
    assert admin.client.get(STATUS).status == 200


def test_an_error_is_answered_in_the_form_of_the_dialect(admin: Admin) -> None:
    answer = prefer(admin, "error=consent-expired")

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_EXPIRED")
    assert CONSENT in answer.error["text"]


def test_a_delay_keeps_the_answer(admin: Admin) -> None:
    late = prefer(admin, "delay=1ms")

    assert (late.status, late.headers["x-sandbox-rule"]) == (200, "consent-status")
    assert late.headers["x-sandbox-amended"] == PREFER


@pytest.mark.parametrize(("wish", "is_gone"), [("fault=reset", False), ("fault=reset, after=true", True)])
def test_a_connection_can_break_before_or_after_the_effect(
    admin: Admin, engine: Engine, wish: str, is_gone: bool
) -> None:
    admin.client.request("DELETE", f"/v1/consents/{CONSENT}", headers={PREFER: wish})

    assert engine.journal.entries()[-1].fault == "reset"
    assert (admin.status() != "valid") is is_gone


def test_a_rule_can_be_chosen_by_its_id(tmp_path: Path) -> None:
    rules = """
cassette: 1
rules:
  - {id: rare, match: {operation: consent-status, headers: {x-rare: "yes"}}, respond: {status: 200, body: {rare: 1}}}
  - {id: other, match: {operation: account-list, headers: {x-rare: "yes"}}, respond: {status: 204}}
  - {id: change, match: {operation: consent-status, headers: {x-rare: "yes"}}, amend: {headers: {x-new: "1"}}}
"""
    (tmp_path / "rules.yaml").write_text(rules)
    admin = Admin(Client(governed(layers=[[tmp_path]])))

    assert prefer(admin, "rule=rare").json() == {"rare": 1}
    assert prefer(admin, "rule=change").headers["x-new"] == "1"
    assert "the rule other is for account-list" in prefer(admin, "rule=other").error["text"]
    assert "did you mean rare?" in prefer(admin, "rule=rarer").error["text"]


def test_an_error_text_without_a_resource_has_no_gap(admin: Admin) -> None:
    answer = admin.client.get("/v1/accounts", headers={PREFER: "error=consent-expired"})
    assert answer.error["text"].endswith(" XS2A005E: consent expired")


def test_the_text_of_every_demanded_error_is_complete(admin: Admin) -> None:
    path, consent = f"/v1/accounts/{facts.covered()}/balances", facts.consent()
    for name in admin.client.engine.parts.banks.default.interface.errors:
        text = admin.client.get(path, consent=consent, headers={PREFER: f"error={name}"}).body.decode()
        assert "  " not in text, name
        assert not re.search(r'(: | is | until )"', text), f"{name}: {text}"
        assert consent in text or not name.startswith("consent"), name


def test_an_invalid_fault_in_a_request_is_refused_with_the_reason(admin: Admin) -> None:
    answer = prefer(admin, "error=consent-expird")

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert (
        f"the header {PREFER}: the bank has no error 'consent-expird'; did you mean consent-expired?"
        in (answer.error["text"])
    )


def test_a_setting_turns_the_header_off(tmp_path: Path) -> None:
    admin = Admin(Client(governed(prefer=False)))

    assert prefer(admin, "status=503").status == 200
    assert prefer(admin, "nonsense").status == 200


def test_a_fault_can_be_limited_to_the_next_requests(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "next": 2})

    assert [admin.client.get(STATUS).status for _ in range(3)] == [503, 503, 200]
    assert admin.client.get(f"/v1/consents/{CONSENT}").status == 200
    (fault,) = admin.get("faults")["faults"]
    assert (fault["id"], fault["seen"], fault["hits"]) == ("fault-1", 3, 2)


def test_the_operation_of_a_fault_can_be_a_pattern(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-*", "status": 503})

    assert admin.client.get(STATUS).status == 503
    assert admin.client.get("/v1/accounts", consent=CONSENT).status == 200


def test_a_fault_can_apply_to_every_nth_request(admin: Admin) -> None:
    admin.ask("POST", "faults", {"method": "GET", "status": 503, "every": 3})

    assert [admin.client.get(STATUS).status for _ in range(6)] == [200, 200, 503] * 2


def test_counted_answers_are_not_cached(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "every": 5})
    same = {"X-Request-ID": REQUEST_ID}

    assert [admin.client.get(STATUS, headers=same).status for _ in range(10)] == [200, 200, 200, 200, 503] * 2
    admin.ask("DELETE", "faults")
    assert [admin.client.get(STATUS, headers={**same, PREFER: "status=503"}).status for _ in range(4)] == [503] * 4
    assert {admin.client.get(STATUS, headers=same).status for _ in range(4)} == {200}


def test_a_refused_request_counts_too(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms", "next": 1})

    refused = [admin.client.get("/v1/consents/nobody/status") for _ in range(2)]

    assert [answer.headers.get("x-sandbox-amended") for answer in refused] == ["fault-1", None]
    assert {answer.status for answer in refused} == {403}


def test_faults_can_be_combined_with_each_other_and_with_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(
        "cassette: 1\nrules: [{id: new, match: {operation: consent-status}, amend: {headers: {x-new: '1'}}}]\n"
    )
    admin = Admin(Client(governed(layers=[[tmp_path]])))
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms"})

    answer = prefer(admin, "status=503")

    assert (answer.status, answer.headers["x-new"]) == (503, "1")
    assert answer.headers["x-sandbox-amended"] == "new, fault-1"


def test_faults_belong_to_a_session_and_are_reset_with_it(admin: Admin) -> None:
    other = admin.named("other")
    other.ask("POST", "faults", {"status": 503})
    other.ask("PUT", "clock", {"frozen": "2027-01-02T09:00"})

    assert admin.client.get(STATUS).status == 200
    assert other.client.get(STATUS).status == 503
    other.ask("POST", "reset")
    assert other.client.get(STATUS).status == 200


def test_explain_shows_faults_without_counting(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms", "next": 1})
    request = {"method": "GET", "url": STATUS, "headers": {"X-Request-ID": REQUEST_ID, PREFER: "error=consent-expired"}}

    for _ in range(2):
        explained = admin.ask("POST", "explain", request).json()
        assert explained["message"] == f"the rule {PREFER} answers"
        assert explained["answer"]["status"] == 401
        assert [one["rule"] for one in explained["amended"]] == ["fault-1"]
    assert admin.get("faults")["faults"][0]["seen"] == 0


# -- retried requests


class Busy(MemoryStore):
    """Loses the `lost`-th commit from now on to another writer."""

    lost = 0

    def commit(self, *what: Any) -> bool:
        self.lost -= 1
        return self.lost != 0 and super().commit(*what)


class BusyFar(Far):
    """The same, for a store with asynchronous access."""

    lost = 0

    async def commit(self, *what: Any) -> bool:
        self.lost -= 1
        return self.lost != 0 and await super().commit(*what)


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("store", [Busy, BusyFar])
def test_a_retried_request_counts_once(store: Any, lost: int) -> None:
    kept = store()
    admin = Admin(Client(governed(store=kept)))
    admin.ask("POST", "faults", {"operation": "delete-consent", "delay": "1ms", "next": 1})
    kept.lost = lost

    answer = admin.client.delete(f"/v1/consents/{CONSENT}")

    assert (answer.status, answer.headers.get("x-sandbox-amended")) == (204, "fault-1")
    (fault,) = admin.get("faults")["faults"]
    assert (fault["seen"], fault["hits"]) == (1, 1)
    assert admin.status() != "valid"


# -- with a real bank


@pytest.mark.parametrize(
    ("mode", "statuses", "calls"),
    [("simulate", (503, 400), 0), ("spy", (503, 400), 0), ("record", (200, 200), 2), ("compare", (400, 400), 2)],
)
def test_a_requested_fault_never_reaches_a_bank_or_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, statuses: tuple[int, ...], calls: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with FarBank(ok(), ok(), ok(), ok()) as bank:
        written = {"bank": bank.url, "mode": mode, "to": "tapes", "noise_reads": 0}
        (tmp_path / "xs2a-sandbox.yaml").write_text(yaml.safe_dump(written))
        engine = build.build(settings.load({"state": "memory:", "confdir": str(tmp_path / "conf")}, {}, tmp_path))
        answers = answers_to(engine, "status=503", "nonsense")
        assert len(bank.seen) == calls
        assert not any(b"prefer" in head.lower() for seen in bank.seen for head in [bytes(seen)])
    assert tuple(answer.status for answer in answers) == statuses
    retry_after = (f"{PREFER} has no effect in mode {mode}: requests to a bank are not changed",) if calls else ()
    assert all(entry.warnings[-1:] == retry_after for entry in engine.journal.entries())
    for file in raw_files(tmp_path / "tapes") if (tmp_path / "tapes").exists() else ():
        assert "prefer" not in file.read_text().lower()


def answers_to(engine: Engine, *wishes: str) -> list[Response]:
    async def work() -> list[Response]:
        try:
            return [
                await engine.answer(Request("GET", "/v1/accounts", Headers([(PREFER, wish)]), host="localhost"))
                for wish in wishes
            ]
        finally:
            await engine.close()

    return asyncio.run(work())


def test_adding_faults_needs_the_admin_token(engine: Engine) -> None:
    client = Client(engine)
    assert client.request("POST", "/_sandbox/faults", json={"status": 503}).status == 401
    assert client.get(STATUS).status == 200


def test_a_fault_can_skip_the_first_requests(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "skip": 2, "next": 1})

    assert [admin.client.get(STATUS).status for _ in range(4)] == [200, 200, 503, 200]


@pytest.mark.parametrize("wish", ["status=503, after=true", "error=busy, after=true"])
def test_the_bank_can_perform_the_request_and_answer_an_error(admin: Admin, wish: str) -> None:
    answer = admin.client.request("DELETE", f"/v1/consents/{CONSENT}", headers={PREFER: wish})

    assert answer.status == 503
    assert admin.status() != "valid"


@pytest.mark.parametrize(("wish", "retry_after"), [("retry_after=2", "2"), ("retry_after=none", None)])
def test_a_fault_controls_the_retry_after_header(admin: Admin, wish: str, retry_after: str | None) -> None:
    answer = prefer(admin, f"error=access-exceeded, {wish}")

    assert (answer.status, answer.headers.get("retry-after")) == (429, retry_after)


def test_the_content_of_an_answer_can_be_damaged(admin: Admin) -> None:
    listed = admin.client.get("/v1/accounts", consent=CONSENT, headers={PREFER: "fault=empty-lists"})

    assert listed.json()["accounts"] == []


def test_a_fault_that_changes_nothing_leaves_the_answer_with_a_warning(admin: Admin, engine: Engine) -> None:
    assert prefer(admin, "fault=empty-lists").status == 200
    assert "empty-lists changes nothing in this answer" in engine.journal.entries()[-1].warnings


@pytest.mark.parametrize(("after", "statuses"), [(False, ["expired", "expired"]), (True, ["valid", "expired"])])
def test_a_consent_can_expire_before_or_after_a_request(admin: Admin, after: bool, statuses: list[str]) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "expires": "consent", "after": after, "next": 1})

    assert [admin.status() for _ in statuses] == statuses


def test_a_consent_stays_expired_if_the_request_is_refused(admin: Admin) -> None:
    first = admin.client.get("/v1/accounts", consent=CONSENT, headers={PREFER: "expires=consent"})

    assert (first.status, first.error["code"]) == (401, "CONSENT_EXPIRED")
    assert admin.client.get("/v1/accounts", consent=CONSENT).status == 401


def test_a_fault_that_finds_nothing_to_expire_is_a_warning(admin: Admin, engine: Engine) -> None:
    assert prefer(admin, "expires=token").status == 200
    (warning,) = engine.journal.entries()[-1].warnings
    assert warning == f"the header {PREFER} changes nothing: the request has no token that is still valid"


def test_a_rule_of_another_operation_is_refused_when_the_fault_is_added(tmp_path: Path) -> None:
    rules = """
cassette: 1
rules:
  - {id: other, match: {operation: account-list, headers: {x-rare: "yes"}}, respond: {status: 204}}
  - {id: elsewhere, match: {path: /v1/else}, respond: {status: 204}}
"""
    (tmp_path / "rules.yaml").write_text(rules)
    admin = Admin(Client(governed(layers=[[tmp_path]])))

    answer = admin.ask("POST", "faults", {"operation": "consent-status", "rule": "other"})
    assert "the rule other is for account-list, not for consent-status" in answer.json()["message"]

    admin.ask("POST", "faults", {"rule": "elsewhere"})
    assert "the fault fault-1: the rule elsewhere is for another path" in admin.client.get(STATUS).error["text"]


def test_a_fault_whose_rule_is_gone_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(
        "cassette: 1\nrules:\n  - {id: gone, match: {operation: consent-status}, respond: {status: 204}}\n"
    )
    engine = governed(layers=[[tmp_path]])
    admin = Admin(Client(engine))
    admin.ask("POST", "faults", {"rule": "gone", "next": 1})
    engine.use(banks=governed().banks)

    assert admin.client.get(STATUS).status == 200
    assert [one["hits"] for one in admin.get("faults")["faults"]] == [0]
