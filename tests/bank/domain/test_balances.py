"""Balances and the entries on accounts, which have to agree whatever happens to payments."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import bodies, facts
from tests.support.counting_store import CountingStore
from tests.support.engine_client import bundled_engine
from tests.support.rehearsal import NONE, ONE, OWN, SEVERAL, TOKEN, Stage, Thing, a_stage
from xs2a_sandbox.bank import TestData, notes
from xs2a_sandbox.bank.domain.balances import compute_available
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Store, Transaction
from xs2a_sandbox.state.sqlite import SqliteStore

HERE, THERE = OWN[ONE]
FRANCS = next(iban for iban in OWN[SEVERAL] if facts.accounts()[iban]["currency"] == "CHF")
ACCOUNTS = (HERE, THERE, FRANCS)


class Journey:
    """Payments of a few accounts, and what an app, customers, a tester and the time do to them."""

    def __init__(self, store: Store) -> None:
        self.stage = a_stage(store)
        self.consent = self.stage.consent().id
        self.payments: list[Thing] = []
        self.before = {iban: (self._balances(iban), self._entries(iban)) for iban in ACCOUNTS}

    def pay(
        self, debtor: int, creditor: int, money: tuple[str, str], days: int, *, standing: bool, signed: bool
    ) -> None:
        payer, payee = ACCOUNTS[debtor], (*ACCOUNTS, facts.foreign_iban())[creditor]
        day = self.stage.day(days)
        product, dates = bodies.CROSS_BORDER, {"requestedExecutionDate": day}
        if standing:
            product, dates = bodies.PERIODIC, {"startDate": day, "frequency": "Weekly"}
        # Without a currency, because a tester may have changed it.
        changes: dict[str, Any] = {"creditorAccount": {"iban": payee}, "debtorAccount": {"iban": payer}, **dates}
        thing = self.stage.payment(product, amount=money[0], currency=money[1], **changes)
        self.payments.append(thing)
        if signed:
            self.stage.sign(thing, self._payer(thing))

    def sign(self, number: int) -> None:
        if self.payments:
            thing = self.payments[number % len(self.payments)]
            if self._document(thing) and self.stage.status(thing) == "RCVD":
                self.stage.sign(thing, self._payer(thing))

    def cancel(self, number: int) -> None:
        if self.payments:
            thing = self.payments[number % len(self.payments)]
            if self._document(thing) and self.stage.client.delete(thing.path).status == 202:
                self.stage.sign_cancellation(thing, self._payer(thing))

    def edit(self, number: int, **members: Any) -> None:
        """Write a payment as a tester does, and in between one that nobody can read."""
        if self.payments:
            thing = self.payments[number % len(self.payments)]
            if document := self._document(thing):
                changed = {name: value for name, value in {**document, **members}.items() if value is not None}
                self._control("PUT", f"state/payments/{thing.id}", {**document, "parts": "none", "debtor": "nobody"})
                self._control("PUT", f"state/payments/{thing.id}", changed)

    def delete(self, number: int) -> None:
        if self.payments:
            thing = self.payments[number % len(self.payments)]
            if self._document(thing):
                self._control("DELETE", f"state/payments/{thing.id}")

    def change_currency(self, account: int, currency: str) -> None:
        path = f"state/accounts/{ACCOUNTS[account]}"
        self._control("PUT", path, {**self._control("GET", path), "currency": currency})

    def move(self, days: int) -> None:
        self.stage.now += timedelta(days=days)
        self._control("PUT", "clock", {"frozen": self.stage.now.isoformat()})

    def check(self) -> None:
        for iban, (balances, entries) in self.before.items():
            new = {id: entry for id, entry in self._entries(iban).items() if id not in entries}
            booked = [entry for entry in new.values() if entry[0] == "booked"]
            total = sum((amount for _, _, amount in booked), Decimal())
            leaving = sum((a for kind, _, a in new.values() if kind == "pending" and a < 0), Decimal())
            last = max((day for _, day, _ in booked), default="")
            expected = {
                name: (amount + total + (leaving if name == "forwardAvailable" else 0), max(day, last))
                for name, (amount, day) in balances.items()
            }
            assert self._balances(iban) == expected

    def _balances(self, iban: str) -> dict[str, tuple[Decimal, str]]:
        return {
            one["balanceType"]: (Decimal(one["balanceAmount"]["amount"]), one["referenceDate"])
            for one in self._get(f"{iban}/balances")["balances"]
        }

    def _entries(self, iban: str) -> dict[str, tuple[str, str, Decimal]]:
        listed = {kind: self._get(f"{iban}/transactions?bookingStatus={kind}") for kind in ("booked", "pending")}
        return {
            entry["transactionId"]: (kind, entry["bookingDate"], Decimal(entry["transactionAmount"]["amount"]))
            for kind, answer in listed.items()
            for entry in answer["transactions"][kind] or ()
        }

    def _get(self, path: str) -> Any:
        answer = self.stage.client.get(f"/v1/accounts/{path}", consent=self.consent)
        assert answer.status == 200, answer.body
        return answer.json()

    def _document(self, thing: Thing) -> Any:
        return self.stage.transaction().get("payments", thing.id)

    def _payer(self, thing: Thing) -> str:
        """Return who signs the payment, which a tester may have moved to another account."""
        return SEVERAL if self._document(thing)["debtor"]["account"] == FRANCS else ONE

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        options = {} if body is None else {"json": body}
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = self.stage.client.request(method, f"/_sandbox/{path}", headers=headers, **options)
        assert answer.status in (200, 201, 204), answer.body
        return answer.json() if answer.body else None


type Step = Callable[[Journey], None]

NUMBERS = st.integers(0, 3)
PAYMENTS = st.builds(
    lambda *values, **named: lambda journey: journey.pay(*values, **named),
    st.integers(0, 2),
    NUMBERS,
    st.sampled_from([("12.50", "EUR"), ("5.00", "CHF"), ("0.07", "USD")]),
    st.sampled_from([0, 0, 1, 9]),
    standing=st.booleans(),
    signed=st.booleans(),
)
CHANGES = st.sampled_from(
    [
        {"booked_until": "2999-01-01"},
        {"authorised_on": None},
        {"parts": [{"amount": {"currency": "EUR", "amount": "3.00"}, "creditor": {"account": {"iban": THERE}}}]},
        {"debtor": {"account": THERE}},
        {"status": "ACSC"},
    ]
)
STEPS: st.SearchStrategy[Step] = st.one_of(
    PAYMENTS,
    PAYMENTS,
    PAYMENTS,
    st.builds(lambda number: lambda journey: journey.sign(number), NUMBERS),
    st.builds(lambda number: lambda journey: journey.cancel(number), NUMBERS),
    st.builds(lambda number, changes: lambda journey: journey.edit(number, **changes), NUMBERS, CHANGES),
    st.builds(lambda number: lambda journey: journey.delete(number), NUMBERS),
    st.builds(lambda days: lambda journey: journey.move(days), st.sampled_from([1, 8, 40, -1, -9])),
    st.builds(
        lambda account, currency: lambda journey: journey.change_currency(account, currency),
        st.integers(0, 2),
        st.sampled_from(["EUR", "CHF"]),
    ),
)


@given(st.lists(STEPS, min_size=3, max_size=15), st.sampled_from(["memory", "sqlite"]))
def test_balances_agree_with_the_entries(steps: list[Step], state: str) -> None:
    with TemporaryDirectory() as directory:
        store = MemoryStore() if state == "memory" else SqliteStore(Path(directory, "state.db"))
        journey = Journey(store)
        try:
            for step in steps:
                step(journey)
                journey.check()
        finally:
            store.close()


@pytest.fixture
def journey() -> Journey:
    return Journey(MemoryStore())


EURO = ("1.00", "EUR")


def test_a_deleted_payment_is_not_the_last_booking(journey: Journey) -> None:
    for _ in range(3):
        journey.pay(0, 1, EURO, 0, standing=False, signed=True)
        journey.move(1)
        journey.pay(0, 1, EURO, 0, standing=False, signed=False)
    journey.check()
    journey.delete(4)
    journey.check()
    journey.delete(2)
    journey.check()


def test_a_payment_that_nobody_can_read_is_forgotten_once_it_is_mended(journey: Journey) -> None:
    for _ in range(2):
        journey.pay(0, 1, EURO, 0, standing=False, signed=True)
    for changes in ({"debtor": {"account": THERE}}, {"authorised_on": None}):
        journey.edit(0, **changes)
        journey.check()


def test_kept_totals_follow_the_exchange_rates() -> None:
    store = MemoryStore()
    for rates in ("2", "3", "2"):
        data = bundled_engine().parts.testdata
        rated = TestData({**data.collections, "rates": {"CHF": rates, "USD": "1"}}, data.unknown_consents)
        stage = a_stage(store, testdata=rated)
        debtor = OWN[NONE][0]
        before = available(stage, debtor)
        stage.sign(stage.payment(bodies.CROSS_BORDER, debtor=debtor, amount="1.00", currency="CHF"))
        assert available(stage, debtor) == before - Decimal(rates)
        paid = sum(1 for payment in stage.kept("payments").values() if "authorised_on" in payment)
        assert available(stage, debtor) == facts.available(debtor) - Decimal(rates) * paid


def available(stage: Stage, iban: str) -> Decimal:
    """Return the balance that payments may use. An initiation before keeps the account's total."""
    stage.payment(debtor=iban, amount="0.01")
    path = f"/v1/accounts/{iban}/balances"
    consent = stage.consent().id
    (amount,) = (
        one["balanceAmount"]["amount"]
        for one in stage.client.get(path, consent=consent).json()["balances"]
        if one["balanceType"] == "forwardAvailable"
    )
    return Decimal(amount)


def test_an_initiation_reads_as_much_with_many_authorised_payments_as_with_a_few() -> None:
    store = CountingStore()
    stage = a_stage(store)
    debtor, reads = OWN[NONE][0], []
    for authorised in (2, 30):
        for _ in range(authorised):
            stage.sign(stage.payment(debtor=debtor, amount="0.01"), NONE)
        store.reads, store.lists = 0, set()
        stage.payment(debtor=debtor, amount="0.01")
        reads.append(store.reads)
        assert not store.lists & {"_moving", "payments"}
    assert reads[0] == reads[1]


def test_money_is_counted_once_if_one_request_moves_and_checks_it() -> None:
    stage = a_stage()
    debtor = OWN[NONE][0]
    id = stage.payment(debtor=debtor, amount="5.00").id
    data = stage.client.engine.parts.testdata.at(Clock().today())
    state = Transaction(stage.client.engine.store, "default", lambda _: data, notes.note)
    call = Call(Request("GET", "/"), split_target("/"), Session("default", ""), Clock(frozen=stage.now), state)

    state.put("payments", id, {**(state.get("payments", id) or {}), "authorised_on": stage.day(0)})
    state.put("_moving", id, {})
    assert compute_available(call, debtor, data["accounts"][debtor]) == facts.available(debtor) - 5
    assert state.commit()

    for _ in range(2):
        assert available(stage, debtor) == facts.available(debtor) - 5
