"""The page of the rules, with those that a session was told of while the sandbox runs."""

import html
import uuid
from typing import Any

from tests.console.browser import TOKEN, Browser
from tests.support.engine_client import Client
from xs2a_sandbox.control.pages import FilesStatus

RULES = "/_sandbox/console/rules"
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


def test_one_of_them_wins(browser: Browser) -> None:
    add(browser, {**RULE, "require": "none"})
    page = browser.page(f"{RULES}?url=/v1/accounts")
    assert '<strong>mine</strong> <span class="state">wins</span>' in page


def test_what_an_added_rule_says_is_no_markup(browser: Browser) -> None:
    add(browser, {**RULE, "doc": "<script>alert(1)</script>"})
    page = browser.page(RULES)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_rules_say_where_they_stand_and_who_answers(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    page = browser.page("/_sandbox/console/rules?url=/v1/accounts")
    assert "cassettes/xs2a-1.84/accounts.yaml:7" in page
    assert "the header X-Request-ID is missing" in page
    assert '?rule=account-list">1<' in page
    assert 'role="alert"' in browser.page("/_sandbox/console/rules?url=nonsense:", status=400)


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
