"""The page of what is to go wrong."""

import re

import pytest

from tests.console.browser import ACCOUNT, Browser
from xs2a_sandbox.features.console.faults import PRESETS
from xs2a_sandbox.features.console.visit import wrong_field


def test_faults_are_added_listed_and_deleted(browser: Browser) -> None:
    page = "/_sandbox/console/faults"
    browser.page(page, {"operation": "account-list", "status": "503", "next": "3", "method": "", "fault": ""}, 303)
    browser.page(page, {"fault": "reset", "after": "true", "every": "2"}, 303)
    assert browser.app_asks("GET", "/v1/accounts").status == 503
    listed = browser.page(page)
    assert "answered 503" in listed
    assert "account-list, 3 times" in listed
    assert '?search=rule:fault-1">used once<' in listed
    assert "the connection is reset, only after the bank has done it" in listed
    browser.page(page, {"delete": "fault-1"}, 303)
    assert "fault-1" not in browser.page(page)
    browser.page(page, {"clear": "all"}, 303)
    assert browser.app_asks("GET", "/v1/accounts").status == 400


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_is_added_by_one_click(browser: Browser, preset: str) -> None:
    page = "/_sandbox/console/faults"
    assert PRESETS[preset].name in browser.page(page)
    browser.page(page, {"preset": preset}, 303)
    assert "<strong>fault-1</strong>" in browser.page(page)


def test_a_preset_loses_the_answer_to_a_payment_that_is_made(browser: Browser) -> None:
    browser.page("/_sandbox/console/faults", {"preset": "lost"}, 303)
    body = {
        "debtorAccount": {"iban": ACCOUNT},
        "instructedAmount": {"amount": "1.00", "currency": "EUR"},
        "creditorAccount": {"iban": "AT379821100040023757"},
        "creditorName": "Talblick",
    }
    browser.app_asks("POST", "/v1/payments/sepa-credit-transfers", json=body)
    assert "is:faulted" in browser.page("/_sandbox/")
    assert "1.00 EUR to Talblick" in browser.page("/_sandbox/console/bank")


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"operation": "acount-list", "status": "503"}, "operation"),
        ({"status": "many"}, "status"),
        ({"status": "99"}, "status"),
        ({"status": "503", "next": "0"}, "next"),
        ({"status": "503", "every": "x"}, "every"),
        ({"error": "none-such"}, "error"),
        ({"rule": "none-such"}, "rule"),
        ({"delay": "1y"}, "delay"),
        ({"status": "503", "error": "internal"}, "status"),
    ],
)
def test_what_a_fault_cannot_be_is_said_beside_its_field(browser: Browser, form: dict[str, str], field: str) -> None:
    page = browser.page("/_sandbox/console/faults", form, 400)
    assert f'id="wrong-{field}" role="alert"' in page
    for value in form.values():
        assert f'value="{value}"' in page


@pytest.mark.parametrize(
    ("form", "words", "requests"),
    [
        ({"error": "consent-expired", "skip": "2"}, "answered with the error consent-expired", "not the first 2"),
        ({"status": "429", "retry_after": "60", "every": "3"}, "answered 429, Retry-After 60", "one in 3"),
        (
            {"rule": "placeholder-authorisation", "method": "PUT"},
            "answered by the rule placeholder-authorisation",
            "PUT",
        ),
        ({"delay": "2s", "fault": "half-json"}, "2s late, the JSON ends in the middle", "all requests"),
        ({"expires": "token", "operation": "account-*"}, "the token expires", "account-*"),
        ({"sca": "decline", "next": "1"}, "an approval ends by decline", "authorisations, once"),
        ({"payee": "no-match", "next": "1"}, "a payee is verified as no-match", "verifications of payees, once"),
    ],
)
def test_a_fault_is_listed_in_words(browser: Browser, form: dict[str, str], words: str, requests: str) -> None:
    browser.page("/_sandbox/console/faults", form, 303)
    listed = browser.page("/_sandbox/console/faults")
    ((what, whom),) = re.findall(r"<strong>fault-1</strong></td><td>([^<]*)</td><td[^>]*>([^<]*)</td>", listed)
    assert what == words
    assert requests in whom


@pytest.mark.parametrize(
    ("problem", "sent", "field"),
    [
        ("status must be a whole number", {}, "status"),
        ("next: 0 is less than 1", {"status": "0"}, "next"),
        ("unknown operation 'acount-list'", {"rule": "acount-list"}, "operation"),
        ("there is no 'acount-list', is it account-list?", {"rule": "acount-list"}, "rule"),
        ("something else is wrong", {"rule": "", "status": "503"}, ""),
        ("", {"rule": "x"}, ""),
    ],
)
def test_a_refusal_is_about_the_field_that_it_names_or_quotes(problem: str, sent: dict[str, str], field: str) -> None:
    assert wrong_field(problem, ("operation", "status", "rule", "next"), sent) == field


def test_a_preset_is_added_for_all_sessions_and_deleted_for_all(browser: Browser) -> None:
    browser.page("/_sandbox/console/faults", {"preset": "slow", "sessions": "all"}, 303)
    browser.page("/_sandbox/console/faults", {"status": "503", "operation": "consent-status"}, 303)
    page = browser.page("/_sandbox/s/ci/console/faults")
    assert re.findall(r"<strong>(fault[^<]*)</strong>", page) == ["fault-all-1"]
    assert '<span class="state">all sessions</span>' in page
    assert "not used yet" in page
    assert "Delete all of this session" not in page
    assert "Delete all of this session" in browser.page("/_sandbox/console/faults")
    browser.page("/_sandbox/console/faults", {"clear": "session"}, 303)
    assert "fault-all-1" in browser.page("/_sandbox/console/faults")
    browser.page("/_sandbox/s/ci/console/faults", {"clear": "all"}, 303)
    assert "None. The bank responds as usual." in browser.page("/_sandbox/console/faults")
