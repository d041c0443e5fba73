"""The dialect enable-banking: an aggregator, whose apps sign a token for each request."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.families.enable_banking import (
    BACK,
    ENTRIES,
    EVERYDAY,
    KEY,
    OTHER_KEY,
    SAVINGS,
    App,
    payment,
    refusal,
    sign,
)
from tests.journeys.test_scenarios import controlled, move
from tests.support.engine_client import Client
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.engine.build import build

SECOND = "5a11ab1e-0000-4000-8000-000000000002"


def an_app(directory: Path, **settings: Any) -> App:
    given = {"dialect": "enable-banking", "state": "memory:", "confdir": str(directory), **settings}
    return App(Client(build(config.load(given, {}, directory))))


@pytest.fixture
def app(tmp_path: Path) -> App:
    return an_app(tmp_path)


@pytest.fixture
def keyed(tmp_path: Path) -> App:
    """The bank knows the key and the addresses of a second application."""
    client = {"name": "Keyed", "secret": "-", "jwks": {"keys": [KEY.as_dict(private=False)]}, "redirectUris": [BACK]}
    data = tmp_path / "clients.yaml"
    data.write_text(json.dumps({"testdata": 2, "clients": {SECOND: client}}))
    return an_app(tmp_path, testdata=str(data))


def test_an_app_connects_and_reads_everything_once(app: App) -> None:
    session = app.connect(EVERYDAY, SAVINGS, psu_type="business")
    assert [one["account_id"]["iban"] for one in session["accounts"]] == [EVERYDAY, SAVINGS]
    assert (session["psu_type"], session["aspsp"]["name"]) == ("business", "Nordlys Bank")
    uid = session["accounts"][0]["uid"]
    assert app.get(f"/accounts/{uid}/details").json() == session["accounts"][0]
    entries = app.entries(uid)
    assert [entry["entry_reference"] for entry in entries] == ENTRIES
    assert app.get(f"/accounts/{uid}/transactions/A-12").json() == entries[2]
    assert [entry["entry_reference"] for entry in app.entries(uid, transaction_status="PDNG")] == ["P-14"]
    assert len(app.entries(uid, transaction_status="BOOK")) == 13


def test_the_parameters_of_the_first_page_are_part_of_the_continuation_key(app: App) -> None:
    uid, place = app.uid(), "/accounts/{}/transactions"
    old = app.entries(uid, date_from="2000-01-01", date_to=app.entries(uid)[-2]["booking_date"])
    assert [entry["entry_reference"] for entry in old if entry["status"] == "BOOK"] == ["A-02", "A-01"]
    since = app.entries(uid)[-1]["booking_date"]
    key = app.get(place.format(uid), date_from=since).json()["continuation_key"]
    without = app.get(place.format(uid), continuation_key=key).json()["transactions"]
    assert without == app.get(place.format(uid), date_from=since, continuation_key=key).json()["transactions"]
    other = app.uid()
    assert refusal(app.get(place.format(other), continuation_key=key)) == (422, "WRONG_CONTINUATION_KEY")


def test_each_session_has_its_own_uids_and_the_same_hashes(app: App) -> None:
    first, second = (app.connect(EVERYDAY)["accounts"][0] for _ in range(2))
    assert first["uid"] != second["uid"]
    assert {**first, "uid": None} == {**second, "uid": None}
    assert [app.get(f"/accounts/{one['uid']}/balances").status for one in (first, second)] == [200, 200]


def test_a_session_ends_although_the_app_signs_with_the_real_time(app: App) -> None:
    session = app.connect(EVERYDAY)
    place = f"/accounts/{session['accounts'][0]['uid']}/balances"
    assert app.get(place).status == 200
    move(app.bank, days=82)
    assert refusal(app.get(place)) == (401, "EXPIRED_SESSION")
    assert app.get(f"/sessions/{session['session_id']}").json()["status"] == "EXPIRED"


def test_a_session_that_is_closed_or_revoked(app: App) -> None:
    session = app.connect(EVERYDAY)
    place = f"/sessions/{session['session_id']}"
    assert app.get(place).json()["closed"] is None
    assert app.ask("DELETE", place).json() == {"message": "OK"}
    assert (app.get(place).json()["status"], app.get(place).json()["closed"] is None) == ("CLOSED", False)
    assert refusal(app.get(f"/accounts/{session['accounts'][0]['uid']}/balances")) == (401, "CLOSED_SESSION")

    session = app.connect(EVERYDAY)
    controlled(app.bank, f"state/consents/{session['session_id']}", {"event": "withdrawn by the customer"})
    assert refusal(app.get(f"/accounts/{session['accounts'][0]['uid']}/details")) == (401, "REVOKED_SESSION")


def test_a_code_is_for_one_session_and_ten_minutes(app: App) -> None:
    code = app.approve(app.start().json()["url"], EVERYDAY)["code"]
    assert app.ask("POST", "/sessions", {"code": code}).status == 200
    assert refusal(app.ask("POST", "/sessions", {"code": code})) == (422, "ALREADY_AUTHORIZED")
    code = app.approve(app.start().json()["url"], EVERYDAY)["code"]
    move(app.bank, minutes=11)
    assert refusal(app.ask("POST", "/sessions", {"code": code})) == (422, "EXPIRED_AUTHORIZATION_CODE")


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("", "not a JSON Web Token"),
        (sign(application="nobody"), "knows no application nobody"),
        (sign(OTHER_KEY, SECOND), "not signed with a key"),
        (sign(KEY, SECOND, iss="me"), "iss must be"),
        (sign(KEY, SECOND, aud="you"), "aud must be"),
        (sign(KEY, SECOND, exp=9_999_999_999), "at most 86400 seconds"),
        (sign(KEY, SECOND, exp=None), "must be numbers"),
        (sign(KEY, SECOND, iat="now"), "must be numbers"),
        (sign(KEY, SECOND, iat=1, exp=2), "has expired"),
    ],
)
def test_a_token_that_does_not_hold(keyed: App, token: str, text: str) -> None:
    answer = keyed.ask("GET", "/application", Authorization=f"Bearer {token}")
    assert (refusal(answer), text in answer.json()["message"]) == ((401, "UNAUTHORIZED_ACCESS"), True), answer.body


def test_an_application_sees_only_what_is_its_own(keyed: App) -> None:
    other = App(keyed.bank, sign(KEY, SECOND))
    assert other.get("/application").json()["redirect_urls"] == [BACK]
    assert refusal(other.start(redirect_url=f"{BACK}/else")) == (422, "REDIRECT_URI_NOT_ALLOWED")
    session, paid = keyed.connect(EVERYDAY), keyed.pay()
    assert other.connect(EVERYDAY)["session_id"]
    uid = session["accounts"][0]["uid"]
    assert refusal(other.get(f"/accounts/{uid}/balances")) == (404, "ACCOUNT_DOES_NOT_EXIST")
    assert refusal(other.get(f"/sessions/{session['session_id']}")) == (404, "SESSION_DOES_NOT_EXIST")
    assert refusal(other.get(f"/payments/{paid}")) == (404, "PAYMENT_NOT_FOUND")
    code = keyed.approve(keyed.start().json()["url"], EVERYDAY)["code"]
    assert refusal(other.ask("POST", "/sessions", {"code": code})) == (422, "WRONG_AUTHORIZATION_CODE")


def test_the_customer_of_an_app_has_the_same_hash_each_time(app: App) -> None:
    hashes = [app.start(psu_id=id).json()["psu_id_hash"] for id in ("ann", "ann", "bob", None, None)]
    assert (hashes[0], len(set(hashes))) == (hashes[1], 4)


def test_without_a_customer_an_account_is_read_four_times_a_day(tmp_path: Path) -> None:
    app = an_app(tmp_path, checks=("frequency",))
    place = f"/accounts/{app.uid()}/balances"
    assert [app.get(place).status for _ in range(5)] == [200, 200, 200, 200, 429]
    assert refusal(app.get(place)) == (429, "ASPSP_RATE_LIMIT_EXCEEDED")
    assert app.ask("GET", place, **{"PSU-IP-Address": "192.0.2.1"}).status == 200


def test_the_strict_profile_asks_for_no_token_of_the_bank(tmp_path: Path) -> None:
    app = an_app(tmp_path, profile="strict")
    assert app.get(f"/accounts/{app.uid()}/balances").status == 200


def test_a_payment_changes_the_balance_even_after_it_is_deleted(app: App) -> None:
    uid = app.uid()
    before = app.get(f"/accounts/{uid}/balances").json()["balances"][0]["balance_amount"]["amount"]
    id = app.pay()
    paid = app.get(f"/payments/{id}").json()
    assert (paid["status"], paid["final_status"]) == ("ACSC", True)
    assert app.ask("DELETE", f"/payments/{id}").status == 200
    after = app.get(f"/accounts/{uid}/balances").json()["balances"][0]["balance_amount"]["amount"]
    assert (before, after) == ("1874.15", "1844.15")


def test_a_standing_order_is_paid_again_and_again(app: App) -> None:
    transfer = payment()["payment_request"]["credit_transfer_transaction"][0]
    id = app.pay(credit_transfer_transaction=[{**transfer, "frequency": "WEEK"}])
    uid = app.uid()
    move(app.bank, days=15)
    booked = app.entries(uid, transaction_status="BOOK")
    assert [entry["transaction_amount"]["amount"] for entry in booked].count("30.00") == 3
    (shown,) = app.get(f"/payments/{id}").json()["payment_details"]["credit_transfer_transaction"]
    assert (shown["frequency"], shown["transaction_status"]) == ("WEEK", "ACSC")


@pytest.mark.parametrize(
    ("wish", "statuses"), [("expires=consent", [401, 401]), ("expires=consent, after=true", [200, 401])]
)
def test_a_fault_ends_the_session_that_the_uid_leads_to(app: App, wish: str, statuses: list[int]) -> None:
    place = f"/accounts/{app.uid()}/balances"
    assert [app.ask("GET", place, **headers).status for headers in ({"X-Sandbox-Prefer": wish}, {})] == statuses
