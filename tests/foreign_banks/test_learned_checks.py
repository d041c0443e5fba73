"""What is learned about checks: of several mistakes at once, by the customer's phone, and of orders before approval."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

MANDATE, CHECK = "MD-K4Q9-W2X7", "ck7f3a9d21b6"
WISH = {"customer": "nuria.v", "days": 90, "scope": {"history": 120}}
ACCOUNT = "31554208"
FIRST, SECOND = "OR5502135", "OR5502142"
ORDER = {"from": ACCOUNT, "amount": "40.00", "note": "Rent", "client_reference": "AB-0001"}
LINES = [{"line": 77000 + 31 * at, "on": f"2026-11-{20 - at:02}", "way": "out", "sum": 120 + at} for at in range(5)]
INCOME = {"line": 78900, "on": "2026-11-02", "way": "in", "sum": 9000}


def problems(*found: tuple[str, str]) -> dict[str, Any]:
    return {"problems": [{"at": at, "text": text} for at, text in found]}


def lines(rows: list[dict[str, Any]], page: int, count: int, size: int) -> dict[str, Any]:
    pages = -(-count // size)
    about = {"page": page, "size": size, "pages": pages, "count": count, "next": page + 1 if page < pages else 0}
    return {"lines": rows, "about": about}


def record() -> Iterator[Exchange]:
    wrong = WISH | {"days": 400, "scope": {"history": "all"}}
    said = problems(("days", "Give 1 to 180."), ("scope.history", "Give a number."))
    yield taped("/mandates", said, "POST", status=400, body=wrong)
    made = {"mandate": MANDATE, "phase": "WAITING", "days": 90, "check": {"id": CHECK, "number": "41"}}
    yield taped("/mandates", made, "POST", status=201, body=WISH, at=1)
    yield taped(f"/checks/{CHECK}", {"check": CHECK, "mandate": MANDATE}, at=2)
    answer = {"number": "41", "pin": "4862"}
    yield taped(f"/checks/{CHECK}", {"problem": "PIN"}, "POST", status=403, body=answer, at=3)
    yield taped(f"/checks/{CHECK}", {"done": True}, "POST", body=answer | {"pin": "4826"}, at=4)
    yield taped(f"/checks/{CHECK}", {"check": CHECK, "mandate": MANDATE}, at=5)
    yield taped(f"/mandates/{MANDATE}", {"mandate": MANDATE, "phase": "ACTIVE", "days": 90}, at=6)
    yield taped("/accounts", {"accounts": [{"account": ACCOUNT, "name": "Main"}]}, at=7)
    target = f"/accounts/{ACCOUNT}/lines"
    yield taped(f"{target}?page=1&size=2", lines(LINES[:2], 1, 11, 2), at=8)
    yield taped(f"{target}?page=2&size=2", lines(LINES[2:4], 2, 11, 2), at=9)
    yield taped(f"{target}?way=in", lines([INCOME], 1, 1, 10), at=10)
    yield from record_orders()
    ended = {"mandate": MANDATE, "phase": "REVOKED", "days": 90, "ended": "2026-11-21T10:15:12Z"}
    yield taped(f"/mandates/{MANDATE}", ended, "PATCH", body={"phase": "REVOKED"}, at=240)


def record_orders() -> Iterator[Exchange]:
    def call(number: int, target: str, answer: Any, method: str = "GET", *, at: int, **more: Any) -> Exchange:
        return taped(target, answer, method, headers=(("X-Request-Id", f"call-{number:04}"),), at=at, **more)

    made = {"order": FIRST, "phase": "CHECKING", **ORDER}
    yield call(1, "/orders", made, "POST", status=202, body=ORDER, at=20)
    used = {"problem": "The client reference has been used", "first": FIRST}
    yield call(2, "/orders", used, "POST", status=409, body=ORDER, at=20)
    yield call(3, f"/orders/{FIRST}/approve", {"problem": "EARLY", "phase": "CHECKING"}, "POST", status=409, at=21)
    yield call(4, f"/orders/{FIRST}", {**made, "phase": "READY"}, at=33)
    yield call(5, f"/orders/{FIRST}/approve", {"order": FIRST, "phase": "APPROVED"}, "POST", at=34)
    yield call(6, f"/orders/{FIRST}", {**made, "phase": "APPROVED"}, at=35)
    other = ORDER | {"client_reference": "AB-0002", "amount": "12.00"}
    yield call(7, "/orders", {"order": SECOND, "phase": "CHECKING", **other}, "POST", status=202, body=other, at=60)
    yield call(8, f"/orders/{SECOND}/approve", {"order": SECOND, "phase": "APPROVED"}, "POST", at=95)
    yield call(9, f"/orders/{SECOND}", {"order": SECOND, "phase": "APPROVED", **other}, at=96)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> LearnedApp:
    return LearnedApp(text)


def ask(app: LearnedApp, **changed: Any) -> Any:
    status, made = app.send("POST", "/mandates", WISH | changed)
    assert status == 201
    return made


def test_an_answer_can_tell_two_new_ids(app: LearnedApp) -> None:
    made = ask(app)
    mandate, check = made["mandate"], made["check"]["id"]
    assert len({mandate, check, MANDATE, CHECK}) == 4
    assert app.send("GET", f"/checks/{check}")[1] == {"check": check, "mandate": mandate}
    assert app.send("GET", f"/mandates/{mandate}")[1]["phase"] == "WAITING"


def test_several_mistakes_at_once_can_also_come_alone(app: LearnedApp) -> None:
    days, history = problems(("days", "Give 1 to 180.")), problems(("scope.history", "Give a number."))
    assert app.send("POST", "/mandates", WISH | {"days": 365}) == (400, days)
    assert app.send("POST", "/mandates", WISH | {"scope": {"history": "none"}}) == (400, history)
    both = {"problems": days["problems"] + history["problems"]}
    assert app.send("POST", "/mandates", WISH | {"days": 181, "scope": {"history": "none"}}) == (400, both)


def test_a_number_that_the_bank_has_told_is_no_customer(app: LearnedApp) -> None:
    for customer, pin in (("omar.t", "1111"), ("lea.k", "2222")):
        check = ask(app, customer=customer)["check"]["id"]
        assert app.send("POST", f"/checks/{check}", {"number": "77", "pin": pin}) == (200, {"done": True})


def test_a_thing_is_read_as_the_request_that_changed_it_showed_it(app: LearnedApp) -> None:
    made = ask(app)
    app.send("POST", f"/checks/{made['check']['id']}", {"number": "41", "pin": "1234"})
    app.send("PATCH", f"/mandates/{made['mandate']}", {"phase": "REVOKED"})
    _, shown = app.send("GET", f"/mandates/{made['mandate']}")
    assert (shown["phase"], set(shown)) == ("REVOKED", {"mandate", "phase", "days", "ended"})


def test_a_list_has_as_many_entries_as_the_bank_has_told(app: LearnedApp) -> None:
    page, shown = 1, []
    while page:
        _, said = app.send("GET", f"/accounts/{ACCOUNT}/lines?page={page}&size=2")
        assert said["about"] == {"page": page, "size": 2, "pages": 6, "count": 11, "next": (page + 1) % 7}
        shown += said["lines"]
        page = said["about"]["next"]
    assert shown[:4] == LINES[:4]
    assert len({row["line"] for row in shown}) == len(shown) == 11


def test_an_order_is_ready_after_a_while_also_if_nobody_looks(app: LearnedApp) -> None:
    _, made = app.send("POST", "/orders", ORDER | {"client_reference": "XY-0001"})
    approve = f"/orders/{made['order']}/approve"
    assert app.send("POST", approve) == (409, {"problem": "EARLY", "phase": "CHECKING"})
    app.wait(START + timedelta(seconds=30))
    assert app.send("POST", approve) == (200, {"order": made["order"], "phase": "APPROVED"})


def test_a_reference_that_an_error_names_in_words_is_the_key(app: LearnedApp) -> None:
    sent = ORDER | {"client_reference": "XY-0002"}
    _, made = app.send("POST", "/orders", sent, {"X-Request-Id": "call-0101"})
    status, refused = app.send("POST", "/orders", sent, {"X-Request-Id": "call-0102"})
    assert (status, refused["first"]) == (409, made["order"])
    other = sent | {"client_reference": "XY-0003"}
    assert app.send("POST", "/orders", other, {"X-Request-Id": "call-0103"})[0] == 202


def record_transfers() -> Iterator[Exchange]:
    for at, (number, amount, phase) in enumerate((("TR5502135", "80.00", "sent"), ("TR5502178", "1250.00", "held"))):
        made, sent = {"transfer": number, "phase": phase}, {"to": "DE02120300000000202051", "amount": amount}
        yield taped("/transfers", made, "POST", status=201, body=sent, at=10 * at)
        yield taped(f"/transfers/{number}", made, at=10 * at + 1)
        yield taped(f"/transfers/{number}", made | {"phase": "recalled"}, "DELETE", at=10 * at + 2)


def test_a_great_amount_can_have_another_first_state() -> None:
    app = LearnedApp(learn_text(record_transfers()))
    amounts = ("999.99", "1000.00", "4000.00")
    sent = [{"to": "DE88100900001234567892", "amount": amount} for amount in amounts]
    assert [app.send("POST", "/transfers", body)[1]["phase"] for body in sent] == ["sent", "held", "held"]
