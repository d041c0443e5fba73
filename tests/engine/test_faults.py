"""Faults on demand, in every mode: what goes wrong, what is told of it, and what no bank sees."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def test_a_request_says_what_goes_wrong_with_it(admin: Admin) -> None:
    answer = prefer(admin, "status=503")

    assert (answer.status, answer.body, answer.headers["x-sandbox-rule"]) == (503, b"", PREFER)
    assert admin.client.get(STATUS).status == 200


def test_an_error_is_said_in_the_dialects_words(admin: Admin) -> None:
    answer = prefer(admin, "error=consent-expired")

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_EXPIRED")
    assert CONSENT in answer.error["text"]


def test_a_delay_leaves_the_answer_to_the_bank(admin: Admin) -> None:
    late = prefer(admin, "delay=1ms")

    assert (late.status, late.headers["x-sandbox-rule"]) == (200, "consent-status")
    assert late.headers["x-sandbox-amended"] == PREFER


@pytest.mark.parametrize(("wish", "is_gone"), [("fault=reset", False), ("fault=reset, after=true", True)])
def test_a_connection_breaks_before_the_effect_or_after_it(
    admin: Admin, engine: Engine, wish: str, is_gone: bool
) -> None:
    admin.client.request("DELETE", f"/v1/consents/{CONSENT}", headers={PREFER: wish})

    assert engine.journal.entries()[-1].fault == "reset"
    assert (admin.status() != "valid") is is_gone


def test_a_rule_answers_by_its_id(tmp_path: Path) -> None:
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


def test_an_error_about_nothing_that_was_named_has_no_gap_in_its_text(admin: Admin) -> None:
    answer = admin.client.get("/v1/accounts", headers={PREFER: "error=consent-expired"})
    assert answer.error["text"].endswith(" XS2A005E: consent expired")


def test_a_wish_that_cannot_be_is_a_clear_error(admin: Admin) -> None:
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


def test_the_next_ones_go_wrong_and_then_no_more(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "next": 2})

    assert [admin.client.get(STATUS).status for _ in range(3)] == [503, 503, 200]
    assert admin.client.get(f"/v1/consents/{CONSENT}").status == 200
    (fault,) = admin.get("faults")["faults"]
    assert (fault["id"], fault["seen"], fault["hits"]) == ("fault-1", 3, 2)


def test_an_operation_may_be_named_in_part(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-*", "status": 503})

    assert admin.client.get(STATUS).status == 503
    assert admin.client.get("/v1/accounts", consent=CONSENT).status == 200


def test_every_so_many_th_goes_wrong(admin: Admin) -> None:
    admin.ask("POST", "faults", {"method": "GET", "status": 503, "every": 3})

    assert [admin.client.get(STATUS).status for _ in range(6)] == [200, 200, 503] * 2


def test_no_answer_is_kept_of_what_is_counted(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "every": 5})
    same = {"X-Request-ID": REQUEST_ID}

    assert [admin.client.get(STATUS, headers=same).status for _ in range(10)] == [200, 200, 200, 200, 503] * 2
    admin.ask("DELETE", "faults")
    assert [admin.client.get(STATUS, headers={**same, PREFER: "status=503"}).status for _ in range(4)] == [503] * 4
    assert {admin.client.get(STATUS, headers=same).status for _ in range(4)} == {200}


def test_a_refused_request_is_counted_too(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms", "next": 1})

    refused = [admin.client.get("/v1/consents/nobody/status") for _ in range(2)]

    assert [answer.headers.get("x-sandbox-amended") for answer in refused] == ["fault-1", None]
    assert {answer.status for answer in refused} == {403}


def test_faults_compose_with_each_other_and_with_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(
        "cassette: 1\nrules: [{id: new, match: {operation: consent-status}, amend: {headers: {x-new: '1'}}}]\n"
    )
    admin = Admin(Client(governed(layers=[[tmp_path]])))
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms"})

    answer = prefer(admin, "status=503")

    assert (answer.status, answer.headers["x-new"]) == (503, "1")
    assert answer.headers["x-sandbox-amended"] == "new, fault-1"


def test_faults_are_a_sessions_own_and_go_with_it(admin: Admin) -> None:
    other = admin.named("other")
    other.ask("POST", "faults", {"status": 503})
    other.ask("PUT", "clock", {"frozen": "2027-01-02T09:00"})

    assert admin.client.get(STATUS).status == 200
    assert other.client.get(STATUS).status == 503
    other.ask("POST", "reset")
    assert other.client.get(STATUS).status == 200


def test_explain_says_so_and_counts_nothing(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "delay": "1ms", "next": 1})
    request = {"method": "GET", "url": STATUS, "headers": {"X-Request-ID": REQUEST_ID, PREFER: "error=consent-expired"}}

    for _ in range(2):
        explained = admin.ask("POST", "explain", request).json()
        assert explained["message"] == f"the rule {PREFER} answers"
        assert explained["answer"]["status"] == 401
        assert [one["rule"] for one in explained["amended"]] == ["fault-1"]
    assert admin.get("faults")["faults"][0]["seen"] == 0


# -- where a request is tried again


class Busy(MemoryStore):
    """Loses the `lost`-th commit from now on to somebody quicker."""

    lost = 0

    def commit(self, *what: Any) -> bool:
        self.lost -= 1
        return self.lost != 0 and super().commit(*what)


class BusyFar(Far):
    """The same, of a store that has to be waited for."""

    lost = 0

    async def commit(self, *what: Any) -> bool:
        self.lost -= 1
        return self.lost != 0 and await super().commit(*what)


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("store", [Busy, BusyFar])
def test_a_request_that_is_tried_again_is_counted_once(store: Any, lost: int) -> None:
    kept = store()
    admin = Admin(Client(governed(store=kept)))
    admin.ask("POST", "faults", {"operation": "delete-consent", "delay": "1ms", "next": 1})
    kept.lost = lost

    answer = admin.client.delete(f"/v1/consents/{CONSENT}")

    assert (answer.status, answer.headers.get("x-sandbox-amended")) == (204, "fault-1")
    (fault,) = admin.get("faults")["faults"]
    assert (fault["seen"], fault["hits"]) == (1, 1)
    assert admin.status() != "valid"


# -- beside a real bank


@pytest.mark.parametrize(
    ("mode", "statuses", "calls"),
    [("simulate", (503, 400), 0), ("spy", (503, 400), 0), ("record", (200, 200), 2), ("compare", (400, 400), 2)],
)
def test_a_wish_never_reaches_a_bank_nor_a_recording(
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
    told = (f"{PREFER} means nothing in mode {mode}: what goes to a bank is left as it is",) if calls else ()
    assert all(entry.warnings[-1:] == told for entry in engine.journal.entries())
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


def test_nobody_without_the_token_adds_faults(engine: Engine) -> None:
    client = Client(engine)
    assert client.request("POST", "/_sandbox/faults", json={"status": 503}).status == 401
    assert client.get(STATUS).status == 200


def test_some_go_well_first(admin: Admin) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "status": 503, "skip": 2, "next": 1})

    assert [admin.client.get(STATUS).status for _ in range(4)] == [200, 200, 503, 200]


@pytest.mark.parametrize("wish", ["status=503, after=true", "error=busy, after=true"])
def test_the_bank_may_do_it_and_answer_an_error(admin: Admin, wish: str) -> None:
    answer = admin.client.request("DELETE", f"/v1/consents/{CONSENT}", headers={PREFER: wish})

    assert answer.status == 503
    assert admin.status() != "valid"


@pytest.mark.parametrize(("wish", "told"), [("retry_after=2", "2"), ("retry_after=none", None)])
def test_it_says_how_long_to_wait_or_not(admin: Admin, wish: str, told: str | None) -> None:
    answer = prefer(admin, f"error=access-exceeded, {wish}")

    assert (answer.status, answer.headers.get("retry-after")) == (429, told)


def test_the_content_of_an_answer_is_spoiled(admin: Admin) -> None:
    listed = admin.client.get("/v1/accounts", consent=CONSENT, headers={PREFER: "fault=empty-lists"})

    assert listed.json()["accounts"] == []


def test_what_cannot_be_spoiled_is_left_and_warned_of(admin: Admin, engine: Engine) -> None:
    assert prefer(admin, "fault=empty-lists").status == 200
    assert "empty-lists changes nothing of this answer" in engine.journal.entries()[-1].warnings


@pytest.mark.parametrize(("after", "statuses"), [(False, ["expired", "expired"]), (True, ["valid", "expired"])])
def test_a_consent_expires_before_a_request_or_after_it(admin: Admin, after: bool, statuses: list[str]) -> None:
    admin.ask("POST", "faults", {"operation": "consent-status", "expires": "consent", "after": after, "next": 1})

    assert [admin.status() for _ in statuses] == statuses


def test_a_consent_stays_expired_where_that_refuses_the_request(admin: Admin) -> None:
    first = admin.client.get("/v1/accounts", consent=CONSENT, headers={PREFER: "expires=consent"})

    assert (first.status, first.error["code"]) == (401, "CONSENT_EXPIRED")
    assert admin.client.get("/v1/accounts", consent=CONSENT).status == 401


def test_where_nothing_can_expire_is_warned_of(admin: Admin, engine: Engine) -> None:
    assert prefer(admin, "expires=token").status == 200
    (warning,) = engine.journal.entries()[-1].warnings
    assert warning == f"the header {PREFER} changes nothing: the request names no token that is still good"


def test_a_rule_of_another_operation_is_refused_when_it_is_told(tmp_path: Path) -> None:
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


def test_what_is_gone_from_the_bank_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(
        "cassette: 1\nrules:\n  - {id: gone, match: {operation: consent-status}, respond: {status: 204}}\n"
    )
    engine = governed(layers=[[tmp_path]])
    admin = Admin(Client(engine))
    admin.ask("POST", "faults", {"rule": "gone", "next": 1})
    engine.use(banks=governed().banks)

    assert admin.client.get(STATUS).status == 200
    assert [one["hits"] for one in admin.get("faults")["faults"]] == [0]
