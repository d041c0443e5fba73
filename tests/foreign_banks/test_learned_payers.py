"""The customer's form names the account that pays: its balances and entries follow the payment."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ACCOUNTS = [{"key": "a4k9wq27", "number": "0114-2271-90"}, {"key": "a8m3xv55", "number": "0114-2271-98"}]
MAIN, SPARE = (account["key"] for account in ACCOUNTS)
BACK = "https://shop.example/back"


def payment(id: str, stage: str, cents: int) -> dict[str, Any]:
    return {"payment": {"id": id, "stage": stage, "cents": cents}, "page": f"/page/t{id}"}


def record() -> Iterator[Exchange]:
    """Yield a journey in which the customer pays from the first account, and refuses another payment."""

    def pay(id: str, cents: int, at: int) -> Exchange:
        sent = {"cents": cents, "back": BACK}
        return taped("/payments", payment(id, "WAITING", cents), "POST", status=201, body=sent, at=at)

    def answer(id: str, said: str, at: int, **form: str) -> Exchange:
        sent, location = urlencode({"answer": said, **form}).encode(), f"{BACK}?said={said}"
        headers = (("Location", location),)
        return taped(
            *(f"/page/t{id}", None, "POST"),
            status=303,
            headers=tuple(FORM.items()),
            body=sent,
            answer_headers=headers,
            at=at,
        )

    def balance(whole: int, free: int, at: int) -> Exchange:
        return taped(f"/accounts/{MAIN}/balance", {"whole": whole, "free": free}, at=at)

    yield taped("/accounts", {"accounts": ACCOUNTS}, at=1)
    yield taped(f"/accounts/{SPARE}", {"account": ACCOUNTS[1]}, at=2)
    wrong = {"code": "WRONG", "member": "rights", "rule": "choice"}
    yield taped("/consents", wrong, "POST", status=422, body={"rights": []}, at=2)
    yield taped("/consents", {"consent": "c5t8q2w1"}, "POST", status=201, body={"rights": ["READ"]}, at=2)
    wrong = {"code": "WRONG", "member": "cents", "rule": "positive"}
    yield taped("/payments", wrong, "POST", status=422, body={"cents": -5, "back": BACK}, at=3)
    yield balance(90_000, 90_000, at=3)
    yield pay("7q2x9k41", 12_500, at=4)
    yield taped("/payments/7q2x9k41", payment("7q2x9k41", "WAITING", 12_500), at=5)
    yield answer("7q2x9k41", "yes", 6, account=ACCOUNTS[0]["number"])
    yield taped("/payments/7q2x9k41", payment("7q2x9k41", "ALLOWED", 12_500), at=7)
    yield balance(90_000, 77_500, at=8)
    yield taped("/payments/7q2x9k41", payment("7q2x9k41", "SENT", 12_500), at=50)
    yield taped("/payments/7q2x9k41", payment("7q2x9k41", "DONE", 12_500), at=250)
    yield balance(77_500, 77_500, at=251)
    yield pay("3v8n5w60", 40_000, at=252)
    yield answer("3v8n5w60", "no", 253)
    yield taped("/payments/3v8n5w60", payment("3v8n5w60", "REFUSED", 40_000), at=254)
    yield balance(77_500, 77_500, at=255)


class App(LearnedApp):
    def pay(self, cents: int, **form: str) -> str:
        """Return the path of a payment that the customer has answered."""
        _, said = self.send("POST", "/payments", {"cents": cents, "back": BACK})
        assert self.send("POST", said["page"], urlencode(form).encode(), FORM)[0] == 303
        return f"/payments/{said['payment']['id']}"

    def balances(self, key: str) -> tuple[int, int]:
        _, said = self.send("GET", f"/accounts/{key}/balance")
        return said["whole"], said["free"]


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_the_chosen_account_pays(app: App) -> None:
    app.pay(30_000, answer="yes", account=ACCOUNTS[1]["number"])
    assert app.balances(MAIN) == (90_000, 90_000)
    whole, free = app.balances(SPARE)
    assert free == whole - 30_000


def test_an_amount_is_held_in_every_state_until_it_is_paid(app: App) -> None:
    path = app.pay(30_000, answer="yes", account=ACCOUNTS[0]["number"])
    assert app.balances(MAIN) == (90_000, 60_000)
    app.wait(START + timedelta(seconds=40))
    assert app.send("GET", path)[1]["payment"]["stage"] == "SENT"
    assert app.balances(MAIN) == (90_000, 60_000)
    app.wait(START + timedelta(seconds=400))
    assert app.balances(MAIN) == (60_000, 60_000)


def test_an_error_is_that_of_the_same_member_in_the_same_operation(app: App) -> None:
    _, said = app.send("POST", "/consents", {"rights": ["CARDS"]})
    assert said == {"code": "WRONG", "member": "rights", "rule": "choice"}


def test_a_refused_payment_takes_nothing(app: App) -> None:
    path = app.pay(30_000, answer="no")
    assert app.send("GET", path)[1]["payment"]["stage"] == "REFUSED"
    assert app.balances(MAIN) == (90_000, 90_000)
