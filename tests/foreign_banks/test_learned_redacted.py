"""What is learned from a recording without tokens, codes, keys and secrets: redaction has dropped all of them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.foreign_banks.learned_app import LearnedApp
from tests.support.taping import START, redacted_tape, taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.features.derive.unknown.learned_dialect import learn_dialect
from xs2a_sandbox.http.exchange import Exchange

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SEE, PAY, RENEWED = "q7Tz4kWm2Vx9bN5cR8pL1sD6", "h3Jf8yGu5Ke0aZ7iO2wQ9nM4", "x6Cv1rBt9Lp3mS8dF5gH2jK7"
CODE, RENEWAL = "v4Nq8kZp2Wc7xR1tB6mJ9sDf", "e5Ua3oYi7Tg1hP9lK4zX8wVb"
BACK = "https://shop.example/back"
ACCOUNTS = [
    {"id": "7f31c0a9d2e4", "iban": "DE89370400440532013000"},
    {"id": "b85e60f1347a", "iban": "DE02120300000000202051"},
]
PERMIT, PAYMENT, OTHER = "a0b1c2d3e4f5", "f9e8d7c6b5a4", "0c1d2e3f4a5b"


def permit(state: str) -> dict[str, Any]:
    return {"permit": PERMIT, "state": state, "page": f"/page/{PERMIT}"}


def payment(id: str, cents: int, state: str = "new") -> dict[str, Any]:
    return {"payment": id, "cents": cents, "state": state}


def record() -> Iterator[Exchange]:
    """Yield a journey with mistakes: each comes before what is right, as developers try it."""

    def give(answer: Any, at: int, status: int = 200, **form: str) -> Exchange:
        sent = urlencode({"client_id": "shop", **form}).encode()
        return taped("/token", answer, "POST", status=status, headers=tuple(FORM.items()), body=sent, at=at)

    def call(target: str, answer: Any, token: str, at: int, method: str = "GET", **more: Any) -> Exchange:
        headers = [("Authorization", f"Bearer {token}"), *more.pop("headers", ())]
        return taped(target, answer, method, headers=headers, at=at, **more)

    def pay(answer: Any, at: int, cents: int, key: str, status: int) -> Exchange:
        headers = [("Once-Only", key)]
        sent = {"cents": cents, "notes": []}
        return call("/payments", answer, PAY, at, "POST", body=sent, headers=headers, status=status)

    def sign_in(secret: str, at: int, status: int, *headers: tuple[str, str]) -> Exchange:
        sent = urlencode({"user": "ann", "pin": secret, "answer": "accept"}).encode()
        form = tuple(FORM.items())
        page = [("Content-Type", "text/html"), *headers]
        body = b"<form method=post><input name=user><input name=pin><input name=answer></form>"
        target = f"/page/{PERMIT}"
        return taped(target, body, "POST", status=status, headers=form, body=sent, answer_headers=page, at=at)

    yield taped("/permits", permit("new"), "POST", status=201, body={"back": BACK}, at=1)
    yield sign_in("4812", 2, 401)
    yield sign_in("4821", 3, 302, ("Location", f"{BACK}?code={CODE}"))
    yield taped(f"/permits/{PERMIT}", permit("valid"), at=4)
    wrong = {"error": "invalid_client"}
    yield give(wrong, 5, 401, grant_type="authorization_code", code=CODE, client_secret="kowhai-tui")
    wrong = {"error": "invalid_grant"}
    yield give(wrong, 6, 400, grant_type="authorization_code", code=CODE[::-1], client_secret="kowhai-tree")
    told = {"access_token": SEE, "token_type": "Bearer", "expires_in": 600, "refresh_token": RENEWAL, "permit": PERMIT}
    yield give(told, 7, grant_type="authorization_code", code=CODE, client_secret="kowhai-tree")
    yield give(wrong, 8, 400, grant_type="authorization_code", code=CODE, client_secret="kowhai-tree")
    yield call("/accounts", {"accounts": ACCOUNTS}, SEE, 9)
    yield call(f"/accounts/{ACCOUNTS[0]['id']}", ACCOUNTS[0], SEE, 10)
    told = {"access_token": PAY, "token_type": "Bearer", "expires_in": 1800}
    yield give(told, 11, grant_type="client_credentials", client_secret="kowhai-tree")
    yield pay(payment(PAYMENT, 12_500), 12, 12_500, "k-1", 201)
    yield pay(payment(PAYMENT, 12_500), 13, 12_500, "k-1", 200)
    yield pay({"error": "key_used"}, 14, 12_600, "k-1", 409)
    yield pay(payment(OTHER, 900), 15, 900, "k-2", 201)
    yield call(f"/payments/{PAYMENT}", payment(PAYMENT, 12_500), PAY, 16)
    yield call("/accounts", {"error": "token_too_old"}, SEE, 700, status=401)
    told = {"access_token": RENEWED, "token_type": "Bearer", "expires_in": 600, "permit": PERMIT}
    yield give(told, 701, grant_type="refresh_token", refresh_token=RENEWAL, client_secret="kowhai-tree")
    yield call("/accounts", {"accounts": ACCOUNTS}, RENEWED, 702)


class App(LearnedApp):
    def give(self, secret: str = "rimu-forest", **form: str) -> tuple[int, Any]:
        sent = {"client_id": "budget", "client_secret": secret, **form}
        status, said = self.send("POST", "/token", urlencode(sent).encode(), FORM)
        return status, said

    def sign_in(self, page: str, *pins: str) -> str:
        """Return the code in the answer to the last PIN."""
        for pin in pins:
            sent = urlencode({"user": "bob", "pin": pin, "answer": "accept"}).encode()
            answered = self.answer("POST", page, sent, FORM)
        location = next(value for name, value in answered.headers if name == "Location")
        return parse_qs(urlsplit(location).query)["code"][0]

    def agree(self, *pins: str) -> str:
        return self.sign_in(self.send("POST", "/permits", {"back": BACK})[1]["page"], *pins)

    def read(self, token: str) -> tuple[int, Any]:
        status, said = self.send("GET", "/accounts", headers={"Authorization": f"Bearer {token}"})
        return status, said

    def pay(self, token: str, cents: int, key: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Once-Only": key}
        status, said = self.send("POST", "/payments", {"cents": cents, "notes": []}, headers)
        return status, said


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    tape = redacted_tape(tmp_path_factory.mktemp("redacted"), *record())
    learned = learn_dialect("mine", tape, SCHEMAS).text
    assert not any(secret in learned for secret in (SEE, PAY, RENEWED, CODE, RENEWAL, "kowhai", "4821"))
    return learned


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_a_wrong_secret_that_comes_first_does_not_lock_out_the_right_one(app: App) -> None:
    code = app.agree("1111", "2222")
    app.give("wrong", grant_type="client_credentials")
    assert [app.give("right", grant_type="client_credentials")[0] for _ in range(2)] == [200, 200]
    assert app.give("right", grant_type="authorization_code", code=code)[0] == 200


def test_the_same_form_again_corrects_a_mistake_that_the_dialect_cannot_see(app: App) -> None:
    code = app.agree("2222", "2222")
    assert app.give(grant_type="authorization_code", code=code)[0] == 200


def test_a_secret_that_came_twice_is_the_right_one(app: App) -> None:
    assert [app.give("right", grant_type="client_credentials")[0] for _ in range(2)] == [200, 200]
    assert app.give("wrong", grant_type="client_credentials") == (401, {"error": "invalid_client"})


def test_a_code_works_once_and_an_unknown_one_not_at_all(app: App) -> None:
    code = app.agree("2222")
    assert app.give(grant_type="authorization_code", code="unknown")[0] == 400
    assert app.give(grant_type="authorization_code", code=code)[0] == 200
    assert app.give(grant_type="authorization_code", code=code)[0] == 400


def test_each_request_has_the_token_for_its_purpose_and_each_token_ends_by_itself(app: App) -> None:
    see = app.give(grant_type="authorization_code", code=app.agree("2222"))[1]
    pay = app.give(grant_type="client_credentials")[1]["access_token"]
    assert app.read(see["access_token"])[0] == 200
    app.wait(START + timedelta(seconds=700))
    assert app.read(see["access_token"])[0] == 401
    assert app.pay(pay, 700, "k-7")[0] == 201
    renewed = app.give(grant_type="refresh_token", refresh_token=see["refresh_token"])[1]["access_token"]
    assert app.read(renewed)[0] == 200


def test_a_header_that_was_dropped_is_the_key_of_a_repeated_request(app: App) -> None:
    pay = app.give(grant_type="client_credentials")[1]["access_token"]
    status, made = app.pay(pay, 800, "k-8")
    assert status == 201
    assert app.pay(pay, 800, "k-8") == (200, made)
    assert app.pay(pay, 801, "k-8") == (409, {"error": "key_used"})
    assert app.pay(pay, 800, "k-9")[1]["payment"] != made["payment"]


def test_the_banks_own_word_is_accepted_next_to_words_that_redaction_kept(tmp_path: Path) -> None:
    """It keeps the last word of a POST, and then also in other paths, where it hides words that it has not seen."""
    made = {"permit": "7f31c0a9d2e4", "state": "new", "check": {"id": "c0d1e2f3a4b5"}}
    journey = [
        taped("/open/zurgles", made, "POST", status=201, body={"back": BACK}, at=1),
        taped("/open/blomqs/c0d1e2f3a4b5", {"check": "c0d1e2f3a4b5", "says": "wait"}, at=2),
        taped("/open/zurgles/7f31c0a9d2e4", {"permit": "7f31c0a9d2e4", "state": "valid"}, at=3),
        taped("/open/blomqs/c0d1e2f3a4b5", {"check": "c0d1e2f3a4b5", "says": "done"}, at=4),
    ]
    learned = learn_dialect("mine", redacted_tape(tmp_path, *journey), SCHEMAS).text
    assert "blomqs" not in learned
    app = App(learned)
    permit = app.send("POST", "/open/zurgles", {"back": BACK})[1]
    assert app.send("GET", f"/open/blomqs/{permit['check']['id']}")[0] == 200
    assert app.send("GET", f"/open/zurgles/{permit['permit']}")[0] == 200
