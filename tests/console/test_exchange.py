"""One exchange as the console shows it."""

import asyncio
import re
import shlex
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Browser, payment
from tests.support.engine_client import Answer, Client
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
    assert '<span class="state failed" title="rejected">RJCT</span> <small>rejected</small>' in shown
    assert f"<small>{id}</small>" in shown
    assert '<g class="box here final"><title>rejected</title>' in shown
    way = re.sub(r"<[^>]+>", "", shown.partition('<p class="way">')[2].partition("</p>")[0])
    assert way == "initiate-payment → RCVD → start-payment-authorisation → 201 → received"
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
    assert "start it with --bank URL" in page


LOST = {"operation": "initiate-payment", "fault": "reset", "after": True}


def add_fault(browser: Browser, **wish: Any) -> None:
    browser.page("/_sandbox/console/faults", {name: str(value) for name, value in wish.items()}, 303)


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_broken_connection_does_not_look_like_a_success(browser: Browser) -> None:
    add_fault(browser, operation="initiate-payment", delay="1ms", next=1)
    add_fault(browser, **LOST, next=1)
    payment_of(browser)
    page = browser.page("/_sandbox/console/exchanges/1")
    assert "The bank did this; then the connection was reset, so the app got no answer." in page
    assert "Answer that the app did not get" in page
    why = text_of(page.partition('id="why"')[2].partition("</section>")[0])
    assert why.count("fault-1") == why.count("fault-2") == 1
    assert re.search(r"Then it was changed by fault-\d , fault-\d \.", why)
    (row,) = re.findall(r'<td class="answered">.*?</td>', browser.page("/_sandbox/"), re.DOTALL)
    assert text_of(row) == "200 reset"
    assert "s2" not in row
    assert 'data-number="1"' in browser.page("/_sandbox/?search=is:faulted+fault:reset")


def payment_of(browser: Browser, creditor: str = "AT379821100040023757", **more: str) -> Answer:
    body = {
        "debtorAccount": {"iban": "AT459880000010204711", "currency": "EUR"},
        "instructedAmount": {"amount": "12.50", "currency": "EUR"},
        "creditorAccount": {"iban": creditor},
        "creditorName": "Nahversorger Talblick",
        **more,
    }
    return browser.app_asks("POST", "/v1/payments/sepa-credit-transfers", json=body)


@pytest.mark.parametrize(
    ("method", "wish", "text"),
    [
        (
            "GET",
            {"fault": "drop", "after": True},
            "The bank answered 200; then the connection was closed, so the app got",
        ),
        ("GET", {"fault": "drop"}, "The bank did nothing; then the connection was closed, so the app got no answer."),
        ("GET", {"fault": "truncate"}, "the app got half of the body."),
        ("GET", {"fault": "malformed"}, "the app got bytes that are not HTTP in place of the answer."),
        ("GET", {"fault": "html"}, "The bank answered 200; the app got a page of HTML in place of the body."),
        ("GET", {"fault": "half-json"}, "the app got only the first half of the JSON."),
        ("GET", {"fault": "extra-members"}, "a member that the interface does not know in every object."),
        ("GET", {"fault": "wrong-shape"}, "the app got the answer inside a list."),
    ],
)
def test_each_kind_of_fault_is_described(browser: Browser, method: str, wish: dict[str, Any], text: str) -> None:
    id = payment(browser)
    add_fault(browser, operation="payment-status", **wish)
    browser.app_asks(method, f"/v1/payments/sepa-credit-transfers/{id}/status")
    page = browser.page("/_sandbox/console/exchanges/2")
    assert text in page
    assert f'<span class="status broken">{wish["fault"]}</span>' in page
    assert f'<span class="status broken">{wish["fault"]}</span>' in browser.page("/_sandbox/")


def test_a_page_has_one_view_of_values_that_may_be_real(browser: Browser) -> None:
    real = "DE89370400440532013000"
    payment_of(browser, real, creditorAgent="no BIC")
    redacted, plain = (browser.page(f"/_sandbox/console/exchanges/1{query}") for query in ("", "?plain=true"))
    assert real not in redacted
    assert "values that are not test data are shown as pseudonyms" in redacted
    assert real in plain
    assert "shown as pseudonyms" not in plain


def test_the_reason_of_an_exchange_as_sent_is_not_redacted(browser: Browser) -> None:
    real = "DE89370400440532013000"
    browser.app_asks("GET", f"/v1/accounts/{real}", consent="not-a-uuid")
    redacted, plain = (browser.page(f"/_sandbox/console/exchanges/1{query}") for query in ("", "?plain=true"))
    assert real not in redacted
    shown = re.findall(r'<p class="reason">(.*?)</p>', redacted + plain)
    assert len(shown) == 2
    assert "DE" not in shown[1] or real in shown[1]
