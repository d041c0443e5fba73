"""W5: a flow of seven requests, each with a new request id, in a new session, so that nothing repeats."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from engine import HEADERS
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Headers, Request, Response, to_json

IDS = {name: f'"{name}Id" ?: ?"([^"]+)"' for name in ("consent", "payment")}
"""Ids in answers, by the names of their placeholders in the following requests."""

type Ask = Callable[[Request], Awaitable[Response]]


class Journey:
    """`requests` with `{request}`, `{journey}`, `{consent}` and `{payment}` as placeholders for ids.

    `told` are the answers of `peers/`, with `{id}` where theirs is new.
    """

    def __init__(self, requests: list[Request], told: dict[str, Any]) -> None:
        self.requests = requests
        self.told = told


async def journey(ask: Ask, initiation: Request, transactions: Request, debtors: list[str]) -> Journey:
    """Return the flow for the first debtor whose payment can be cancelled. The bank rejects those of others."""
    for debtor in debtors:
        requests = _requests(initiation, transactions, debtor)
        if told := await _told(ask, requests, debtor):
            return Journey(requests, told)
    raise ValueError("the bank cancels no payment of any debtor")


def _requests(initiation: Request, transactions: Request, debtor: str) -> list[Request]:
    ids = {"X-Request-ID": "{request}"}
    own = [(name, ids.get(name, value)) for name, value in HEADERS]
    own.append(("X-Sandbox-Session", "{journey}"))
    with_body, with_consent = (*own, ("Content-Type", "application/json")), (*own, ("Consent-ID", "{consent}"))
    reference = [{"iban": transactions.target.split("/")[3]}]
    consent = {
        "access": {"accounts": reference, "balances": reference, "transactions": reference},
        "recurringIndicator": True,
        "validUntil": Clock().today(90).isoformat(),
        "frequencyPerDay": 4,
    }
    payment = json.loads(initiation.body)
    payment["debtorAccount"]["iban"] = debtor
    made = f"{initiation.target}/{{payment}}"
    return [
        Request("POST", "/v1/consents", Headers(with_body), to_json(consent)),
        Request("GET", "/v1/consents/{consent}/status", Headers(own)),
        Request("GET", "/v1/accounts", Headers(with_consent)),
        Request("GET", transactions.target, Headers(with_consent)),
        Request("POST", initiation.target, Headers(with_body), to_json(payment)),
        Request("GET", f"{made}/status", Headers(own)),
        Request("DELETE", made, Headers(own)),
    ]


async def _told(ask: Ask, requests: list[Request], debtor: str) -> dict[str, Any] | None:
    """Return the bank's answers, or None if it does not cancel the payment."""
    values = {"request": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "journey": f"journey-{debtor}"}
    bodies = []
    for request in requests:
        response = await ask(_filled(request, values))
        if request.method == "DELETE":
            return _described(bodies, values) if response.status == 204 else None
        if response.status != 200:
            raise ValueError(f"{request.method} {request.target} was answered {response.status}: {response.body!r}")
        bodies.append(response.body.decode())
        values |= {name: found for name in IDS if (found := json.loads(response.body).get(f"{name}Id"))}
    return None


def _described(bodies: list[str], values: dict[str, str]) -> dict[str, Any]:
    consent, consent_status, accounts, _, _, payment_status = bodies
    return {
        "consent": consent.replace(values["consent"], "{id}"),
        "consentStatus": consent_status,
        "accounts": accounts,
        "paymentStatus": payment_status,
    }


def _filled(request: Request, values: dict[str, str]) -> Request:
    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    headers = Headers((name, fill(value)) for name, value in request.headers)
    return Request(request.method, fill(request.target), headers, request.body)
