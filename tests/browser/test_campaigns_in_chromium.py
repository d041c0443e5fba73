"""A campaign in a real browser: start it, watch it, and read a finding next to the exchange that caused it."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.inspecting import Inspector
from tests.console.runs.serving import CONSOLE, PAYS_AGAIN, signed_in
from tests.support.doors import DEADLINE


def sign_in(page: Any, browser: Any) -> None:
    """Sign in with the cookie of the browser without a window, because the link can be used only once."""
    cookies = [
        {"name": cookie.name, "value": cookie.value, "domain": "127.0.0.1", "path": "/_sandbox/"}
        for cookie in browser.client.cookies.jar
    ]
    page.context.add_cookies(cookies)


def test_a_campaign_is_watched_and_a_finding_is_opened(inspector: Inspector, tmp_path: Path) -> None:
    page = inspector.page
    with signed_in(tmp_path, bug=PAYS_AGAIN) as browser:
        base = browser.serving.direct
        sign_in(page, browser)
        page.goto(f"{base}{CONSOLE}/campaigns")
        inspector.look("campaigns")
        page.fill("#jobs", "many")
        page.click("text=Start >> nth=-1")
        inspector.look("campaign refused")
        page.fill("#jobs", "1")
        page.fill("#choose", "initiate-payment 1")
        page.click("button:has-text('Start')")
        page.wait_for_selector("text=The command runs without a fault first")
        # The page now updates automatically.
        page.wait_for_selector("progress", timeout=6 * DEADLINE * 1000)
        inspector.look("campaign running")
        page.wait_for_selector("text=Ended:", timeout=12 * DEADLINE * 1000)
        page.wait_for_selector("#findings")
        inspector.look("campaign")
        finding = page.locator("[id='initiate-payment-1-reset-after.yaml']")
        finding.locator("summary").click()
        finding.locator("button:has-text('Replay')").first.click()
        page.wait_for_selector("text=it still happens.", timeout=6 * DEADLINE * 1000)
        inspector.look("replayed")
        finding.locator("text=in the traffic").first.click()
        page.wait_for_selector("#pane .target, main .target")
        assert page.locator("#rows tr").count() == 2
        inspector.look("exchanges of a finding")
        page.goto(f"{base}{CONSOLE}/campaigns")
        inspector.look("all campaigns")
        page.click("td a:has-text('Report')")
        assert page.locator("h1").inner_text().endswith("with findings")
        for summary in page.locator("summary").all():
            summary.click()
        inspector.look("report")
        assert page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") == "12px"


def test_the_report_of_a_comparison_works_inside_its_iframe(inspector: Inspector, tmp_path: Path) -> None:
    from tests.console.runs.test_comparisons import record
    from tests.support.serving import served

    page = inspector.page
    with served(tmp_path / "bank") as bank:
        record(tmp_path, bank.direct)
        with signed_in(tmp_path, "--mode", "spy", "--bank", bank.direct) as browser:
            sign_in(page, browser)
            page.goto(f"{browser.serving.direct}{CONSOLE}/recordings")
            page.select_option("#with", bank.direct)
            page.click("button:has-text('Compare')")
            page.wait_for_selector("text=Ended:", timeout=6 * DEADLINE * 1000)
            inspector.look("comparison")
            page.goto(f"{browser.serving.direct}{CONSOLE}/recordings")
            inspector.look("recordings")
            page.click("td a:has-text('Report')")
            page.wait_for_selector("h1")
            assert page.evaluate("origin") == "null", "it has its own origin"
            assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
            search = page.locator("input[type=search]").first
            assert search.is_visible(), "its script has run"


@pytest.mark.parametrize("name", ["campaigns", "recordings"])
def test_the_forms_work_without_javascript(browser: Any, tmp_path: Path, name: str) -> None:
    with signed_in(tmp_path, bug=PAYS_AGAIN) as signed:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        sign_in(page, signed)
        page.goto(f"{signed.serving.direct}{CONSOLE}/{name}")
        assert page.locator("h1").count() == 1
        if name == "campaigns":
            page.fill("#choose", "reset")
            page.click("button:has-text('Start')")
            signed.wait_for(page.url.partition(f"{CONSOLE}/")[2], "Ended:")
            page.reload()
            assert page.locator("dd:has-text('2 payments with the end-to-end identification E-1')").count() == 1
        context.close()
