"""The console's pages, asked as a browser asks."""

import asyncio
import html
import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.compare.test_history import run
from tests.support.engine_client import Answer, Client, an_engine, bundled_engine
from xs2a_sandbox.bank.domain.lifecycle import MACHINES
from xs2a_sandbox.compare import history
from xs2a_sandbox.config import Settings
from xs2a_sandbox.console import sign_in
from xs2a_sandbox.console.bank import VERBS
from xs2a_sandbox.console.console import PAGES, Console
from xs2a_sandbox.control.front_page import Addresses, FrontPage
from xs2a_sandbox.control.pages import FilesStatus
from xs2a_sandbox.http import Headers, Request

TOKEN = "the-token-of-this-sandbox"
ACCOUNT = "AT459880000010204711"
BASE = "http://127.0.0.1:8081"


class Browser:
    """Keeps the cookie; asks at the direct door."""

    def __init__(self, tmp_path: Path) -> None:
        self.engine = an_engine(display=bundled_engine().display)
        self.engine.admin_token = TOKEN
        self.settings = Settings(confdir=tmp_path)
        addresses = Addresses("http://127.0.0.1:1", BASE, None, tmp_path / "ca.pem")
        self.engine.introduce(FrontPage(addresses, None), Console(self.engine, self.settings, BASE))
        self.app = Client(self.engine)
        self.cookie = ""

    def ask(self, method: str, target: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        pairs = [("Host", "127.0.0.1:8081"), ("Accept", "text/html"), ("Cookie", self.cookie)]
        pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request(
            method, target, Headers(pairs), urlencode(form or {}).encode(), host="127.0.0.1", door="direct"
        )

        async def asked() -> Answer:
            response = await self.engine.answer(request)
            body = response.body
            if response.rest is not None:
                body += b"".join([part async for part in response.rest])
            return Answer(response.status, {n.lower(): v for n, v in response.headers}, body)

        return asyncio.run(asked())

    def sign_in(self) -> "Browser":
        answer = self.ask("GET", sign_in.link("", TOKEN))
        assert (answer.status, answer.headers["location"]) == (303, "/_sandbox/")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def page(self, target: str, form: dict[str, str] | None = None, status: int = 200) -> str:
        answer = self.ask("GET" if form is None else "POST", target, form)
        assert answer.status == status, answer.body.decode()
        return answer.body.decode()

    def app_asks(self, method: str, target: str, **more: Any) -> Answer:
        return asyncio.run(self.app.send(method, target, **more))


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path).sign_in()


def payment(browser: Browser, creditor: str = "Nahversorger Talblick") -> str:
    body = {
        "debtorAccount": {"iban": ACCOUNT, "currency": "EUR"},
        "instructedAmount": {"amount": "12.50", "currency": "EUR"},
        "creditorAccount": {"iban": "AT379821100040023757"},
        "creditorName": creditor,
    }
    created = browser.app_asks("POST", "/v1/payments/sepa-credit-transfers", json=body)
    return str(created.json()["paymentId"])


# --- who may


@pytest.mark.parametrize("page", [name or "bank" for name, _ in PAGES] + ["exchanges/1", "bank/consents/x"])
def test_nobody_sees_a_page_who_has_not_signed_in(tmp_path: Path, page: str) -> None:
    answer = Browser(tmp_path).ask("GET", f"/_sandbox/console/{page}")
    assert answer.status == 401
    assert b"xs2a-sandbox console" in answer.body


def test_without_a_cookie_the_first_page_stays_what_it_was(tmp_path: Path) -> None:
    answer = Browser(tmp_path).ask("GET", "/_sandbox/")
    assert (answer.status, b"A bank to test with" in answer.body) == (200, True)


def test_a_link_works_once(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert browser.ask("GET", link).status == 303
    assert browser.ask("GET", link).status == 403


def test_who_only_looks_whether_there_is_something_does_not_use_the_link_up(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert "set-cookie" not in browser.ask("HEAD", link).headers
    assert browser.ask("GET", link).status == 303


def test_a_link_that_is_sent_by_another_site_is_not_taken(tmp_path: Path) -> None:
    browser, link = Browser(tmp_path), sign_in.link("", TOKEN)
    assert browser.ask("GET", link, Origin="https://evil.example").status == 403
    assert browser.ask("GET", link).status == 303


def test_it_is_at_the_direct_door_alone(browser: Browser) -> None:
    request = Request("GET", "/_sandbox/console/bank", Headers([("Cookie", browser.cookie)]), door="proxy")
    assert asyncio.run(browser.engine.answer(request)).status == 404


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}]
)
def test_forms_of_other_sites_change_nothing(browser: Browser, headers: dict[str, str]) -> None:
    answer = browser.ask("POST", "/_sandbox/console/time", {"move": "90d"}, **headers)
    assert answer.status == 403
    assert "The real time." in browser.page("/_sandbox/console/time")


def test_a_borrowed_name_opens_nothing(browser: Browser) -> None:
    request = Request(
        "GET", "/_sandbox/console/bank", Headers([("Cookie", browser.cookie)]), host="evil.example", door="direct"
    )
    assert asyncio.run(browser.engine.answer(request)).status == 403


def test_it_leaves_no_line_in_the_log_and_no_exchange_in_the_journal(browser: Browser) -> None:
    told: list[Any] = []
    browser.engine.on_exchange = told.append
    browser.page("/_sandbox/")
    browser.page("/_sandbox/console/bank")
    assert (told, len(browser.engine.journal)) == ([], 0)


def test_pages_that_there_are_not(browser: Browser) -> None:
    assert 'href="/_sandbox/console/bank"' in browser.page("/_sandbox/console/nothing", status=404)
    page = browser.page("/_sandbox/console/exchanges/1", status=404)
    assert "it keeps the last 200 at most" in page
    assert 'href="/_sandbox/console/bank"' in page
    browser.page("/_sandbox/console/exchanges/one", status=400)
    browser.page("/_sandbox/console/bank/consents/nothing", status=404)
    assert browser.ask("DELETE", "/_sandbox/console/bank").status == 405


# --- traffic


def test_what_was_asked_is_listed_newest_first_with_the_reason(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/")
    assert re.findall(r"exchanges/(\d+)", page) == ["2", "1"]
    assert "CONSENT_UNKNOWN" in page


@pytest.mark.parametrize(
    ("query", "numbers"),
    [("status=404", ["2"]), ("text=NOTHING", ["2"]), ("method=post", []), ("path=/v1/acc*", ["1"])],
)
def test_it_is_filtered(browser: Browser, query: str, numbers: list[str]) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    browser.app_asks("GET", "/v1/nothing")
    assert re.findall(r"exchanges/(\d+)", browser.page(f"/_sandbox/?{query}")) == numbers


def test_a_filter_that_is_none_is_said_beside_the_form(browser: Browser) -> None:
    assert "status must be a whole number" in browser.page("/_sandbox/?status=many", status=400)


def test_what_comes_is_sent_as_rows(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xs2a_sandbox.console.traffic._STREAM", 0.05)
    browser.app_asks("GET", "/v1/nothing")
    browser.app_asks("GET", "/v1/nothing/more")
    text = browser.page("/_sandbox/console/events?since=1")
    assert "event: rows\nid: 2\n" in text
    assert "/v1/nothing/more" in text
    assert text.endswith("event: again\nid: 2\ndata:\n\n")
    assert "exchanges/1" not in text


def test_where_too_much_has_passed_the_page_is_read_again(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xs2a_sandbox.console.traffic._AT_ONCE", 1)
    for _ in range(2):
        browser.app_asks("GET", "/v1/nothing")
    assert "event: reload" in browser.page("/_sandbox/console/events?since=0")
    browser.page("/_sandbox/console/events?since=x", status=400)


def test_older_ones_are_on_pages_of_their_own(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xs2a_sandbox.console.traffic._SHOWN", 2)
    for _ in range(3):
        browser.app_asks("GET", "/v1/nothing")
    page = browser.page("/_sandbox/")
    assert re.findall(r"exchanges/(\d+)", page) == ["3", "2"]
    assert "?before=2" in page
    older = browser.page("/_sandbox/?before=2")
    assert re.findall(r"exchanges/(\d+)", older) == ["1"]
    assert "data-events" not in older


# --- one exchange


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
    assert re.search(f'{id}</a> <span class="state">RJCT', browser.page("/_sandbox/console/exchanges/1"))
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    assert "Consents and payments in it" not in browser.page("/_sandbox/console/exchanges/3")


def test_an_exchange_of_another_session_leads_to_what_that_session_holds(browser: Browser) -> None:
    consent = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
    asyncio.run(Client(browser.engine, "ci").send("GET", f"/v1/consents/{consent}/status"))
    assert f'href="/s/ci/_sandbox/console/bank/consents/{consent}"' in browser.page("/_sandbox/console/exchanges/1")


def test_secrets_are_shown_on_demand(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", headers={"Authorization": "Bearer sesame-open"})
    assert "sesame-open" not in browser.page("/_sandbox/console/exchanges/1").partition("The same request")[0]
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


def test_two_are_told_apart_field_by_field_even_where_it_is_hidden(browser: Browser) -> None:
    for currency, token in (("EUR", "sesame-one"), ("USD", "sesame-two")):
        body = {"accounts": [{"iban": ACCOUNT, "currency": currency}]}
        browser.app_asks("POST", "/v1/consents?a=b", json=body, headers={"Authorization": f"Bearer {token}"})
    page = browser.page("/_sandbox/console/beside?one=1&other=2")
    request = page.partition("fields differ")[2]
    row = '<th scope="row">/accounts/0/currency</th>' + "".join(
        f'<td data-label="No. {number}"><code>{currency}</code></td>' for number, currency in ((1, "EUR"), (2, "USD"))
    )
    assert row in request
    assert re.search(r'scope="row">authorization</th>.*what is hidden differs', page)
    assert "sesame" not in page
    assert '<th scope="row">?a</th><td><code>b</code></td>' in page.partition("alike")[2]


@pytest.mark.parametrize(("query", "status"), [("", 404), ("?one=1&other=9", 404), ("?one=1&other=two", 400)])
def test_what_cannot_be_laid_beside_is_said(browser: Browser, query: str, status: int) -> None:
    browser.app_asks("GET", "/v1/accounts")
    assert 'role="alert"' in browser.page(f"/_sandbox/console/beside{query}", status=status)


# --- the bank


def test_an_authorisation_is_approved_and_the_payment_goes_on(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={})
    authorisation = started.json()["authorisationId"]
    assert authorisation in browser.page(f"/_sandbox/console/bank/payments/{id}")
    browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}", {"event": "approve"}, 303)
    page = browser.page(f"/_sandbox/console/bank/authorisations/{authorisation}")
    assert re.search(r'aria-current="step"><span class="state">finalised', page)
    assert "ACSP" in browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status").body.decode()


def test_something_happens_to_a_payment_and_its_requests_are_listed(browser: Browser) -> None:
    id = payment(browser)
    browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "refused"}, 303)
    page = browser.page(f"/_sandbox/console/bank/payments/{id}")
    assert re.search(r'aria-current="step"><span class="state">RJCT', page)
    assert re.findall(r"exchanges/(\d+)", page) == ["1", "2"]
    assert "can happen to it" in browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "cancel"}, 409)


def test_the_life_of_a_payment_is_its_requests_states_and_links(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={}).json()
    page = browser.page(f"/_sandbox/console/bank/payments/{id}").partition("Its timeline")[2]
    assert "transactionStatus RCVD" in page
    assert "scaStatus received" in page
    href = next(iter(links for name, links in started.items() if name.startswith("_")))["scaRedirect"]["href"]
    assert f'<a href="{html.escape(href)}">scaRedirect</a>' in page
    assert "Since then" not in page
    browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "refused"}, 303)
    assert "Since then it has become" in browser.page(f"/_sandbox/console/bank/payments/{id}")


def test_verbs_stand_for_events_that_there_are() -> None:
    assert VERBS.keys() <= {transition.event for machine in MACHINES for transition in machine.transitions}


def test_a_session_is_reset_and_forgotten(browser: Browser) -> None:
    payment(browser)
    browser.page("/_sandbox/console/time", {"move": "1d"}, 303)
    browser.page("/_sandbox/console/bank", {}, 303)
    assert "The real time." in browser.page("/_sandbox/console/time")
    asyncio.run(Client(browser.engine, "ci").send("POST", "/v1/consents", json={}))
    browser.page("/s/ci/_sandbox/console/time", {"move": "1d"}, 303)
    assert "/s/ci/_sandbox/console/bank" in browser.page("/_sandbox/console/sessions")
    browser.page("/_sandbox/console/sessions", {"forget": "ci"}, 303)
    assert "/s/ci/" not in browser.page("/_sandbox/console/sessions")
    assert (
        browser.ask("GET", "/_sandbox/console/sessions?open=new").headers["location"] == "/s/new/_sandbox/console/bank"
    )
    browser.page("/_sandbox/console/sessions?open=%2F..", status=400)


# --- time, rules


def test_the_clock_is_frozen_moved_and_let_go(browser: Browser) -> None:
    assert "consents" in browser.page("/_sandbox/console/time").partition("What falls due next")[2]
    browser.page("/_sandbox/console/time", {"frozen": "2027-01-02T09:00"}, 303)
    browser.page("/_sandbox/console/time", {"move": "1d"}, 303)
    assert "2027-01-03 09:00:00+01:00" in browser.page("/_sandbox/console/time")
    browser.page("/_sandbox/console/time", {"real": "true"}, 303)
    assert "The real time." in browser.page("/_sandbox/console/time")
    assert 'role="alert"' in browser.page("/_sandbox/console/time", {"frozen": "soon"}, 400)


def test_rules_say_where_they_stand_and_who_answers(browser: Browser) -> None:
    browser.app_asks("GET", "/v1/accounts", consent=str(uuid.uuid4()))
    page = browser.page("/_sandbox/console/rules?url=/v1/accounts")
    assert "cassettes/xs2a-1.84/accounts.yaml:7" in page
    assert "the header X-Request-ID is missing" in page
    assert '?rule=account-list">1<' in page
    assert 'role="alert"' in browser.page("/_sandbox/console/rules?url=nonsense:", status=400)


def test_rules_say_who_answers_a_request_with_headers(browser: Browser) -> None:
    sent = {
        "method": "get",
        "url": "/v1/accounts",
        "headers": f"X-Request-ID: {uuid.uuid4()}\nPSU-IP-Address: 192.0.2.7",
    }
    page = browser.page("/_sandbox/console/rules", sent)
    assert "the header X-Request-ID is missing" not in page
    assert '<span class="state">wins</span>' in page
    wrong = browser.page("/_sandbox/console/rules", {**sent, "headers": "nonsense"}, 400)
    assert 'aria-describedby="wrong-headers"' in wrong


def test_problems_of_files_are_shown_with_line_and_caret(browser: Browser) -> None:
    problem = "cases/a.yaml:3:5: error key-unknown: there is no key\n    opertion: x\n    ^"
    browser.engine.files = FilesStatus(browser.engine.files.loaded, (problem,))
    assert html.escape(problem) in browser.page("/_sandbox/console/rules")


# --- faults, recordings


def test_faults_are_added_listed_and_removed(browser: Browser) -> None:
    page = "/_sandbox/console/faults"
    browser.page(page, {"operation": "account-list", "status": "503", "next": "3", "method": "", "fault": ""}, 303)
    browser.page(page, {"fault": "reset", "after": "true", "every": "2"}, 303)
    assert browser.app_asks("GET", "/v1/accounts").status == 503
    shown = browser.page(page)
    assert "answered 503" in shown
    assert "account-list, 3 times" in shown
    assert '?rule=fault-1">1 hit<' in shown
    assert "the connection is reset, only after the bank has done it" in shown
    browser.page(page, {"remove": "fault-1"}, 303)
    assert "fault-1" not in browser.page(page)
    browser.page(page, {"clear": "all"}, 303)
    assert browser.app_asks("GET", "/v1/accounts").status == 400


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"operation": "acount-list", "status": "503"}, "operation"),
        ({"status": "many"}, "status"),
        ({"status": "99"}, "status"),
        ({"status": "503", "next": "0"}, "next"),
        ({"status": "503", "every": "x"}, "every"),
        ({"error": "none-such"}, "error"),
        ({"rule": "none-such"}, "rule"),
        ({"delay": "1y"}, "delay"),
        ({"status": "503", "error": "internal"}, "status"),
    ],
)
def test_what_a_fault_cannot_be_is_said_beside_its_field(browser: Browser, form: dict[str, str], field: str) -> None:
    page = browser.page("/_sandbox/console/faults", form, 400)
    assert f'id="wrong-{field}" role="alert"' in page
    for value in form.values():
        assert f'value="{value}"' in page


def test_what_is_recorded_and_how_it_drifts(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "No runs yet" in browser.page("/_sandbox/console/recordings")
    for day, one in ((20, run("currency")), (21, run("currency", "ownerName"))):
        history.append(history.FOLDER, replace(one, time=datetime(2026, 11, day, tzinfo=UTC)))
    page = browser.page("/_sandbox/console/recordings")
    assert page.index("2026-11-21") < page.index("2026-11-20")
    assert "1 new" in page
    assert "/ownerName" in page
    (history.FOLDER / history.FILE).write_text("nonsense\n")
    assert "drift.jsonl:1: this line is no run" in browser.page("/_sandbox/console/recordings")


# --- what others have written is text

MARKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{7*7}}",
    "</pre><svg onload=alert(1)>",
]


@pytest.mark.parametrize("mark", MARKS)
def test_what_is_shown_is_never_markup(browser: Browser, mark: str) -> None:
    id = payment(browser, mark[:70])
    browser.app_asks("GET", f"/v1/{mark}?q={mark}".replace(" ", "%20"), headers={"X-App": mark})
    pages = [
        "/_sandbox/",
        "/_sandbox/console/bank",
        f"/_sandbox/console/bank/payments/{id}",
        "/_sandbox/?" + urlencode({"text": mark}),
    ]
    pages += [f"/_sandbox/console/exchanges/{number}?plain=true" for number in (1, 2)]
    for target in pages:
        page = re.sub(r"<(script|style)>.*?</\1>", "", browser.page(target), flags=re.DOTALL)
        assert "<script" not in page
        assert "<img" not in page
        assert "<svg" not in page
        assert "49" not in page or "{{7*7}}" not in mark or "{{7*7}}" in page
