"""What a bank adds to a payment: a fee that a word decides, the total, and what is left of the balance."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

ACCOUNT, OTHER = "813c3ffe0fbc455b", "1653b19ba3a47df4"
ACCOUNTS = [{"account": ACCOUNT, "name": "Main"}, {"account": OTHER, "name": "Holidays"}]
FIRST, SECOND = "61 1090 1014 0000 0712 1981 2874", "27 1140 2004 0000 3002 0135 5387"
MISTYPED = "98 1240 1444 1111 0010 7817 1047"
FEES = {"FAST": "5,00", "SLOW": "0,00"}


def order(amount: str, speed: str, payee: str = FIRST) -> dict[str, str]:
    return {"account": ACCOUNT, "payee": payee, "amount": amount, "speed": speed}


def payment(id: str, state: str, total: str, sent: dict[str, str]) -> dict[str, str]:
    payee = sent["payee"].replace(" ", "")
    return {"payment": id, "state": state, **sent, "payee": payee, "fee": FEES[sent["speed"]], "total": total}


def funds(booked: str, held: str, free: str) -> dict[str, str]:
    return {"account": ACCOUNT, "booked": booked, "held": held, "limit": "1000,00", "free": free}


def record() -> Iterator[Exchange]:
    """Yield a journey with a fast payment that is executed, and slow ones that are only made."""
    yield taped("/accounts", {"accounts": ACCOUNTS}, at=1)
    yield taped(f"/accounts/{ACCOUNT}/funds", funds("12480,35", "0,00", "13480,35"), at=2)
    wrong = {"code": "WRONG", "member": "payee"}
    mistyped = order("1250,40", "FAST", "61 1090 1014 0000 0712 1981 2847")
    yield taped("/payments", wrong, "POST", status=422, body=mistyped, at=3)
    fast, slow = order("1250,40", "FAST"), order("64,15", "SLOW", SECOND)
    made = payment("P26166384095", "made", "1255,40", fast)
    yield taped("/payments", made, "POST", status=201, body=fast, at=4)
    signed = payment("P26166384095", "signed", "1255,40", fast)
    yield taped("/payments/P26166384095/sign", signed, "POST", body={"code": "4821"}, at=5)
    yield taped(f"/accounts/{ACCOUNT}/funds", funds("12480,35", "1255,40", "12224,95"), at=6)
    yield taped("/payments/P26166384095", payment("P26166384095", "done", "1255,40", fast), at=306)
    yield taped("/payments", payment("P26166384107", "made", "64,15", slow), "POST", status=201, body=slow, at=307)
    yield taped("/payments/P26166384107", payment("P26166384107", "made", "64,15", slow), at=308)
    more = order("18,20", "SLOW", SECOND)
    yield taped("/payments", payment("P26166384135", "made", "18,20", more), "POST", status=201, body=more, at=309)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> LearnedApp:
    return LearnedApp(text)


def read(app: LearnedApp) -> Any:
    return app.send("GET", f"/accounts/{ACCOUNT}/funds")[1]


@pytest.mark.parametrize(("speed", "total"), [("FAST", "394,99"), ("SLOW", "389,99")])
def test_the_total_is_the_amount_with_the_fee_for_the_word(app: LearnedApp, speed: str, total: str) -> None:
    status, made = app.send("POST", "/payments", order("389,99", speed))
    assert (status, made["fee"], made["total"]) == (201, FEES[speed], total)
    assert app.send("GET", f"/payments/{made['payment']}")[1]["total"] == total


def test_a_signed_payment_is_held_with_its_fee_also_when_time_has_changed_its_state(app: LearnedApp) -> None:
    _, made = app.send("POST", "/payments", order("100,00", "FAST"))
    assert read(app) == funds("12480,35", "0,00", "13480,35")
    app.send("POST", f"/payments/{made['payment']}/sign", {"code": "4821"})
    assert read(app) == funds("12480,35", "105,00", "13375,35")
    app.wait(START + timedelta(seconds=400))
    assert app.send("GET", f"/payments/{made['payment']}")[1]["state"] == "done"
    assert read(app)["free"] == "13375,35"


def test_an_account_number_is_accepted_with_and_without_blanks_if_it_is_right(app: LearnedApp) -> None:
    for payee in (SECOND, SECOND.replace(" ", "")):
        status, made = app.send("POST", "/payments", order("10,00", "SLOW", payee))
        assert (status, made["payee"]) == (201, SECOND.replace(" ", ""))
    assert app.send("POST", "/payments", order("10,00", "SLOW", MISTYPED)) == (
        422,
        {"code": "WRONG", "member": "payee"},
    )
