"""What is learned from one payment product about another, about amounts, and from a secret that was a mistake."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

SPEEDS = {"normal": "pay-7kq2m9xw", "fast": "pay-3vd8n5tz", "third": "pay-9wz4c6hb", "fourth": "pay-5mt7r2jk"}
ORDERS = {pay: pay.replace("pay", "ord")[::-1] for pay in SPEEDS.values()}
SECRET = "hawthorn-42"
ANNA = {"customer": "anna.lind", "secret": SECRET}


def payment(id: str, stage: str, sent: dict[str, Any], told: str = "") -> dict[str, Any]:
    return {"paymentId": id, "stage": stage, "amount": told or sent["amount"], "payee": sent["payee"]}


def record() -> Iterator[Exchange]:
    """Yield a journey at a bank with two payment products; `from` may be left out, amounts are whole crowns."""
    normal, fast, third, fourth = SPEEDS.values()

    def order(product: str, answer: Any, status: int, at: int, **sent: str) -> Exchange:
        return taped(f"/pay/{product}", answer, "POST", status=status, body=sent, at=at)

    def decide(pay: str, said: Any, status: int, at: int, **sent: str) -> Exchange:
        return taped(f"/orders/{ORDERS[pay]}/answer", said, "POST", status=status, body=sent, at=at)

    def start(product: str, pay: str, at: int) -> Exchange:
        answer = {"order": ORDERS[pay], "status": "open"}
        return taped(f"/pay/{product}/{pay}/order", answer, "POST", status=202, at=at)

    def read_order(pay: str, stage: str, at: int) -> Exchange:
        status = "failed" if stage == "REFUSED" else "done"
        answer = {"order": ORDERS[pay], "status": status, "for": {"paymentId": pay, "stage": stage}}
        return taped(f"/orders/{ORDERS[pay]}", answer, at=at)

    first = {"from": "A-1001", "amount": "1850", "payee": "Bo Ek"}
    error = {"code": "BAD_VALUE", "member": "amount"}
    yield order("normal", {"code": "BAD_VALUE", "member": "payee"}, 400, 0, **{"from": "A-1001", "amount": "1850"})
    yield order("normal", error, 400, 1, **first | {"amount": "1850.50"})
    yield order("normal", payment(normal, "OPEN", first), 201, 2, **first)
    yield start("normal", normal, 3)
    yield decide(normal, {"code": "WRONG_SECRET"}, 403, 4, **ANNA | {"secret": "hawthorn-24"}, answer="yes")
    yield decide(normal, {"status": "done"}, 200, 5, **ANNA, answer="yes")
    yield read_order(normal, "SIGNED", 6)
    yield taped(f"/pay/normal/{normal}", payment(normal, "SIGNED", first), at=7)
    second = {"amount": "200", "payee": "Ida Berg"}
    yield order("fast", payment(fast, "OPEN", second), 201, 8, **second)
    yield taped(f"/pay/fast/{fast}", payment(fast, "OPEN", second), at=9)
    for pay, at in ((third, 10), (fourth, 20)):
        sent = {"from": "A-1001", "amount": str(300 + at), "payee": "Bo Ek"}
        yield order("normal", payment(pay, "OPEN", sent), 201, at, **sent)
        yield start("normal", pay, at + 1)
        yield decide(pay, {"status": "failed"}, 200, at + 2, **ANNA, answer="no")
        yield read_order(pay, "REFUSED", at + 3)
    yield taped(f"/pay/normal/{normal}", payment(normal, "SENT", first), at=400)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> LearnedApp:
    return LearnedApp(text)


def order(app: LearnedApp, product: str = "normal", **changes: Any) -> tuple[int, Any]:
    sent = {"from": "A-1001", "amount": "950", "payee": "Rut Ask"} | changes
    status, said = app.send("POST", f"/pay/{product}", {name: value for name, value in sent.items() if value})
    return status, said


def start(app: LearnedApp) -> tuple[str, str]:
    """Return the id of a new payment and of the order to decide on it."""
    pay = order(app)[1]["paymentId"]
    return pay, app.send("POST", f"/pay/normal/{pay}/order")[1]["order"]


def decide(app: LearnedApp, order: str, secret: str, answer: str = "yes") -> int:
    sent = {"customer": "eva.holm", "secret": secret, "answer": answer}
    status: int = app.send("POST", f"/orders/{order}/answer", sent)[0]
    return status


def test_a_member_that_one_product_does_not_need_is_optional_for_the_other(app: LearnedApp) -> None:
    assert order(app, **{"from": None})[0] == 201


def test_amounts_without_decimals_are_those_of_all_products(app: LearnedApp) -> None:
    assert order(app, amount="77.25")[0] == 400
    assert order(app, "fast", amount="77.25")[0] == 400


def test_a_state_that_only_the_order_shows_is_that_after_the_decision(app: LearnedApp) -> None:
    pay, number = start(app)
    assert decide(app, number, "rowan-77", "no") == 200
    assert app.send("GET", f"/pay/normal/{pay}")[1]["stage"] == "REFUSED"


def test_another_secret_for_the_same_payment_corrects_the_first(app: LearnedApp) -> None:
    _, first = start(app)
    assert decide(app, first, "rowan-07") == 200
    decide(app, first, "rowan-70")
    _, second = start(app)
    assert decide(app, second, "rowan-70") == 200


def test_another_secret_for_another_payment_is_wrong(app: LearnedApp) -> None:
    _, first = start(app)
    assert decide(app, first, "rowan-70") == 200
    _, second = start(app)
    assert decide(app, second, "rowan-07") == 403


def record_groups() -> Iterator[Exchange]:
    """Yield payments at a bank that writes 1 250,00 also if the app has sent 1250,00, up to 20 000,00."""
    ids = iter(("pmt-8xw2k5vq", "pmt-4tz9m3nd", "pmt-6hb1c7rj"))
    for at, (sent, told) in enumerate((("1250,00", "1 250,00"), ("480,50", "480,50"), ("7000,00", "7 000,00"))):
        body = {"amount": sent, "payee": "Bo Ek"}
        made = payment(id := next(ids), "OPEN", body, told)
        yield taped("/pay", made, "POST", status=201, body=body, at=10 * at)
        yield taped(f"/pay/{id}", made, at=10 * at + 1)
    above = {"amount": "20 001,00", "payee": "Bo Ek"}
    yield taped("/pay", {"code": "TOO_MUCH", "most": "20 000,00"}, "POST", status=422, body=above, at=40)


@pytest.mark.parametrize(("amount", "status"), [("12 400,00", 201), ("12400,00", 201), ("25 000,00", 422)])
def test_amounts_may_have_spaces_between_groups_of_digits(amount: str, status: int) -> None:
    app = LearnedApp(learn_text(record_groups()))
    answered, said = app.send("POST", "/pay", {"amount": amount, "payee": "Rut Ask"})
    assert answered == status
    assert status != 201 or said["amount"] == amount


def record_steps() -> Iterator[Exchange]:
    """Yield an authorisation whose steps are told apart by what they bring; a header names the customer only once."""
    consent, auth = "cns-4kq8vd72mz", "aut-9wq2xk5vzn"
    name = (("PSU-ID", "anna.lind"),)

    def step(said: Any, status: int, at: int, **sent: str) -> Exchange:
        return taped(f"/consents/{consent}/auths/{auth}", said, "PUT", status=status, body=sent, at=at)

    def told(state: str) -> dict[str, str]:
        return {"authId": auth, "step": state}

    yield taped("/consents", {"consentId": consent, "state": "new"}, "POST", status=201, body={"days": 90})
    yield taped(f"/consents/{consent}/auths", told("named"), "POST", status=201, headers=name, at=1)
    yield step({"code": "WRONG_PASSWORD"}, 401, 2, password="hawthorn-24")
    yield step(told("known") | {"hint": "Send the code."}, 200, 3, password=SECRET)
    yield step({"code": "WRONG_CODE"}, 401, 4, otp="000000")
    yield step(told("done") | {"state": "valid"}, 200, 5, otp="804271")
    yield taped(f"/consents/{consent}", {"consentId": consent, "state": "valid"}, at=6)


def test_a_password_is_that_of_the_customer_whom_an_earlier_request_named() -> None:
    app = LearnedApp(learn_text(record_steps()))
    consent = app.send("POST", "/consents", {"days": 30})[1]["consentId"]
    auth = app.send("POST", f"/consents/{consent}/auths", headers={"PSU-ID": "anna.lind"})[1]["authId"]
    path = f"/consents/{consent}/auths/{auth}"
    assert app.send("PUT", path, {"password": "rowan-70"}) == (401, {"code": "WRONG_PASSWORD"})
    assert app.send("PUT", path, {"password": SECRET})[1]["step"] == "known"
    assert app.send("PUT", path, {"otp": "804271"})[1]["step"] == "done"
    assert app.send("GET", f"/consents/{consent}")[1]["state"] == "valid"
