"""The scenarios as an app sees them."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client, bundled_engine
from xs2a_sandbox.bundled import scenarios
from xs2a_sandbox.clock import read_time
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.authoring.lint import check

CONSENT, OTHER = (id for id, _ in facts.consents("authorised")[:2])
ACCOUNT = "/v1/accounts/AT459880000010204711"
PAGES = Path(__file__).resolve().parents[2] / "docs" / "scenarios"
PAYMENT = {
    "debtorAccount": {"iban": "AT459880000010204711"},
    "instructedAmount": {"amount": "1.00", "currency": "EUR"},
    "creditorAccount": {"iban": "AT049880000030577001"},
    "creditorName": "Zuzana",
}


@pytest.fixture(autouse=True)
def empty_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def settings(name: str) -> config.Settings:
    return config.load({"cassettes": (f"scenarios/{name}",), "state": "memory:"}, {}, Path.cwd())


def bank(name: str) -> Client:
    return Client(build(settings(name)))


def unattended(client: Client, target: str, consent: str = CONSENT) -> Answer:
    return client.get(target, consent=consent, headers={"PSU-IP-Address": None})


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Record the delay of each answer instead of waiting."""
    seconds: list[float] = []

    mine, really = threading.get_ident(), asyncio.sleep

    async def sleep(delay: float) -> None:
        if threading.get_ident() != mine:  # the server of another test, which must keep its own sleep
            await really(delay)
            return
        seconds.append(delay)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    yield seconds
    monkeypatch.undo()


@pytest.mark.parametrize("name", scenarios())
@pytest.mark.usefixtures("delays")
def test_each_scenario_has_no_lint_problems_and_has_examples_and_a_page(name: str) -> None:
    assert [str(p) for p in check(settings(name))] == []
    (file,) = scenarios()[name].glob("*.yaml")
    assert file.name == f"{name}.yaml"
    text = file.read_text()
    assert text.count("  - id: ") <= text.count("    examples:") + (name == "token-expired")
    assert f"--cassettes scenarios/{name}" in (PAGES / f"{name}.md").read_text()
    assert f"--scenario {name}" in (PAGES / f"{name}.md").read_text()


def test_the_documented_scenarios_exist() -> None:
    promised = "consent-revoked empty-accounts outage paging rate-limit slow token-expired"
    assert list(scenarios()) == promised.split()
    assert {page.stem for page in PAGES.glob("*.md")} == {*scenarios()}


def test_an_own_folder_replaces_a_bundled_scenario() -> None:
    own = Path("scenarios/outage")
    own.mkdir(parents=True)
    assert settings("outage").cassettes == (own.resolve(),)
    assert settings("slow").cassettes == (scenarios()["slow"],)


def test_all_scenarios_can_be_combined() -> None:
    names = tuple(f"scenarios/{name}" for name in scenarios())
    build(config.load({"cassettes": names, "state": "memory:"}, {}, Path.cwd()))


def test_rate_limit() -> None:
    client = bank("rate-limit")
    for target in ("/v1/accounts", ACCOUNT, f"{ACCOUNT}/balances", f"{ACCOUNT}/transactions?bookingStatus=booked"):
        assert [unattended(client, target).status for _ in range(5)] == [200] * 4 + [429]
    refused = unattended(client, "/v1/accounts")
    assert refused.error["code"] == "ACCESS_EXCEEDED"
    assert 0 < int(refused.headers["retry-after"]) <= 86400

    assert client.get("/v1/accounts", consent=CONSENT).status == 200
    assert unattended(client, "/v1/accounts", OTHER).status == 200
    assert unattended(client.named("ci"), "/v1/accounts").status == 200


def test_rate_limit_ends_with_the_day() -> None:
    client = bank("rate-limit")
    assert [unattended(client, "/v1/accounts").status for _ in range(5)][-1] == 429
    move(client, days=1)
    assert unattended(client, "/v1/accounts").status == 200


def test_rate_limit_does_not_count_refused_requests() -> None:
    client = bank("rate-limit")
    unknown = "0cae8c3e-1111-4222-8333-444455556666"
    assert {unattended(client, "/v1/accounts", unknown).status for _ in range(6)} == {403}


def checked(**more: Any) -> Client:
    return Client(build(config.load({"checks": ("frequency",), "state": "memory:", **more}, {}, Path.cwd())))


def a_consent(client: Client, frequency: int) -> str:
    """Return the id of a valid consent with this frequency per day."""
    access = {"availableAccounts": "allAccounts"}
    made = client.post("/v1/consents", json=bodies.consent(access=access, frequencyPerDay=frequency)).json()
    assert made["consentStatus"] == "valid"
    return str(made["consentId"])


def test_the_frequency_check_uses_the_limit_of_the_consent() -> None:
    client = checked()
    for limit in (1, 3):
        consent = a_consent(client, limit)
        for target in ("/v1/accounts", f"{ACCOUNT}/balances", f"{ACCOUNT}/transactions?bookingStatus=booked"):
            statuses = [unattended(client, target, consent).status for _ in range(limit + 2)]
            assert statuses == [200] * limit + [429, 429]
    refused = unattended(client, "/v1/accounts", consent)
    assert refused.error["code"] == "ACCESS_EXCEEDED"
    assert "has been used 3 times today" in refused.error["text"]
    assert 0 < int(refused.headers["retry-after"]) <= 86400
    assert client.get("/v1/accounts", consent=consent).status == 200, "with the customer present there is no limit"
    move(client, days=1)
    assert unattended(client, "/v1/accounts", consent).status == 200


def test_further_pages_do_not_count_as_accesses() -> None:
    client = checked(cassettes=("scenarios/paging",))
    consent = a_consent(client, 1)
    target = f"{ACCOUNT}/transactions?bookingStatus=booked"
    first = unattended(client, target, consent)
    assert unattended(client, f"{target}&page=2", consent).status == 200
    assert (first.status, unattended(client, target, consent).status) == (200, 429)


def test_accesses_are_counted_only_if_the_check_is_on() -> None:
    client = Client(build(config.load({"state": "memory:"}, {}, Path.cwd())))
    consent = a_consent(client, 1)
    assert {unattended(client, "/v1/accounts", consent).status for _ in range(5)} == {200}


def test_a_check_can_be_combined_with_amendments_and_is_explained(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("""
cassette: 1
rules:
  - id: slower
    match: {operation: account-list}
    amend: {headers: {X-Bank: mine}}
""")
    client = checked(cassettes=(str(tmp_path),))
    consent = a_consent(client, 1)
    assert unattended(client, "/v1/accounts", consent).headers["x-bank"] == "mine"
    headers = {"Consent-ID": consent, "X-Request-ID": str(uuid4())}
    shown = controlled(client, "explain", {"method": "GET", "url": "/v1/accounts", "headers": headers})
    assert shown["answer"]["status"] == 429, shown
    assert unattended(client, "/v1/accounts", consent).status == 429


def test_token_expired() -> None:
    client = bank("token-expired")
    form = b"grant_type=client_credentials&client_id=demo-tpp&client_secret=kletterrose"
    kind = {"Content-Type": "application/x-www-form-urlencoded"}

    def token() -> Answer:
        return client.post("/as/token.oauth2", body=form, headers=kind)

    def read(token: str) -> Answer:
        return client.get("/v1/accounts", consent=CONSENT, headers={"Authorization": f"Bearer {token}"})

    first = token().json()
    assert first["expires_in"] == 60
    assert read(first["access_token"]).status == 200
    move(client, seconds=61)
    refused = read(first["access_token"])
    assert (refused.status, refused.error["code"]) == (401, "TOKEN_EXPIRED")
    assert refused.headers["www-authenticate"].startswith("Bearer ")
    assert read(token().json()["access_token"]).status == 200
    assert read("expired").status == 401
    assert client.post("/v1/consents", json={}, headers={"Authorization": "Bearer expired"}).status == 401
    assert client.get("/v1/accounts", consent=CONSENT).status == 200


def test_a_token_also_expires_when_summer_time_ends() -> None:
    """Compared as strings, the token's expiry would sort after the current time."""
    begins = read_time("2026-10-25T02:58:30+02:00")
    client = Client(build(replace(settings("token-expired"), frozen_at=begins)))
    form = b"grant_type=client_credentials&client_id=demo-tpp&client_secret=kletterrose"
    made = client.post("/as/token.oauth2", body=form, headers={"Content-Type": "application/x-www-form-urlencoded"})
    headers = {"Authorization": f"Bearer {made.json()['access_token']}"}

    answers = []
    for seconds in (59, 1, 600):
        move(client, seconds=seconds)
        answers.append(client.get("/v1/accounts", consent=CONSENT, headers=headers).status)

    assert answers == [200, 401, 401]


def test_consent_revoked() -> None:
    client = bank("consent-revoked")
    status = f"/v1/consents/{CONSENT}/status"
    assert client.get(status).json() == {"consentStatus": "valid"}
    assert client.get("/v1/accounts", consent=CONSENT.upper()).status == 200

    assert client.get(status).json() == {"consentStatus": "revokedByPsu"}
    for target in ("/v1/accounts", f"{ACCOUNT}/balances", f"{ACCOUNT}/transactions?bookingStatus=booked"):
        refused = client.get(target, consent=CONSENT)
        assert (refused.status, refused.error["code"]) == (401, "CONSENT_INVALID")
    assert client.get(f"/v1/consents/{OTHER}/status").json() == {"consentStatus": "valid"}


def test_outage() -> None:
    client = bank("outage")
    answers = [client.get("/v1/accounts", consent=CONSENT) for _ in range(5)]
    assert [answer.status for answer in answers] == [503, 503, 503, 200, 200]
    assert answers[0].headers["retry-after"] == "1"
    assert answers[0].error["code"] == "SERVICE_UNAVAILABLE"
    assert client.named("ci").post("/v1/payments/sepa-credit-transfers", json={}).status == 503


def test_slow(delays: list[float]) -> None:
    client, quick = bank("slow"), Client(bundled_engine())
    for target in ("/v1/accounts", *(f"{ACCOUNT}/transactions?bookingStatus={kind}" for kind in ("both", "pending"))):
        assert client.get(target, consent=CONSENT).json() == quick.get(target, consent=CONSENT).json()
    payments = "/v1/payments/sepa-credit-transfers"
    made, usual = client.post(payments, json=PAYMENT).json(), quick.post(payments, json=PAYMENT).json()
    assert shape(made) == shape(usual)
    assert client.get(f"{payments}/{made['paymentId']}/status").json()["transactionStatus"] == "RCVD"
    assert 0 < delays[0] < 60
    assert delays[1:] == [8.0, 8.0, 12.0, 5.0]


def test_empty_accounts() -> None:
    client, schemas = bank("empty-accounts"), bundled_engine().schemas
    assert client.get("/v1/accounts", consent=OTHER).json() == {"accounts": []}
    (account,) = client.get("/v1/accounts?withBalance=true", consent=CONSENT).json()["accounts"]
    assert [balance["balanceAmount"]["amount"] for balance in account["balances"]] == ["0.00"]
    for kind in ("booked", "pending", "information", "both"):
        answer = client.get(f"{ACCOUNT}/transactions?bookingStatus={kind}", consent=CONSENT).json()
        assert schemas["transactions-both" if kind == "both" else "transactions"].complaint(answer) is None
        assert answer["transactions"]["booked" if kind == "both" else kind] == []
    balances = client.get(f"{ACCOUNT}/balances", consent=CONSENT).json()
    assert [balance["balanceAmount"]["amount"] for balance in balances["balances"]] == ["0.00"]
    usual = Client(bundled_engine())
    for query in ("", "?withBalance=true"):
        mine, theirs = (one.get(ACCOUNT + query, consent=CONSENT).json() for one in (client, usual))
        assert mine.keys() == theirs.keys()
        assert {**mine, "balances": 0} == {**theirs, "balances": 0}
    assert client.get("/v1/accounts").status == 400


def test_paging() -> None:
    client, found = bank("paging"), []
    target: str | None = f"{ACCOUNT}/transactions?bookingStatus=booked"
    while target:
        transactions = client.get(target, consent=CONSENT).json()["transactions"]
        found.append(transactions["booked"])
        target = (transactions["_links"].get("next") or {}).get("href")
    everything = Client(bundled_engine()).get(f"{ACCOUNT}/transactions?bookingStatus=booked", consent=CONSENT).json()
    assert [entry for page in found for entry in page] == everything["transactions"]["booked"]
    assert {len(page) for page in found[:-1]} == {10}
    assert len(found) > 30
    assert all(early[-1]["bookingDate"] >= late[0]["bookingDate"] for early, late in pairwise(found))


def move(client: Client, **span: int) -> None:
    """Move the clock as `xs2a-sandbox clock --move` does."""
    seconds = timedelta(**span).total_seconds()
    controlled(client, "clock", {"move": f"{seconds:.0f}s"})


def controlled(client: Client, path: str, body: Any) -> Any:
    client.engine.use(admin_token="t")
    answer = client.request(
        "POST", f"/_sandbox/{path}", json=body, door="direct", host="127.0.0.1",
        headers={"Authorization": "Bearer t", "Host": "127.0.0.1", "Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status == 200, answer.body
    return answer.json()
    assert datetime.fromisoformat(answer.json()["now"])
    return None


def shape(value: Any) -> Any:
    return {name: shape(inner) for name, inner in value.items()} if isinstance(value, dict) else value is None
