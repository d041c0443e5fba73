"""The pages of breakpoints, and the banner while something is held."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from html import unescape
from re import findall, search

import pytest

from tests.console.browser import Browser
from tests.support.admin import STATUS
from tests.support.doors import DEADLINE, Loop, wait_until
from tests.support.engine_client import Answer

PAGE = "/_sandbox/console/breakpoints"


@pytest.fixture
def waiting(browser: Browser) -> Iterator[Browser]:
    """A browser whose app may wait for an answer."""
    with Loop() as loop:
        browser.run = loop.run
        yield browser
        loop.loop.call_soon_threadsafe(browser.engine.let_go)


def asked(browser: Browser) -> "Future[Answer]":
    """The answer to a request of the app, once it is held."""
    loop = browser.run.__self__  # type: ignore[attr-defined]
    answer: Future[Answer] = loop.start(browser.app.send("GET", STATUS))
    wait_until(lambda: "1 held" in browser.page("/_sandbox/"))
    return answer


def text_of(page: str, name: str) -> str:
    found = search(rf'<textarea id="{name}"[^>]*>([^<]*)</textarea>', page)
    assert found, page
    return unescape(found[1])


def test_breakpoints_are_set_listed_and_deleted(browser: Browser) -> None:
    assert "Nothing is held" in browser.page(PAGE)
    form = {"operation": "consent-*", "does": "", "method": "GET", "on": "response", "next": "2", "timeout": "30s"}
    browser.page(PAGE, form, 303)
    browser.page(PAGE, {"on": "request"}, 303)
    page = browser.page(PAGE)
    assert "GET consent-*" in page
    assert "not used yet, 2 left" in page
    assert "Delete 2 breakpoints</button>" in page
    assert "all requests" in page
    browser.page(PAGE, {"delete": "break-1"}, 303)
    assert "break-1" not in browser.page(PAGE)
    browser.page(PAGE, {"clear": "all"}, 303)
    assert "break-2" not in browser.page(PAGE)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"operation": "consent-staus"}, "operation"),
        ({"next": "many"}, "next"),
        ({"timeout": "1y"}, "timeout"),
        ({"does": "fly"}, "does"),
    ],
)
def test_what_cannot_be_is_told_at_its_field(browser: Browser, form: dict[str, str], field: str) -> None:
    page = browser.page(PAGE, form, 400)
    assert f'id="wrong-{field}" role="alert"' in page


def test_a_held_response_is_edited(waiting: Browser) -> None:
    waiting.page(PAGE, {"on": "response"}, 303)
    answer = asked(waiting)
    for page in ("/_sandbox/", "/_sandbox/console/bank", "/_sandbox/console/faults", PAGE):
        assert f'<a href="{PAGE}/held-1">GET ' in waiting.page(page), page
    page = waiting.page(f"{PAGE}/held-1")
    body, headers = text_of(page, "body"), text_of(page, "headers")
    assert json.loads(body)["consentStatus"] == "valid"
    headers = "\r\n".join([line for line in headers.split("\n") if "X-Request-ID" not in line] + ["X-New: 1"])
    form = {"do": "edit", "status": "503", "headers": headers, "body": body.replace("valid", "expired")}
    waiting.page(f"{PAGE}/held-1", form, 303)
    got = answer.result(DEADLINE)
    assert (got.status, got.json()["consentStatus"], got.headers["x-new"]) == (503, "expired", "1")
    assert "x-request-id" not in got.headers
    page = waiting.page("/_sandbox/")
    assert "1 held" not in page
    warning = waiting.page("/_sandbox/console/exchanges/1")
    assert "in the response: status, header X-New, header X-Request-ID, body" in warning


def test_what_is_sent_back_as_it_was_shown_is_no_edit(waiting: Browser) -> None:
    waiting.page(PAGE, {"on": "response"}, 303)
    answer = asked(waiting)
    page = waiting.page(f"{PAGE}/held-1")
    shown = {name: text_of(page, name).replace("\n", "\r\n") for name in ("headers", "body")}
    waiting.page(f"{PAGE}/held-1", {"do": "edit", "status": "200", **shown}, 303)
    assert answer.result(DEADLINE).status == 200
    assert "edited" not in waiting.page("/_sandbox/console/exchanges/1")


def test_a_held_request_is_edited_dropped_or_continued(waiting: Browser) -> None:
    waiting.page(PAGE, {"next": "3"}, 303)
    answer = asked(waiting)
    page = waiting.page(f"{PAGE}/held-1")
    assert 'name="status"' not in page
    headers = text_of(page, "headers").replace("X-Request-ID: ", "X-Request-ID: no ")
    waiting.page(f"{PAGE}/held-1", {"do": "edit", "headers": headers, "body": ""}, 303)
    assert answer.result(DEADLINE).status == 400

    answer = asked(waiting)
    waiting.page(f"{PAGE}/held-2", {"do": "drop"}, 303)
    assert answer.result(DEADLINE).status == 503
    answer = asked(waiting)
    waiting.page(PAGE, {"continue": "held-3"}, 303)
    assert answer.result(DEADLINE).status == 200


def test_a_mistake_keeps_what_was_typed(waiting: Browser) -> None:
    waiting.page(PAGE, {"on": "response"}, 303)
    answer = asked(waiting)
    for form, field in (
        ({"headers": "no colon", "status": "200"}, "headers"),
        ({"headers": "Content-Length: 7", "status": "200"}, ""),
        ({"headers": "", "status": "none"}, "status"),
    ):
        page = waiting.page(f"{PAGE}/held-1", {"do": "edit", "body": "typed", **form}, 400)
        assert text_of(page, "body") == "typed"
        assert f'id="wrong-{field}"' in page or 'class="problem"' in page
    waiting.page(f"{PAGE}/held-1", {"do": "continue"}, 303)
    assert answer.result(DEADLINE).status == 200


def test_the_page_is_sent_in_parts_that_its_script_replaces(waiting: Browser) -> None:
    waiting.page(PAGE, {"on": "request"}, 303)
    assert f'data-refresh="{PAGE}?part=true"' in waiting.page(PAGE)
    answer = asked(waiting)
    part = waiting.page(f"{PAGE}?part=true")
    assert findall(r'id="(held|held-now|set)"[^>]* data-part', part) == ["held", "held-now", "set"]
    assert "data-live" in part
    assert "used once, 0 left" in part
    assert "<html" not in part
    waiting.page(PAGE, {"continue": "held-1"}, 303)
    assert answer.result(DEADLINE).status == 200
    assert "Nothing is held" in waiting.page(f"{PAGE}?part=true")


def test_one_that_is_gone(browser: Browser) -> None:
    assert "This exchange is no longer held" in browser.page(f"{PAGE}/held-9", status=404)
    assert "is no longer held" in browser.page(f"{PAGE}/held-9", {"do": "drop"}, 404)
