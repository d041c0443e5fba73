"""A list of prompts, as on the customer's phone: each asks about an approval, and what it is about follows this."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

ACCESS, ORDER, REFUSED = "acc-40718-qx", "ord-51926-zk", "ord-83305-vb"
BY_PHONE, BY_CODE, REJECTED = "apv-27731-mn", "apv-64420-wd", "apv-93158-rt"
FIRST, LAST = "prm-1184-ab", "prm-7726-cd"
SENT = {"to": "Imkerei Kranjc", "sum": "25.00"}


def approval(id: str, about: str, by: str, state: str) -> dict[str, Any]:
    return {"id": id, "about": about, "by": by, "state": state}


def prompts(*asked: tuple[str, str, str]) -> dict[str, Any]:
    return {"prompts": [{"id": id, "approval": approval, "says": says} for id, approval, says in asked]}


def ask(id: str, about: str, by: str, at: int) -> Exchange:
    sent = {"about": about, "by": by}
    return taped("/approvals", approval(id, about, by, "sent"), "POST", body=sent, status=201, at=at)


def order(id: str, state: str) -> dict[str, Any]:
    return {"id": id, "state": state, **SENT}


def answer(prompt: str, tap: str, at: int) -> Exchange:
    return taped(f"/phone/{prompt}", b"", "PUT", body={"tap": tap, "pin": "4471"}, status=204, at=at)


def record() -> Iterator[Exchange]:
    """Yield an access that is approved on the phone, an order that is approved by a code, and one that is rejected."""
    body = {"see": ["pots"]}
    yield taped("/accesses", {"id": ACCESS, "state": "asked", **body}, "POST", body=body, status=201, at=1)
    yield ask(BY_PHONE, ACCESS, "push", at=2)
    yield taped("/phone", prompts((FIRST, BY_PHONE, "Let the app see pots?")), at=3)
    yield answer(FIRST, "confirm", at=4)
    yield taped(f"/approvals/{BY_PHONE}", approval(BY_PHONE, ACCESS, "push", "passed"), at=5)
    yield taped(f"/accesses/{ACCESS}", {"id": ACCESS, "state": "live", **body}, at=6)
    yield taped("/orders", order(ORDER, "draft"), "POST", body=SENT, status=201, at=7)
    yield ask(BY_CODE, ORDER, "code", at=8)
    passed = approval(BY_CODE, ORDER, "code", "passed")
    yield taped(f"/approvals/{BY_CODE}", passed, "PATCH", body={"code": "620914"}, at=9)
    yield taped(f"/orders/{ORDER}", order(ORDER, "queued"), at=10)
    yield taped("/orders", order(REFUSED, "draft"), "POST", body=SENT, status=201, at=11)
    yield ask(REJECTED, REFUSED, "push", at=12)
    yield taped("/phone", prompts((LAST, REJECTED, "Send 25.00 to Imkerei Kranjc?")), at=13)
    yield answer(LAST, "reject", at=14)
    yield taped(f"/orders/{REFUSED}", order(REFUSED, "refused"), at=15)


@pytest.fixture
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


def make_order(app: LearnedApp, by: str) -> tuple[str, str]:
    _, made = app.send("POST", "/orders", {**SENT, "sum": "12.40"})
    _, asked = app.send("POST", "/approvals", {"about": made["id"], "by": by})
    return made["id"], asked["id"]


def read_prompts(app: LearnedApp) -> dict[str, str]:
    """Return the prompts by the id of the approval."""
    _, listed = app.send("GET", "/phone")
    return {one["approval"]: one["id"] for one in listed["prompts"]}


def test_the_list_has_what_waits_for_the_customer(app: LearnedApp) -> None:
    assert read_prompts(app) == {}
    _, first = make_order(app, "push")
    make_order(app, "code")
    _, last = make_order(app, "push")
    listed = read_prompts(app)
    assert set(listed) == {first, last}
    assert len(set(listed.values()) | {FIRST, LAST}) == 4, "each prompt has an id of its own"
    app.send("PUT", f"/phone/{listed[first]}", {"tap": "confirm", "pin": "4471"})
    assert set(read_prompts(app)) == {last}


@pytest.mark.parametrize(
    ("tap", "approval", "order"), [("confirm", "passed", "queued"), ("reject", "refused", "refused")]
)
def test_an_order_follows_its_approval(app: LearnedApp, tap: str, approval: str, order: str) -> None:
    """No order was confirmed on the phone in the recording: one was by a code, and an access was by phone."""
    id, asked = make_order(app, "push")
    other, _ = make_order(app, "push")
    app.send("PUT", f"/phone/{read_prompts(app)[asked]}", {"tap": tap, "pin": "4471"})
    states = [
        app.send("GET", path)[1]["state"] for path in (f"/approvals/{asked}", f"/orders/{id}", f"/orders/{other}")
    ]
    assert states == [approval, order, "draft"]


def test_a_code_does_to_an_access_what_the_phone_does(app: LearnedApp) -> None:
    _, made = app.send("POST", "/accesses", {"see": ["pots", "ledger"]})
    _, asked = app.send("POST", "/approvals", {"about": made["id"], "by": "code"})
    app.send("PATCH", f"/approvals/{asked['id']}", {"code": "620914"})
    assert app.send("GET", f"/accesses/{made['id']}")[1]["state"] == "live"
