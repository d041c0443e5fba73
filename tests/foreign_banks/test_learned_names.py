"""What names an app, a customer, a thing, or a request: no other header or member is taken for it."""

from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

APP = (("App-Key", "stecak-7f31c0"), ("Customer-Address", "185.12.77.9"))
APPROVALS = "aprmrafhmt", "aprubkzvrg"
WISH = {"see": ["accounts"]}
CUSTOMER = {"userName": "amra.hadzic", "password": "Lipa-cvate-22"}
WRONG = {"reason": "CODE_WRONG", "at": "body.code"}


def call(path: str, answer: Any, body: Any, at: int, method: str = "POST", status: int = 200) -> Exchange:
    return taped(path, answer, method, headers=APP, body=body, status=status, at=at)


def record() -> list[Exchange]:
    """Return two consents of one customer, each with an approval whose id has small letters only."""
    recorded: list[Exchange] = []
    for number, approval in enumerate(APPROVALS):
        at, consent = 10 * number, f"NC-26-{number}K69K5"
        path = f"/consents/{consent}/approvals"
        recorded += [
            call("/consents", {"id": consent, "state": "AWAITING"}, WISH, at + 1, status=201),
            call(path, {"approval": approval, "step": "NAMED"}, CUSTOMER, at + 2),
            call(f"{path}/{approval}", WRONG, {"code": "480231"}, at + 3, "PUT", 401),
            call(f"{path}/{approval}", {"approval": approval, "step": "DONE"}, {"code": "480213"}, at + 4, "PUT"),
            call(f"/consents/{consent}", {"id": consent, "state": "ACTIVE"}, None, at + 5, "GET"),
        ]
    return recorded


@pytest.fixture(scope="module")
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


def start(app: LearnedApp, user: str) -> str:
    _, made = app.send("POST", "/consents", WISH, dict(APP))
    path = f"/consents/{made['id']}/approvals"
    _, asked = app.send("POST", path, {"userName": user, "password": "Trebevic9zima"}, dict(APP))
    assert asked["approval"] not in APPROVALS, "letters that are no word, and that paths name, are an id"
    return f"{path}/{asked['approval']}"


def test_neither_the_app_nor_its_device_is_the_customer_of_a_code(app: LearnedApp) -> None:
    path = start(app, "dino.karic")
    assert app.send("PUT", path, {"code": "917364"}, dict(APP))[0] == 200


def test_a_code_that_looks_like_a_mistake_is_not_above_a_limit(app: LearnedApp) -> None:
    path = start(app, "dino.karic")
    assert app.send("PUT", path, {"code": "480231"}, dict(APP)) == (401, WRONG)
    assert app.send("PUT", path, {"code": "480213"}, dict(APP))[0] == 200


ORDER = {"to": "GB33BUKB20201555555555", "pence": 15240, "back": "https://cormorant.example/back"}


def test_a_header_that_one_request_repeats_is_its_key() -> None:
    """Only one order was made, so everything else in its request is as unique as the key."""
    made = {"order": "ogo-nqmzd655", "stage": "drafted"}

    def order(key: str, body: Any, answer: Any, status: int, at: int) -> Exchange:
        return taped("/orders", answer, "POST", headers=(("Once-Only", key),), body=body, status=status, at=at)

    bad, clash = {"kind": "entry-wrong", "at": "body:to"}, {"kind": "clash", "at": "header:Once-Only"}
    recorded = [order(f"k{at}b87b3749", {**ORDER, "to": f"GB{at}"}, bad, 422, at) for at in range(1, 5)]
    recorded += [order("15b6795cee", ORDER, made, 202, 5), order("15b6795cee", ORDER, made, 200, 6)]
    recorded += [order("15b6795cee", {**ORDER, "pence": 15300}, clash, 409, 7)]
    recorded += [taped("/orders/ogo-nqmzd655", made, at=8)]
    app = LearnedApp(learn_text(recorded))

    def send(key: str, **changes: Any) -> tuple[int, Any]:
        status, answer = app.send("POST", "/orders", {**ORDER, **changes}, {"Once-Only": key})
        return status, answer.get("order", answer.get("kind"))

    status, first = send("0f2d9c1a77")
    assert status == 202
    assert send("0f2d9c1a77") == (200, first)
    assert send("0f2d9c1a77", pence=99) == (409, "clash")
    assert send("5c41d70be2", pence=99)[0] == 202, "the address of the app is no key"


def test_a_key_of_one_kind_of_order_is_that_of_the_others() -> None:
    """Only orders at once were sent again. The header is the key of orders for a day, too, which are made elsewhere."""

    def order(path: str, id: str, key: str, at: int, status: int = 202, **changes: Any) -> Exchange:
        answer = {"kind": "clash"} if status == 409 else {"order": id, "stage": "drafted"}
        sent, headers = {**ORDER, **changes}, (("Once-Only", key),)
        return taped(f"/orders/{path}", answer, "POST", headers=headers, body=sent, status=status, at=at)

    recorded = [
        order("now", "ogo-nqmzd655", "15b6795cee", 1),
        order("now", "ogo-nqmzd655", "15b6795cee", 2, status=200),
        order("now", "", "15b6795cee", 3, status=409, pence=15300),
        order("now", "ogo-kxvfv627", "0f2d9c1a77", 4, pence=99),
        *(order("later", f"ogo-hxqft57{at}", f"5c41d70b{at}", at, day="2026-12-24") for at in (5, 6)),
        *(taped(f"/orders/{id}", {"order": id, "stage": "drafted"}, at=9) for id in ("ogo-nqmzd655", "ogo-hxqft575")),
    ]
    app = LearnedApp(learn_text(recorded))

    def send(key: str, **changes: Any) -> tuple[int, Any]:
        sent = {**ORDER, "day": "2026-12-31", **changes}
        status, answer = app.send("POST", "/orders/later", sent, {"Once-Only": key})
        return status, answer.get("order", answer.get("kind"))

    status, first = send("77a2b2c345")
    assert status == 202
    assert send("77a2b2c345") == (200, first)
    assert send("77a2b2c345", pence=1) == (409, "clash")
