"""One exchange as the console shows it."""

import asyncio
import re
import shlex
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Browser, payment
from tests.support.engine_client import Client
from xs2a_sandbox.features.console.exchange import curl

ID = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
EXCHANGE: dict[str, Any] = {
    "method": "POST",
    "target": "/v1/consents?a=b",
    "request": {"headers": [["Host", "bank.example"], ["X-Request-ID", "it's"]], "body": {"name": "Grün"}},
    "answer": {"headers": [], "body": {"consentId": ID}},
}


def test_curl_sends_the_same_to_the_base_url() -> None:
    assert shlex.split(curl(EXCHANGE, "http://127.0.0.1:8081")) == [
        *("curl", "-i", "-X", "POST", "-H", "X-Request-ID: it's", "--data-binary", '{"name": "Grün"}'),
        "http://127.0.0.1:8081/v1/consents?a=b",
    ]


def test_an_exchange_is_explained_and_can_be_asked_again(browser: Browser) -> None:
    id = str(uuid.uuid4())
    browser.app_asks("GET", "/v1/accounts", consent=id)
    page = browser.page("/_sandbox/console/exchanges/1")
    assert "a consent is known only in the session that created it" in page
    assert "curl -i -X GET" in page
    assert "operation: account-list" in page


def test_an_exchange_leads_to_its_consent_and_payment_which_are_decided_there(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    page = browser.page("/_sandbox/console/exchanges/2")
    assert f'<a href="/_sandbox/console/bank/authorisations/{started.json()["authorisationId"]}">' in page
    (link,) = re.findall(f'href="([^"]*/bank/payments/{id})"', page)
    browser.page(link, {"event": "refused"}, 303)
    shown = browser.page("/_sandbox/console/exchanges/1")
    assert re.search(f'<span class="state failed">RJCT</span> <small>{id}</small>', shown)
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    assert "Consents and payments" not in browser.page("/_sandbox/console/exchanges/3")


def test_an_exchange_of_another_session_leads_to_what_that_session_holds(browser: Browser) -> None:
    consent = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
    asyncio.run(Client(browser.engine, "ci").send("GET", f"/v1/consents/{consent}/status"))
    assert f'href="/_sandbox/s/ci/console/bank/consents/{consent}"' in browser.page("/_sandbox/console/exchanges/1")


def test_secrets_are_shown_on_demand(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", headers={"Authorization": "Bearer sesame-open"})
    assert "sesame-open" not in browser.page("/_sandbox/console/exchanges/1")
    assert "sesame-open" in browser.page("/_sandbox/console/exchanges/1?plain=true")


def test_a_case_is_written_among_the_cassettes(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    page = browser.page("/_sandbox/console/exchanges/1", {})
    (file,) = tmp_path.rglob("*.yaml")
    assert file.name in page
    assert "account-list-1" in file.read_text()


def test_a_request_is_sent_again_and_laid_beside_the_first(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts?withBalance=true", consent=str(uuid.uuid4()))
    answer = browser.ask("POST", "/_sandbox/console/exchanges/1", {"do": "send"})
    assert (answer.status, answer.headers["location"]) == (303, "/_sandbox/console/exchanges/2?again=1")
    page = browser.page(answer.headers["location"])
    assert "/_sandbox/console/beside?one=1&amp;other=2" in page
    beside = browser.page("/_sandbox/console/beside?one=1&other=2")
    assert "Request: 0 of " in beside
    assert "Answer: 0 of " in beside


def test_it_is_held_against_the_bank_where_there_is_one(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts")
    assert "Compare with the bank" not in browser.page("/_sandbox/console/exchanges/1")
    page = browser.page("/_sandbox/console/exchanges/1", {"do": "compare"}, 409)
    assert "start the sandbox with --bank URL" in page
