"""Time and memory of requests when there is much data."""

import asyncio
import gc
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time

from machine import usage
from msgspec import structs
from table import Point, Row

from engine import HEADERS, answered, engine, requests
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, to_json

MOST_GROWTH = 1.1
"""Maximum ratio of the time with the most data."""
MOST_BYTES_OF_SESSION = 1500.0
MOST_BYTES_OF_PAYMENT = 3500.0
"""Maximum bytes of memory for what is stored of a payment: itself, with what the app sent (1,000 bytes of JSON), its
authorisation (320), and a note of when that expires. The rest are the keys and versions of these three documents (900),
and what the allocator and growing dictionaries add.
"""
IBAN = "AT051988000099000011"
CONSENT = "3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a10"
_WARM = 2000
"""Number of requests until the journal is full. Its memory must not count as that of payments."""
_PROBES = 300
_PAGES = Path(__file__).resolve().parents[1] / "cassettes/scenarios/paging"


@dataclass(frozen=True, slots=True)
class _Account:
    count: int
    engine: Engine
    request: Request


def transactions(counts: Sequence[int], rounds: int, calls: int) -> list[Row]:
    """Read a page of ten entries of an account with more and more entries."""
    with ExitStack() as stack:
        accounts = [stack.enter_context(_account(count)) for count in counts]
        gc.collect()
        gc.freeze()
        costs = dict.fromkeys(counts, float("inf"))
        for _ in range(rounds):
            for one in accounts:
                costs[one.count] = min(costs[one.count], asyncio.run(_anew(one, calls)))
        gc.unfreeze()
    least = counts[0]
    return [
        Row(
            f"a page of ten transactions of {count:,}",
            f"{cost:.0f} µs",
            "" if count == least else f"of {least:,}",
            None if count == least else cost / costs[least],
            greatest=MOST_GROWTH if count == counts[-1] else None,
            point=Point("transactions in an account, one page", count, cost),
        )
        for count, cost in costs.items()
    ]


async def _anew(account: _Account, calls: int) -> float:
    """Return µs for one page that is not cached."""
    await answered(account.engine, account.request)
    started = process_time()
    for _ in range(calls):
        await account.engine.answer_anew(account.request)
    return (process_time() - started) / calls * 1e6


@contextmanager
def _account(count: int) -> Iterator[_Account]:
    booked = [
        {
            "id": f"G-{number}",
            "booked_on": "{{ today(-3) }}",
            "value_on": "{{ today(-3) }}",
            "amount": {"amount": "-12.34", "currency": "EUR"},
            "creditor_name": "Bäckerei Morgenrot",
            "remittance": "Frühstück",
        }
        for number in range(count)
    ]
    amount = {"amount": "100.00", "currency": "EUR"}
    data = {
        "testdata": 2,
        "psus": {"greta": {"name": "Greta Moser", "password": "zugspitze", "otp": "111111", "methods": []}},
        "accounts": {
            IBAN: {
                "currency": "EUR",
                "name": "Greta Moser",
                "product": "Girokonto",
                "bic": "SANDATWWXXX",
                "psuId": "greta",
                "balances": [{"amount": amount, "type": "FWAV", "reference_date": "{{ today() }}"}],
                "entries": {"booked": booked},
            }
        },
        "consents": {
            CONSENT: {
                "role": "authorised",
                "accounts": [IBAN],
                "recurring": True,
                "valid_until": "{{ today(30) }}",
                "frequency": 4,
                "last_action_on": "{{ today(0) }}",
            }
        },
    }
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "testdata.yaml")
        file.write_text(json.dumps(data, ensure_ascii=False))
        with engine(cassettes=[_PAGES], testdata=file) as bank:
            path = f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked"
            yield _Account(count, bank, Request("GET", path, Headers((*HEADERS, ("Consent-ID", CONSENT)))))


@dataclass(frozen=True, slots=True)
class _Growth:
    """Return µs for the initiation of a payment by number of stored payments, and bytes for each payment."""

    costs: dict[int, float]
    bytes_each: float


def kept(counts: Sequence[int], authorised: Sequence[int]) -> list[Row]:
    """Measure payments in one session, and sessions with one payment each, in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        payments, sessions = (processes.submit(_kept, what, counts).result() for what in ("payments", "sessions"))
        moving = processes.submit(_authorised, authorised).result()
    of_session = sessions.bytes_each - payments.bytes_each
    return [
        *_initiations("payments", payments.costs),
        *_initiations("authorised payments", moving),
        _memory("memory of a payment that is kept", payments.bytes_each, MOST_BYTES_OF_PAYMENT),
        *_initiations("sessions", sessions.costs),
        _memory("memory of a session, beside its payment", of_session, MOST_BYTES_OF_SESSION),
    ]


def _initiations(what: str, costs: dict[int, float]) -> list[Row]:
    least, *_, most = costs
    return [
        Row(
            f"a payment initiation, {count:,} {what} kept",
            f"{cost:.0f} µs",
            "" if count == least else f"{least:,} {what}",
            None if count == least else cost / costs[least],
            greatest=MOST_GROWTH if count == most else None,
            point=Point(f"{what} kept, an initiation", count, cost),
        )
        for count, cost in costs.items()
    ]


def _memory(what: str, size: float, most: float) -> Row:
    return Row(what, f"{size:,.0f} bytes", f"{most:,.0f} bytes", size / most, greatest=1.0)


def _kept(what: str, counts: Sequence[int]) -> _Growth:
    with engine() as bank:
        initiation = requests(bank)["payment initiation"]

        def in_session(number: int) -> Request:
            headers = (*initiation.headers, ("X-Sandbox-Session", f"bench-{number}"))
            return structs.replace(initiation, headers=Headers(headers))

        return asyncio.run(_filled(bank, in_session if what == "sessions" else lambda _: initiation, counts))


def _authorised(counts: Sequence[int]) -> dict[int, float]:
    """Return µs for the initiation of a payment by number of payments that the payer has authorised."""
    with engine() as bank:
        initiation = requests(bank)["payment initiation"]
        payment = json.loads(initiation.body)
        payment["instructedAmount"]["amount"] = "0.01"
        initiation = structs.replace(initiation, body=to_json(payment))
        data = bank.parts.testdata.at(Clock().today())
        customer = data["accounts"][payment["debtorAccount"]["iban"]]["psuId"]
        psu = data["psus"][customer]
        more = ("Content-Type", "application/json"), ("PSU-ID", customer), ("TPP-Redirect-Preferred", "false")
        headers = Headers((*HEADERS, *more))

        async def authorise() -> None:
            """Sign a new payment with the password, a method if there are several, and the one-time password."""
            made = json.loads((await answered(bank, initiation)).body)["paymentId"]
            begun = await bank.answer(Request("POST", f"{initiation.target}/{made}/authorisations", headers))
            own = dict(begun.headers)["Location"]
            steps = [{"psuData": {"password": psu["password"]}}, {"scaAuthenticationData": psu["otp"]}]
            if len(psu["methods"]) > 1:
                steps.insert(1, {"authenticationMethodId": psu["methods"][0]["id"]})
            for step in steps:
                await answered(bank, Request("PUT", own, headers, to_json(step)))

        return asyncio.run(_measured(bank, initiation, authorise, counts))


async def _measured(
    bank: Engine, initiation: Request, authorise: Callable[[], Awaitable[None]], counts: Sequence[int]
) -> dict[int, float]:
    costs, number = {}, 0
    for _ in range(_WARM):
        await answered(bank, initiation)
    for count in counts:
        while number < count:
            await authorise()
            number += 1
        costs[count] = await _quickest(bank, lambda: initiation)
    return costs


async def _quickest(bank: Engine, request: Callable[[], Request]) -> float:
    quickest = float("inf")
    for _ in range(3):
        started = process_time()
        for _ in range(_PROBES):
            await bank.answer(request())
        quickest = min(quickest, (process_time() - started) / _PROBES * 1e6)
    return quickest


async def _filled(bank: Engine, request: Callable[[int], Request], counts: Sequence[int]) -> _Growth:
    for number in range(_WARM):
        await answered(bank, request(-number))
    made = 0

    def following() -> Request:
        nonlocal made
        made += 1
        return request(made)

    gc.collect()
    before = usage(os.getpid()).memory
    costs = {}
    for count in counts:
        while made < count:
            await answered(bank, following())
        costs[count] = await _quickest(bank, following)
    gc.collect()
    return _Growth(costs, (usage(os.getpid()).memory - before) / made)
