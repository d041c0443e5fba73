"""A PATCH changes members of a thing and its version. Entries of a list can lack their id before a consent."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.exchange import Exchange

ID, OTHER = "ord-51926-zk", "ord-83305-vb"
SENT = {"to": "Imkerei Kranjc", "note": "Honey"}
JSON = ("Content-Type", "application/json")


def order(id: str, note: str, state: str = "draft") -> dict[str, Any]:
    return {"id": id, "state": state, "to": "Imkerei Kranjc", "note": note}


def told(tag: int, document: Any, method: str = "GET", path: str = f"/orders/{ID}", **more: Any) -> Exchange:
    return taped(path, document, method, answer_headers=(JSON, ("ETag", f'"r{tag}"')), **more)


def patch(tag: int, body: Any, **more: Any) -> dict[str, Any]:
    return {"method": "PATCH", "body": body, "headers": (("If-Match", f'"r{tag}"'),), **more}


def record() -> Iterator[Exchange]:
    yield told(1, order(ID, "Honey"), "POST", "/orders", body=SENT, status=201, at=1)
    yield told(2, order(ID, "Two jars"), **patch(1, {"note": "Two jars"}, at=2))
    stale = {"error": "STALE", "say": "It has changed since"}
    yield taped(f"/orders/{ID}", stale, status=412, **patch(1, {"note": "Three jars"}, at=3))
    yield told(2, order(ID, "Two jars"), at=4)
    yield told(3, order(ID, "Two jars", "stopped"), **patch(2, {"state": "stopped"}, at=5))
    yield told(3, order(ID, "Two jars", "stopped"), at=6)


@pytest.fixture
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


def test_an_answer_has_the_last_value_that_was_sent(app: LearnedApp) -> None:
    _, made = app.send("POST", "/orders", SENT)
    path = f"/orders/{made['id']}"
    assert app.send("GET", path)[1]["note"] == "Honey"
    app.send("PATCH", path, {"note": "A jar"}, {"If-Match": '"r1"'})
    assert app.send("GET", path)[1]["note"] == "A jar"


def test_every_change_makes_a_new_version(app: LearnedApp) -> None:
    _, made = app.send("POST", "/orders", SENT)
    path = f"/orders/{made['id']}"
    tags = [tag(app.answer("PATCH", path, {"note": "A jar"}, {"If-Match": f'"r{at}"'})) for at in (1, 2)]
    assert tags == ['"r2"', '"r3"']
    assert app.send("PATCH", path, {"note": "No jar"}, {"If-Match": '"r2"'})[0] == 412
    assert tag(app.answer("GET", path)) == '"r3"'


def tag(answer: Response) -> str | None:
    return dict(answer.headers).get("ETag")


IBANS = ("FR7638219004170004172031653", "FR7638219004170004172033108")
KEYS = ("CF2BTN9BX0ECPUM171WM", "X72NMPU2XKSWLF8XUX81")


def test_an_account_without_its_id_is_not_listed_next_to_itself() -> None:
    bare = [{"account": {"iban": iban}, "name": "Compte"} for iban in IBANS]
    whole = [{"id": key, **account} for key, account in zip(KEYS, bare, strict=True)]
    app = LearnedApp(
        learn_text(
            [
                taped("/accounts", {"accounts": bare}, at=1),
                taped("/accounts", {"accounts": whole}, at=2),
                taped(f"/accounts/{KEYS[0]}", {"account": whole[0]}, at=3),
            ]
        )
    )
    assert app.send("GET", "/accounts") == (200, {"accounts": whole})
