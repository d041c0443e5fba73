"""What is learned at a bank that takes everything by POST: ids and tokens in bodies, and errors in sentences."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange

CALL = "5d1f0b6e-8f4a-4c53-9c5e-2f9a7d3b{:04}"
FORM = [("Content-Type", "application/x-www-form-urlencoded")]
BACK = "https://kwiat.example/back"
SEE, PAY = "tok_4v3kq9xw2mzt5d8b1c7f", "tok_w4nd82tqk6vpz3xm9a0e"
RENEW, RENEWED = "ref_9k2mwq4zv7x1t8c5b3n6", "tok_3x8vq5nw2kd7f1m6p9s4"
ACCOUNTS = [
    {"number": "61199000210000001042000711", "name": "Main"},
    {"number": "11199000210000001042000738", "name": "Bills"},
]
MAIN = ACCOUNTS[0]["number"]
ENTRIES = [
    {"entry": f"E{9000 + number}", "day": f"2026-11-{19 - number}", "cents": 100 + number} for number in range(6)
]
NOW, LATER = "NTC677675934056", "NTC398427139045"
TEXTS = {
    "taken": "We have your order",
    "planned": "It waits for its day",
    "sent": "It is on its way",
    "ended": "You have ended it",
}


def order(day: str, mode: str) -> dict[str, Any]:
    return {"from": MAIN, "to": "Ogród Brda", "cents": 1250, "day": day, "mode": mode}


def record() -> Iterator[Exchange]:
    """Yield a journey in which every body has the id of the call, like the header, and most have a token."""
    numbers = count(1)

    def call(
        path: str,
        answer: dict[str, Any],
        sent: dict[str, Any],
        *,
        token: str = "",
        lacks: str = "",
        other: bool = False,
        status: int = 200,
        at: int,
    ) -> Exchange:
        id = CALL.format(next(numbers))
        head = {"call": id, "agent": "Kwiat/5"} | ({"token": token} if token else {})
        head = {name: value for name, value in head.items() if name != lacks}
        shown = CALL.format(9000) if other else id
        body = {"head": head, **sent}
        return taped(
            path, {"call": shown, **answer}, "POST", headers=[("X-Call", shown)], body=body, status=status, at=at
        )

    def decide(page: str, choice: str, location: str, at: int) -> Exchange:
        sent = f"user=hanna&word=Brda-1346&choice={choice}".encode()
        return taped(
            page, None, "POST", headers=FORM, body=sent, status=302, answer_headers=[("Location", location)], at=at
        )

    ask = {"scope": "see", "back": BACK, "state": "s-1"}
    yield call(
        "/v1/ask",
        {"code": "MISSING", "text": "The member head.agent is missing."},
        ask,
        lacks="agent",
        status=400,
        at=1,
    )
    yield call("/v1/ask", {"code": "TWO_IDS", "text": "Two ids."}, ask, other=True, status=400, at=2)
    yield call("/v1/ask", {"page": "/door/BbA7L8aQgb7E2LgYhJ"}, ask, at=3)
    yield decide("/door/BbA7L8aQgb7E2LgYhJ", "yes", f"{BACK}?code=PqeiefjbVW9QPRoFcJEwMZlz&state=s-1", 4)
    told = {"token": SEE, "renew": RENEW, "expires_in": 1800}
    yield call("/v1/token", told, {"code": "PqeiefjbVW9QPRoFcJEwMZlz"}, at=5)
    again = {"code": "PqeiefjbVW9QPRoFcJEwMZlz"}
    yield call("/v1/token", {"code": "BAD_CODE", "text": "The code is used."}, again, status=400, at=6)
    yield call("/v1/accounts", {"accounts": ACCOUNTS}, {"size": 10}, token=SEE, at=7)
    listed = {"account": MAIN, "size": 2}
    more = {"next": "nBrXRcyK9u8JmKbs"}
    yield call("/v1/entries", {"entries": ENTRIES[:2], "page": more}, listed, token=SEE, at=8)
    more = {"previous": "kT5xQw8ZbN2mVc7R", "next": "hY3pLd9FsG6jXa1W"}
    yield call(
        "/v1/entries", {"entries": ENTRIES[2:4], "page": more}, listed | {"cursor": "nBrXRcyK9u8JmKbs"}, token=SEE, at=9
    )
    wanted = order("2026-11-21", "Immediate")
    yield call("/v1/pay", {"code": "NO_SCOPE", "text": "Not for payments."}, wanted, token=SEE, status=403, at=10)
    ask = {"scope": "pay", "back": BACK, "state": "s-2"}
    yield call("/v1/ask", {"page": "/door/4iKwGmpy7GNjWe5QJP"}, ask, at=11)
    yield decide("/door/4iKwGmpy7GNjWe5QJP", "yes", f"{BACK}?code=vEbyb4dWZm444Xk3pEV3mTyk&state=s-2", 12)
    told = {"token": PAY, "renew": "ref_5m1kwq9zv2x8t4c7b6n3", "expires_in": 1800}
    yield call("/v1/token", told, {"code": "vEbyb4dWZm444Xk3pEV3mTyk"}, at=13)
    yield call("/v1/pay", {"order": NOW, "state": "taken", "text": TEXTS["taken"]}, wanted, token=PAY, at=14)
    later = order("2026-11-25", "FutureDated")
    yield call("/v1/pay", {"order": LATER, "state": "planned", "text": TEXTS["planned"]}, later, token=PAY, at=15)
    taken = {"order": NOW, "state": "taken", "text": TEXTS["taken"]}
    yield call("/v1/order", taken, {"order": NOW}, token=PAY, at=16)
    yield call("/v1/order", {"order": NOW, "state": "sent", "text": TEXTS["sent"]}, {"order": NOW}, token=PAY, at=80)
    yield call(
        "/v1/cancel", {"order": LATER, "state": "ended", "text": TEXTS["ended"]}, {"order": LATER}, token=PAY, at=81
    )
    yield call("/v1/accounts", {"code": "OLD_TOKEN", "text": "Old."}, {"size": 10}, token=SEE, status=401, at=1900)
    told = {"token": RENEWED, "renew": "ref_6p4kwq7zv3x9t2c8b1n5", "expires_in": 1800}
    yield call("/v1/token", told, {"renew": RENEW}, at=1901)
    yield call("/v1/end", {"done": True}, {"why": "no more"}, token=RENEWED, at=1902)
    yield call(
        "/v1/accounts",
        {"code": "ENDED", "text": "The access has ended."},
        {"size": 10},
        token=RENEWED,
        status=403,
        at=1903,
    )


class App(LearnedApp):
    def call(self, path: str, sent: dict[str, Any], token: str = "", *, header: str = "", lacks: str = "") -> Any:
        head = {"call": CALL.format(77), "agent": "Kwiat/6"} | ({"token": token} if token else {})
        head = {name: value for name, value in head.items() if name != lacks}
        return self.send("POST", path, {"head": head, **sent}, {"X-Call": header or CALL.format(77)})

    def get_code(self, scope: str) -> str:
        page = self.call("/v1/ask", {"scope": scope, "back": BACK, "state": "s-9"})[1]["page"]
        sent = b"user=tymon&word=Naklo&choice=yes"
        link = dict(self.answer("POST", page, sent, dict(FORM)).headers)["Location"]
        return str(link.partition("code=")[2].partition("&")[0])

    def get_token(self, scope: str) -> str:
        return str(self.call("/v1/token", {"code": self.get_code(scope)})[1]["token"])


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_two_places_of_the_same_id_must_be_equal(app: App) -> None:
    ask = {"scope": "see", "back": BACK, "state": "s-9"}
    assert app.call("/v1/ask", ask)[0] == 200
    assert app.call("/v1/ask", ask, header=CALL.format(78))[1]["code"] == "TWO_IDS"
    assert app.call("/v1/accounts", {}, app.get_token("see"), header=CALL.format(78))[1]["code"] == "TWO_IDS"


def test_an_error_that_names_a_member_in_a_sentence_is_for_other_members_too(app: App) -> None:
    status, said = app.call("/v1/ask", {"scope": "see", "state": "s-9"})
    assert (status, said["text"]) == (400, "The member back is missing.")
    assert app.call("/v1/accounts", {}, app.get_token("see"))[0] == 200


def test_a_code_works_once_and_an_unknown_one_never(app: App) -> None:
    code = app.get_code("see")
    assert app.call("/v1/token", {"code": code})[0] == 200
    assert app.call("/v1/token", {"code": code})[1]["code"] == "BAD_CODE"
    assert app.call("/v1/token", {"code": "unknown"})[1]["code"] == "BAD_CODE"


def test_a_cursor_in_the_body_leads_on_and_back(app: App) -> None:
    token = app.get_token("see")
    first = app.call("/v1/entries", {"account": MAIN, "size": 2}, token)[1]
    assert "previous" not in first["page"]
    second = app.call("/v1/entries", {"account": MAIN, "cursor": first["page"]["next"]}, token)[1]
    assert [entry["entry"] for entry in second["entries"]] == ["E9002", "E9003"]
    back = app.call("/v1/entries", {"account": MAIN, "cursor": second["page"]["previous"]}, token)[1]
    assert back["entries"] == first["entries"]


def test_a_token_for_another_purpose_is_refused(app: App) -> None:
    see, pay = app.get_token("see"), app.get_token("pay")
    assert app.call("/v1/pay", order("2026-11-21", "Immediate"), see)[1]["code"] == "NO_SCOPE"
    assert app.call("/v1/accounts", {"size": 5}, pay)[1]["code"] == "NO_SCOPE"
    assert app.call("/v1/accounts", {"size": 5}, see)[0] == 200


def test_a_new_order_has_the_state_and_text_for_its_kind(app: App) -> None:
    token = app.get_token("pay")
    made = [
        app.call("/v1/pay", order(day, mode), token)[1]
        for day, mode in (("2026-11-21", "Immediate"), ("2026-11-29", "FutureDated"))
    ]
    assert [(one["state"], one["text"]) for one in made] == [("taken", TEXTS["taken"]), ("planned", TEXTS["planned"])]
    app.wait(START + timedelta(seconds=90))
    orders = [app.call("/v1/order", {"order": one["order"]}, token)[1] for one in made]
    assert [(one["state"], one["text"]) for one in orders] == [("sent", TEXTS["sent"]), ("planned", TEXTS["planned"])]


def test_a_renewed_token_belongs_to_the_same_access_which_a_request_ends(app: App) -> None:
    given = app.call("/v1/token", {"code": app.get_code("see")})[1]
    app.wait(START + timedelta(seconds=1801))
    assert app.call("/v1/accounts", {}, given["token"])[1]["code"] == "OLD_TOKEN"
    renewed = app.call("/v1/token", {"renew": given["renew"]})[1]["token"]
    assert app.call("/v1/accounts", {}, renewed)[0] == 200
    assert app.call("/v1/token", {"renew": given["renew"]})[0] == 400
    assert app.call("/v1/end", {"why": "enough"}, renewed)[0] == 200
    assert app.call("/v1/accounts", {}, renewed)[1]["code"] == "ENDED"


def hide(entry: Exchange) -> Exchange:
    """Return the exchange as redaction leaves it: without tokens and codes."""

    def drop(content: bytes) -> bytes:
        return re.sub(rb'"(token|renew|code)": ?"(?:tok|ref|Pqe|vEb)\w+"', rb'"\1": "dropped"', content)

    link = re.sub("code=[A-Za-z]+", "code=dropped", entry.answer_headers.get("location") or "")
    headers = Headers((name, link if name == "Location" else value) for name, value in entry.answer_headers)
    return replace(entry, body=drop(entry.body), answer_body=drop(entry.answer_body), answer_headers=headers)


def test_tokens_in_bodies_that_redaction_has_dropped_are_those_of_earlier_answers() -> None:
    app = App(learn_text(map(hide, record())))
    token = app.get_token("see")
    assert app.call("/v1/accounts", {"size": 5}, token)[0] == 200
    app.wait(START + timedelta(seconds=1801))
    assert app.call("/v1/accounts", {"size": 5}, token)[1]["code"] == "OLD_TOKEN"


HEAD = {"id": "c9281cd0-d33a-401f-bcbe-13949ec6032c", "sent": "2026-11-21T12:00:00+01:00"}
CONSENTS = {"CN-7KQ2-M9XW": "5b640171878af7e3", "CN-3VD8-N5TZ": "9b0a9f7da229ab01"}


def head(number: int) -> dict[str, str]:
    return {"id": HEAD["id"][:-4] + f"{number:04}", "sent": HEAD["sent"].replace(":00:00", f":00:{number:02}")}


def record_states() -> Iterator[Exchange]:
    """Yield a journey in which consents and orders are looked at by POST, and an order is sent again."""
    for at, (id, page) in enumerate(CONSENTS.items()):
        body = {"head": head(at), "scope": "accounts", "days": 30}
        answer = {"consent": id, "state": "WAITING", "page": f"/customer?session={page}"}
        yield taped("/consent/ask", answer, "POST", body=body, status=201, at=at)
    for at, ((id, page), state) in enumerate(zip(CONSENTS.items(), ("AGREED", "REFUSED"), strict=True)):
        sent = f"pin=4471&answer={'yes' if state == 'AGREED' else 'no'}".encode()
        back = [("Location", f"https://app.example/back?{'code=7d1e5c90ab' if state == 'AGREED' else 'error=no'}")]
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        path = f"/customer?session={page}"
        yield taped(path, None, "POST", headers=form, body=sent, status=302, answer_headers=back, at=10 + at)
        body = {"head": head(20 + at), "consent": id}
        yield taped("/consent/look", {"consent": id, "state": state}, "POST", body=body, at=20 + at)
    order = {"reference": "4ab60d68-fc9b-446a-8764-99185ab65fdf", "amount": "128.40", "payee": "Ida Berg"}
    done = {"order": "ORD-59380417", "state": "NEW", **order}
    yield taped("/order/make", done, "POST", body={"head": head(30), **order}, status=201, at=30)
    yield taped("/order/make", done, "POST", body={"head": head(31), **order}, at=31)
    yield taped("/order/look", done, "POST", body={"head": head(32), "order": done["order"]}, at=32)


def test_a_post_that_shows_what_the_customer_has_decided_changes_nothing() -> None:
    text = learn_text(record_states())
    assert "WAITING -> AGREED: POST /customer (exchange 3)" in text
    assert "WAITING -> REFUSED: POST /customer (exchange 5)" in text
    app = LearnedApp(text)
    made = app.send("POST", "/consent/ask", {"head": head(40), "scope": "accounts", "days": 30})[1]
    for number in (41, 42):
        shown = app.send("POST", "/consent/look", {"head": head(number), "consent": made["consent"]})[1]
        assert shown["state"] == "WAITING"


def test_a_request_is_the_same_if_only_its_own_id_and_time_differ() -> None:
    app = LearnedApp(learn_text(record_states()))
    order = {"reference": "110899d3-408b-4430-ab22-0b2495382d43", "amount": "60.00", "payee": "Bo Ek"}
    status, made = app.send("POST", "/order/make", {"head": head(50), **order})
    assert status == 201
    assert app.send("POST", "/order/make", {"head": head(51), **order}) == (200, made)
