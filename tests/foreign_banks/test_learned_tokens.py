"""What is learned about tokens: for whom they are, how long they last, and what a code for one changes."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
APP, OWN = "at_7v3kq9xw2mzt5d8b", "at_w4nd82tqk6vpz3xm"
CODE = "c8w2vn5kq7tz"
FIRST, SECOND = "prm_4kq8vd72mzan", "prm_kovawaeimzan"
"""The second id has no digit, and could be a word."""
TICKETS = {FIRST: "t9k2mwq4zv7x", SECOND: "t3x8vq5nw2kd"}
PERMIT = {"rights": ["READ"], "name": "Budget"}
ACCOUNTS = [{"key": "acc_5vk2", "name": "Main"}, {"key": "acc_9wq7", "name": "Savings"}]


def permit(id: str, stage: str) -> dict[str, Any]:
    return {"permit": {"id": id, "stage": stage, **PERMIT}, "decide": f"/decide/{TICKETS[id]}"}


def record() -> Iterator[Exchange]:
    """Yield a journey at a bank with tokens of the app and of the customer, for whom the app gets one for a code."""
    traces = iter(range(1001, 1100))

    def call(
        target: str, answer: Any, method: str = "GET", *, token: str = APP, key: str = "", again: str = "", **more: Any
    ) -> Exchange:
        trace = f"trace-{next(traces)}"
        headers = [
            ("Authorization", f"Bearer {token}"),
            ("X-Trace", trace),
            *([("Idempotency-Key", key)] if key else []),
        ]
        said = [("Content-Type", "application/json"), *([("Replayed", again)] if again else [])]
        return taped(target, answer | {"trace": trace}, method, headers=headers, answer_headers=said, **more)

    def give(answer: Any, *, status: int = 200, at: int, **form: str) -> Exchange:
        sent = urlencode(form).encode()
        return taped("/token", answer, "POST", status=status, headers=tuple(FORM.items()), body=sent, at=at)

    yield give({"token": APP, "expires_in": 900}, at=1, kind="app", word="kowhai")
    yield taped("/permits", {"code": "NO_TOKEN"}, "POST", status=401, body=PERMIT, at=2)
    made = {"status": 201, "body": PERMIT}
    yield call("/permits", permit(FIRST, "WAITING"), "POST", key="key-1001", at=3, **made)
    yield call("/permits", permit(FIRST, "WAITING"), "POST", key="key-1001", again="true", at=4, **made)
    yield call("/permits", permit(SECOND, "WAITING"), "POST", key="key-1002", at=5, **made)
    yield call(f"/permits/{FIRST}", permit(FIRST, "WAITING"), at=6)
    yield call("/accounts", {"code": "APP_TOKEN"}, status=403, at=7)
    yield call(f"/decide/{TICKETS[FIRST]}", {"code": CODE}, "POST", body={"answer": "yes"}, at=8)
    yield call(f"/permits/{FIRST}", permit(FIRST, "APPROVED"), at=9)
    yield give({"error": "bad_code"}, status=400, at=10, kind="code", code="a1b2c3")
    yield give({"token": OWN, "expires_in": 600, "permit": FIRST}, at=11, kind="code", code=CODE)
    yield give({"error": "bad_code"}, status=400, at=12, kind="code", code=CODE)
    yield call(f"/permits/{FIRST}", permit(FIRST, "ACTIVE"), at=13)
    yield call("/accounts", {"accounts": ACCOUNTS}, token=OWN, at=14)
    yield call(f"/permits/{SECOND}", permit(SECOND, "WAITING"), at=15)
    yield call("/accounts", {"code": "OLD_TOKEN"}, token=OWN, status=401, at=620)
    yield call(f"/permits/{FIRST}", permit(FIRST, "ACTIVE"), at=630)


class App(LearnedApp):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.token = self.give(kind="app", word="rimu")[1]["token"]

    def give(self, **form: str) -> tuple[int, Any]:
        status, said = self.send("POST", "/token", urlencode(form).encode(), FORM)
        return status, said

    def call(self, method: str, target: str, body: Any = None, token: str = "", **headers: str) -> tuple[int, Any]:
        sent = {"Authorization": f"Bearer {token or self.token}", "X-Trace": "trace-7", **headers}
        status, said = self.send(method, target, body, sent)
        return status, said

    def ask(self, key: str = "k-5001") -> tuple[str, str]:
        """Return the id of a new permit and the path for its decision."""
        status, said = self.call("POST", "/permits", PERMIT, **{"Idempotency-Key": key})
        assert status == 201
        return said["permit"]["id"], said["decide"]

    def agree(self) -> tuple[str, str]:
        """Return a permit that the customer has agreed to, and the code."""
        id, decide = self.ask()
        return id, self.call("POST", decide, {"answer": "yes"})[1]["code"]

    def stage(self, id: str) -> str:
        stage: str = self.call("GET", f"/permits/{id}")[1]["permit"]["stage"]
        return stage


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_an_id_is_one_also_if_it_looks_like_a_word(text: str) -> None:
    assert SECOND not in text


def test_a_code_can_be_exchanged_once_and_makes_the_permit_active(app: App) -> None:
    id, code = app.agree()
    assert app.stage(id) == "APPROVED"
    assert app.give(kind="code", code="q9w8e7r6t5y4") == (400, {"error": "bad_code"})
    status, said = app.give(kind="code", code=code)
    assert (status, said["permit"], app.stage(id)) == (200, id, "ACTIVE")
    assert app.give(kind="code", code=code) == (400, {"error": "bad_code"})


def test_an_app_can_sign_in_again_at_any_time(app: App) -> None:
    assert app.give(kind="app", word="rimu")[0] == 200
    assert app.give(kind="code", code=app.agree()[1])[0] == 200


def test_only_a_token_for_a_permit_opens_accounts(app: App) -> None:
    token = app.give(kind="code", code=app.agree()[1])[1]["token"]
    assert app.call("GET", "/accounts", token=token)[0] == 200
    assert app.call("GET", "/accounts")[1]["code"] == "APP_TOKEN"


def test_a_token_lasts_as_long_as_the_answer_with_it_says(app: App) -> None:
    token = app.give(kind="code", code=app.agree()[1])[1]["token"]
    app.wait(START + timedelta(seconds=700))
    assert app.call("GET", "/accounts", token=token)[1]["code"] == "OLD_TOKEN"
    assert app.call("POST", "/permits", PERMIT, **{"Idempotency-Key": "k-5002"})[0] == 201
    app.wait(START + timedelta(seconds=901))
    assert app.call("POST", "/permits", PERMIT, **{"Idempotency-Key": "k-5003"})[1]["code"] == "OLD_TOKEN"


def test_without_a_token_a_request_is_refused_also_if_it_has_all_other_headers(app: App) -> None:
    headers = {"X-Trace": "trace-8", "Idempotency-Key": "k-5004"}
    assert app.send("POST", "/permits", PERMIT, headers) == (401, {"code": "NO_TOKEN"})


def test_a_repeated_request_gets_the_recorded_status_and_what_the_first_one_has_made(app: App) -> None:
    id, _ = app.ask("k-6001")
    assert app.ask("k-6002")[0] != id
    assert app.ask("k-6001")[0] == id
