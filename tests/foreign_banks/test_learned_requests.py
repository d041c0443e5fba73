"""What is learned about requests: what answers repeat of them, and how a bank recognises one that comes again."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange

ZONE = timedelta(hours=5, minutes=30)
LOGIN = {"app": "khata", "word": "neem"}
MAIN, SPARE = "3001554208", "3002918847"
CALL = "5d1f0b6e-8f4a-4c53-9c5e-2f9a7d3b61{:02}"
TOKENS = ["9f3ac07be1d24581", "4b7702de9ac1f036"]
ASKED, FORGOTTEN = "1f0d7a52-6c1e-4b7e-9d53-0a4c8e2b7f10", "c9d2b8e4-3a5f-4f06-8e71-55b0d6a9c3e2"
ALLOWED = "CA6604187"
FIRST, SECOND = "P20261121000117", "P20261121000121"
BRANCH = "NEEM0004821"
ORDER = "OR7702135"
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


def ask(handle: str, state: str, consent: str | None = None) -> dict[str, Any]:
    return {"ask": {"handle": handle, "state": state, "consent": consent}}


def order(most: str, number: str = ORDER) -> dict[str, Any]:
    return {"order": {"number": number, "from": MAIN, "most": most}}


ENTRIES = [
    {"id": f"E{90 - number:08}", "kind": "IN" if number in (2, 5) else "OUT", "day": f"{20 - number}-11-2026"}
    for number in range(7)
]


def entries(target: str, page: int, found: list[dict[str, str]]) -> dict[str, Any]:
    more = f"{target}&page={page + 1}" if page * 3 < len(found) else None
    shown = found[page * 3 - 3 : page * 3]
    return {"list": {"page": page, "of": -(-len(found) // 3), "count": len(found), "more": more, "entries": shown}}


def error(code: str, place: str = "", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, **({"place": place} if place else {}), **more}}


def record() -> Iterator[Exchange]:
    """Yield a journey at a bank with a consent that begins as an ask, and with references for payments."""
    tape = Recording()
    yield tape.log_in(TOKENS[0])
    wanted = {"customer": "anna.kim", "purpose": "Budget"}
    yield tape.tape("/asks", ask(FORGOTTEN, "OPEN"), "POST", status=201, body=wanted)
    yield tape.tape("/asks", ask(ASKED, "OPEN"), "POST", status=201, body=wanted)
    yield tape.tape("/phone", {"done": True}, "POST", body={"id": ASKED, "says": "YES"})
    yield tape.tape(f"/asks/{ASKED}", ask(ASKED, "GRANTED", ALLOWED))
    yield tape.tape(f"/consents/{ALLOWED}", {"mine": {"consent": ALLOWED, "state": "ACTIVE"}})
    yield tape.tape(f"/asks/{FORGOTTEN}", ask(FORGOTTEN, "OPEN"))
    accounts = [{"key": MAIN, "name": "Main"}, {"key": SPARE, "name": "Spare"}]
    yield tape.tape("/accounts", {"accounts": accounts})
    listed = f"/accounts/{MAIN}/entries?first=10-11-2026&last=21-11-2026"
    yield tape.tape(listed, entries(listed, 1, ENTRIES))
    yield tape.tape(f"{listed}&page=2", entries(listed, 2, ENTRIES))
    yield tape.tape(f"{listed}&page=3", entries(listed, 3, ENTRIES))
    yield tape.tape(f"{listed}&kind=IN", entries(listed, 1, [row for row in ENTRIES if row["kind"] == "IN"]))
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
    yield tape.tape("/phone", {"done": True}, "POST", body={"id": FIRST, "says": "YES"})
    yield tape.tape("/phone", {"done": True}, "POST", body={"id": SECOND, "says": "NO"})
    yield tape.tape(f"/payments/{SECOND}", payment(SECOND, "REFUSED", later))
    yield tape.tape(f"/payments/{FIRST}", payment(FIRST, "SENT"))
    tape.at += 130
    yield tape.tape(f"/payments/{FIRST}", payment(FIRST, "DONE"))
    yield tape.tape("/orders", order("40.00"), "POST", status=201, body={"from": MAIN, "most": "40.00"})
    yield tape.tape(f"/orders/{ORDER}/takes", {"taken": "15.00"}, "POST", status=202, body={"amount": "15.00"})
    over = error("TOO_MUCH", "amount", most="40.00")
    yield tape.tape(f"/orders/{ORDER}/takes", over, "POST", status=422, body={"amount": "40.01"})
    tape.at += 700
    yield tape.tape(f"/payments/{FIRST}", error("TOKEN_ENDED", "X-Token"), status=401)
    yield tape.log_in(TOKENS[1])
    yield tape.tape(f"/payments/{SECOND}", payment(SECOND, "REFUSED", later))
    yield tape.tape(f"/consents/{ALLOWED}", {"mine": {"consent": ALLOWED, "state": "ENDED"}}, "DELETE")
    yield tape.tape(f"/consents/{ALLOWED}", {"mine": {"consent": ALLOWED, "state": "ENDED"}})


class App(LearnedApp):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.token = ""

    def call(self, method: str, target: str, body: Any = None, call: str = CALL.format(99)) -> tuple[int, Any]:
        headers = {"X-Call-Id": call, **({"X-Token": self.token} if self.token else {})}
        status, said = self.send(method, target, body, headers)
        assert said["call"] == call
        return status, said

    def ask(self) -> str:
        return str(self.call("POST", "/asks", {"customer": "anna.kim", "purpose": "Loan"})[1]["ask"]["handle"])

    def decide(self, id: str, says: str) -> None:
        self.call("POST", "/phone", {"id": id, "says": says})

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


def test_a_consent_has_its_own_id_and_words_after_the_approval(app: App) -> None:
    handle = app.ask()
    assert app.call("GET", f"/asks/{handle}")[1]["ask"] == {"handle": handle, "state": "OPEN", "consent": None}
    app.decide(handle, "YES")
    asked = app.call("GET", f"/asks/{handle}")[1]["ask"]
    assert (asked["state"], bool(re.fullmatch(r"CA\d{7}", asked["consent"]))) == ("GRANTED", True)
    consent = {"consent": asked["consent"], "state": "ACTIVE"}
    assert app.call("GET", f"/consents/{asked['consent']}")[1]["mine"] == consent
    app.call("DELETE", f"/consents/{asked['consent']}")
    assert app.call("GET", f"/consents/{asked['consent']}")[1]["mine"] == consent | {"state": "ENDED"}


def test_a_payment_leaves_the_consent_as_it_is_and_follows_the_decision(app: App) -> None:
    handle = app.ask()
    app.decide(handle, "YES")
    states = {}
    for says in ("YES", "NO"):
        made = app.call("POST", "/payments", PAY | {"ref": f"GL/8{says}"})[1]["payment"]
        app.decide(made["number"], says)
        states[says] = app.call("GET", f"/payments/{made['number']}")[1]["payment"]["state"]
    assert states == {"YES": "SENT", "NO": "REFUSED"}
    assert app.call("GET", f"/asks/{handle}")[1]["ask"]["state"] == "GRANTED"


def test_what_refuses_a_payment_also_refuses_a_consent(app: App) -> None:
    handle = app.ask()
    app.decide(handle, "NO")
    assert app.call("GET", f"/asks/{handle}")[1]["ask"] == {"handle": handle, "state": "REFUSED", "consent": None}


def test_an_order_limits_what_is_taken(app: App) -> None:
    _, made = app.call("POST", "/orders", {"from": MAIN, "most": "25.00"})
    take = f"/orders/{made['order']['number']}/takes"
    assert app.call("POST", take, {"amount": "24.50"})[0] == 202
    status, refused = app.call("POST", take, {"amount": "30.00"})
    assert (status, refused["error"]) == (422, {"code": "TOO_MUCH", "place": "amount", "most": "25.00"})


def test_pages_are_found_by_links_and_filtered_by_members(app: App) -> None:
    target = f"/accounts/{MAIN}/entries?first=08-11-2026&last=21-11-2026"
    _, said = app.call("GET", target)
    assert (said["list"]["page"], said["list"]["of"], said["list"]["count"]) == (1, 3, 7)
    shown = list(said["list"]["entries"])
    while said["list"]["more"]:
        _, said = app.call("GET", said["list"]["more"])
        shown += said["list"]["entries"]
    assert (shown, said["list"]["page"]) == (ENTRIES, 3)
    _, said = app.call("GET", f"{target}&kind=OUT")
    assert [row["kind"] for row in said["list"]["entries"]] == ["OUT"] * 3
    assert (said["list"]["count"], said["list"]["of"]) == (5, 2)
    _, said = app.call("GET", said["list"]["more"])
    assert said["list"]["entries"] == [row for row in ENTRIES if row["kind"] == "OUT"][3:]


_PSEUDONYMS = (
    *((b'"call": "[^"]*"', b'"call": "dropped"'), (b'"YES"', b'"PCRO"'), (b'"NO"', b'"VQZL"')),
    *((b'"payment"', b'"bhugtan"'), (b'"id": "(?=[P1])', b'"anurodh": "')),
)


def redact(entries: Iterator[Exchange]) -> Iterator[Exchange]:
    """Yield a journey with pseudonyms for a word of a path and for decisions, and without the ids of requests.

    The member that names what the customer decides on is as long as the word before the ids of payments.
    """

    def change(text: bytes) -> bytes:
        for old, new in _PSEUDONYMS:
            text = re.sub(old, new, text)
        return text

    for entry in entries:
        headers = [(name, "dropped" if name == "X-Call-Id" else value) for name, value in entry.headers]
        target = entry.target.replace("/phone", "/bank/iesniodyu/phone").replace("/payments", "/bhugtan")
        body, answer = change(entry.body), change(entry.answer_body)
        yield replace(entry, target=target, headers=Headers(headers), body=body, answer_body=answer)


def test_the_words_of_a_redacted_bank_are_accepted_in_paths_and_decisions() -> None:
    app = LearnedApp(learn_text(redact(record())))
    headers = {"X-Call-Id": CALL.format(7)}
    headers["X-Token"] = app.send("POST", "/login", LOGIN, headers)[1]["token"]
    _, made = app.send("POST", "/bhugtan", PAY, headers)
    number = made["bhugtan"]["number"]
    assert app.send("POST", "/bank/parikshan/phone", {"anurodh": number, "says": "HAAN"}, headers)[0] == 200
    assert app.send("GET", f"/bhugtan/{number}", headers=headers)[1]["bhugtan"]["state"] == "SENT"


PAYER, PAYEE, MISTYPED = "FR5118829754160004217300164", "FR1730004028370001098765443", "FR1830004028370001098765443"


def record_keys() -> Iterator[Exchange]:
    """Yield a journey with two keys in each request: one for the log of the bank, and one for the payment."""

    def pay(
        number: int, key: str, answer: Any, status: int = 201, *, amount: str = "20.00", to: str = PAYEE
    ) -> Exchange:
        headers = (("X-Request-Id", f"call-{number:03}"), ("Idempotency-Key", key))
        body = {"from": PAYER, "to": to, "amount": amount}
        return taped("/payments", answer, "POST", status=status, headers=headers, body=body, at=number)

    def read(number: int, id: str) -> Exchange:
        return taped(f"/payments/{id}", {"id": id}, headers=(("X-Request-Id", f"call-{number:03}"),), at=number)

    yield pay(1, "key-1", {"code": "WRONG", "member": "to"}, 400, to=MISTYPED)
    yield pay(2, "key-1", {"id": "7q2x9k41"})
    yield pay(3, "key-1", {"id": "7q2x9k41"}, 200)
    yield pay(4, "key-1", {"code": "KEY_USED"}, 409, amount="21.00")
    yield read(5, "7q2x9k41")
    yield pay(6, "key-2", {"id": "3v8n5w60"}, amount="35.50")
    yield read(7, "3v8n5w60")


class Payer(LearnedApp):
    def pay(self, key: str, **changed: str) -> tuple[int, Any]:
        headers = {"X-Request-Id": f"call-{key}-{len(changed)}", "Idempotency-Key": key}
        found: tuple[int, Any] = self.send(
            "POST", "/payments", {"from": PAYER, "to": PAYEE, "amount": "99.00"} | changed, headers
        )
        return found


@pytest.fixture
def payer() -> Payer:
    return Payer(learn_text(record_keys()))


def test_a_key_that_was_sent_twice_is_that_of_the_payment(payer: Payer) -> None:
    status, made = payer.pay("key-9")
    assert status == 201
    assert payer.pay("key-9") == (200, made)
    assert payer.pay("key-9", amount="21.00") == (409, {"code": "KEY_USED"})
    assert payer.pay("key-10", amount="21.00")[0] == 201


def test_an_account_number_was_refused_because_it_is_mistyped(payer: Payer) -> None:
    refused = 400, {"code": "WRONG", "member": "to"}
    assert payer.pay("key-9", to="FR6714508590420123456789012") == refused
    assert payer.pay("key-9", to="FR6614508590420123456789012")[0] == 201
