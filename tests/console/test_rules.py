"""The page of the rules, with those that a session was told of while the sandbox runs."""

import html
import re
import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.console.browser import TOKEN, Browser
from tests.support.engine_client import Client
from xs2a_sandbox.control.pages import FilesStatus

RULES = "/_sandbox/console/rules"
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
RULE: dict[str, Any] = {"id": "mine", "match": {"operation": "account-list"}, "respond": {"status": 503}}


def add(browser: Browser, rule: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Client(browser.engine).request("POST", "/_sandbox/rules", json={"rules": [rule]}, headers=headers)
    assert answer.status == 201, answer.body


def test_rules_that_were_added_to_the_session_are_there(browser: Browser) -> None:
    assert "<strong>mine</strong>" not in browser.page(RULES)
    add(browser, RULE)
    page = browser.page(RULES)
    assert "<strong>mine</strong>" in page
    assert "<code>&lt;rule 1&gt;:1" in page
    assert "<strong>mine</strong>" not in browser.page(f"/s/other{RULES}")


def rules_in(page: str) -> list[str]:
    return re.findall(r"<td><strong>([\w-]+)</strong>", page)


def test_the_users_rules_are_first(browser: Browser) -> None:
    assert "You have no rules of your own yet." in browser.page(RULES)
    add(browser, RULE)
    page = browser.page(RULES)
    own, _, dialect = page.partition("<summary>The dialect")
    assert rules_in(own) == ["mine"]
    assert "account-list" in rules_in(dialect)
    assert "You have no rules" not in page


@pytest.mark.parametrize(
    ("searched", "found"),
    [
        ("Confirm-Funds", ["confirm-funds"]),
        ("/token.oauth2", ["token"]),
        (
            "cards.yaml",
            ["card-account-list", "card-account-details", "card-account-balances", "card-account-transactions"],
        ),
        ("standing order", ["initiate-periodic-payment"]),
        ("no such rule", []),
    ],
)
def test_rules_are_filtered_by_id_address_text_or_file(browser: Browser, searched: str, found: list[str]) -> None:
    page = browser.page(f"{RULES}?{urlencode({'filter': searched})}")
    assert rules_in(page) == found
    assert ("No rule fits." in page) is not bool(found)
    assert "You have no rules" not in page


def test_the_rules_that_answered_last_lead_to_their_traffic(browser: Browser) -> None:
    for path in ("/v1/consents/unknown", f"/v1/consents/{CONSENT}/status", "/v1/consents/unknown"):
        browser.app_asks("GET", path)
    chips = re.search(r'<ul class="chips">(.*?)</ul>', browser.page(RULES), re.DOTALL)
    assert chips
    assert re.findall(r'\?search=rule:([\w-]+)">[^<]+<span class="count">(\d+)<', chips[1]) == [
        ("consent-content", "2"),
        ("consent-status", "1"),
    ]


def test_one_of_them_wins(browser: Browser) -> None:
    add(browser, {**RULE, "require": "none"})
    page = browser.page(f"{RULES}?url=/v1/accounts")
    assert '<strong>mine</strong> <span class="state">wins</span>' in page


def test_the_text_of_an_added_rule_is_escaped(browser: Browser) -> None:
    add(browser, {**RULE, "doc": "<script>alert(1)</script>"})
    page = browser.page(RULES)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_rules_say_where_they_stand_and_who_answers(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    page = browser.page("/_sandbox/console/rules?url=/v1/accounts&headers=")
    assert "cassettes/xs2a-1.84/accounts.yaml:7" in page
    assert "the header X-Request-ID is missing" in page
    assert '/_sandbox/?search=rule:account-list" aria-label="The 1 exchanges of account-list">1<' in page
    assert re.search(r'<td class="time" data-label="Last"><a href="/_sandbox/console/exchanges/1">[\d:]{8}</a>', page)
    assert 'role="alert"' in browser.page("/_sandbox/console/rules?url=nonsense:", status=400)


def test_a_request_to_explain_has_a_request_id_unless_it_is_removed(browser: Browser) -> None:
    page = browser.page(f"{RULES}?url=/v1/accounts")
    assert re.search(r">X-Request-ID: [0-9a-f-]{36}</textarea>", page)
    assert "X-Request-ID is filled in" in page
    assert "the header X-Request-ID is missing" not in page
    assert "the header Consent-ID is missing" in page
    without = browser.page(RULES, {"method": "GET", "url": "/v1/accounts", "headers": "", "body": ""})
    assert "the header X-Request-ID is missing" in without
    assert "is filled in" not in without


def test_rules_say_who_answers_a_request_with_headers(browser: Browser) -> None:
    sent = {
        "method": "get",
        "url": "/v1/accounts",
        "headers": f"X-Request-ID: {uuid.uuid4()}\nPSU-IP-Address: 192.0.2.7",
    }
    page = browser.page("/_sandbox/console/rules", sent)
    assert "the header X-Request-ID is missing" not in page
    assert '<span class="state">wins</span>' in page
    wrong = browser.page("/_sandbox/console/rules", {**sent, "headers": "nonsense"}, 400)
    assert 'aria-describedby="wrong-headers"' in wrong


def test_problems_of_files_are_shown_with_line_and_caret(browser: Browser) -> None:
    problem = "cases/a.yaml:3:5: error key-unknown: there is no key\n    opertion: x\n    ^"
    browser.engine.use(files=FilesStatus(browser.engine.parts.files.loaded, (problem,)))
    assert html.escape(problem) in browser.page("/_sandbox/console/rules")
