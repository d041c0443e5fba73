"""A flow with redirect SCA at a bank whose payment user decides on its page. The bank uses its own ids."""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from tests.compare.test_comparison import Renamed, entry, step
from tests.support.engine_client import an_engine
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.comparison import Step
from xs2a_sandbox.compare.payment_user import links
from xs2a_sandbox.http import Request, Response, to_json

Ask = Callable[[Request], Awaitable[Response]]
Change = Callable[[Request, Response], Response]
BACK = (("TPP-Redirect-URI", "https://tpp.example/back"),)
IBAN = "AT459880000010204711"
ACCOUNTS = [{"iban": IBAN}, {"iban": "AT449880000010204729"}]
"""No consent exists for these two accounts together."""


class TestBank:
    """A bank that returns the sandbox's answers, modified by `change`."""

    __test__ = False

    def __init__(self, letter: str, change: Change = lambda request, response: response) -> None:
        self.renamed = Renamed(an_engine(), letter)
        self.change = change
        self.asked: list[str] = []

    async def answer(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.target}")
        return self.change(request, await self.renamed.answer(request))

    async def decide(self, link: str, decision: str = "approve") -> None:
        """Make the decision that the payment user makes on the linked page."""
        parts = urlsplit(link)
        page = Request("GET", f"{parts.path}?{parts.query}&decide={decision}", host="localhost")
        answer = await self.renamed.answer(page)
        assert answer.status in (200, 303), answer.body


def planted(request: Request, response: Response) -> Response:
    """Return an answer of a bank that differs in the twelve ways of `PLANTED`."""
    end = request.target.partition("?")[0].rpartition("/")[2]
    value = json.loads(response.body) if response.body else None
    headers, status = response.headers, response.status
    if status >= 400 or value is None:
        return response
    if (request.method, end) == ("POST", "consents"):
        status, headers = 201, (*headers, ("aspsp-region", "at-1"))
    elif (request.method, end) == ("POST", "sepa-credit-transfers"):
        value["psuMessage"] = "Bitte in der App freigeben"
    elif end == "accounts":
        for account in value["accounts"]:
            del account["bic"]
            account["ownerName"] = "Anna G."
        value["accounts"][0]["product"] = "Girokonto Premium"
    elif end == "balances":
        for balance in value["balances"]:
            balance["creditLimitIncluded"] = False
    elif end == "transactions":
        value["transactions"]["booked"].reverse()
        value["transactions"]["booked"][-1]["valueDate"] = "21.11.2026"
    elif "consentStatus" in value and end == "status":
        value["lastActionDate"] = "2026-11-20"
    elif "frequencyPerDay" in value:
        value["frequencyPerDay"] = "4"
    elif "transactionStatus" in value and end == "status":
        value["fundsAvailable"] = True
    return structs.replace(response, status=status, headers=headers, body=to_json(value))


PLANTED = {
    ("create-consent", "status", "status"),
    ("create-consent", "header-missing", "header aspsp-region"),
    ("consent-status", "member-missing", "/lastActionDate"),
    ("consent-content", "type", "/frequencyPerDay"),
    ("account-list", "member-missing", "/accounts/*/ownerName"),
    ("account-list", "member-extra", "/accounts/*/bic"),
    ("account-list", "value", "/accounts/*/product"),
    ("account-balances", "member-missing", "/balances/*/creditLimitIncluded"),
    ("account-transactions", "order", "/transactions/booked"),
    ("account-transactions", "format", "/transactions/booked/*/valueDate"),
    ("initiate-payment", "type", "/psuMessage"),
    ("payment-status", "type", "/fundsAvailable"),
}
"""The differences by operation, kind and place."""


def link_of(request: Request, response: Response) -> str:
    return next(links(entry(request, response)))


async def redirect_journey(ask: Ask, decide: Callable[[str], Awaitable[None]]) -> list[tuple[Request, Response]]:
    """Run a consent and a payment, each approved on its page, with the other requests of an app."""
    done: list[tuple[Request, Response]] = []

    async def send(method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
        request = step(method, target, body, *headers).request
        done.append((request, await ask(request)))
        return json.loads(done[-1][1].body)

    asked_for = {
        "access": {"balances": ACCOUNTS, "transactions": ACCOUNTS},
        "recurringIndicator": True,
        "validUntil": (REAL.today() + timedelta(days=80)).isoformat(),
        "frequencyPerDay": 4,
    }
    made = await send("POST", "/v1/consents", asked_for, *BACK)
    consent = f"/v1/consents/{made['consentId']}"
    access = ("Consent-ID", made["consentId"])
    link = link_of(*done[-1])
    await send("GET", f"{consent}/status")
    await send("GET", f"{consent}/authorisations")
    await decide(link)
    await send("GET", f"{consent}/status")
    await send("GET", consent)
    await send("GET", "/v1/accounts?withBalance=true", None, access)
    account = f"/v1/accounts/{IBAN}"
    await send("GET", f"{account}/balances", None, access)
    await send("GET", f"{account}/transactions?bookingStatus=booked", None, access)
    order = {
        "instructedAmount": {"currency": "EUR", "amount": "10.00"},
        "debtorAccount": {"iban": IBAN},
        "creditorAccount": {"iban": "DE40100100103307118608"},
        "creditorName": "X",
    }
    made = await send("POST", "/v1/payments/sepa-credit-transfers", order, *BACK)
    payment = f"/v1/payments/sepa-credit-transfers/{made['paymentId']}"
    link = link_of(*done[-1])
    await send("GET", f"{payment}/status")
    ids = await send("GET", f"{payment}/authorisations")
    await decide(link)
    await send("GET", f"{payment}/status")
    await send("GET", payment)
    await send("GET", f"{payment}/authorisations/{ids['authorisationIds'][0]}")
    return done


async def recorded_journey(bank: TestBank, decision: str = "approve") -> list[Step]:
    done = await redirect_journey(bank.answer, lambda link: bank.decide(link, decision))
    return [Step("recorded", request, entry(request, response)) for request, response in done]
