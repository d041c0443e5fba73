"""The tools of the sandbox work with the core of UK Open Banking, too."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.console.browser import Browser
from tests.families.test_uk_open_banking import (
    AISP,
    BILLS,
    HOUSEHOLD,
    PISP,
    account_consent,
    ask,
    authorise,
    initiation,
    order_for,
    payment_consent,
    token,
)
from tests.support.engine_client import Client
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange

TOKEN = "the-token-of-this-sandbox"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    return Settings(dialect="obie-4.0", state="memory:", confdir=tmp_path)


@pytest.fixture
def bank(settings: Settings) -> Client:
    engine = build(settings)
    engine.use(admin_token=TOKEN)
    return Client(engine)


def control(bank: Client, method: str, path: str, json: object = None) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = bank.request(method, f"/_sandbox/{path}", headers=headers, json=json)
    assert answer.status == 200, answer.body
    told: dict[str, object] = answer.json()
    return told


def test_it_lints_clean(settings: Settings) -> None:
    assert [str(problem) for problem in check(settings)] == []


def test_a_token_of_payments_reads_no_accounts(bank: Client) -> None:
    control(bank, "PUT", "checks", {"checks": ["token"]})
    assert ask(bank, "GET", f"{AISP}/accounts", "nobody's").status == 401
    own = token(bank, grant_type="client_credentials", scope="payments")
    assert ask(bank, "GET", f"{AISP}/accounts", own).status == 403
    consent, _ = account_consent(bank, "ReadBalances")
    bearer = authorise(bank, consent, "accounts", BILLS)
    assert ask(bank, "GET", f"{AISP}/accounts", bearer).status == 200


def test_a_consent_that_the_customer_withdraws_at_the_bank(bank: Client) -> None:
    consent, _ = account_consent(bank, "ReadBalances")
    bearer = authorise(bank, consent, "accounts", BILLS)
    control(bank, "POST", f"state/consents/{consent}", {"event": "delete, kept"})
    refused = ask(bank, "GET", f"{AISP}/accounts", bearer)
    assert (refused.status, refused.json()["Errors"][0]["ErrorCode"]) == (403, "U009")


def test_a_payment_is_found_by_its_answer(bank: Client) -> None:
    order = initiation(DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": HOUSEHOLD})
    mandate, _ = payment_consent(bank, order)
    bearer = authorise(bank, mandate, "payments")
    body = order_for(mandate, order)
    paid = ask(bank, "POST", f"{PISP}/domestic-payments", bearer, body)
    shown = control(bank, "GET", f"state/payments/{paid.json()['Data']['DomesticPaymentId']}")
    assert (shown["status"], shown["mandate"]) == ("ACSC", mandate)


def test_explain_says_why_an_account_is_refused(bank: Client) -> None:
    consent, _ = account_consent(bank)
    bearer = authorise(bank, consent, "accounts", BILLS)
    request = {
        "method": "GET",
        "url": f"{AISP}/accounts/31820",
        "headers": {"Authorization": f"Bearer {bearer}"},
    }
    explained = control(bank, "POST", "explain", request)
    assert (explained["decision"], explained["answer"]["error"]) == ("operation", "resource-not-covered")  # type: ignore[index]


def test_a_comparison_puts_the_ids_of_the_other_side_into_what_follows(settings: Settings) -> None:
    bank, other = build(settings), build(settings)
    exchanges: list[Exchange] = []

    async def keep(request: Request) -> Response:
        response = await bank.answer(request)
        exchanges.append(Exchange.of(request, response, "https://bank.example", REAL.now(), 1.0))
        return response

    def send(method: str, path: str, data: object = None) -> Any:
        headers = Headers([("Content-Type", "application/json"), ("Authorization", f"Bearer {bearer}")])
        body = b"" if data is None else to_json(data)
        return json.loads(asyncio.run(keep(Request(method, path, headers, body, host="bank.example"))).body)

    async def answer_there(request: Request) -> Response:
        kept = ((name, value) for name, value in request.headers if name != "Authorization")
        headers = Headers([*kept, ("Authorization", f"Bearer {there}")])
        return await other.answer(structs.replace(request, headers=headers))

    bearer, there = (
        token(Client(engine), grant_type="client_credentials", scope="accounts") for engine in (bank, other)
    )
    place = f"{AISP}/account-access-consents"
    made = send("POST", place, {"Data": {"Permissions": ["ReadAccountsDetail"]}, "Risk": {}})
    send("GET", f"{place}/{made['Data']['ConsentId']}")
    steps = [
        Step(one.target, Request(one.method, one.target, one.headers, one.body), one, one.status) for one in exchanges
    ]
    comparison = Comparison(bank.interface, bank.schemas, answer_there, None)
    result = asyncio.run(comparison.play(steps))
    assert [one.verdict for one in result.compared] == ["same", "same"], [one.differences for one in result.compared]


def test_the_console_shows_mandates_and_decides_consents(settings: Settings, tmp_path: Path) -> None:
    browser = Browser(tmp_path, build(settings)).sign_in()
    mandate, _ = payment_consent(browser.app, initiation())
    page = browser.page(f"/_sandbox/console/bank/mandates/{mandate}")
    assert ("Mandate: awaiting" in page, "Status AWAU" in page) == (True, True)
    exchanges = browser.page("/_sandbox/").count("domestic-payment-consents")
    assert (exchanges, mandate in browser.page("/_sandbox/console/exchanges/2")) == (1, True)

    consent, own = account_consent(browser.app)
    browser.page(f"/_sandbox/console/bank/consents/{consent}", {"event": "authorised by all"}, status=303)
    read = ask(browser.app, "GET", f"{AISP}/account-access-consents/{consent}", own)
    assert read.json()["Data"]["Status"] == "AUTH"


def test_the_console_shows_payments_and_files(settings: Settings, tmp_path: Path) -> None:
    browser = Browser(tmp_path, build(settings)).sign_in()
    order = initiation("30.00", DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": BILLS})
    mandate, _ = payment_consent(browser.app, order)
    bearer = authorise(browser.app, mandate, "payments")
    paid = ask(browser.app, "POST", f"{PISP}/domestic-payments", bearer, order_for(mandate, order))
    id = paid.json()["Data"]["DomesticPaymentId"]
    page = browser.page(f"/_sandbox/console/bank/payments/{id}")
    assert ("Payment: ACSC" in page, "30.00 GBP to ACME Inc" in page) == (True, True)

    own = token(browser.app, grant_type="client_credentials", scope="payments")
    file = {"Data": {"Initiation": {"FileType": "UK.OBIE.PaymentInitiation.4.0", "FileHash": "0"}}}
    made = ask(browser.app, "POST", f"{PISP}/file-payment-consents", own, file)
    page = browser.page(f"/_sandbox/console/bank/mandates/{made.json()['Data']['ConsentId']}")
    assert ("Mandate: incomplete" in page, "Status AWUP" in page) == (True, True)
