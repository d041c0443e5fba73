"""The list of exchanges, and the events that add to it."""

import re
import uuid
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.console.browser import Browser
from xs2a_sandbox.features.console import traffic

EVENTS = "/_sandbox/console/events"


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Asks for streams that end after a moment."""
    monkeypatch.setattr(traffic, "_STREAM", 0.05)
    return Browser(tmp_path).sign_in()


def numbers(page: str) -> list[str]:
    return re.findall(r"exchanges/(\d+)", page)


def test_only_those_that_fit_the_filter_are_sent(browser: Browser) -> None:
    for path in ("/v1/accounts", "/v1/nothing", "/v1/accounts"):
        browser.app_asks("GET", path)
    assert numbers(browser.page(f"{EVENTS}?since=0&search=path:/v1/nothing")) == ["2"]
    assert numbers(browser.page(f"{EVENTS}?since=1&search=path:/v1/accounts")) == ["3"]


def test_a_row_is_one_event_however_many_lines_it_has(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/nothing%0Aevent:%20reload")
    event = browser.page(f"{EVENTS}?since=0").partition("event: rows\n")[2].partition("\n\n")[0]
    lines = event.splitlines()
    assert lines[0] == "id: 1"
    assert all(line.startswith("data: ") for line in lines[1:])


def test_a_stream_in_which_nothing_comes_says_to_ask_again(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/nothing")
    assert browser.page(f"{EVENTS}?since=1") == ": live\n\nevent: again\nid: 1\ndata:\n\n"


@pytest.mark.parametrize("since", ["", "-1", "x", "1" * 20, "²"])
def test_a_stream_begins_after_a_number(browser: Browser, since: str) -> None:
    assert "since must be the number of an exchange" in browser.page(f"{EVENTS}?since={since}", status=400)


def test_a_filtered_list_goes_back_with_its_filter(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_SHOWN", 1)
    for path in ("/v1/nothing", "/v1/accounts", "/v1/nothing"):
        browser.app_asks("GET", path)
    page = browser.page("/_sandbox/?search=path:/v1/nothing")
    assert "?search=path%3A%2Fv1%2Fnothing&amp;before=3" in page
    assert numbers(browser.page("/_sandbox/?search=path:/v1/nothing&before=3")) == ["1"]


def test_what_was_asked_is_listed_newest_first_with_the_reason(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/")
    assert numbers(page) == ["2", "1"]
    assert "CONSENT_UNKNOWN" in page


@pytest.mark.parametrize(
    ("query", "fitting"),
    [
        ("status:404", ["2"]),
        ("NOTHING", ["2"]),
        ("method:post", []),
        ("path:/v1/acc*", ["1"]),
        ("is:error !status:404", ["1"]),
    ],
)
def test_it_is_filtered(browser: Browser, query: str, fitting: list[str]) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    browser.app_asks("GET", "/v1/nothing")
    assert numbers(browser.page(f"/_sandbox/?{urlencode({'search': query})}")) == fitting


def test_a_search_that_cannot_be_is_explained_next_to_its_box(browser: Browser) -> None:
    page = browser.page("/_sandbox/?search=stauts:404", status=400)
    assert "unknown key &#39;stauts&#39;" in page
    assert 'aria-describedby="wrong-search"' in page or 'id="wrong-search"' in page
    assert 'Did you mean <a class="keeps-open" href="/_sandbox/?search=status%3A404">status:404</a>?' in page


def test_a_search_that_finds_nothing_may_have_been_meant_otherwise(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/?search=status=404")
    assert "No exchange fits." in page
    assert ">status:404</a>?" in page
    assert "Did you mean" not in browser.page("/_sandbox/?search=status:404")


def test_the_open_exchange_stays_open_in_other_searches(browser: Browser) -> None:
    for path in ("/v1/accounts", "/v1/nothing"):
        browser.app_asks("GET", path)
    page = browser.page("/_sandbox/?search=is:error&open=1")
    assert '<input type="hidden" id="open" name="open" value="1">' in page
    links = re.findall(r'class="(?:button )?keeps-open" href="([^"]*)"', page)
    assert "/_sandbox/?open=1" in links
    assert len(links) > 2
    assert all("open=1" in link for link in links)
    mistyped = browser.page("/_sandbox/?search=stauts:404&open=1", status=400)
    assert "Why this response" in mistyped
    assert "?search=status%3A404&amp;open=1" in mistyped


def test_chips_count_what_there_is_and_a_click_adds_or_takes_away(browser: Browser) -> None:
    for path in ("/v1/accounts", "/v1/nothing", "/v1/nothing"):
        browser.app_asks("GET", path)
    page = browser.page("/_sandbox/")
    assert 'is:unmatched <span class="count">2</span>' in page
    assert 'href="/_sandbox/?search=status%3A4xx"' not in page, "all have it"
    filtered = browser.page("/_sandbox/?search=is:unmatched")
    assert 'href="/_sandbox/" aria-current="true">is:unmatched' in filtered
    assert numbers(filtered) == ["3", "2"]


def test_an_exchange_opens_beside_the_list(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/?open=1")
    assert 'class="split open"' in page
    assert "Why this response" in page
    part = browser.page("/_sandbox/console/exchanges/1?part=true")
    assert part in page or "Why this response" in part
    assert "<html" not in part
    gone = browser.page("/_sandbox/?open=7", status=400)
    assert "the journal has no exchange 7" in gone
    assert numbers(gone) == ["1"]
    assert 'value="" disabled' in gone


def test_what_comes_is_sent_as_rows(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/nothing")
    browser.app_asks("GET", "/v1/nothing/more")
    text = browser.page("/_sandbox/console/events?since=1")
    assert "event: rows\nid: 2\n" in text
    assert "/v1/nothing/more" in text
    assert text.endswith("event: again\nid: 2\ndata:\n\n")
    assert "exchanges/1" not in text


def test_where_too_much_has_passed_the_page_is_read_again(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_AT_ONCE", 1)
    for _ in range(2):
        browser.app_asks("GET", "/v1/nothing")
    assert "event: reload" in browser.page("/_sandbox/console/events?since=0")
    browser.page("/_sandbox/console/events?since=x", status=400)


def test_older_ones_are_on_pages_of_their_own(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_SHOWN", 2)
    for _ in range(3):
        browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/")
    assert numbers(page) == ["3", "2"]
    assert "?before=2" in page
    older = browser.page("/_sandbox/?before=2")
    assert numbers(older) == ["1"]
    assert "data-events" not in older
