"""What is learned about a bank is right in detail: whose state it is, how ids look, what a limit counts."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

CHECKS = [f"7f3a5c1e-0b2d-4e6f-8a9b-c0d1e2f3a4b{number}" for number in range(5)]
FULL, NARROW = "CA20261121-000104", "CA20261121-000109"
PAID, STOPPED = "PA20261121-000117", "PA20261121-000121"
MAIN, SAVING = "3001554208", "3002918847"


def consent(number: str, state: str, rights: list[str], limit: str) -> dict[str, Any]:
    return {"consent": {"number": number, "state": state, "rights": rights, "perDay": limit}}


def payment(number: str, state: str, amount: str) -> dict[str, Any]:
    return {"payment": {"number": number, "state": state, "from": MAIN, "amount": amount}}


def check(at: int, state: str) -> dict[str, Any]:
    """Return a challenge, which has a state of its own. The text `sent` says how often its code was sent."""
    return {"check": {"checkId": CHECKS[at], "state": state, "sent": "1"}}


def record() -> Iterator[Exchange]:
    """Yield a journey at a bank whose consents and payments come with a challenge."""
    both = ["BALANCE", "PAY"]
    asks, pays, code = "/asks", "/payments", {"code": "1234"}
    ask = {"customer": "anna.kim", "rights": both, "perDay": "3"}
    yield taped(asks, consent(FULL, "WAITING", both, "3") | check(0, "WAITING"), "POST", status=201, body=ask, at=1)
    yield taped(asks, {"code": "NO_CUSTOMER"}, "POST", status=404, body=ask | {"customer": "no.one"}, at=1)
    ask |= {"rights": ["PAY"], "perDay": "5"}
    waiting = consent(NARROW, "WAITING", ["PAY"], "5") | check(1, "WAITING")
    yield taped(asks, waiting, "POST", status=201, body=ask, at=2)
    yield taped(f"{asks}/{FULL}", consent(FULL, "WAITING", both, "3"), at=3)
    yield taped(f"/checks/{CHECKS[0]}", check(0, "WAITING"), at=3)
    yield taped(f"/checks/{CHECKS[0]}", check(0, "DONE"), "PUT", body=code, at=4)
    yield taped(f"/checks/{CHECKS[0]}", check(0, "DONE"), at=4)
    yield taped(f"/checks/{CHECKS[1]}", check(1, "DONE"), "PUT", body=code, at=5)
    yield taped(f"{asks}/{FULL}", consent(FULL, "VALID", both, "3"), at=6)
    yield taped(f"{asks}/{NARROW}", consent(NARROW, "VALID", ["PAY"], "5"), at=7)
    accounts = [{"key": MAIN, "name": "Main"}, {"key": SAVING, "name": "Saving"}]
    yield taped(f"/accounts?consent={FULL}", {"accounts": accounts}, at=8)
    balance = f"/accounts/{MAIN}/balance?consent="
    yield taped(f"{balance}{NARROW}", {"code": "NO_RIGHT", "right": "BALANCE"}, status=403, at=9)
    yield taped(f"{balance}{FULL}", {"key": MAIN, "now": "500000"}, at=10)
    pay = {"consent": FULL, "from": MAIN, "amount": "150000"}
    yield taped(pays, payment(PAID, "WAITING", "150000") | check(2, "WAITING"), "POST", status=201, body=pay, at=11)
    yield taped(f"/checks/{CHECKS[2]}", check(2, "DONE"), "PUT", body=code, at=12)
    yield taped(f"{pays}/{PAID}", payment(PAID, "SENT", "150000"), at=13)
    yield taped(f"{balance}{FULL}", {"key": MAIN, "now": "350000"}, at=14)
    pay |= {"amount": "70000"}
    yield taped(pays, payment(STOPPED, "WAITING", "70000") | check(3, "WAITING"), "POST", status=201, body=pay, at=15)
    yield taped(f"/checks/{CHECKS[3]}", check(3, "STOPPED"), "DELETE", at=16)
    yield taped(f"{balance}{FULL}", {"key": MAIN, "now": "350000"}, at=17)
    yield taped(f"{balance}{FULL}", {"code": "USED_UP", "perDay": "3"}, status=429, at=18)
    yield taped(f"{asks}/{FULL}", consent(FULL, "WITHDRAWN", both, "3"), "DELETE", at=19)
    yield taped(f"/accounts?consent={FULL}", {"code": "NOT_VALID", "state": "WITHDRAWN"}, status=403, at=20)


class App(LearnedApp):
    def ask(self, rights: list[str], limit: str = "9") -> tuple[str, str]:
        """Return the number of a new consent and the id of its challenge."""
        _, said = self.send("POST", "/asks", {"customer": "anna.kim", "rights": rights, "perDay": limit})
        return said["consent"]["number"], said["check"]["checkId"]

    def ask_and_confirm(self, rights: list[str], limit: str = "9") -> str:
        number, challenge = self.ask(rights, limit)
        self.send("PUT", f"/checks/{challenge}", {"code": "1234"})
        return number

    def pay(self, number: str, account: str, amount: str) -> None:
        _, said = self.send("POST", "/payments", {"consent": number, "from": account, "amount": amount})
        self.send("PUT", f"/checks/{said['check']['checkId']}", {"code": "1234"})


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_the_state_of_a_challenge_is_not_that_of_the_consent(app: App) -> None:
    number, challenge = app.ask(["BALANCE"])
    status, said = app.send("PUT", f"/checks/{challenge}", {"code": "1234"})
    assert (status, said["check"]["state"]) == (200, "DONE")
    assert app.send("GET", f"/checks/{challenge}")[1]["check"]["state"] == "DONE"
    assert app.send("GET", f"/asks/{number}")[1]["consent"]["state"] == "VALID"


def test_what_ends_the_challenge_of_a_payment_ends_that_of_a_consent(app: App) -> None:
    number, challenge = app.ask(["BALANCE"])
    assert app.send("DELETE", f"/checks/{challenge}")[0] == 200
    assert app.send("GET", f"/asks/{number}")[1]["consent"]["state"] == "STOPPED"


def test_texts_of_digits_stay_texts(app: App) -> None:
    _, said = app.send("POST", "/asks", {"customer": "anna.kim", "rights": ["PAY"], "perDay": "4"})
    assert said["check"]["sent"] == "1"


def test_new_ids_have_the_prefix_the_day_and_the_zeros_of_the_recorded_ones(app: App) -> None:
    assert re.fullmatch(r"CA20261121-00\d{4}", app.ask(["PAY"])[0])


def test_a_limit_is_that_of_the_consent_also_if_it_is_a_text(app: App) -> None:
    number = app.ask_and_confirm(["BALANCE"], limit="5")
    read = ("GET", f"/accounts/{MAIN}/balance?consent={number}")
    assert [app.send(*read)[0] for _ in range(6)] == [200, 200, 200, 200, 200, 429]


def test_a_balance_that_nobody_has_read_stays_and_follows_payments(app: App) -> None:
    number = app.ask_and_confirm(["BALANCE", "PAY"])
    read = ("GET", f"/accounts/{SAVING}/balance?consent={number}")
    before = int(app.send(*read)[1]["now"])
    assert int(app.send(*read)[1]["now"]) == before
    app.pay(number, SAVING, "120000")
    assert int(app.send(*read)[1]["now"]) == before - 120_000


def test_a_right_is_missing_also_where_the_recording_shows_another_one(app: App) -> None:
    number = app.ask_and_confirm(["PAY"])
    assert app.send("GET", f"/accounts/{MAIN}/balance?consent={number}") == (
        403,
        {"code": "NO_RIGHT", "right": "BALANCE"},
    )


def test_a_customer_who_does_not_exist_is_not_known_by_the_length_of_a_name(app: App) -> None:
    ask = {"customer": "ji.li", "rights": ["PAY"], "perDay": "5"}
    assert app.send("POST", "/asks", ask)[0] == 201
    assert app.send("POST", "/asks", ask | {"customer": "no.one"}) == (404, {"code": "NO_CUSTOMER"})
