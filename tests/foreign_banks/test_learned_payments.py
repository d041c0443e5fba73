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
