"""The pages of a session's time, and of all sessions."""

import asyncio
import html
import re

import pytest

from tests.console.browser import ACCOUNT, BASE, Browser, payment
from tests.contract import bodies, facts
from tests.support.engine_client import Client

TIME = "/_sandbox/console/time"
SESSIONS = "/_sandbox/console/sessions"


def test_the_clock_is_moved_stopped_and_let_go(browser: Browser) -> None:
    browser.page(TIME, {"frozen": "2026-11-21T09:00"}, 303)
    assert "2026-11-21 09:00:00" in browser.page(TIME)
    browser.page(TIME, {"move": "1d"}, 303)
    page = browser.page(TIME)
    assert "2026-11-22 09:00:00+01:00" in page
    assert "The clock is stopped." in page
    browser.page(TIME, {"real": "true"}, 303)
    assert "The clock shows real time." in browser.page(TIME)


@pytest.mark.parametrize(("name", "value"), [("move", "3y"), ("move", ""), ("frozen", "tomorrow"), ("frozen", "")])
def test_a_wrong_time_is_said_beside_its_field_and_changes_nothing(browser: Browser, name: str, value: str) -> None:
    page = browser.page(TIME, {name: value}, 400)
    assert f'id="wrong-{name}" role="alert"' in page
    assert "The clock shows real time." in page


@pytest.mark.parametrize(("move", "words"), [("1d", "1 d ahead of"), ("-90m", "1 h 30 min behind")])
def test_a_clock_that_was_moved_says_by_how_much(browser: Browser, move: str, words: str) -> None:
    browser.page(TIME, {"move": move}, 303)
    assert f"The clock runs {words} real time." in browser.page(TIME)


def test_every_page_shows_a_clock_that_was_moved(browser: Browser) -> None:
    link = f'<a href="{TIME}">the clock runs 1 d ahead of real time</a>'
    assert "the clock runs" not in browser.page("/_sandbox/console/bank")
    browser.page(TIME, {"move": "1d"}, 303)
    for page in ("/_sandbox/", "/_sandbox/console/bank", SESSIONS):
        assert link in browser.page(page)


def test_events_of_documents_with_equal_names_are_shown_with_their_ids(browser: Browser) -> None:
    consent = bodies.consent(validUntil=facts.today(1))
    ids = [browser.app_asks("POST", "/v1/consents", json=consent).json()["consentId"] for _ in range(2)]
    due = browser.page(TIME).partition("Next events")[2]
    assert [id for id in ids if f"({id})</a>" not in due] == []


def test_all_that_falls_due_is_linked(browser: Browser) -> None:
    made = browser.app_asks("POST", "/v1/consents", json=bodies.consent(validUntil=facts.today(1))).json()
    due = browser.page(TIME).partition("Next events")[2]
    assert f'/_sandbox/console/bank/consents/{made["consentId"]}"' in due


@pytest.mark.parametrize(
    ("psu", "account", "event"),
    [
        ("anna", ACCOUNT, "expires"),
        # Mira confirms in the bank's app.
        ("mira", "AT479880000060071502", "is approved in the bank's app"),
    ],
)
def test_the_next_event_of_an_authorisation_names_what_it_is_for(
    browser: Browser, psu: str, account: str, event: str
) -> None:
    id = payment(browser, debtorAccount={"iban": account})
    path = f"/v1/payments/sepa-credit-transfers/{id}/authorisations"
    browser.app_asks("POST", path, json={}, headers={"PSU-ID": psu})
    due = html.unescape(browser.page(TIME)).partition("Next events")[2]
    assert f"Authorisation of a payment (12.50 EUR to Nahversorger Talblick)</a> {event}<" in due


def test_the_clock_moves_to_the_next_event(browser: Browser) -> None:
    made = browser.app_asks("POST", "/v1/consents", json=bodies.consent(validUntil=facts.today(1))).json()
    place = f"/v1/consents/{made['consentId']}/status"
    at = re.findall(r'name="until" value="([^"]*)" aria-label', browser.page(TIME))
    assert "Access to" in browser.page(TIME)
    for moment in at:
        browser.page(TIME, {"until": moment}, 303)
        if browser.app_asks("GET", place).json()["consentStatus"] == "expired":
            break
    else:
        raise AssertionError(at)
    assert "until must be a time with its zone" in browser.page(TIME, {"until": "soon"}, 400)


@pytest.mark.parametrize(
    ("name", "address"), [("ci", "/_sandbox/s/ci/console/bank"), ("a.b-c_1", "/_sandbox/s/a.b-c_1/console")]
)
def test_a_session_is_opened_by_name(browser: Browser, name: str, address: str) -> None:
    answer = browser.ask("GET", f"{SESSIONS}?open={name}")
    assert answer.status == 303
    assert answer.headers["location"].startswith(address)


@pytest.mark.parametrize("name", ["a/b", "x" * 65, "%C3%A4"])
def test_a_name_that_no_session_can_have_is_said_beside_its_field(browser: Browser, name: str) -> None:
    assert 'id="wrong-open" role="alert"' in browser.page(f"{SESSIONS}?open={name}", status=400)


def test_what_a_session_has_changed_is_counted(browser: Browser) -> None:
    browser.app_asks("DELETE", "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
    assert "Changed:</span> 1 consent</p>" in browser.page(SESSIONS)
    browser.app_asks("DELETE", "/v1/consents/1f6b8e07-a2d4-4e93-9c58-7b3a15d0e622")
    assert "Changed:</span> 2 consents</p>" in browser.page(SESSIONS)


def test_the_session_that_was_active_last_is_first_with_its_exchanges(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts")
    asyncio.run(Client(browser.engine, "ci").send("GET", "/v1/accounts"))
    for address in (SESSIONS, "/_sandbox/s/ci/console/sessions"):
        page = browser.page(address)
        assert re.findall(r'<h2 id="session-[\w-]+">([\w-]+)', page) == ["ci", "default"]
        assert re.findall(r"Traffic <small>(\d+)</small>", page) == ["1", "1"]
    assert '/console/exchanges/2">' in page.partition(">default")[0]
    assert f"<code>{BASE}/s/ci</code>" in page
    assert f"<code>{BASE}</code>" in page
    assert "<code>X-Sandbox-Session: ci</code>" in page
    # It has changed nothing, so there is nothing to delete.
    assert 'value="ci"' not in page


def test_many_sessions_without_stored_data_are_folded(browser: Browser) -> None:
    browser.page("/s/ci" + TIME, {"move": "1d"}, 303)
    for number in range(6):
        asyncio.run(Client(browser.engine, f"campaign-{number}").send("GET", "/v1/accounts"))
    shown, _, folded = browser.page(SESSIONS).partition("<summary>6 sessions that have exchanges")
    assert re.findall(r'<h2 id="session-([\w-]+)">', shown) == ["ci", "default"]
    assert re.findall(r'<h2 id="session-([\w-]+)">', folded) == [f"campaign-{number}" for number in (5, 4, 3, 2, 1, 0)]


def test_a_session_is_deleted_once(browser: Browser) -> None:
    browser.page("/s/ci" + TIME, {"move": "1d"}, 303)
    assert 'value="ci"' in browser.page(SESSIONS)
    browser.page(SESSIONS, {"delete": "ci"}, 303)
    assert 'value="ci"' not in browser.page(SESSIONS)
    assert "unknown session ci" in browser.page(SESSIONS, {"delete": "ci"}, 400)


def test_a_session_is_reset_and_deleted(browser: Browser) -> None:
    payment(browser)
    browser.page("/_sandbox/console/time", {"move": "1d"}, 303)
    browser.page("/_sandbox/console/bank", {"reset": "session"}, 303)
    assert "The clock shows real time." in browser.page("/_sandbox/console/time")
    asyncio.run(Client(browser.engine, "ci").send("POST", "/v1/consents", json={}))
    browser.page("/_sandbox/s/ci/console/time", {"move": "1d"}, 303)
    assert "/_sandbox/s/ci/console/bank" in browser.page("/_sandbox/console/sessions")
    browser.page("/_sandbox/console/sessions", {"delete": "ci"}, 303)
    assert 'value="ci"' not in browser.page("/_sandbox/console/sessions")
    assert (
        browser.ask("GET", "/_sandbox/console/sessions?open=new").headers["location"] == "/_sandbox/s/new/console/bank"
    )
    browser.page("/_sandbox/console/sessions?open=%2F..", status=400)
