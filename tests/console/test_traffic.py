"""The list of exchanges, and the events that add to it."""

import re
from pathlib import Path

import pytest

from tests.console.test_console import Browser
from xs2a_sandbox.console import traffic

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
    assert numbers(browser.page(f"{EVENTS}?since=0&path=/v1/nothing")) == ["2"]
    assert numbers(browser.page(f"{EVENTS}?since=1&path=/v1/accounts")) == ["3"]


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
    page = browser.page("/_sandbox/?path=/v1/nothing")
    assert "?path=%2Fv1%2Fnothing&amp;before=3" in page
    assert numbers(browser.page("/_sandbox/?path=/v1/nothing&before=3")) == ["1"]
