"""What is learned about consents as the Berlin Group has them: authorisations, named accounts, newer consents."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import pytest

from tests.support.taping import START, URL, taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.rehearsal import read_dialect
from xs2a_sandbox.features.derive.unknown.learned_dialect import learn_dialect
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.state import MemoryStore

MAIN, SAVING, OTHER = "AT611904300234573201", "AT022050302101023600", "DE89370400440532013000"
ACCOUNTS = [{"resourceId": "ac-70021", "iban": MAIN}, {"resourceId": "ac-70022", "iban": SAVING}]
PAGE = b'<html><body><form method="post"><input name="user"><input name="answer"></form></body></html>'
HTML = (("Content-Type", "text/html"),)
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def uuid(word: str) -> str:
    return str(uuid5(NAMESPACE_URL, word))


def want(until: str, *accounts: str, balances: Sequence[str] = ()) -> dict[str, Any]:
    access = {"accounts": [{"iban": iban} for iban in accounts], "balances": [{"iban": iban} for iban in balances]}
    return {"access": access, "validUntil": until}


class Recorder:
    """An app at the recorded bank, and its exchanges."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.consent = ""

    def send(
        self, method: str, target: str, status: int, answer: Any = None, body: Any = None, **answer_headers: str
    ) -> None:
        number = len(self.exchanges)
        headers = [("X-Request-ID", uuid(f"request {number}")), ("X-Yes", "https://one.example/yes")]
        headers.append(("X-No", "https://one.example/no"))
        if self.consent:
            headers.append(("Consent-ID", self.consent))
        if isinstance(body, bytes):
            headers = [FORM]
        told = tuple(answer_headers.items()) or (HTML if isinstance(answer, bytes) else None)
        more: dict[str, Any] = {"answer_headers": told} if told else {}
        if isinstance(answer, dict) and "code" in answer:
            answer = answer | {"request": uuid(f"request {number}")}
        made = taped(target, answer, method, status=status, headers=headers, body=body, at=number, **more)
        self.exchanges.append(made)

    def authorise(self, path: str, word: str, answer: str) -> str:
        """Let the customer decide. Return the path of the authorisation."""
        id, page = uuid(f"authorisation {word}"), f"/pages/{uuid(word).replace('-', '')}"
        said = {"scaStatus": "received", "authorisationId": id, "page": URL + page}
        self.send("POST", f"{path}/authorisations", 201, said, {})
        self.send("GET", page, 200, PAGE)
        self.send("GET", f"{path}/authorisations/{id}", 200, {"scaStatus": "started"})
        form = urlencode({"user": "anna", "answer": answer}).encode()
        self.send("POST", page, 302, None, form, Location=f"https://one.example/{answer}")
        return f"{path}/authorisations/{id}"

    def ask(self, word: str, body: dict[str, Any], until: str = "") -> str:
        id = uuid(word)
        said = {"consentId": id, "consentStatus": "received", "validUntil": until or body["validUntil"]}
        self.send("POST", "/v1/consents", 201, said, body)
        return id


def record() -> Iterator[Exchange]:
    app = Recorder()
    ask = want("2026-12-21", MAIN, SAVING, balances=[MAIN])
    first = app.ask("first", ask)
    app.send("POST", "/v1/consents", 409, {"code": "ONE_WAITS"}, ask)
    sca = app.authorise(f"/v1/consents/{first}", "agrees", "yes")
    app.send("GET", sca, 200, {"scaStatus": "finalised"})
    app.send("GET", f"/v1/consents/{first}", 200, {"consentStatus": "valid", **ask})
    app.consent = first
    app.send("GET", "/v1/accounts", 200, {"accounts": ACCOUNTS})
    read_balances(app, "100.00")
    app.send("GET", "/v1/accounts/ac-70022/balances", 403, {"code": "NO_RIGHT", "right": "balances"})
    pay = {"debtorAccount": {"iban": MAIN}, "amount": "30.00", "creditorName": "Shop"}
    paid = {"paymentId": uuid("payment"), "transactionStatus": "RCVD"}
    app.send("POST", "/v1/payments", 201, paid, pay)
    app.authorise(f"/v1/payments/{uuid('payment')}", "pays", "yes")
    app.send("GET", f"/v1/payments/{uuid('payment')}", 200, {"transactionStatus": "ACSC", **pay})
    read_balances(app, "70.00")
    second = app.ask("second", want("2027-11-01", SAVING), until="2027-02-19")
    app.authorise(f"/v1/consents/{second}", "agrees again", "yes")
    app.send("GET", f"/v1/consents/{first}", 200, {"consentStatus": "replaced", **ask})
    third = app.ask("third", want("2026-11-30", MAIN))
    app.authorise(f"/v1/consents/{third}", "declines", "no")
    app.send("GET", f"/v1/consents/{third}", 200, {"consentStatus": "rejected", **want("2026-11-30", MAIN)})
    yield from app.exchanges


def read_balances(app: Recorder, amount: str) -> None:
    rows = [{"balanceType": name, "amount": amount} for name in ("booked", "available")]
    app.send("GET", "/v1/accounts/ac-70021/balances", 200, {"balances": rows})


class App:
    """Another app at the learned dialect."""

    def __init__(self, bank: Engine) -> None:
        self._bank = bank
        self.requests = 0

    def send(self, method: str, target: str, body: Any = None, *, consent: str = "") -> tuple[int, Any]:
        self.requests += 1
        headers = [
            ("X-Request-ID", uuid(f"mine {self.requests}")),
            ("X-Yes", "https://two.example/y"),
            ("X-No", "https://two.example/n"),
        ]
        headers += [("Consent-ID", consent)] if consent else []
        sent = json.dumps(body).encode() if body is not None else b""
        headers += [("Content-Type", "application/json")] if sent else []
        response = asyncio.run(self._bank.answer(Request(method, target, Headers(tuple(headers)), sent)))
        return response.status, json.loads(response.body)

    def browse(self, page: str, answer: str = "") -> str | None:
        """Open a page, or decide there. Return the address to which the customer goes."""
        body = urlencode({"user": "bob", "answer": answer}).encode() if answer else b""
        request = Request("POST" if answer else "GET", page, Headers((FORM,) if answer else ()), body)
        return Headers(asyncio.run(self._bank.answer(request)).headers).get("Location")

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = self.send("POST", "/v1/consents", body)[1]
        return said

    def start(self, consent: str) -> tuple[str, str]:
        """Return the path of a new authorisation, and that of its page."""
        own = f"/v1/consents/{consent}/authorisations"
        said = self.send("POST", own, {})[1]
        return f"{own}/{said['authorisationId']}", "/pages/" + said["page"].rpartition("/")[2]

    def agree(self, body: dict[str, Any]) -> str:
        consent: str = self.ask(body)["consentId"]
        self.browse(self.start(consent)[1], "yes")
        return consent

    def state(self, consent: str) -> str:
        state: str = self.send("GET", f"/v1/consents/{consent}")[1]["consentStatus"]
        return state


@pytest.fixture(scope="module")
def text() -> str:
    entries = tuple(record())
    places = tuple(f"tape, exchange {number}" for number in range(1, len(entries) + 1))
    return learn_dialect("mine", Tape(Path("tape"), entries, (None,) * len(entries), places), SCHEMAS).text


@pytest.fixture
def app(text: str) -> App:
    bank = Banks(Bank(read_dialect(text, SCHEMAS), SCHEMAS))
    return App(Engine(Parts(bank, MemoryStore(), TestData({}, ()), USUAL, Clock(frozen=START))))


def test_a_decision_about_an_authorisation_is_one_about_the_consent(app: App) -> None:
    consent = app.ask(want("2026-12-01", OTHER))["consentId"]
    sca, page = app.start(consent)
    assert app.send("GET", sca)[1] == {"scaStatus": "received"}
    app.browse(page)
    assert app.send("GET", sca)[1] == {"scaStatus": "started"}
    assert app.browse(page, "yes") == "https://two.example/y"
    assert app.send("GET", sca)[1] == {"scaStatus": "finalised"}
    assert app.state(consent) == "valid"


def test_a_customer_who_declines_goes_to_the_other_address(app: App) -> None:
    consent = app.ask(want("2026-12-01", OTHER))["consentId"]
    assert app.browse(app.start(consent)[1], "no") == "https://two.example/n"
    assert app.state(consent) == "rejected"


def test_only_one_consent_waits_for_its_customer(app: App) -> None:
    app.ask(want("2026-12-01", OTHER))
    assert app.send("POST", "/v1/consents", want("2026-12-02", MAIN)) == (
        409,
        {"code": "ONE_WAITS", "request": uuid("mine 2")},
    )


def test_a_newer_consent_replaces_an_older_one(app: App) -> None:
    older, newer = (app.agree(want(until, OTHER)) for until in ("2026-12-01", "2026-12-03"))
    assert [app.state(consent) for consent in (older, newer)] == ["replaced", "valid"]


def test_a_day_is_cut_as_the_bank_cuts_it(app: App) -> None:
    assert app.ask(want("2028-01-01", OTHER))["validUntil"] == "2027-02-19"


def test_a_payment_needs_no_consent_although_the_app_has_sent_one(app: App) -> None:
    pay = {"debtorAccount": {"iban": OTHER}, "amount": "8.00", "creditorName": "Bakery"}
    assert app.send("POST", "/v1/payments", pay)[0] == 201


def test_a_consent_opens_the_accounts_that_it_names(app: App) -> None:
    consent = app.agree(want("2026-12-01", OTHER, SAVING, balances=[OTHER]))
    accounts = app.send("GET", "/v1/accounts", consent=consent)[1]["accounts"]
    assert {account["iban"] for account in accounts} == {OTHER, SAVING}
    status = {
        account["iban"]: app.send("GET", f"/v1/accounts/{account['resourceId']}/balances", consent=consent)[0]
        for account in accounts
    }
    assert status == {OTHER: 200, SAVING: 403}


def test_a_balance_of_each_type_follows_payments(app: App) -> None:
    consent = app.agree(want("2026-12-01", MAIN, balances=[MAIN]))
    pay = {"debtorAccount": {"iban": MAIN}, "amount": "12.50", "creditorName": "Bakery"}
    made = app.send("POST", "/v1/payments", pay)[1]["paymentId"]
    started = app.send("POST", f"/v1/payments/{made}/authorisations", {})[1]
    app.browse("/pages/" + started["page"].rpartition("/")[2], "yes")
    rows = app.send("GET", "/v1/accounts/ac-70021/balances", consent=consent)[1]["balances"]
    assert rows == [{"balanceType": name, "amount": "87.50"} for name in ("booked", "available")]
