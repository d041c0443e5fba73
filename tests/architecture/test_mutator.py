"""Every planted difference is found, once, at its place; and nothing else is."""

import asyncio
import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.mutator import CHANGES, NOISE, Answers, Side, make
from tests.support.engine_client import Client, an_engine, bundled_engine
from tests.support.turns import few
from xs2a_sandbox.compare.comparison import Compared, Comparison, Step
from xs2a_sandbox.http import Headers, Request, Response

SEEDS = 2000
PORTIONS = 20
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


@cache
def bases() -> list[Side]:
    """Real answers of the sandbox."""
    client = Client(an_engine(), "mutator")
    accounts = client.get("/v1/accounts?withBalance=true", consent=CONSENT)
    iban = accounts.json()["accounts"][0]["resourceId"]
    path = f"/v1/accounts/{iban}"
    payment = {
        "instructedAmount": {"currency": "EUR", "amount": "10.00"},
        "debtorAccount": {"iban": iban},
        "creditorAccount": {"iban": "DE40100100103307118608"},
        "creditorName": "X",
    }
    made = client.post("/v1/payments/sepa-credit-transfers", json=payment)
    record = f"/v1/payments/sepa-credit-transfers/{made.json()['paymentId']}"
    everything = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True}
    consent = client.post("/v1/consents", json={**everything, "validUntil": "9999-12-31", "frequencyPerDay": 4})
    transactions = f"{path}/transactions?bookingStatus=both&dateFrom={_recent(client, path)}"
    reads = [path, f"{path}/balances", transactions, record, f"{record}/status"]
    reads += [f"/v1/consents/{CONSENT}", f"/v1/consents/{CONSENT}/status", "/v1/consents/unknown/status"]
    answers = [("/v1/accounts", accounts), ("/unknown", made), ("/unknown", consent)]
    answers += [(target, client.get(target, consent=CONSENT)) for target in [*reads, transactions]]
    answers += [("/v1/accounts", client.get("/v1/accounts"))]
    assert {answer.status for _, answer in answers} == {200, 400, 403}
    content_type = ("Content-Type", "application/json")
    return [Side(a.status, [content_type], json.loads(a.body), target) for target, a in answers]


def _recent(client: Client, path: str) -> str:
    booked = client.get(f"{path}/transactions?bookingStatus=booked", consent=CONSENT).json()["transactions"]["booked"]
    return str(booked[11]["bookingDate"])


def compared(answers: Answers, live: bool = False) -> Compared:
    reads = iter([answers.bank, answers.again])

    async def bank(request: Request) -> Response:
        status, headers, body = next(reads)
        return Response(status, tuple(headers), body)

    async def sandbox(request: Request) -> Response:
        status, headers, body = answers.sandbox
        return Response(status, tuple(headers), body)

    engine = bundled_engine()
    comparison = Comparison(
        engine.interface, engine.schemas, sandbox, bank, bank_url="https://bank.example/xs2a", allow_writes=True
    )
    request = Request("GET", answers.target, Headers())

    async def both() -> Compared:
        if not live:
            return await comparison.step(Step("", request))
        beside = await comparison.beside(request, await sandbox(request), "sandbox")
        assert beside
        return beside

    return asyncio.run(both())


def differences(result: Compared) -> list[tuple[str, str]]:
    assert result.trouble is None, result.trouble
    return sorted((d.kind, d.where.lower() if d.header else d.where) for d in result.differences if d.kind != "drift")


@pytest.mark.parametrize("portion", few(range(PORTIONS), range(4)))
def test_all_that_is_planted_is_found_and_none_of_the_noise(portion: int) -> None:
    wrong: list[Any] = []
    for seed in range(portion, SEEDS, PORTIONS):
        answers = make(seed, bases())
        found = differences(compared(answers, live=seed % 3 == 0))
        if found != sorted(answers.expected):
            missed = Counter(answers.expected) - Counter(found)
            invented = Counter(found) - Counter(answers.expected)
            wrong.append((seed, answers.what, "missed", dict(missed), "invented", dict(invented)))
    assert wrong == []


@cache
def changed() -> list[Answers]:
    return [make(seed, bases(), noise=0) for seed in range(300)]


@cache
def noisy() -> list[Answers]:
    return [make(seed, bases(), changes=0) for seed in range(400)]


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_every_change_is_planted_somewhere(change: Any) -> None:
    assert any(change.__name__ in answers.what for answers in changed())


@pytest.mark.parametrize("noise", NOISE, ids=lambda n: n.__name__)
def test_every_noise_is_a_difference_to_who_looks_at_the_text(noise: Any) -> None:
    assert len(NOISE) >= 20
    for answers in noisy():
        if answers.what == [noise.__name__] and answers.bank != answers.sandbox:
            return
    # Seldom alone: then with others.
    assert any(noise.__name__ in answers.what for answers in noisy())
