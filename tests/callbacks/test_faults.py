"""Faults of callbacks: late, twice, before the answer, with a wrong signature, never."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.callbacks.asking import ServedSession
from tests.callbacks.test_berlin_group import CONSENT
from tests.callbacks.test_open_banking import consent, subscribe
from tests.support.listener import Listener
from tests.support.serving import Serving, served
from xs2a_sandbox.signatures import jwt


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("sandbox"), "--dialect", "berlin-group-1.3") as started:
        yield started


def made(bank: ServedSession, app: Listener, fault: str | None = None) -> str:
    headers = {"X_Sandbox_Prefer": f"callback={fault}"} if fault else {}
    status, _, value = bank.ask("POST", "/v1/consents", CONSENT, TPP_Notification_URI=app.url, **headers)
    assert status == 201, value
    return str(value["consentId"])


def test_twice(bank: ServedSession, app: Listener) -> None:
    id = made(bank, app, "twice")
    bank.happen(id, "refused")
    first, second = app.wait_for(2)
    assert (first.body, first.headers["x-request-id"]) == (second.body, second.headers["x-request-id"])
    (callback,) = bank.wait_for_state("delivered")
    assert (callback["fault"], callback["tries"]) == ("twice", 1)


def test_late_by_the_clock_of_the_session(bank: ServedSession, app: Listener) -> None:
    id = made(bank, app, "late")
    bank.control("PUT", "clock", {"frozen": bank.control("GET", "clock")["now"]})
    bank.happen(id, "refused")
    bank.control("POST", "clock", {"move": 9})
    assert [one["state"] for one in bank.callbacks()] == ["waiting"]
    assert app.connections == 0
    bank.control("POST", "clock", {"move": 1})
    app.wait_for(1)


def test_never_until_it_is_sent_again(bank: ServedSession, app: Listener) -> None:
    id = made(bank, app, "never")
    bank.happen(id, "refused")
    (callback,) = bank.wait_for_state("withheld")
    assert app.connections == 0
    bank.control("POST", f"callbacks/{callback['id']}/resend")
    app.wait_for(1)


def test_before_the_answer(bank: ServedSession, app: Listener) -> None:
    id = made(bank, app)
    app.open.clear()
    ended: list[float] = []

    def delete() -> None:
        status, _, _ = bank.ask("DELETE", f"/v1/consents/{id}", X_Sandbox_Prefer="callback=before")
        ended.append(time.monotonic())
        assert status == 204

    thread = threading.Thread(target=delete)
    thread.start()
    app.wait_for(1)
    assert not ended  # the answer waits for the app
    opened = time.monotonic()
    app.open.set()
    thread.join(20)
    assert ended[0] >= opened
    assert bank.wait_for_state("delivered")[0]["fault"] == "before"


def test_a_fault_of_the_session_counts_like_others(bank: ServedSession, app: Listener) -> None:
    fault = bank.control("POST", "faults", {"does": "create consent", "callback": "twice", "skip": 1, "next": 1})
    usual, twice = made(bank, app), made(bank, app)
    bank.happen(usual, "refused")
    bank.happen(twice, "refused")
    sent = [json.loads(one.body)["consentId"] for one in app.wait_for(3)]
    assert (sent.count(usual), sent.count(twice)) == (1, 2)
    assert (fault["hits"], bank.control("GET", "faults")["faults"][0]["hits"]) == (0, 1)


def test_an_unknown_fault_is_refused(bank: ServedSession) -> None:
    status, _, body = bank.ask(
        "POST", "/_sandbox/faults", {"callback": "soon"}, Authorization=f"Bearer {bank.serving.token}"
    )
    assert (status, body["message"]) == (
        400, "callback must be one of late, twice, before, wrong-signature, never",
    )  # fmt: skip


def test_a_wrong_signature(tmp_path: Path, app: Listener) -> None:
    with served(tmp_path, "--dialect", "obie-4.0") as sandbox:
        bank = ServedSession(sandbox)
        subscribe(bank, app.url)
        id = consent(bank)
        bank.control("PUT", "state/tokens/t", {"client": "our-app", "scope": "accounts"})
        status, _, _ = bank.ask(
            "DELETE",
            f"/open-banking/v4.0/aisp/account-access-consents/{id}",
            Authorization="Bearer t",
            X_Sandbox_Prefer="callback=wrong-signature",
        )
        assert status == 204
        (sent,) = app.wait_for(1)
        keys = bank.ask("GET", "/_sandbox/jwks.json")[2]
        assert not jwt.is_signed_by(sent.body.decode(), keys)
        (callback,) = bank.wait_for_state("delivered")
        assert jwt.is_signed_by(callback["body"], keys)
