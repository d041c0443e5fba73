"""The page of the rules, with those that a session was told of while the sandbox runs."""

from pathlib import Path
from typing import Any

import pytest

from tests.console.test_console import TOKEN, Browser
from tests.support.engine_client import Client

RULES = "/_sandbox/console/rules"
RULE: dict[str, Any] = {"id": "mine", "match": {"operation": "account-list"}, "respond": {"status": 503}}


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path).sign_in()


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
