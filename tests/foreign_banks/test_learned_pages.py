"""What is learned about an OAuth page for a consent: its form can be shown again, and its code becomes a token."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
HTML = (("Content-Type", "text/html"),)
BACK = "https://shop.example/back"
FIRST, SECOND = "CN4K7Q2M9X5T", "CN8V3W6Z1D0R"
TICKETS = {FIRST: "tk7q2x9k41wz8v3n", SECOND: "tk5w609d1m6t25h3"}
CODE, TOKEN, RENEWAL = "cd4kq8vd72mzanx1", "at7v3kq9xw2mzt5d8b", "rt4nd82tqk6vpz3xm9"
RENEWED = "at2h5c8b7q2x9k41w3"
ASK = {"rights": ["accounts"], "back": BACK}
ACCOUNTS = [{"key": "a4k9wq27", "name": "Main"}, {"key": "a8m3xv55", "name": "Savings"}]
ENTRIES = [
    {"id": "e5vk2w9q7", "kind": "booked", "amount": "12.50"},
    {"id": "e8m3xq4k9", "kind": "booked", "amount": "8.10"},
]


def show(ticket: str, said: str) -> bytes:
    form = f'<form method="post" action="/login"><input type="hidden" name="ticket" value="{ticket}">'
    return f'<html><p>{said}</p>{form}<input name="user"><input name="word"><button name="do"></form></html>'.encode()


def authorize(id: str) -> str:
    return f"/authorize?{urlencode({'scope': f'AIS:{id}', 'redirect_uri': BACK})}"


def open_page(id: str, at: int) -> Exchange:
    return taped(authorize(id), show(TICKETS[id], "Sign in"), answer_headers=HTML, at=at)


def log_in(id: str, word: str, decision: str, at: int, told: str) -> Exchange:
    sent = urlencode({"ticket": TICKETS[id], "user": "mette", "word": word, "do": decision}).encode()
    if not told:
        page = show(TICKETS[id], "The password is wrong")
        return taped("/login", page, "POST", headers=FORM, body=sent, answer_headers=HTML, at=at)
    back = (("Location", f"{BACK}?{told}"),)
    return taped("/login", None, "POST", status=302, headers=FORM, body=sent, answer_headers=back, at=at)


def record() -> Iterator[Exchange]:
    """Yield a journey in which the consent changes with the login, and with the token for its code."""

    def consent(id: str, state: str) -> dict[str, Any]:
        return {"consentId": id, "consentStatus": state}

    def give(sent: Any, answer: Any, *, status: int = 200, at: int) -> Exchange:
        return taped("/token", answer, "POST", status=status, body=sent, at=at)

    def call(target: str, answer: Any, *, token: str = TOKEN, status: int = 200, at: int) -> Exchange:
        return taped(target, answer, status=status, headers=(("Authorization", f"Bearer {token}"),), at=at)

    token = {"token": TOKEN, "renewal": RENEWAL, "scope": f"AIS:{FIRST}"}
    yield taped("/consents", consent(FIRST, "received"), "POST", status=201, body=ASK, at=1)
    yield open_page(FIRST, at=2)
    yield log_in(FIRST, "lighthouse", "yes", 3, "")
    yield log_in(FIRST, "lighthouse-7", "yes", 4, f"code={CODE}")
    yield taped(f"/consents/{FIRST}", consent(FIRST, "authorised"), at=5)
    yield give({"code": CODE}, token, at=6)
    yield give({"code": CODE}, {"error": "bad_code", "state": "used"}, status=400, at=7)
    yield taped(f"/consents/{FIRST}", consent(FIRST, "valid"), at=8)
    yield call("/accounts", {"accounts": ACCOUNTS}, at=9)
    yield call(f"/accounts/{ACCOUNTS[0]['key']}/entries?kind=booked", {"entries": ENTRIES}, at=10)
    yield taped("/consents", consent(SECOND, "received"), "POST", status=201, body=ASK, at=11)
    yield taped("/consents", {"error": "rights"}, "POST", status=400, body=ASK | {"rights": ["deposits"]}, at=12)
    yield open_page(SECOND, at=13)
    yield log_in(SECOND, "lighthouse-7", "no", 14, "error=access_denied")
    yield taped(f"/consents/{SECOND}", consent(SECOND, "rejected"), at=15)
    renewed = {"token": RENEWED, "renewal": "rt9wq7m3xv55k2h8b1", "scope": f"AIS:{FIRST}"}
    yield give({"renewal": RENEWAL}, renewed, at=16)
    yield call("/accounts", {"accounts": ACCOUNTS}, token=RENEWED, at=17)
    yield taped(f"/consents/{FIRST}", consent(FIRST, "ended"), "DELETE", at=18)
    yield call("/accounts", {"error": "ended"}, token=RENEWED, status=403, at=19)


class App(LearnedApp):
    def ask(self) -> tuple[str, str]:
        """Return the id of a new consent, and the ticket of its page."""
        id = self.send("POST", "/consents", ASK)[1]["consentId"]
        found = re.search(r'name="ticket" value="([^"]+)"', self.answer("GET", authorize(id)).body.decode())
        assert found
        return id, found[1]

    def log_in(self, ticket: str, user: str, word: str, decision: str = "yes") -> tuple[int, dict[str, str]]:
        """Return the status, and what the link back to the app says."""
        sent = urlencode({"ticket": ticket, "user": user, "word": word, "do": decision}).encode()
        answer = self.answer("POST", "/login", sent, dict(FORM))
        link = urlsplit(dict(answer.headers).get("Location", ""))
        return answer.status, {name: values[0] for name, values in parse_qs(link.query).items()}

    def agree(self) -> tuple[str, Any]:
        """Return a consent that a new customer has agreed to, and the answer with the token for it."""
        id, ticket = self.ask()
        return id, self.send("POST", "/token", {"code": self.log_in(ticket, "jens", "grenen")[1]["code"]})[1]

    def state(self, id: str) -> str:
        state: str = self.send("GET", f"/consents/{id}")[1]["consentStatus"]
        return state

    def read(self, token: str) -> int:
        status: int = self.send("GET", "/accounts", None, {"Authorization": f"Bearer {token}"})[0]
        return status


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_a_page_that_shows_its_form_again_has_refused_it(app: App) -> None:
    id, ticket = app.ask()
    assert app.log_in(ticket, "mette", "lighthouse") == (200, {})
    assert app.state(id) == "received"
    assert app.log_in(ticket, "mette", "lighthouse-7")[0] == 302
    assert app.state(id) == "authorised"


def test_the_consent_in_the_scope_of_a_page_follows_the_login_and_the_token(app: App) -> None:
    id, ticket = app.ask()
    code = app.log_in(ticket, "jens", "grenen")[1]["code"]
    assert app.state(id) == "authorised"
    assert app.send("POST", "/token", {"code": code})[1]["scope"] == f"AIS:{id}"
    assert app.state(id) == "valid"
    other, ticket = app.ask()
    assert app.log_in(ticket, "jens", "grenen", "no")[1] == {"error": "access_denied"}
    assert app.state(other) == "rejected"


def test_a_code_in_a_body_works_once(app: App) -> None:
    _, ticket = app.ask()
    code = app.log_in(ticket, "jens", "grenen")[1]["code"]
    assert app.send("POST", "/token", {"code": code})[0] == 200
    assert app.send("POST", "/token", {"code": code}) == (400, {"error": "bad_code", "state": "used"})


def test_a_renewed_token_belongs_to_the_same_consent(app: App) -> None:
    id, first = app.agree()
    renewed = app.send("POST", "/token", {"renewal": first["renewal"]})[1]
    assert (renewed["scope"], app.read(renewed["token"])) == (f"AIS:{id}", 200)
    app.send("DELETE", f"/consents/{id}")
    assert app.read(renewed["token"]) == 403
    assert app.send("POST", "/token", {"renewal": first["renewal"]})[0] == 400


def test_another_password_on_a_used_page_corrects_the_first(app: App) -> None:
    _, ticket = app.ask()
    assert app.log_in(ticket, "jens", "greenen")[0] == 302
    assert app.log_in(ticket, "jens", "grenen", "no")[0] != 410


def test_a_filter_takes_a_word_that_was_not_recorded(app: App) -> None:
    token = app.agree()[1]["token"]
    entries = f"/accounts/{ACCOUNTS[0]['key']}/entries"
    assert app.send("GET", f"{entries}?kind=pending", None, {"Authorization": f"Bearer {token}"})[0] == 200
