"""The console in a real browser: every page works, rows appear automatically, and content from others is never
executed.
"""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from tests.browser.inspecting import Inspector
from tests.browser.pressing import press
from tests.compare.test_history import run
from tests.support.doors import DEADLINE
from tests.support.engine_client import Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.front_page import Addresses, FrontPage
from xs2a_sandbox.control.pages import FilesStatus
from xs2a_sandbox.features.compare import history
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.console import Console
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.journal.log_line import LogEntry

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
TOKEN = "the-token-of-this-sandbox"
HOSTILE = [
    part.replace("X", call)
    for call in ("document.title='ran'", "alert(1)", "fetch('/_sandbox/reset')", "top.name='ran'", "throw 1")
    for part in (
        "<script>X</script>",
        "<img src=x onerror=X>",
        '"><svg onload=X>',
        "'><body onload=X>",
        "javascript:X",
        "</code></pre><script>X</script>",
        "</title><script>X</script>",
        "--><script>X</script>",
        "<iframe srcdoc='<script>X</script>'>",
        "<a href=javascript:X autofocus onfocus=X>",
        "<math><mi xlink:href=javascript:X>",
        "<details open ontoggle=X>",
        "<input autofocus onfocus=X>",
        "<style>@import 'javascript:X'</style>",
        "<base href=javascript:X//>",
        "<meta http-equiv=refresh content=0;javascript:X>",
        "<object data=javascript:X>",
        "<video><source onerror=X>",
        "{{X}}{% X %}${X}",
        "\u2028<script>X</script>",
        "%3Cscript%3EX%3C/script%3E",
        "&lt;script&gt;X&lt;/script&gt;",
        "<scr<script>ipt>X</script>",
        "<SCRIPT SRC=//evil.example/x.js>X",
        "\ndata: <script>X</script>\n\nevent: rows",
        "<marquee onstart=X>",
        "<form action=javascript:X><button>",
        "<template><script>X</script></template>",
        "<noscript><p title='</noscript><img src=x onerror=X>'>",
        "`-X-`",
        "\\x3cscript\\x3eX\\x3c/script\\x3e",
        "<select autofocus onfocus=X>",
        "<textarea autofocus onfocus=X>",
        "<keygen autofocus onfocus=X>",
        "<isindex action=javascript:X>",
        "<link rel=stylesheet href=javascript:X>",
        "<table background=javascript:X>",
        "<embed src=javascript:X>",
        "<x onclick=X tabindex=1 autofocus onfocus=X>",
        "<svg><animate onbegin=X attributeName=x dur=1s>",
    )
]


def signed_in(client: Client, page: Any, tmp_path: Path) -> str:
    """Sign in to the console of a sandbox, and return the sandbox's address."""
    engine = client.engine
    engine.use(admin_token=TOKEN)
    base_url = engine.parts.public_url
    addresses = Addresses("http://127.0.0.1:1", base_url, None, tmp_path / "ca.pem")
    console = Console(engine, Settings(confdir=tmp_path), base_url, "a run")
    engine.use(front_page=FrontPage(addresses, None))
    engine.add_pages("console", console)
    page.goto(sign_in.link(base_url, TOKEN))
    assert page.url == f"{base_url}/_sandbox/"
    return base_url


def payment(client: Client, creditor: str) -> str:
    body = {
        "debtorAccount": {"iban": "AT459880000010204711", "currency": "EUR"},
        "instructedAmount": {"amount": "12.50", "currency": "EUR"},
        "creditorAccount": {"iban": "AT379821100040023757"},
        "creditorName": creditor,
    }
    return str(client.request("POST", "/v1/payments/sepa-credit-transfers", json=body).json()["paymentId"])


def test_the_most_important_pages(inspector: Inspector, client: Client, tmp_path: Path) -> None:
    page = inspector.page
    base_url = signed_in(client, page, tmp_path)
    id = payment(client, "Nahversorger Talblick")
    page.wait_for_selector("#rows tr")
    inspector.look("traffic")
    page.keyboard.press("j")
    page.wait_for_selector("#pane h3")
    inspector.look("split")
    page.keyboard.press("?")
    inspector.look("keys")
    page.keyboard.press("Escape")
    for name, target in (("exchange", "exchanges/1"), ("payment", f"bank/payments/{id}")):
        page.goto(f"{base_url}/_sandbox/console/{target}")
        inspector.look(name)


@pytest.mark.slow
def test_every_page(inspector: Inspector, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for day, one in ((20, run("currency")), (21, run("currency", "ownerName"))):
        history.append(history.FOLDER, replace(one, time=datetime(2026, 11, day, tzinfo=UTC)))
    page = inspector.page
    base_url = signed_in(client, page, tmp_path)
    problem = (
        "cases/mine.yaml:5:7: error key-unknown: there is no opertion\n          opertion: account-list\n          ^"
    )
    client.engine.use(files=FilesStatus(client.engine.parts.files.loaded, (problem,)))
    id = payment(client, "Nahversorger Talblick")
    started = client.request("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    client.request("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    client.request("GET", "/v1/accounts?withBalance=true", consent=str(uuid.uuid4()))
    client.request("GET", "/v1/acounts", consent=CONSENT)
    client.request("GET", "/v1/accounts", consent=CONSENT)
    page.wait_for_selector("#rows tr:nth-child(6)")
    inspector.look("traffic")
    page.goto(f"{base_url}/_sandbox/console/faults")
    page.click("text=Add another fault")
    page.fill("#operation", "initiate-*")
    page.fill("#status", "99")
    page.click("text=Add the fault")
    inspector.look("fault refused")
    page.fill("#status", "503")
    page.fill("#next", "3")
    page.click("text=Add the fault")
    page.click("text=Add another fault")
    page.fill("#delay", "2s")
    page.fill("#every", "5")
    page.click("text=Add the fault")
    page.goto(f"{base_url}/_sandbox/console/bank")
    page.click("text=Create entries")
    page.fill("#entries_count", "many")
    page.click("text=Create the entries")
    inspector.look("entries refused")
    page.fill("#entries_count", "10")
    page.click("text=Create the entries")
    for name, target in {
        "exchange": "exchanges/4",
        "unmatched": "exchanges/5",
        "beside": "beside?one=4&other=6",
        "bank": "bank",
        "payment": f"bank/payments/{id}",
        "authorisation": f"bank/authorisations/{started.json()['authorisationId']}",
        "consent": f"bank/consents/{CONSENT}",
        "time": "time",
        "rules": "rules?url=/v1/accounts",
        "faults": "faults",
        "recordings": "recordings",
        "sessions": "sessions",
        "refused": "exchanges/99",
    }.items():
        page.goto(f"{base_url}/_sandbox/console/{target}")
        inspector.look(name)


def test_a_held_response_is_shown_on_every_page_and_edited_without_javascript(
    browser: Any, inspector: Inspector, client: Client, tmp_path: Path
) -> None:
    base_url = signed_in(client, inspector.page, tmp_path)
    page = inspector.page
    page.goto(f"{base_url}/_sandbox/console/breakpoints")
    page.fill("#operation", "consent-*")
    page.select_option("#on", "response")
    page.fill("#timeout", "1y")
    page.click("text=Set the breakpoint")
    inspector.look("breakpoint refused")
    page.fill("#timeout", "200s")
    page.click("text=Set the breakpoint")
    inspector.look("breakpoints")
    page.goto(f"{base_url}/_sandbox/")
    with ThreadPoolExecutor(1) as pool:
        headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.7"}
        url = f"{base_url}/v1/consents/{CONSENT}/status"
        answer = pool.submit(httpx.get, url, headers=headers, trust_env=False, timeout=DEADLINE)
        # It appears automatically on the page with the live traffic.
        page.wait_for_selector("#held:has-text('1 held')")
        inspector.look("traffic while held")
        page.goto(f"{base_url}/_sandbox/console/breakpoints")
        inspector.look("breakpoints while held")
        plain = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state()).new_page()
        plain.goto(f"{base_url}/_sandbox/console/bank")
        plain.click("#held a")
        page.goto(plain.url)
        inspector.look("held")
        plain.fill("#status", "503")
        plain.fill("#body", '{"busy": true}')
        plain.click("text=Send with these edits")
        response = answer.result(DEADLINE)
        assert plain.locator("#held aside").count() == 0
        plain.context.close()
    assert (response.status_code, response.json()) == (503, {"busy": True})


def test_rows_appear_automatically_and_can_be_paused(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page()
    signed_in(client, page, tmp_path)
    client.request("GET", "/v1/first")
    page.wait_for_selector("#rows td:has-text('/v1/first')")
    page.click("text=Pause")
    client.request("GET", "/v1/second")
    page.click("#pause:has-text('Continue')")
    page.wait_for_selector("#rows td:has-text('/v1/second')")
    assert page.locator("#rows tr").count() == 2
    page.close()


def test_keyboard_shortcuts_open_exchanges_search_and_close(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page()
    base_url = signed_in(client, page, tmp_path)
    for path in ("/v1/first", "/v1/second", "/v1/third"):
        client.request("GET", path)
    page.wait_for_selector("#rows tr:nth-child(3)")
    for key, path in (("j", "third"), ("ArrowDown", "second"), ("j", "first"), ("k", "second")):
        page.keyboard.press(key)
        page.wait_for_selector(f"#pane .target:has-text('/v1/{path}')")
    assert page.url == f"{base_url}/_sandbox/?open=2"
    client.request("GET", "/v1/fourth")
    page.wait_for_selector("#rows td:has-text('/v1/fourth')")
    assert "/v1/second" in page.inner_text("#rows tr[aria-current]")
    page.reload()
    assert "/v1/second" in page.inner_text("#pane .target")
    page.keyboard.press("Escape")
    assert page.locator("#pane *").count() == 0
    page.click("#rows td.request:has-text('/v1/third')")
    page.wait_for_selector("#pane .target:has-text('/v1/third')")
    page.keyboard.press("/")
    page.keyboard.type("path:/v1/f*")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{base_url}/_sandbox/?search=path*&open=3")
    assert page.locator("#rows tr").count() == 2
    assert "/v1/third" in page.inner_text("#pane .target")
    page.click("#close")
    assert page.url == f"{base_url}/_sandbox/?search=path%3A%2Fv1%2Ff*"
    page.click(".chips a:has-text('is:unmatched')")
    page.wait_for_url(f"{base_url}/_sandbox/?search=*")
    assert page.input_value("#search") == "path:/v1/f* is:unmatched"
    page.close()


def test_without_javascript_a_refusal_is_explained_and_a_payment_decided(
    browser: Any, client: Client, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    signed_in(client, page, tmp_path)
    id = payment(client, "Talblick")
    client.request("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    client.request("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    page.reload()
    page.click("#rows a:has-text('3')")
    assert page.get_by_text("a consent is known only in the session that created it").is_visible()
    page.click("nav >> text=Traffic")
    page.click("#rows a:has-text('2')")
    page.click("#documents ~ .life p:has-text('Authorisation') a[href*='/bank/']")
    page.click("text=approve")
    assert page.inner_text("[aria-current=step] .state") == "done"
    context.close()


@pytest.mark.parametrize("name", ["faults", "breakpoints"])
def test_all_are_deleted_only_by_a_second_click_without_a_script(
    browser: Any, client: Client, tmp_path: Path, name: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    address = f"{signed_in(client, page, tmp_path)}/_sandbox/console/{name}"
    page.goto(address)
    press(page, page.get_by_role("button", name="Bank down" if name == "faults" else "Set the breakpoint"))
    button = page.get_by_role("button", name="Delete 1 ")
    assert button.count() == 0, "it is in a closed fold"
    page.click("summary:has-text('Delete all')")
    press(page, button)
    assert page.locator("td button.danger").count() == 0
    context.close()


def test_data_are_created_and_saved_without_javascript(browser: Any, client: Client, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    base_url = signed_in(client, page, tmp_path)
    page.goto(f"{base_url}/_sandbox/console/bank")
    page.click("text=Create a customer")
    for name, text in {"id": "greta", "name": "Greta Moser", "password": "zugspitze"}.items():
        page.fill(f"#customer_{name}", text)
    page.press("#customer_password", "Enter")
    page.click("text=Create an account")
    page.select_option("#account_owner", "greta")
    page.click("text=Create the account")
    page.click("text=Create entries")
    page.select_option("#entries_account", label=page.inner_text("#entries_account option:last-child"))
    page.click("text=Create the entries")
    with page.expect_download() as download:
        page.click("text=Save as test data")
    assert download.value.path().read_text().count("id: card-") == 100
    page.fill("#filter", "greta")
    page.press("#filter", "Enter")
    assert page.locator("table.documents tbody tr").count() == 2
    context.close()


def keeping(client: Client, count: int) -> Journal:
    """Let the sandbox keep this number of exchanges."""
    engine = client.engine
    assert engine.parts.display
    engine.use(journal=Journal(count, 100_000_000, engine.parts.display.entry))
    return engine.journal


@pytest.mark.slow
def test_content_from_others_is_never_executed(browser: Any, client: Client, tmp_path: Path) -> None:
    page, ran = browser.new_page(), []
    base_url = signed_in(client, page, tmp_path)
    journal = keeping(client, 1000)
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: ran.append(str(error)))
    assert len(HOSTILE) == 200
    for text in HOSTILE:
        plain = text.replace("\n", " ").replace("\u2028", " ")
        headers = {"X-App": plain} if plain.isascii() else {}
        client.request(
            "POST", f"/v1/{quote(text, safe='<>;()=')}?{urlencode({text: text})}", json={text: text}, headers=headers
        )
        payment(client, text[:70])
        client.request("GET", "/v1/accounts", headers={"X-Sandbox-Session": plain[:60]} if headers else {})
        client.request("GET", "/v1/accounts", headers={"X-Sandbox-Prefer": f"rule={plain}"} if headers else {})
    problems = tuple(f"{text}.yaml:1:1: {text}\n{text}\n^" for text in HOSTILE)
    client.engine.use(files=FilesStatus(client.engine.parts.files.loaded, problems))
    hostile = [entry.number for entry in journal.entries() if entry.method == "POST" and "payments" not in entry.target]
    assert len(hostile) == 200
    assert len(journal) == 800
    for target in [
        *(
            "",
            "?text=script",
            f"?{urlencode({'text': HOSTILE[0]})}",
            *(f"?before={number}" for number in range(101, 801, 100)),
        ),
        *(
            f"console/{name}"
            for name in ("bank", "rules", "sessions", "faults", f"rules?{urlencode({'url': HOSTILE[0]})}")
        ),
        *(f"console/exchanges/{number}?plain=true" for number in hostile),
        *(f"console/beside?one={number}&other={hostile[0]}" for number in hostile[1::20]),
        *(f"console/exchanges/{entry.number}" for entry in journal.entries()[2::40]),
    ]:
        page.goto(f"{base_url}/_sandbox/{target}")
        assert "ran" not in (page.title(), page.evaluate("top.name"))
    assert ran == []
    page.close()


@pytest.mark.slow
def test_ten_thousand_exchanges_are_added_without_rebuilding_rows(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page()
    signed_in(client, page, tmp_path)
    journal = keeping(client, 10_000)
    client.request("POST", "/v1/consents", json={"access": {}, "note": "a-body-that-no-row-shows"})
    page.wait_for_selector("#rows tr")
    page.evaluate(WATCH)
    (first,) = journal.entries()
    body = b"{}" + b" " * 2000
    for thousand in range(25):
        for number in range(400):
            line = LogEntry("default", "GET", "/v1/accounts", 200, 1.0, "handler", "account-list")
            journal.add(
                Request("GET", f"/v1/accounts?n={thousand * 400 + number}", first.headers, body), Response(), line
            )
        count = min(1 + 400 * (thousand + 1), 10_000)
        page.wait_for_selector(f"#rows tr:nth-child({count})", state="attached")
        if thousand == 23:
            assert page.evaluate("document.querySelector('#rows tr:last-child').dataset.mine") == "first"
    assert page.locator("#rows tr").count() == 10_000
    assert page.inner_text("#rows tr:first-child a") == "10001"
    assert "a-body-that-no-row-shows" not in page.content()
    # It takes 30 ms on an idle machine. Rebuilding the existing elements would take longer.
    assert page.evaluate("longest") < 2000
    page.close()


WATCH = """() => {
  document.querySelector('#rows tr').dataset.mine = 'first';
  window.longest = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) longest = Math.max(longest, one.duration); })
    .observe({type: 'longtask'});
}"""
"""Mark the existing row, and measure the longest time for which the page is blocked."""


def test_enter_opens_the_page_of_a_clicked_row(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page()
    base_url = signed_in(client, page, tmp_path)
    payment(client, "Nahversorger Talblick")
    page.locator("#rows tr .request").first.click()
    page.wait_for_selector("#pane h3")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == f"{base_url}/_sandbox/console/exchanges/1"


def test_the_first_row_is_near_the_top_of_a_narrow_screen(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740})
    signed_in(client, page, tmp_path)
    for _ in range(2):
        payment(client, "Nahversorger Talblick")
    client.request("GET", "/v1/unknown")
    page.reload()
    assert page.locator("#rows tr").first.bounding_box()["y"] < 500
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
