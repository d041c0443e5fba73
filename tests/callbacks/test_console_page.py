"""The page Callbacks of the console, in a browser with and without scripts."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.callbacks.asking import ServedSession
from tests.callbacks.test_delivery import serving
from tests.support.doors import wait_until
from tests.support.listener import Listener
from tests.support.serving import Serving, served

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium here: make browser")


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


def console_link(sandbox: Serving) -> str:
    return next(line.split()[1] for line in sandbox.out if line.startswith("console "))


def test_callbacks_are_listed_and_sent_again(sandbox: Serving) -> None:
    from playwright.sync_api import sync_playwright

    bank = ServedSession(sandbox, "default")
    with Listener() as app, sync_playwright() as playwright:
        app.answers += [500]
        id = bank.consent(app.url)
        bank.happen(id, "refused")
        app.wait_for(1)
        bank.happen(bank.consent("http://tpp.example/notify"), "refused")
        bank.wait_for_state("refused")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        plain = browser.new_context(java_script_enabled=False)
        page = plain.new_page()
        page.goto(console_link(sandbox))
        page.click("nav >> text=Callbacks")
        text = page.inner_text("main")
        assert app.url in text
        assert "not allowed" in text
        assert "set callback_host (--callback-host tpp.example)" in text
        page.click(f"[aria-label='Send consents.{id}.1 again']")
        app.wait_for(2)
        wait_until(lambda: any(one["state"] == "delivered" for one in bank.callbacks()))
        page.reload()
        assert "accepted by the app" in page.inner_text("main")
        page.goto(f"{sandbox.direct}/_sandbox/console/bank/consents/{id}")
        timeline = page.inner_text("ol.timeline")
        assert f"callback POST {app.url}" in timeline
        assert f"callback to {app.url.split('/')[2]}" in page.inner_text("p.way")
        assert "consentStatus rejected" in timeline
        assert "has not been told" not in timeline
        state = plain.storage_state()
        page = browser.new_context(storage_state=state, viewport={"width": 1200, "height": 800}).new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{sandbox.direct}/_sandbox/console/callbacks")
        bank.happen(bank.consent(app.url), "refused")
        page.locator("tbody tr").nth(2).wait_for()
        assert errors == []
        browser.close()


def test_a_bank_without_callbacks_says_so(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with served(tmp_path) as sandbox, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(console_link(sandbox))
        page.goto(f"{sandbox.direct}/_sandbox/console/callbacks")
        assert "This bank sends no callbacks." in page.inner_text("main")
        browser.close()
