"""CPU time of the engine for one request, without a door."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from time import process_time

from table import Row

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.http import Headers, Request, Response, to_json

REFERENCE_SIZE = 12_000
"""Size in bytes of the transaction list whose `json.loads` is the reference for all budgets in µs."""
REFERENCE = 60.0
"""Time of the reference in µs on the machine for which the budgets were set."""
BUDGETS = {"consent status": 40.0, "20 transactions": 200.0, "payment initiation": 200.0}

HEADERS = (
    ("Host", "bank.example"),
    ("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"),
    ("Accept", "application/json"),
    ("User-Agent", "bench"),
    ("Authorization", "Bearer 0123456789abcdef"),
    ("PSU-IP-Address", "192.0.2.7"),
)


@contextmanager
def engine(state: str = "memory:", cassettes: Sequence[Path] = (), testdata: Path | None = None) -> Iterator[Engine]:
    """Build the engine like `serve` does. With `sqlite:` its file is in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        name = f"sqlite:{directory}/state.db" if state == "sqlite:" else state
        settings = Settings(state=name, confdir=Path(directory), cassettes=tuple(cassettes), testdata=testdata)
        yield build.build(settings)


def requests(engine: Engine) -> dict[str, Request]:
    """Return the three requests with a budget.

    The account is that of a valid consent with about 20 booked transactions. The payer has the money.
    """
    data = engine.parts.testdata.at(Clock().today())

    def booked(consent: str) -> int:
        (iban,) = data["consents"][consent]["accounts"]
        return len(data["accounts"][iban].get("entries", {}).get("booked", ()))

    valid = [id for id, consent in data["consents"].items() if consent["role"] == "authorised"]
    consent = min(valid, key=lambda id: abs(booked(id) - 20))
    (iban,) = data["consents"][consent]["accounts"]
    in_euro = {iban: account for iban, account in data["accounts"].items() if account["currency"] == "EUR"}
    payer = max(in_euro, key=lambda one: Decimal(in_euro[one]["balances"][0]["amount"]["amount"]))
    payment = {
        "debtorAccount": {"iban": payer, "currency": "EUR"},
        "instructedAmount": {"amount": "10.50", "currency": "EUR"},
        "creditorAccount": {"iban": iban},
        "creditorName": data["psus"][data["accounts"][iban]["psuId"]]["name"],
        "creditorAgent": "GIBAATWWXXX",
        "endToEndIdentification": "e2e-4711",
        "remittanceInformationStructured": {"reference": "RF-2210"},
    }
    with_consent, with_body = ("Consent-ID", consent), ("Content-Type", "application/json")
    transactions = f"/v1/accounts/{iban}/transactions?bookingStatus=booked"
    return {
        "consent status": Request("GET", f"/v1/consents/{consent}/status", Headers(HEADERS)),
        "20 transactions": Request("GET", transactions, Headers((*HEADERS, with_consent))),
        "payment initiation": Request(
            "POST", "/v1/payments/sepa-credit-transfers", Headers((*HEADERS, with_body)), to_json(payment)
        ),
    }


async def answered(engine: Engine, request: Request) -> Response:
    """Check the answer before it is measured. Raises ValueError for any other."""
    response = await engine.answer(request)
    if response.status != 200:
        raise ValueError(f"{request.method} {request.target} was answered {response.status}: {response.body[:500]!r}")
    return response


async def best(engine: Engine, request: Request, rounds: int, calls: int) -> float:
    """Return µs for one answer in the fastest round. Each round starts with an empty store."""
    found = []
    for _ in range(rounds):
        engine.store.reset()
        await answered(engine, request)
        started = process_time()
        for _ in range(calls):
            await engine.answer(request)
        found.append((process_time() - started) / calls)
    return min(found) * 1e6


async def reference(rounds: int, calls: int) -> float:
    """Return µs for `json.loads` of a transaction list of 12 kB, the reference for this machine."""
    with engine() as bank:
        value = json.loads((await answered(bank, requests(bank)["20 transactions"])).body)
    booked = value["transactions"]["booked"]
    while len(body := to_json(value)) > REFERENCE_SIZE:
        booked.pop()
    return quickest(lambda: json.loads(body), rounds, calls)


def quickest(work: Callable[[], object], rounds: int, calls: int) -> float:
    """Return µs for one call in the fastest round."""
    found = []
    for _ in range(rounds):
        started = process_time()
        for _ in range(calls):
            work()
        found.append((process_time() - started) / calls)
    return min(found) * 1e6


def rows(rounds: int, calls: int) -> tuple[list[Row], float]:
    """Return the rows, and the reference in µs."""

    async def measure() -> tuple[list[Row], float]:
        unit = await reference(rounds, calls)
        table = []
        for state in ("memory:", "sqlite:"):
            with engine(state) as bank:
                for name, request in requests(bank).items():
                    cost = await best(bank, request, rounds, calls)
                    budget = BUDGETS[name] * unit / REFERENCE
                    # The budget is for `memory:`. A file has the cost of SQLite.
                    greatest = 1.0 if state == "memory:" else None
                    against = f"budget {budget:.0f} µs"
                    table.append(
                        Row(f"engine, {state} {name}", f"{cost:.0f} µs", against, cost / budget, greatest=greatest)
                    )
        return table, unit

    return asyncio.run(measure())
