"""Callbacks are sent after the change, in order, again until they are accepted, and after a restart."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.callbacks.asking import LAYER, ServedSession
from tests.support.admin import CONSENT, DATA
from tests.support.doors import wait_until
from tests.support.listener import Listener
from tests.support.redis_server import RedisServer, needs_redis
from tests.support.serving import Serving, served


@contextmanager
def serving(directory: Path, *flags: str, layer: Any = LAYER) -> Iterator[Serving]:
    directory.mkdir(exist_ok=True)
    cassettes = directory / "own"
    cassettes.mkdir(exist_ok=True)
    (cassettes / "callbacks.yaml").write_text(json.dumps(layer))
    with served(directory, "--cassettes", str(cassettes), *flags) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


def test_a_new_status_is_sent_once_and_is_in_the_journal(bank: ServedSession, app: Listener) -> None:
    id = bank.consent(app.url)
    bank.happen(id, "refused")
    (sent,) = app.wait_for(1)
    assert (sent.method, sent.path) == ("POST", "/notify")
    assert sent.json() == {"id": id, "was": "received", "consentStatus": "rejected"}
    assert sent.headers["content-type"] == "application/json"
    (callback,) = bank.wait_for_state("delivered")
    assert (callback["answer"], callback["tries"], callback["next"]) == ("202", 1, None)
    assert callback["cause"]["path"] == f"/_sandbox/state/consents/{id}"
    (entry,) = bank.control("GET", "journal?source=app")["exchanges"]
    assert (entry["status"], entry["rule"], entry["source"]) == (202, "consent", "app")
    assert entry["cause"] == f"POST /_sandbox/state/consents/{id}"
    whole = bank.control("GET", f"journal/{entry['number']}")
    assert whole["origin"] + whole["target"] == app.url
    assert whole["request"]["body"]["consentStatus"] == "rejected"
    assert app.connections == 1


def test_nothing_is_sent_without_an_address_or_a_new_status(bank: ServedSession, app: Listener) -> None:
    silent, id = bank.consent(None), bank.consent(app.url)
    bank.happen(silent, "refused")
    bank.consent(app.url, id)  # the same status again
    bank.happen(id, "authorised by some")
    assert [sent.json()["id"] for sent in app.wait_for(1)] == [id]
    assert [one["state"] for one in bank.wait_for_state("delivered")] == ["delivered"]


def test_an_exchange_of_the_app_is_named_as_the_cause(bank: ServedSession, app: Listener) -> None:
    id = bank.consent(app.url)
    bank.happen(id, "authorised by some")
    app.wait_for(1)
    status, _, _ = bank.ask("DELETE", f"/v1/consents/{id}")
    assert status < 300
    bank.happen(bank.consent(app.url), "refused")
    app.wait_for(2)
    # A deleted consent has no status.
    assert [sent.json()["consentStatus"] for sent in app.received] == ["partiallyAuthorised", "rejected"]


def test_a_callback_that_is_not_accepted_holds_back_those_behind_it(bank: ServedSession, app: Listener) -> None:
    app.answers += [500]
    id, other = bank.consent(app.url), bank.consent(app.url)
    bank.happen(id, "authorised by some")
    wait_until(lambda: bank.callbacks()[0]["tries"] == 1)
    bank.happen(id, "refused")
    bank.happen(other, "refused")
    bank.wait_for_state("delivered")  # the other resource does not wait
    assert [sent.json()["id"] for sent in app.received] == [id, other]
    bank.control("POST", "clock", {"move": 60})
    bank.wait_for_state("delivered", 3)
    statuses = [sent.json()["consentStatus"] for sent in app.received if sent.json()["id"] == id]
    assert statuses == ["partiallyAuthorised", "partiallyAuthorised", "rejected"]


def test_a_frozen_clock_holds_retries_and_a_moved_one_makes_them_due(bank: ServedSession, app: Listener) -> None:
    bank.control("PUT", "clock", {"frozen": "2026-11-21T09:00:00+01:00"})
    app.answers += [500, 500, 500]
    id = bank.consent(app.url)
    bank.happen(id, "refused")
    (callback,) = bank.wait_for_state("waiting")
    wait_until(lambda: bank.callbacks()[0]["tries"] == 1)
    assert bank.callbacks()[0]["next"] == "2026-11-21T09:01:00+01:00"
    bank.control("POST", "clock", {"move": 59})
    bank.control("POST", "clock", {"move": 1})
    wait_until(lambda: bank.callbacks()[0]["tries"] == 2)
    # Three times 60 s is more than the longest wait.
    assert bank.callbacks()[0]["next"] == "2026-11-21T09:03:00+01:00"
    bank.control("POST", "clock", {"move": "2m"})
    (callback,) = bank.wait_for_state("failed")
    assert (callback["tries"], callback["answer"]) == (3, "500")
    assert len(app.received) == 3
    again = bank.control("POST", f"callbacks/{callback['id']}/resend")
    assert again["state"] == "waiting"
    bank.wait_for_state("delivered")
    assert len(app.received) == 4


def test_an_event_at_its_time_is_sent_without_a_request(bank: ServedSession, app: Listener) -> None:
    id = bank.consent(app.url)
    bank.control("POST", "clock", {"move": -5})  # a session whose clock differs
    now = bank.control("GET", "due")
    assert now["due"] is not None
    document = bank.control("GET", f"state/consents/{id}")
    today = bank.control("GET", "clock")["today"]
    bank.control("PUT", f"state/consents/{id}", {**document, "valid_until": today})
    (event,) = [one for one in bank.control("GET", "due")["due"] if one["id"] == id]
    bank.control("PUT", "clock", {"shift": _shift_to(bank, event["at"], before=2)})
    (sent,) = app.wait_for(1)
    assert sent.json() == {"id": id, "was": "received", "consentStatus": "expired"}
    assert bank.wait_for_state("delivered")[0]["cause"] == {"event": True}


def _shift_to(bank: ServedSession, at: str, before: int) -> int:
    """Return the shift of the clock that leaves this many seconds until then."""
    clock = bank.control("GET", "clock")
    ahead = datetime.fromisoformat(at) - datetime.fromisoformat(clock["now"])
    return int(clock["shift"] + ahead.total_seconds()) - before


def test_the_callback_is_sent_after_the_answer(bank: ServedSession, app: Listener) -> None:
    app.open.clear()
    id = bank.consent(app.url)
    bank.happen(id, "refused")  # the answer does not wait for the app
    assert bank.control("GET", f"state/consents/{id}")["status"] == "rejected"
    app.wait_for(1)
    assert bank.callbacks()[0]["state"] == "waiting"
    app.open.set()
    bank.wait_for_state("delivered")


def test_an_app_that_does_not_listen_is_tried_again(bank: ServedSession) -> None:
    with Listener() as gone:
        pass
    bank.happen(bank.consent(gone.url), "refused")
    wait_until(lambda: bank.callbacks()[0]["tries"] == 1)
    assert "connection refused" in bank.callbacks()[0]["answer"]
    with Listener(gone.port) as back:
        bank.control("POST", "clock", {"move": "1h"})
        back.wait_for(1)
        bank.wait_for_state("delivered")


def test_an_unknown_callback_is_not_sent_again(bank: ServedSession) -> None:
    status, _, body = bank.ask(
        "POST", "/_sandbox/callbacks/consents.none.1/resend", Authorization=f"Bearer {bank.serving.token}"
    )
    assert (status, body["error"]) == (404, "callback-unknown")


def test_a_callback_in_the_journal_is_not_a_request_to_the_bank(bank: ServedSession, app: Listener) -> None:
    bank.happen(bank.consent(app.url), "refused")
    bank.wait_for_state("delivered")
    (entry,) = bank.control("GET", "journal?source=app")["exchanges"]
    status, _, body = bank.ask(
        "POST", f"/_sandbox/journal/{entry['number']}/send", Authorization=f"Bearer {bank.serving.token}"
    )
    assert (status, body["error"]) == (409, "exchange-callback")
    status, _, body = bank.ask(
        "GET", f"/_sandbox/journal/{entry['number']}/explain", Authorization=f"Bearer {bank.serving.token}"
    )
    assert (status, entry["cause"] in body["message"]) == (409, True)


def test_an_address_of_the_test_data_is_not_registered(tmp_path: Path, app: Listener) -> None:
    data = tmp_path / "data.yaml"
    data.write_text(
        json.dumps({"testdata": 2, "consents": {CONSENT: {**DATA["consents"][CONSENT], "notify": app.url}}})
    )
    with serving(tmp_path / "served", "--testdata", str(data)) as sandbox:
        bank = ServedSession(sandbox)
        bank.happen(CONSENT, "withdrawn by the customer")
        id = bank.consent(app.url)
        bank.happen(id, "refused")
        assert [sent.json()["id"] for sent in app.wait_for(1)] == [id]
        assert len(bank.callbacks()) == 1


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("redis", marks=needs_redis)])
def test_waiting_callbacks_of_all_sessions_are_sent_after_a_restart(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        if kind == "redis":
            server = stack.enter_context(_redis(tmp_path))
            state = server.url
        else:
            state = f"sqlite:{tmp_path / 'state.db'}"
        with Listener() as gone:
            pass
        with serving(tmp_path / "one", "--state", state) as sandbox:
            sessions = [ServedSession(sandbox).session for _ in range(3)]
            for session in sessions:
                bank = ServedSession(sandbox, session)
                id = bank.consent(gone.url)
                bank.happen(id, "authorised by some")
                bank.happen(id, "refused")
                wait_until(lambda bank=bank: bank.callbacks()[0]["tries"] == 1)  # type: ignore[misc]
                bank.control("POST", "clock", {"move": 55})
        back = stack.enter_context(Listener(gone.port))
        with serving(tmp_path / "one", "--state", state):
            received = back.wait_for(6)
    for session in sessions:
        assert session
    by_id: dict[str, list[str]] = {}
    for sent in received:
        by_id.setdefault(sent.json()["id"], []).append(sent.json()["consentStatus"])
    assert list(by_id.values()) == [["partiallyAuthorised", "rejected"]] * 3


@contextmanager
def _redis(directory: Path) -> Iterator[RedisServer]:
    server = RedisServer(directory)
    try:
        yield server
    finally:
        server.kill()


@needs_redis
def test_of_several_sandboxes_with_one_state_only_one_sends(tmp_path: Path, app: Listener) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(_redis(tmp_path))
        first = stack.enter_context(serving(tmp_path / "one", "--state", server.url))
        second = stack.enter_context(serving(tmp_path / "two", "--state", server.url))
        banks = [ServedSession(first, "same"), ServedSession(second, "same")]
        ids = [banks[0].consent(app.url) for _ in range(8)]
        for place, id in enumerate(ids):
            banks[place % 2].happen(id, "authorised by some")
            banks[(place + 1) % 2].happen(id, "refused")
        app.wait_for(16)
        banks[0].wait_for_state("delivered", 16)
        assert len(app.received) == 16
        for id in ids:
            assert [one.json()["consentStatus"] for one in app.received if one.json()["id"] == id] == [
                "partiallyAuthorised", "rejected",
            ]  # fmt: skip


def test_a_reload_brings_callbacks(tmp_path: Path, app: Listener) -> None:
    with serving(tmp_path, layer={"cassette": 1}) as sandbox:
        bank = ServedSession(sandbox)
        id = bank.consent(app.url)
        (tmp_path / "own" / "callbacks.yaml").write_text(json.dumps(LAYER))
        sandbox.warning("loaded again")
        bank.happen(id, "refused")
        app.wait_for(1)


def test_the_command_lists_and_resends(bank: ServedSession, app: Listener) -> None:
    bank.happen(bank.consent(app.url), "refused")
    (callback,) = bank.wait_for_state("delivered")
    port = str(urlsplit(bank.serving.direct).port)
    flags = ["--port", port, "--confdir", str(bank.serving.confdir), "--session", bank.session]

    def run(*more: str) -> str:
        command = [sys.executable, "-m", "xs2a_sandbox", "callbacks", *flags, *more]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert f"{callback['id']}  consent  delivered  1 tries  POST  {app.url}  answer: 202" in run()
    assert run("--resend", callback["id"]) == f"waits again: {callback['id']}\n"
    app.wait_for(2)
