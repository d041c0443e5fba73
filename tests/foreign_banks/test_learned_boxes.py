"""What is learned about a page on which the customer chooses accounts: each has a box, and all can be ticked."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
HTML = (("Content-Type", "text/html"),)
BACK = (("Location", "https://shop.example/back?done"),)
FIRST, SECOND = "lk4k7q2m9x5t1", "lk8v3w6z1d0r7"
POTS = [
    {"pot": "pt4k9wq27", "name": "Every day"},
    {"pot": "pt8m3xv55", "name": "Savings"},
    {"pot": "pt2c7hz31", "name": "Travel"},
]
NAMES = [str(pot["pot"]) for pot in POTS]


def link(id: str, state: str, shares: list[str]) -> dict[str, Any]:
    return {"link": id, "state": state, "shares": shares}


def choose(id: str, shares: list[str], at: int) -> Exchange:
    sent = urlencode([*(("share", pot) for pot in shares), ("answer", "yes")]).encode()
    return taped(f"/pages/{id}", None, "POST", status=302, headers=FORM, body=sent, answer_headers=BACK, at=at)


def record() -> Iterator[Exchange]:
    boxes = "".join(f'<input type="checkbox" name="share" value="{name}">' for name in NAMES)
    page = f'<html><form method="post">{boxes}<button name="answer" value="yes"></form></html>'.encode()
    for start, id, shares in ((0, FIRST, NAMES[:2]), (10, SECOND, NAMES[2:])):
        yield taped("/links", link(id, "asked", []), "POST", status=201, body={"days": 30}, at=start)
        yield taped(f"/pages/{id}", page, answer_headers=HTML, at=start + 1)
        yield choose(id, shares, start + 2)
        yield taped(f"/links/{id}", link(id, "open", shares), at=start + 3)
        pots = [pot for pot in POTS if pot["pot"] in shares]
        yield taped("/pots", {"pots": pots}, headers=(("Link", id),), at=start + 4)
        yield taped(f"/pots/{shares[0]}", pots[0], headers=(("Link", id),), at=start + 5)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.mark.parametrize("shares", [NAMES, NAMES[1:], NAMES[:1]])
def test_answers_show_the_boxes_that_the_customer_has_ticked(text: str, shares: list[str]) -> None:
    app = LearnedApp(text)
    id = app.send("POST", "/links", {"days": 20})[1]["link"]
    sent = urlencode([*(("share", pot) for pot in shares), ("answer", "yes")]).encode()
    assert app.send("POST", f"/pages/{id}", sent, dict(FORM))[0] == 302
    assert app.send("GET", f"/links/{id}") == (200, link(id, "open", shares))
    listed = app.send("GET", "/pots", None, {"Link": id})[1]["pots"]
    assert [one["pot"] for one in listed] == shares
