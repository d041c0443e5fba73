"""What is learned about requests: what answers repeat of them, and how a bank recognises one that comes again."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

ZONE = timedelta(hours=5, minutes=30)
LOGIN = {"app": "khata", "word": "neem"}
MAIN, SPARE = "3001554208", "3002918847"
CALL = "5d1f0b6e-8f4a-4c53-9c5e-2f9a7d3b61{:02}"
TOKENS = ["9f3ac07be1d24581", "4b7702de9ac1f036"]
ALLOWED = "CA6604187"
FIRST, SECOND = "P20261121000117", "P20261121000121"
BRANCH = "NEEM0004821"
PAY = {"ref": "KH-2026-01", "from": MAIN, "branch": BRANCH, "amount": "125.00"}


class Recording:
    """Exchanges in the order of their numbers. Every request has its own id, which the answer repeats."""

    def __init__(self) -> None:
        self._number = 0
        self._token = ""
        self.at = 0

    def tape(
        self, target: str, answer: dict[str, Any], method: str = "GET", *, status: int = 200, body: Any = None
    ) -> Exchange:
        self._number += 1
        call = CALL.format(self._number)
        headers = {"X-Call-Id": call, **({"X-Token": self._token} if self._token else {})}
        time = (START + ZONE + timedelta(seconds=self.at)).strftime("%Y-%m-%dT%H:%M:%S+05:30")
        answer = {"time": time, "call": call, **answer}
        return taped(target, answer, method, status=status, body=body, headers=tuple(headers.items()), at=self.at)

    def log_in(self, token: str) -> Exchange:
        entry = self.tape("/login", {"token": token, "seconds": 600}, "POST", body=LOGIN)
        self._token = token
        return entry


def payment(number: str, state: str, sent: Mapping[str, Any] = PAY) -> dict[str, Any]:
    return {"payment": {"number": number, "state": state, **sent}}


def error(code: str, place: str = "", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, **({"place": place} if place else {}), **more}}


def record() -> Iterator[Exchange]:
    """Yield a journey at a bank that takes payments by reference."""
    tape = Recording()
    yield tape.log_in(TOKENS[0])
    accounts = [{"key": MAIN, "name": "Main"}, {"key": SPARE, "name": "Spare"}]
    yield tape.tape("/accounts", {"accounts": accounts})
    wrong = {"branch": "NEEM4821"}
    yield tape.tape("/payments", error("BAD_BRANCH", "branch"), "POST", status=422, body=PAY | wrong)
    unknown = {"from": "3009999999"}
    yield tape.tape("/payments", error("NO_ACCOUNT", "from"), "POST", status=404, body=PAY | unknown)
    tape.at += 1
    yield tape.tape("/payments", payment(FIRST, "WAITING"), "POST", status=202, body=PAY)
    yield tape.tape("/payments", payment(FIRST, "WAITING"), "POST", body=PAY)
    other = {"amount": "130.00"}
    yield tape.tape("/payments", error("REF_USED", "ref", number=FIRST), "POST", status=409, body=PAY | other)
    tape.at += 1
    yield tape.tape(f"/payments/{FIRST}", payment(FIRST, "WAITING"))
    later = PAY | {"ref": "KH-2026-02", "amount": "60.50"}
    yield tape.tape("/payments", payment(SECOND, "WAITING", later), "POST", status=202, body=later)
    yield tape.tape(f"/payments/{SECOND}", payment(SECOND, "STOPPED", later), "DELETE")
    tape.at += 130
    yield tape.tape(f"/payments/{FIRST}", payment(FIRST, "DONE"))
    tape.at += 700
    yield tape.tape(f"/payments/{FIRST}", error("TOKEN_ENDED", "X-Token"), status=401)
    yield tape.log_in(TOKENS[1])
    yield tape.tape(f"/payments/{SECOND}", payment(SECOND, "STOPPED", later))


class App(LearnedApp):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.token = ""

    def call(self, method: str, target: str, body: Any = None, call: str = CALL.format(99)) -> tuple[int, Any]:
        headers = {"X-Call-Id": call, **({"X-Token": self.token} if self.token else {})}
        status, said = self.send(method, target, body, headers)
        assert said["call"] == call
        return status, said

    def log_in(self) -> None:
        self.token = self.call("POST", "/login", LOGIN)[1]["token"]


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


@pytest.fixture
def app(text: str) -> App:
    app = App(text)
    app.log_in()
    return app


def test_answers_repeat_the_id_of_the_request_under_another_name(app: App) -> None:
    call = CALL.format(42)
    assert app.call("GET", "/accounts", call=call)[1]["call"] == call
    assert app.call("POST", "/payments", PAY | {"branch": "NEEM4821"}, call=call)[0] == 422
    assert app.call("GET", "/nothing", call=call)[0] == 404


def test_times_have_the_zone_of_the_recorded_ones(app: App) -> None:
    app.wait(START + timedelta(days=1))
    _, said = app.call("GET", "/accounts")
    assert said["time"] == (START + ZONE + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S+05:30")


def test_a_login_with_a_token_that_has_ended_gives_a_new_one(app: App) -> None:
    app.wait(START + timedelta(hours=1))
    assert app.call("GET", f"/payments/{FIRST}")[0] == 401
    app.log_in()
    assert app.call("GET", "/accounts")[0] == 200


def test_a_reference_is_recognised_if_it_comes_again(app: App) -> None:
    pay = PAY | {"ref": "GL/77", "amount": "88.10"}
    status, made = app.call("POST", "/payments", pay)
    assert status == 202
    number = made["payment"]["number"]
    app.call("POST", "/payments", pay | {"ref": "GL/78"})
    status, again = app.call("POST", "/payments", pay)
    assert (status, again["payment"]) == (200, made["payment"])
    status, refused = app.call("POST", "/payments", pay | {"amount": "88.20"})
    assert (status, refused["error"]) == (409, {"code": "REF_USED", "place": "ref", "number": number})


def test_a_code_that_is_too_short_is_wrong(app: App) -> None:
    pay = PAY | {"ref": "GL/79"}
    assert app.call("POST", "/payments", pay | {"branch": "BARG022107"})[1]["error"]["code"] == "BAD_BRANCH"
    assert app.call("POST", "/payments", pay | {"branch": "BARG0K22107"})[0] == 202
