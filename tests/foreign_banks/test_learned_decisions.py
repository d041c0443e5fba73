"""What follows from a decision of a customer: the payment and the balance tell, and nothing that the bank has made."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HTML = (("Content-Type", "text/html"),)
ACCOUNT = {"key": "a4k9wq27", "iban": "FR5118829754160004217300164"}
OTHER = {"key": "a8m3xv55", "iban": "FR9018829754160009903210251"}
BACK = "https://shop.example/back"
SEALS = {"7q2x9k41": "ahdTiQXF9S", "3v8n5w60": "x4fvV5fxQR", "9d1m6t25": "GxWAQCptZZ", "5h3c8b72": "RUW7qXE5fQ"}


def order(amount: str, speed: str, state: str) -> dict[str, Any]:
    return {"from": ACCOUNT["iban"], "amount": amount, "speed": speed, "back": BACK, "state": state}


def payment(id: str, stage: str) -> dict[str, Any]:
    return {"payment": {"id": id, "stage": stage}}


def ask(id: str, body: Any, at: int) -> Exchange:
    return taped("/payments", payment(id, "WAITING") | {"page": f"/page/t{id}"}, "POST", status=201, body=body, at=at)


def decide(id: str, told: dict[str, str], at: int, answer: str = "yes") -> Iterator[Exchange]:
    """Yield how a customer opens the page of a payment and answers it, and where the page leads."""
    page = f'<form method="post"><input type="hidden" name="seal" value="{SEALS[id]}"><input name="user"></form>'
    yield taped(f"/page/t{id}", page.encode(), answer_headers=HTML, at=at)
    sent = urlencode({"seal": SEALS[id], "user": "4207731", "answer": answer}).encode()
    location = (("Location", f"{BACK}?{urlencode(told)}"),)
    headers = tuple(FORM.items())
    yield taped(f"/page/t{id}", None, "POST", status=302, headers=headers, body=sent, answer_headers=location, at=at)


def record(*, later: bool = False) -> Iterator[Exchange]:
    """Yield a journey with payments of both speeds and one that is not covered, or with one that nothing explains."""

    def balance(whole: str, at: int) -> Exchange:
        return taped(f"/accounts/{ACCOUNT['key']}/balance", {"balance": whole}, at=at)

    def read(id: str, stage: str, at: int) -> Exchange:
        return taped(f"/payments/{id}", payment(id, stage), at=at)

    standard, instant, covered, *_ = SEALS
    yield taped("/accounts", {"accounts": [ACCOUNT, OTHER]}, at=1)
    yield taped(f"/accounts/{OTHER['key']}", OTHER, at=1)
    yield balance("900.00", at=2)
    yield ask(standard, order("120.00", "STANDARD", "a1"), 3)
    yield from decide(standard, {"payment": standard, "state": "a1"}, 4)
    yield read(standard, "ALLOWED", 4)
    yield read(standard, "DONE", 300)
    yield balance("780.00", at=301)
    if later:
        yield ask(covered, order("55.00", "STANDARD", "a2"), 302)
        yield from decide(covered, {"result": "later", "state": "a2"}, 303)
        return
    yield ask(covered, order("850.00", "INSTANT", "a2"), 302)
    yield from decide(covered, {"error": "not_covered", "state": "a2"}, 303)
    yield read(covered, "REJECTED", 303)
    yield ask(instant, order("45.00", "INSTANT", "a3"), 304)
    yield from decide(instant, {"payment": instant, "state": "a3"}, 305)
    yield read(instant, "DONE", 305)
    yield balance("735.00", at=306)
    refused = "5h3c8b72"
    yield ask(refused, order("60.00", "STANDARD", "a4"), 307)
    yield from decide(refused, {"error": "declined", "state": "a4"}, 308, "no")
    yield read(refused, "DECLINED", 309)


class App(LearnedApp):
    def pay(self, amount: str, speed: str, state: str = "zz") -> tuple[str, dict[str, str]]:
        """Return the stage of a payment that the customer has answered, and what the link to the app says."""
        _, made = self.send("POST", "/payments", order(amount, speed, state))
        seal = self._read_seal(made["page"])
        form = urlencode({"seal": seal, "user": "5590126", "answer": "yes"}).encode()
        link = dict(self.answer("POST", made["page"], form, FORM).headers).get("Location", "")
        stage = self.send("GET", f"/payments/{made['payment']['id']}")[1]["payment"]["stage"]
        return stage, {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}

    def _read_seal(self, page: str) -> str:
        found = re.search(r'name="seal" value="([^"]+)"', self.answer("GET", page).body.decode())
        assert found
        return found[1]


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_the_kind_of_a_payment_decides_what_follows(app: App) -> None:
    assert app.pay("20.00", "STANDARD")[0] == "ALLOWED"
    assert app.pay("30.00", "INSTANT")[0] == "DONE"


def test_the_balance_decides_whether_a_payment_is_refused(app: App) -> None:
    assert app.pay("500.00", "INSTANT")[0] == "DONE"
    stage, told = app.pay("450.00", "STANDARD")
    assert (stage, told["error"]) == ("REJECTED", "not_covered")
    assert app.pay("390.00", "INSTANT")[0] == "DONE"


def test_the_link_to_the_app_repeats_what_the_app_has_sent_however_short(app: App) -> None:
    assert app.pay("20.00", "STANDARD", state="x7")[1]["state"] == "x7"
    assert app.pay("999.00", "STANDARD", state="q")[1] == {"error": "not_covered", "state": "q"}


def test_nothing_depends_on_what_the_bank_has_made(text: str) -> None:
    undecided = learn_text(record(later=True))
    assert "POST /page/{page}: when it is answered with" in undecided.partition("Not learned")[2]
    assert not [seal for seal in SEALS.values() if seal in text + undecided]
