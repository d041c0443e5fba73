"""What is learned about a grant whose id is in the paths of its accounts, and about its sign-in and its end."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import START, taped
from xs2a_sandbox.http.exchange import Exchange

GRANT, SIGNING, PAYMENT = "GR-7K2Q-M9X4", "SG4471902", "PY20261121-0417"
STATES = ("held", "moving", "moved")
ACCOUNT = "acc7f31c0a9d2e4"
ASK = {"until": "2026-11-23", "what": ["accounts", "entries"]}
DEVICE = (("PSU-IP-Adresse", "192.0.2.31"),)
CUSTOMER = ("PSU-Verfueger", "5500041708")
ROW = {"account": ACCOUNT, "name": "Main", "entries": f"/grants/{GRANT}/accounts/{ACCOUNT}/entries"}
ENTRIES = [
    {"entry": f"e{at}k7m2x", "booked": f"2026-11-{8 + at:02}T09:1{at}:00Z", "sum": f"{at}.40"} for at in range(8)
]


def entries(rows: list[dict[str, Any]], page: int) -> dict[str, Any]:
    return {"entries": rows, "about": {"page": page, "pages": 4, "all": 7}}


def payment(*seconds: int) -> dict[str, Any]:
    """Return a payment with its states, and when it got each."""
    times = [(START + timedelta(seconds=10 + later)).strftime("%Y-%m-%dT%H:%M:%SZ") for later in seconds]
    history = [{"was": word, "at": time} for word, time in zip(STATES, times, strict=False)]
    return {"payment": PAYMENT, "grant": GRANT, "paymentState": history[-1]["was"], "history": history}


def record() -> Iterator[Exchange]:
    use = (("Grant", GRANT), *DEVICE)
    yield taped("/grants", {"grant": GRANT, "grantState": "asked"}, "POST", status=201, headers=DEVICE, body=ASK)
    sign = f"/grants/{GRANT}/signings"
    begun = {"signing": SIGNING, "signingState": "begun"}
    yield taped(sign, begun, "POST", status=201, headers=(CUSTOMER, *DEVICE), body={}, at=1)
    wrong = {"problem": "OTP_INVALID", "field": "otp"}
    yield taped(f"{sign}/{SIGNING}", wrong, "PUT", status=400, headers=DEVICE, body={"otp": "147285"}, at=2)
    done = {"signing": SIGNING, "signingState": "done", "grantState": "live"}
    yield taped(f"{sign}/{SIGNING}", done, "PUT", headers=DEVICE, body={"otp": "147258"}, at=3)
    yield taped(f"/grants/{GRANT}", {"grant": GRANT, "grantState": "live"}, headers=DEVICE, at=4)
    yield taped(f"/grants/{GRANT}/accounts", {"accounts": [ROW]}, headers=use, at=5)
    listed = f"/grants/{GRANT}/accounts/{ACCOUNT}/entries?first=2026-11-09&size=2"
    yield taped(f"{listed}&page=1", entries(ENTRIES[1:3], 1), headers=use, at=6)
    yield taped(f"{listed}&page=2", entries(ENTRIES[3:5], 2), headers=use, at=7)
    pay = {"grant": GRANT, "sum": "15.20", "to": "DE02120300000000202051"}
    yield taped("/payments", payment(0), "POST", status=201, headers=DEVICE, body=pay, at=10)
    yield taped(f"/payments/{PAYMENT}", payment(0, 610), headers=DEVICE, at=671)
    yield taped(f"/payments/{PAYMENT}", payment(0, 610, 755), headers=DEVICE, at=791)
    over = {"problem": "GRANT_OVER", "field": "Grant"}
    yield taped(f"/grants/{GRANT}/accounts", over, status=401, headers=use, at=3 * 86400)


@pytest.fixture(scope="module")
def text() -> str:
    return learn_text(record())


class App(LearnedApp):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.grant = str(self.call("POST", "/grants", ASK)[1]["grant"])

    def call(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        found: tuple[int, Any] = self.send(method, target, body, dict(DEVICE) | headers)
        return found

    def sign(self, customer: str, *codes: str) -> list[int]:
        """Return the statuses of the answers to each code."""
        target = f"/grants/{self.grant}/signings"
        signing = self.call("POST", target, {}, **{"PSU-Verfueger": customer})[1]["signing"]
        return [self.call("PUT", f"{target}/{signing}", {"otp": code})[0] for code in codes]

    def read(self, target: str) -> tuple[int, Any]:
        return self.call("GET", target, Grant=self.grant)


@pytest.fixture
def app(text: str) -> App:
    return App(text)


def test_links_of_accounts_have_the_id_of_the_grant(app: App) -> None:
    app.sign("771", "424242")
    _, said = app.read(f"/grants/{app.grant}/accounts")
    assert said["accounts"] == [ROW | {"entries": f"/grants/{app.grant}/accounts/{ACCOUNT}/entries"}]
    assert app.read(said["accounts"][0]["entries"])[0] == 200


def test_entries_with_a_time_are_found_by_their_day_and_all_that_were_told_are_there(app: App) -> None:
    app.sign("771", "424242")
    target = f"/grants/{app.grant}/accounts/{ACCOUNT}/entries?first=2026-11-09&size=2"
    pages = [app.read(f"{target}&page={page}")[1] for page in (1, 2, 3, 4)]
    assert [len(page["entries"]) for page in pages] == [2, 2, 2, 1]
    assert [page["about"] for page in pages] == [{"page": page, "pages": 4, "all": 7} for page in (1, 2, 3, 4)]
    later = app.read(f"/grants/{app.grant}/accounts/{ACCOUNT}/entries?first=2026-11-11&size=2&page=1")[1]
    assert later["entries"][0] == ENTRIES[3]


def test_a_code_that_gets_400_is_a_wrong_one_and_the_device_is_no_customer(app: App) -> None:
    assert app.sign("5500041708", "147285", "147258") == [400, 200]
    assert app.sign("771", "424242") == [200]
    assert app.sign("772", "313131") == [200]


def test_a_grant_that_is_used_ends_on_its_day(app: App) -> None:
    app.sign("771", "424242")
    assert app.read(f"/grants/{app.grant}/accounts")[0] == 200
    app.wait(START + timedelta(days=3))
    assert app.read(f"/grants/{app.grant}/accounts")[0] == 401
    assert app.read(f"/grants/{app.grant}/accounts/{ACCOUNT}/entries")[0] == 401


def test_the_state_of_a_payment_is_not_that_of_its_grant_and_it_changes_when_the_answer_has_told(app: App) -> None:
    _, made = app.call("POST", "/payments", {"grant": app.grant, "sum": "8.00", "to": "DE02120300000000202051"})
    seen = []
    for seconds in (0, 605, 615, 750, 760):
        app.wait(START + timedelta(seconds=seconds))
        shown = app.call("GET", f"/payments/{made['payment']}")[1]
        assert [row["was"] for row in shown["history"]][-1] == shown["paymentState"]
        seen.append((shown["paymentState"], len(shown["history"])))
    assert seen == [("held", 1), ("held", 1), ("moving", 2), ("moving", 2), ("moved", 3)]
    assert app.call("GET", f"/grants/{app.grant}")[1] == {"grant": app.grant, "grantState": "asked"}
