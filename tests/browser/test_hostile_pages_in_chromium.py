"""Pages of a hostile bank at the base URL, in a browser that is signed in to the console."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.far_bank import FarBank, ok
from tests.support.serving import Serving, served
from xs2a_sandbox.features.console.sign_in import link

pytestmark = pytest.mark.slow

SECRET = "the-token-of-another-request"
_SCRIPT = """
const tries = [];
const note = (what, promise) => tries.push(promise.then(text => what + ": " + text, error => what + ": " + error.name));
const read = path => fetch(path, {credentials: "include"}).then(answer => answer.text());
const framed = (tag, path) => new Promise((done, failed) => {
  const frame = document.createElementNS("http://www.w3.org/1999/xhtml", "iframe");
  frame.src = path;
  frame.onload = () => {
    try { done(frame.contentDocument.documentElement.innerHTML); } catch (error) { failed(error); }
  };
  document.documentElement.append(frame);
});
note("exchange", read("/_sandbox/console/exchanges/1?plain=true"));
note("rules", read("/_sandbox/console/rules"));
note("frame", framed("iframe", "/_sandbox/console/exchanges/1?plain=true"));
note("fault", fetch("/_sandbox/console/faults", {method: "POST", credentials: "include",
  headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "status=500&operation=consent-status"})
  .then(answer => answer.text()));
note("blind fault", fetch("/_sandbox/console/faults", {method: "POST", mode: "no-cors", credentials: "include",
  body: new URLSearchParams({status: "500", operation: "consent-status"})}).then(() => "sent"));
note("worker", Promise.resolve().then(() => navigator.serviceWorker.register("/v1/worker.js", {scope: "/"}))
  .then(() => "registered"));
Promise.all(tries).then(results => { window.results = results; });
"""
PAGES = {
    "text/html": f"<!doctype html><title>bank</title><script>{_SCRIPT}</script>",
    "application/xhtml+xml": '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>bank</title></head>'
    f"<body><script><![CDATA[{_SCRIPT}]]></script></body></html>",
    "image/svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[{_SCRIPT}]]></script></svg>',
    "application/xml": f'<x xmlns:h="http://www.w3.org/1999/xhtml"><h:script><![CDATA[{_SCRIPT}]]></h:script></x>',
}


@pytest.mark.parametrize("media", PAGES)
def test_a_page_of_the_bank_does_not_have_the_origin_of_the_console(browser: Any, tmp_path: Path, media: str) -> None:
    page_of_bank = ok(PAGES[media].encode(), f"Content-Type: {media}".encode())
    with FarBank(page_of_bank) as bank, served(tmp_path, "--mode", "spy", "--bank", bank.url) as serving:
        httpx.get(f"{serving.direct}/v1/secret", headers={"Authorization": f"Bearer {SECRET}"}, trust_env=False)
        context = browser.new_context()
        page = context.new_page()
        page.goto(link(serving.direct, serving.token))
        page.goto(f"{serving.direct}/_sandbox/console/exchanges/1?plain=true")
        assert SECRET in page.content()

        page.goto(f"{serving.direct}/v1/evil")
        results = page.wait_for_function("window.results").json_value()

        assert len(results) == 6
        assert [result for result in results if SECRET in result or "<html" in result or "registered" in result] == []
        assert faults(serving) == []
        context.close()


def faults(serving: Serving) -> Any:
    token = {"Authorization": f"Bearer {serving.token}"}
    return httpx.get(f"{serving.direct}/_sandbox/faults", headers=token, trust_env=False).json()["faults"]
