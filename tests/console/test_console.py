"""The console's pages, asked as a browser asks."""

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.console.browser import TOKEN, Browser, payment
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.pages import PAGES
from xs2a_sandbox.http import Headers, Request

# --- who may


@pytest.mark.parametrize("page", [name or "bank" for name, _ in PAGES] + ["exchanges/1", "bank/consents/x"])
def test_nobody_sees_a_page_who_has_not_signed_in(tmp_path: Path, page: str) -> None:
    answer = Browser(tmp_path).ask("GET", f"/_sandbox/console/{page}")
    assert answer.status == 401
    assert b"xs2a-sandbox console" in answer.body


def test_a_closed_console_names_the_port_where_it_is_not_the_usual_one(tmp_path: Path) -> None:
    usual, other = (Browser(tmp_path / name, port=port) for name, port in (("a", 8081), ("b", 9081)))
    assert "<code>xs2a-sandbox console</code>" in usual.page("/_sandbox/console/bank", status=401)
    assert "<code>xs2a-sandbox console --port 9081</code>" in other.page("/_sandbox/console/bank", status=401)


def test_without_a_cookie_the_first_page_stays_what_it_was(tmp_path: Path) -> None:
    answer = Browser(tmp_path).ask("GET", "/_sandbox/")
    assert (answer.status, b"A bank to test with" in answer.body) == (200, True)


def test_a_link_works_once(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert browser.ask("GET", link).status == 303
    assert browser.ask("GET", link).status == 403


def test_who_only_looks_whether_there_is_something_does_not_use_the_link_up(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert "set-cookie" not in browser.ask("HEAD", link).headers
    assert browser.ask("GET", link).status == 303


def test_a_link_that_is_sent_by_another_site_is_not_taken(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert browser.ask("GET", link, Origin="https://evil.example").status == 403
    assert browser.ask("GET", link).status == 303


def test_it_is_at_the_direct_door_alone(browser: Browser) -> None:
    request = Request("GET", "/_sandbox/console/bank", Headers([("Cookie", browser.cookie)]), door="proxy")
    assert asyncio.run(browser.engine.answer(request)).status == 404


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}]
)
def test_forms_of_other_sites_change_nothing(browser: Browser, headers: dict[str, str]) -> None:
    answer = browser.ask("POST", "/_sandbox/console/time", {"move": "90d"}, **headers)
    assert answer.status == 403
    assert "The clock shows real time." in browser.page("/_sandbox/console/time")


def test_a_borrowed_name_opens_nothing(browser: Browser) -> None:
    request = Request(
        "GET", "/_sandbox/console/bank", Headers([("Cookie", browser.cookie)]), host="evil.example", door="direct"
    )
    assert asyncio.run(browser.engine.answer(request)).status == 403


def test_it_leaves_no_line_in_the_log_and_no_exchange_in_the_journal(browser: Browser) -> None:
    exchanges: list[Any] = []
    browser.engine.use(on_exchange=exchanges.append)
    browser.page("/_sandbox/")
    browser.page("/_sandbox/console/bank")
    assert (exchanges, len(browser.engine.journal)) == ([], 0)


def test_pages_that_there_are_not(browser: Browser) -> None:
    assert 'href="/_sandbox/console/bank"' in browser.page("/_sandbox/console/nothing", status=404)
    page = browser.page("/_sandbox/console/exchanges/1", status=404)
    assert "it keeps only the last 2000 exchanges" in page
    assert 'href="/_sandbox/console/bank"' in page
    browser.page("/_sandbox/console/exchanges/one", status=400)
    browser.page("/_sandbox/console/bank/consents/nothing", status=404)
    assert browser.ask("DELETE", "/_sandbox/console/bank").status == 405


# --- what others have written is text

MARKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{7*7}}",
    "</pre><svg onload=alert(1)>",
]


@pytest.mark.parametrize("mark", MARKS)
def test_what_is_shown_is_never_markup(browser: Browser, mark: str) -> None:
    id = payment(browser, mark[:70])
    browser.app_asks("GET", f"/v1/{mark}?q={mark}".replace(" ", "%20"), headers={"X-App": mark})
    pages = [
        "/_sandbox/",
        "/_sandbox/console/bank",
        f"/_sandbox/console/bank/payments/{id}",
        "/_sandbox/?" + urlencode({"text": mark}),
    ]
    pages += [f"/_sandbox/console/exchanges/{number}?plain=true" for number in (1, 2)]
    for target in pages:
        page = re.sub(r"<(script|style)>.*?</\1>", "", browser.page(target), flags=re.DOTALL)
        assert "<script" not in page
        assert "<img" not in page
        assert "<svg onload" not in page
        assert "49" not in page or "{{7*7}}" not in mark or "{{7*7}}" in page


@pytest.mark.parametrize(
    ("dest", "status"), [("document", 200), ("empty", 200), ("iframe", 403), ("script", 403), ("image", 403)]
)
def test_pages_are_shown_only_as_pages(browser: Browser, dest: str, status: int) -> None:
    assert browser.ask("GET", "/_sandbox/console/bank", Sec_Fetch_Dest=dest).status == status
