"""The console in a real browser: each page, rows that come by themselves, and nothing that others have written runs."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.browser.inspecting import Inspector
from tests.compare.test_history import run
from tests.support.engine_client import Client
from xs2a_sandbox.compare import history
from xs2a_sandbox.config import Settings
from xs2a_sandbox.console import sign_in
from xs2a_sandbox.console.console import Console
from xs2a_sandbox.control.front_page import Addresses, FrontPage
from xs2a_sandbox.control.pages import FilesStatus

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
    """The address of a sandbox whose console the page is signed in to."""
    engine = client.engine
    engine.admin_token, base_url = TOKEN, engine.public_url
    addresses = Addresses("http://127.0.0.1:1", base_url, None, tmp_path / "ca.pem")
    engine.introduce(FrontPage(addresses, None), Console(engine, Settings(confdir=tmp_path), base_url))
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


def test_every_page(inspector: Inspector, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for day, one in ((20, run("currency")), (21, run("currency", "ownerName"))):
        history.append(history.FOLDER, replace(one, time=datetime(2026, 11, day, tzinfo=UTC)))
    page = inspector.page
    base_url = signed_in(client, page, tmp_path)
    problem = (
        "cases/mine.yaml:5:7: error key-unknown: there is no opertion\n          opertion: account-list\n          ^"
    )
    client.engine.files = FilesStatus(client.engine.files.loaded, (problem,))
    id = payment(client, "Nahversorger Talblick")
    started = client.request("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    client.request("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    client.request("GET", "/v1/accounts?withBalance=true", consent=str(uuid.uuid4()))
    client.request("GET", "/v1/acounts", consent=CONSENT)
    client.request("GET", "/v1/accounts", consent=CONSENT)
    page.wait_for_selector("#rows tr:nth-child(6)")
    inspector.look("traffic")
    page.goto(f"{base_url}/_sandbox/console/faults")
    page.fill("#operation", "initiate-*")
    page.fill("#status", "99")
    page.click("text=Add the fault")
    inspector.look("fault refused")
    page.fill("#status", "503")
    page.fill("#next", "3")
    page.click("text=Add the fault")
    page.fill("#delay", "2s")
    page.fill("#every", "5")
    page.click("text=Add the fault")
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


def test_rows_come_by_themselves_and_pause(browser: Any, client: Client, tmp_path: Path) -> None:
    page = browser.new_page()
    signed_in(client, page, tmp_path)
    client.request("GET", "/v1/first")
    page.wait_for_selector("#rows td:has-text('/v1/first')")
    page.click("text=Pause")
    client.request("GET", "/v1/second")
    page.click("text=Go on")
    page.wait_for_selector("#rows td:has-text('/v1/second')")
    assert page.locator("#rows tr").count() == 2
    page.close()


def test_why_a_request_was_refused_and_a_consent_is_decided_without_a_script(
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
    page.click("nav >> text=Bank")
    page.click(f"text={id}")
    page.click("#authorisations + ul a")
    page.click("text=approve")
    assert page.inner_text("[aria-current=step]") == "finalised"
    context.close()


@pytest.mark.slow
def test_nothing_that_others_have_written_runs(browser: Any, client: Client, tmp_path: Path) -> None:
    page, ran = browser.new_page(), []
    base_url = signed_in(client, page, tmp_path)
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: ran.append(str(error)))
    for text in HOSTILE:
        plain = text.replace("\n", " ").replace("\u2028", " ")
        headers = {"X-App": plain} if plain.isascii() else {}
        client.request("POST", "/v1/consents", json={text: text}, headers=headers)
        payment(client, text[:70])
    last = len(client.engine.journal)
    page.goto(f"{base_url}/_sandbox/")
    page.goto(f"{base_url}/_sandbox/console/bank")
    for number in [entry.number for entry in client.engine.journal.entries()]:
        page.goto(f"{base_url}/_sandbox/console/exchanges/{number}?plain=true")
        assert "ran" not in (page.title(), page.evaluate("top.name"))
    assert last >= 190
    assert len(HOSTILE) == 200
    assert ran == []
    page.close()
