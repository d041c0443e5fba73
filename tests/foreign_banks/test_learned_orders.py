"""What is learned about orders that the bank checks first, and that the customer signs with a code."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

UNUSED, *CHECKS = "CHK-7Q2M4XKD", "CHK-W81ZP0RT", "CHK-3NVB6YHS"
ORDERS = "ORD-5581-KWMX", "ORD-9034-TZQB"
COPY: dict[str, Any] = {"copies": [{"name": "Anna Lind"}]}
RENT: dict[str, Any] = {"payer": "CH9300762011623852957", "amount": "1420.50", "payee": {"name": "Käser AG"}, **COPY}
GIFT: dict[str, Any] = {"payer": "CH9300762011623852957", "amount": "50.00", "payee": {"name": "Nils"}, **COPY}
DATED: dict[str, Any] = {**GIFT, "day": "2026-12-01"}
LATE = {"code": "TOO_LATE", "text": "It is too late for that"}
WRONG = {"code": "WRONG_CODE", "member": "code"}
FIELD = {"code": "NOT_OURS", "text": "The name is that of another bank", "field": "payee.bank"}


def record() -> Iterator[Exchange]:
    """Yield a journey with a check that is not used, a wrong code, and two orders, of which one is cancelled."""
    checks = (UNUSED, RENT, "at-once"), (CHECKS[0], RENT, "at-once"), (CHECKS[1], DATED, "dated")
    for at, (id, wish, mode) in enumerate(checks):
        yield taped("/v2/checks", {"checkId": id, "mode": mode, "fee": "0.00"}, "POST", body=wish, at=at)
    wrong = {**GIFT, "payee": {"name": "Nils", "bank": "CLYDE"}, "copies": []}
    yield taped("/v2/checks", FIELD, "POST", body=wrong, status=400, at=4)
    for at, (id, check, wish) in enumerate(zip(ORDERS, CHECKS, (RENT, DATED), strict=True), 5):
        order = {"orderId": id, "state": "open", "amount": wish["amount"], "payee": wish["payee"]}
        yield taped("/v2/orders", order, "POST", body={"checkId": check}, status=201, at=at)
    first, second = (f"/v2/orders/{id}" for id in ORDERS)
    yield taped(f"{first}/signature", WRONG, "PUT", body={"code": "620941"}, status=403, at=10)
    yield taped(f"{first}/signature", {"orderId": ORDERS[0], "state": "signed"}, "PUT", body={"code": "580327"}, at=11)
    yield taped(f"{first}/signature", LATE, "PUT", body={"code": "580327"}, status=409, at=12)
    yield taped(first, {"orderId": ORDERS[0], "state": "signed"}, at=13)
    yield taped(first, LATE, "DELETE", status=409, at=14)
    yield taped(second, {"orderId": ORDERS[1], "state": "cancelled"}, "DELETE", at=15)
    yield taped(second, {"orderId": ORDERS[1], "state": "cancelled"}, at=16)
    yield taped("/v2/orders/ORD-0000-AAAA", {"code": "UNKNOWN", "text": "There is no such order"}, status=404, at=17)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> LearnedApp:
    return LearnedApp(text)


def check(app: LearnedApp, wish: dict[str, Any]) -> dict[str, Any]:
    status, checked = app.send("POST", "/v2/checks", wish)
    assert status == 200
    return dict(checked)


def start(app: LearnedApp, wish: dict[str, Any]) -> str:
    status, order = app.send("POST", "/v2/orders", {"checkId": check(app, wish)["checkId"]})
    assert (status, order["amount"], order["payee"]) == (201, wish["amount"], wish["payee"])
    return f"/v2/orders/{order['orderId']}"


def test_a_check_that_nothing_has_used_is_one_like_the_others(app: LearnedApp) -> None:
    start(app, {**RENT, "amount": "77.05", "payee": {"name": "Garage Gerber"}})


def test_an_optional_member_of_the_request_decides_about_a_word_of_the_answer(app: LearnedApp) -> None:
    assert check(app, {**GIFT, "amount": "12.00"})["mode"] == "at-once"
    assert check(app, {**DATED, "amount": "12.00"})["mode"] == "dated"


def test_another_code_corrects_a_mistake_that_the_recording_does_not_show(app: LearnedApp) -> None:
    order = start(app, GIFT)
    assert app.send("PUT", f"{order}/signature", {"code": "118723"})[0] == 200
    status, signed = app.send("PUT", f"{order}/signature", {"code": "449310"})
    assert (status, signed["state"]) == (200, "signed")
    assert app.send("PUT", f"{order}/signature", {"code": "449310"}) == (409, LATE)
    assert app.send("PUT", f"{order}/signature", {"code": "620941"}) == (403, WRONG)


def test_a_cancelled_order_cannot_be_signed_with_any_code(app: LearnedApp) -> None:
    order = start(app, GIFT)
    assert app.send("DELETE", order)[0] == 200
    for code in ("118723", "449310"):
        assert app.send("PUT", f"{order}/signature", {"code": code}) == (409, LATE)


def test_an_error_that_names_a_whole_path_is_not_about_another_member_of_that_name(app: LearnedApp) -> None:
    check(app, {**GIFT, "copies": []})
