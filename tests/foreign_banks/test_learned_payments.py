"""What is learned about payments from another product, from the time, and from headers that depend on the body."""

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

SEPA, REFUSED, FAST = "pay-7kq2m9xw", "pay-9wz4c6hb", "pay-3vd8n5tz"
SENT = {"to": "SI56020101234567854", "sum": "25.00"}


def digest(body: Any) -> dict[str, str]:
    return {"Digest": "SHA-256=" + hashlib.sha256(json.dumps(body).encode()).hexdigest()}


def pay(product: str, id: str, at: int, state: str = "RCVD", **more: str) -> Exchange:
    sent = {**SENT, "ref": f"Invoice {at}"}
    return taped(
        f"/payments/{product}", {"id": id, "state": state, **more}, "POST", body=sent, status=201, at=at,
        headers=tuple(digest(sent).items()),
    )  # fmt: skip


def sign(product: str, id: str, state: str, at: int) -> Exchange:
    return taped(f"/payments/{product}/{id}/code", {"state": state}, "PUT", body={"code": "620914"}, at=at)


def record() -> Iterator[Exchange]:
    """Yield a SEPA payment until it is booked, one that is rejected, and a fast one that nobody reads, and another."""
    yield pay("sepa", SEPA, 1)
    yield sign("sepa", SEPA, "ACCP", 2)
    yield taped(f"/payments/sepa/{SEPA}/status", {"state": "ACCP", "covered": True}, at=3)
    yield taped(f"/payments/sepa/{SEPA}", {"id": SEPA, "state": "ACSC", **SENT, "ref": "Invoice 1"}, at=130)
    yield pay("sepa", REFUSED, 131)
    yield taped(f"/payments/sepa/{REFUSED}", {"id": REFUSED, "state": "CANC"}, "DELETE", at=132)
    yield taped(f"/payments/sepa/{REFUSED}/status", {"state": "CANC"}, at=133)
    yield pay("fast", FAST, 134)
    yield sign("fast", FAST, "ACCP", 135)
    yield pay("fast", "pay-5mt7r2jk", 136, "RJCT", reason="AM04")


@pytest.fixture
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


def send(app: LearnedApp, product: str) -> str:
    sent = {**SENT, "sum": "17.30", "ref": f"Rent for {product}"}
    _, made = app.send("POST", f"/payments/{product}", sent, digest(sent))
    assert made["state"] == "RCVD", "the digest of a body tells nothing about the answer"
    return str(made["id"])


@pytest.mark.parametrize("product", ["sepa", "fast"])
def test_a_product_has_the_states_of_another_one(app: LearnedApp, product: str) -> None:
    id = send(app, product)
    app.send("PUT", f"/payments/{product}/{id}/code", {"code": "620914"})
    status = f"/payments/{product}/{id}/status"
    assert app.send("GET", status) == (200, {"state": "ACCP", "covered": True})
    app.wait(START + timedelta(minutes=10))
    assert app.send("GET", status)[1]["state"] == "ACSC"


def test_what_time_has_changed_is_shown_like_what_it_was_before(app: LearnedApp) -> None:
    id = send(app, "sepa")
    app.send("PUT", f"/payments/sepa/{id}/code", {"code": "620914"})
    app.wait(START + timedelta(minutes=10))
    assert app.send("GET", f"/payments/sepa/{id}/status") == (200, {"state": "ACSC", "covered": True})
    other = send(app, "sepa")
    app.send("DELETE", f"/payments/sepa/{other}")
    assert app.send("GET", f"/payments/sepa/{other}/status") == (200, {"state": "CANC"})


ACCOUNT = "CF2BTN9BX0ECPUM171WM"
IBAN = "SI56610000041726352"
OURS = [{"id": ACCOUNT, "iban": IBAN}, {"id": "X72NMPU2XKSWLF8XUX81", "iban": "SI56610000041726449"}]


def balance(left: str, at: int) -> Exchange:
    return taped(f"/accounts/{ACCOUNT}/balance", {"iban": IBAN, "left": left}, at=at)


def order(id: str, at: int, **sent: str) -> Exchange:
    body = {"from": IBAN, "to": "SI56020101234567854", **sent}
    told = {"id": id, "state": "RCVD", "fee": "0.25", "page": f"/pages/{id[4:]}aa"}
    return taped("/orders", told, "POST", body=body, status=201, at=at)


def decide(page: str, choice: str, at: int) -> Exchange:
    sent = f"user=kos&pin=4471&choice={choice}".encode()
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    back = [("Location", f"https://app.example/back?result={choice}")]
    return taped(f"/pages/{page}", b"", "POST", headers=form, body=sent, status=302, answer_headers=back, at=at)


def record_orders() -> Iterator[Exchange]:
    """Yield an order that is booked, and one for a day, whose cancellation the customer confirms on another page."""
    first, dated = "ord-51926-zk", "ord-83305-vb"
    yield taped("/accounts", {"accounts": OURS}, at=1)
    yield balance("500.00", 2)
    yield order(first, 3, sum="100.00")
    yield decide("51926-zkaa", "yes", 4)
    yield taped(f"/orders/{first}", {"id": first, "state": "ACSC"}, at=5)
    yield balance("399.75", 6)
    yield order(dated, 7, sum="10.00", day="2026-12-24")
    yield decide("83305-vbaa", "yes", 8)
    confirm = {"id": dated, "state": "PDNG", "page": "/pages/77a2b2c345"}
    yield taped(f"/orders/{dated}", confirm, "DELETE", status=202, at=9)
    yield decide("77a2b2c345", "yes", 10)
    yield taped(f"/orders/{dated}", {"id": dated, "state": "CANC"}, at=11)


class Orders(LearnedApp):
    def make(self, **sent: str) -> dict[str, Any]:
        made = self.send("POST", "/orders", {"from": IBAN, "to": "SI56020101234567854", **sent})[1]
        assert made["state"] == "RCVD"
        return dict(made)

    def agree(self, page: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.answer("POST", page, b"user=kos&pin=4471&choice=yes", form)

    def state(self, id: str) -> str:
        return str(self.send("GET", f"/orders/{id}")[1]["state"])


@pytest.fixture
def orders() -> Orders:
    return Orders(learn_text(record_orders()))


def test_a_fee_is_taken_from_the_balance_too(orders: Orders) -> None:
    for _ in range(2):
        orders.agree(orders.make(sum="50.00")["page"])
    assert orders.send("GET", f"/accounts/{ACCOUNT}/balance")[1]["left"] == "399.50"
    for amount, state in (("399.26", "RJCT"), ("399.25", "ACSC")):
        made = orders.make(sum=amount)
        orders.agree(made["page"])
        assert orders.state(made["id"]) == state


def test_a_payment_for_a_day_waits_for_it_until_its_cancellation_is_confirmed(orders: Orders) -> None:
    dated = orders.make(sum="5.00", day="2026-12-31")
    orders.agree(dated["page"])
    _, cancelled = orders.send("DELETE", f"/orders/{dated['id']}")
    assert cancelled["state"] == "PDNG"
    orders.agree(cancelled["page"])
    assert orders.state(dated["id"]) == "CANC"
    plain = orders.make(sum="5.00")
    orders.agree(plain["page"])
    assert orders.state(plain["id"]) == "ACSC"


PARTS = [{"ref": "INV-1001", "sum": "5"}, {"ref": "INV-1002", "sum": "7.5"}]
BULK = "blk-77310-qd"


def bulk(id: str, state: str, states: list[str], parts: list[dict[str, str]]) -> dict[str, Any]:
    told = [
        {"number": number, "ref": part["ref"], "sum": part["sum"], "part": word}
        for number, (part, word) in enumerate(zip(parts, states, strict=True), 1)
    ]
    return {"id": id, "state": state, "parts": told}


def test_an_answer_repeats_the_parts_of_a_bulk_payment_with_their_states() -> None:
    app = LearnedApp(
        learn_text(
            [
                taped("/bulks", {"id": BULK, "state": "open"}, "POST", body={"parts": PARTS}, status=201, at=1),
                taped(f"/bulks/{BULK}", bulk(BULK, "open", ["waits", "waits"], PARTS), at=2),
                taped(f"/bulks/{BULK}", bulk(BULK, "half", ["paid", "waits"], PARTS), at=200),
                taped(f"/bulks/{BULK}", bulk(BULK, "paid", ["paid", "paid"], PARTS), at=2000),
            ]
        )
    )
    parts = [{"ref": f"RENT-{number}", "sum": f"1{number}.00"} for number in range(3)]
    _, made = app.send("POST", "/bulks", {"parts": parts})
    for minutes, state, words in ((0, "open", 3 * ["waits"]), (5, "half", ["paid", "waits", "waits"])):
        app.wait(START + timedelta(minutes=minutes))
        assert app.send("GET", f"/bulks/{made['id']}")[1] == bulk(made["id"], state, words, parts)


def test_the_id_of_a_method_does_not_name_the_customer_of_a_code() -> None:
    """Every customer of the sandbox has the recorded methods, but not the recorded customer's code."""
    sign = "/payments/pay-7kq2m9xw/sign"
    methods = {"state": "open", "methods": [{"method": "47477"}, {"method": "55259"}]}
    app = LearnedApp(
        learn_text(
            [
                taped("/payments", {"id": "pay-7kq2m9xw", "state": "new"}, "POST", body=SENT, status=201, at=1),
                taped(sign, methods, "POST", body={"password": "Pilar-1808"}, headers=(("PSU-ID", "ana"),), at=2),
                taped(sign, {"state": "asked"}, "PUT", body={"method": "47477"}, at=3),
                taped(sign, {"code": "WRONG", "field": "otp"}, "PUT", body={"otp": "390148"}, status=401, at=4),
                taped(sign, {"state": "signed"}, "PUT", body={"otp": "390184"}, at=5),
            ]
        )
    )
    _, made = app.send("POST", "/payments", SENT)
    path = f"/payments/{made['id']}/sign"
    app.send("POST", path, {"password": "jota-y-baile"}, {"PSU-ID": "eva"})
    app.send("PUT", path, {"method": "47477"})
    assert app.send("PUT", path, {"otp": "127750"}) == (200, {"state": "signed"})
