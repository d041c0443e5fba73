"""What the sandbox offers works on the core of UK Open Banking, too."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Browser
from tests.families.test_uk_open_banking import (
    AISP,
    BILLS,
    FOLDER,
    HOUSEHOLD,
    PISP,
    account_consent,
    ask,
    authorise,
    initiation,
    payment_consent,
    token,
)
from tests.families.test_uk_open_banking import (
    APP as APP_ADDRESS,
)
from tests.support.engine_client import Client
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.campaign.campaign import Campaign
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.campaign.plan import choose_faults
from xs2a_sandbox.features.pytest.server_process import Process
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange

TOKEN = "the-token-of-this-sandbox"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.chdir(FOLDER)
    return Settings(dialect="uk-open-banking-4.0", state="memory:", confdir=tmp_path)


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
    body = {"Data": {"ConsentId": mandate, "Initiation": order}}
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
        headers = Headers([("Content-Type", "application/json")])
        body = b"" if data is None else to_json(data)
        return json.loads(asyncio.run(keep(Request(method, path, headers, body, host="bank.example"))).body)

    place = f"{AISP}/account-access-consents"
    made = send("POST", place, {"Data": {"Permissions": ["ReadAccountsDetail"]}, "Risk": {}})
    send("GET", f"{place}/{made['Data']['ConsentId']}")
    steps = [
        Step(one.target, Request(one.method, one.target, one.headers, one.body), one, one.status) for one in exchanges
    ]
    comparison = Comparison(bank.interface, bank.schemas, other.answer, None)
    result = asyncio.run(comparison.play(steps))
    assert [one.verdict for one in result.compared] == ["same", "same"], [one.differences for one in result.compared]


def test_the_console_shows_mandates_and_decides_consents(settings: Settings, tmp_path: Path) -> None:
    browser = Browser(tmp_path, build(settings)).sign_in()
    mandate, _ = payment_consent(browser.app, initiation())
    page = browser.page(f"/_sandbox/console/bank/mandates/{mandate}")
    assert ("mandate: awaiting" in page, "Status AWAU" in page) == (True, True)
    exchanges = browser.page("/_sandbox/").count("domestic-payment-consents")
    assert (exchanges, mandate in browser.page("/_sandbox/console/exchanges/2")) == (1, True)

    consent, own = account_consent(browser.app)
    browser.page(f"/_sandbox/console/bank/consents/{consent}", {"event": "authorised by all"}, status=303)
    read = ask(browser.app, "GET", f"{AISP}/account-access-consents/{consent}", own)
    assert read.json()["Data"]["Status"] == "AUTH"


APP = f"""
import os
import re
from base64 import urlsafe_b64encode
from json import dumps

import requests

bank = os.environ["XS2A_SANDBOX_URL"]
order = {initiation(DebtorAccount={"SchemeName": "UK.OBIE.IBAN", "Identification": HOUSEHOLD})!r}


def get_token(**form):
    form = {{"client_id": "tpp", "client_secret": "secret", **form}}
    return requests.post(bank + "/token", data=form, timeout=20).json()["access_token"]


def post(path, token, data):
    headers = {{"Authorization": "Bearer " + token}}
    answer = requests.post(bank + "{PISP}/" + path, json={{"Data": data, "Risk": {{}}}}, headers=headers, timeout=20)
    return answer.json()["Data"]


def encode(part):
    return urlsafe_b64encode(dumps(part).encode()).decode().rstrip("=")


def authorise(intent):
    claims = {{"claims": {{"id_token": {{"openbanking_intent_id": {{"value": intent}}}}}}}}
    wanted = {{"response_type": "code", "client_id": "tpp", "redirect_uri": "{APP_ADDRESS}"}}
    wanted["scope"] = "openid payments"
    wanted["request"] = ".".join((encode({{"alg": "PS256"}}), encode(claims), "c2ln"))
    shown = requests.get(bank + "/sca/auth", params=wanted, timeout=20)
    for fields in ({{"customer": "grace"}}, {{}}):
        hidden = dict(re.findall(r'name="(authorisation|nonce|step)" value="([^"]*)"', shown.text))
        answer = requests.post(shown.url, data={{**hidden, **fields}}, timeout=20, allow_redirects=False)
        target = answer.headers["Location"]
        if target.startswith("{APP_ADDRESS}"):
            return get_token(grant_type="authorization_code", code=re.search("code=([^&]*)", target)[1],
                             redirect_uri="{APP_ADDRESS}")
        shown = requests.get(requests.compat.urljoin(shown.url, target), timeout=20)


def pay():
    consent = post("domestic-payment-consents", get_token(grant_type="client_credentials", scope="payments"),
                   {{"Initiation": order}})["ConsentId"]
    try:
        return post("domestic-payments", authorise(consent), {{"ConsentId": consent, "Initiation": order}})
    except (OSError, ValueError):
        return None


pay() or pay()
"""


def test_a_campaign_finds_an_app_that_begins_a_payment_anew(settings: Settings, tmp_path: Path) -> None:
    process = Process(tmp_path / "conf", ("--dialect", "uk-open-banking-4.0"))
    process.start()
    try:
        campaign = Campaign(
            Command((sys.executable, "-c", APP), {}, tmp_path),
            build(settings).interface,
            tmp_path / "scratch",
            url=process.direct,
            confdir=process.confdir,
            slow="10ms",
            choose=lambda faults: choose_faults(faults, ("create-domestic-payment 1: reset",)),
        )
        campaign.scratch.mkdir()
        results = campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, False))
    finally:
        process.stop()
    assert {str(one.fault): [found.oracle for found in one.findings] for one in results.results} == {
        "create-domestic-payment 1: reset, before": [],
        "create-domestic-payment 1: reset, after": ["payments"],
    }
