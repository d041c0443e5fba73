"""Payments over time and their effect on accounts."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.rehearsal import JOINT, NONE, ONE, OWN, SEVERAL, Stage, Thing, a_stage

HERE, THERE = OWN[ONE]
FRANCS = next(iban for iban in OWN[SEVERAL] if facts.accounts()[iban]["currency"] == "CHF")


@pytest.fixture
def stage() -> Stage:
    return a_stage()


class Books:
    """The changes that payments have made to accounts since this object was created."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.consent = stage.consent().id
        self.before = {iban: self._all(iban) for iban in facts.accounts()}

    def _get(self, path: str) -> Any:
        answer = self.stage.client.get(f"/v1/accounts/{path}", consent=self.consent)
        assert answer.status == 200, answer.body
        return answer.json()

    def _all(self, iban: str) -> dict[str, Any]:
        path = f"{iban}/transactions?bookingStatus"
        lists = {kind: self._get(f"{path}={kind}")["transactions"][kind] or [] for kind in ("booked", "pending")}
        balances = {
            balance["balanceType"]: Decimal(balance["balanceAmount"]["amount"])
            for balance in self._get(f"{iban}/balances")["balances"]
        }
        shown = self._get(f"{iban}?withBalance=true")["balances"]
        assert {b["balanceType"]: Decimal(b["balanceAmount"]["amount"]) for b in shown} == balances
        return {**lists, "balances": balances}

    def records(self, iban: str = HERE, kind: str = "booked") -> list[Mapping[str, Any]]:
        known = {entry["transactionId"] for entry in self.before[iban][kind]}
        now = self._all(iban)[kind]
        assert len({entry["transactionId"] for entry in now}) == len(now)
        return [entry for entry in now if entry["transactionId"] not in known]

    def moved(self, iban: str = HERE, kind: str = "booked") -> list[tuple[str, str]]:
        """Return dates and amounts, newest first."""
        return [(e["bookingDate"], e["transactionAmount"]["amount"]) for e in self.records(iban, kind)]

    def change(self, iban: str = HERE) -> dict[str, Decimal]:
        now = self._all(iban)["balances"]
        return {name: now[name] - was for name, was in self.before[iban]["balances"].items()}


def both(booked: str, available: str | None = None) -> dict[str, Decimal]:
    return {"interimAvailable": Decimal(booked), "forwardAvailable": Decimal(available or booked)}


@pytest.fixture
def books(stage: Stage) -> Books:
    return Books(stage)


# -- single payments


def test_payment_for_today(stage: Stage, books: Books) -> None:
    thing = stage.payment(amount="12.50", creditorName="Berta Bauer", remittanceInformationUnstructured="Danke")
    stage.sign(thing)

    (record,) = books.records()
    today = stage.today.isoformat()
    assert (record["bookingDate"], record["valueDate"]) == (today, today)
    assert record["transactionAmount"] == {"currency": "EUR", "amount": "-12.50"}
    assert record["creditorName"] == "Berta Bauer"
    assert record["debtorName"] == facts.accounts()[HERE]["name"]
    assert record["creditorAccount"]["iban"] == facts.foreign_iban()
    assert record["debtorAccount"]["iban"] == HERE
    assert record["remittanceInformationUnstructured"] == "Danke"
    assert (books.change(), books.moved(kind="pending")) == (both("-12.50"), [])
    schema = stage.client.engine.schemas["transactions"]
    answer = stage.client.get(f"/v1/accounts/{HERE}/transactions?bookingStatus=booked", consent=books.consent)
    assert schema.complaint(answer.json()) is None


def test_payment_for_a_later_date(stage: Stage, books: Books) -> None:
    day = stage.day(5)
    thing = stage.payment(amount="12.50", requestedExecutionDate=day)
    stage.sign(thing)

    for days_later in (0, 4):
        stage.move(days=days_later)
        assert stage.status(thing) == "ACTC"
        assert (books.moved(), books.moved(kind="pending")) == ([], [(day, "-12.50")])
        assert books.change() == both("0", "-12.50")
    assert books.records(kind="pending")[0]["valueDate"] is None

    for days_later in (1, 30):
        stage.move(days=days_later)
        assert stage.status(thing) == "ACSP"
        assert (books.moved(), books.moved(kind="pending")) == ([(day, "-12.50")], [])
        assert books.change() == both("-12.50")


def test_entries_are_sorted_newest_first(stage: Stage, books: Books) -> None:
    for amount in ("1.00", "2.00"):
        stage.sign(stage.payment(amount=amount))
        stage.move(days=1)
    assert [amount for _, amount in books.moved()] == ["-2.00", "-1.00"]
    answer = stage.client.get(f"/v1/accounts/{HERE}/transactions?bookingStatus=booked", consent=books.consent)
    listed = [entry["bookingDate"] for entry in answer.json()["transactions"]["booked"]]
    assert listed == sorted(listed, reverse=True)


def test_entries_are_filtered_by_date(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(amount="1.00"))
    day = stage.today.isoformat()
    stage.move(days=3)
    for query, count in ((f"dateFrom={day}&dateTo={day}", 1), (f"dateFrom={stage.day(-2)}", 0)):
        path = f"/v1/accounts/{HERE}/transactions?bookingStatus=booked&{query}"
        listed = stage.client.get(path, consent=books.consent).json()["transactions"]["booked"]
        assert sum(e["transactionAmount"]["amount"] == "-1.00" and e["bookingDate"] == day for e in listed) == count


# -- own accounts and currencies


def test_an_own_creditor_account_is_credited(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(amount="12.50", creditorAccount={"iban": THERE}))

    assert (books.moved(HERE), books.moved(THERE)) == (
        [(stage.today.isoformat(), "-12.50")],
        [(stage.today.isoformat(), "12.50")],
    )
    assert (books.change(HERE), books.change(THERE)) == (both("-12.50"), both("12.50"))


def test_a_creditor_at_the_same_bank_has_a_pending_entry_until_execution(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(amount="12.50", creditorAccount={"iban": THERE}, requestedExecutionDate=stage.day(2)))
    assert (books.moved(THERE, "pending"), books.change(THERE)) == ([(stage.day(2), "12.50")], both("0"))
    stage.move(days=2)
    assert books.change(THERE) == both("12.50")


def test_a_payment_to_the_same_account_is_debited_and_credited(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(amount="12.50", creditorAccount={"iban": HERE}))
    assert sorted(amount for _, amount in books.moved()) == ["-12.50", "12.50"]
    assert books.change() == both("0")


def test_currencies_are_converted(stage: Stage, books: Books) -> None:
    thing = stage.payment(bodies.CROSS_BORDER, debtor=HERE, amount="100.00", currency="CHF")
    stage.sign(thing)
    euros = (100 * facts.rate("CHF")).quantize(Decimal("0.01"))
    assert books.records()[0]["transactionAmount"] == {"currency": "EUR", "amount": f"-{euros}"}
    assert books.change() == both(f"-{euros}")


def test_each_account_has_its_own_currency(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(bodies.CROSS_BORDER, amount="50.00", currency="EUR", creditorAccount={"iban": FRANCS}))
    francs = (50 / facts.rate("CHF")).quantize(Decimal("0.01"))
    assert books.records(FRANCS)[0]["transactionAmount"] == {"currency": "CHF", "amount": str(francs)}
    assert (books.change(HERE), books.change(FRANCS)) == (both("-50.00"), both(str(francs)))


def test_a_third_currency(stage: Stage, books: Books) -> None:
    stage.sign(stage.payment(bodies.CROSS_BORDER, debtor=FRANCS, amount="20.00", currency="USD"))
    francs = (20 * facts.rate("USD") / facts.rate("CHF")).quantize(Decimal("0.01"))
    assert books.change(FRANCS) == both(f"-{francs}")


def test_bulk_payment(stage: Stage, books: Books) -> None:
    thing = stage.payment(
        bodies.BULK, amount="4.00", creditorIban=[facts.foreign_iban(), THERE], creditorName=["Berta", "Anna"]
    )
    stage.sign(thing)

    records = books.records()
    assert sorted((e["creditorName"], e["transactionAmount"]["amount"]) for e in records) == [
        ("Anna", "-1.25"),
        ("Berta", "-4.00"),
    ]
    assert {e["remittanceInformationUnstructured"] for e in records} == {"first", "second"}
    assert {e["endToEndId"] for e in records} <= {"e2e-1", "e2e-2", "e2e-4711"}
    assert (books.change(), books.change(THERE)) == (both("-5.25"), both("1.25"))


def test_bulk_payment_with_several_currencies_and_a_later_date(stage: Stage, books: Books) -> None:
    day = stage.day(2)
    thing = stage.payment(bodies.BULK, amount="4.00", amountCurrency=["EUR", "CHF"], requestedExecutionDate=day)
    stage.sign(thing)
    total = Decimal("4.00") + (Decimal("1.25") * facts.rate("CHF")).quantize(Decimal("0.01"))
    assert (stage.status(thing), books.change()) == ("ACTC", both("0", f"-{total}"))
    stage.move(days=2)
    assert (stage.status(thing), books.change(), len(books.moved())) == ("ACSP", both(f"-{total}"), 2)


# -- available balance


def test_the_funds_check_sees_earlier_payments(stage: Stage) -> None:
    debtor = OWN[NONE][0]
    available = facts.available(debtor)
    first = stage.payment(debtor=debtor, amount=str(available - 5))
    assert stage.status(stage.payment(debtor=debtor, amount="6.00")) == "RCVD"

    stage.sign(first)

    assert stage.status(stage.payment(debtor=debtor, amount="5.00")) == "RCVD"
    assert stage.status(stage.payment(debtor=debtor, amount="5.01")) == "RJCT"


def test_the_funds_check_counts_pending_debits_and_booked_credits(stage: Stage) -> None:
    debtor = OWN[NONE][0]
    available = facts.available(debtor)
    stage.sign(stage.payment(debtor=debtor, amount=str(available), requestedExecutionDate=stage.day(9)))
    assert stage.status(stage.payment(debtor=debtor, amount="0.01")) == "RJCT"
    stage.sign(stage.payment(amount="7.00", creditorAccount={"iban": debtor}))
    assert stage.status(stage.payment(debtor=debtor, amount="7.00")) == "RCVD"


def test_a_confirmation_of_funds_counts_earlier_payments_too(stage: Stage) -> None:
    debtor = OWN[NONE][0]

    def enough(amount: str) -> Any:
        body = {"account": {"iban": debtor}, "instructedAmount": {"currency": "EUR", "amount": amount}}
        return stage.client.post("/v1/funds-confirmations", json=body).json()["fundsAvailable"]

    assert enough("20.00")
    stage.sign(stage.payment(debtor=debtor, amount="20.00"))
    assert (enough("20.00"), enough("1.00")) == (False, True)


def test_a_cancelled_standing_order_stops(stage: Stage, books: Books) -> None:
    for product, changes in (
        (bodies.SEPA, {"requestedExecutionDate": stage.day(5)}),
        (bodies.PERIODIC, {"startDate": stage.day(5)}),
    ):
        thing = stage.payment(product, amount="12.50", **changes)
        stage.sign(thing)
        assert len(books.moved(kind="pending")) == 1
        stage.client.delete(thing.path)
        assert len(books.moved(kind="pending")) == 1
        stage.sign_cancellation(thing, ONE)
        assert books.moved(kind="pending") == []
    stage.move(days=400)
    assert (books.moved(), books.change()) == ([], both("0"))


def test_a_failed_cancellation_stops_nothing(stage: Stage, books: Books) -> None:
    thing = stage.payment(amount="12.50", requestedExecutionDate=stage.day(5))
    stage.sign(thing)
    stage.client.delete(thing.path)
    stage.decide(stage.begin(Thing("cancellation", thing.path)), "decline")
    stage.move(days=5)
    assert (stage.status(thing), len(books.moved())) == ("ACSP", 1)


def test_static_data_do_not_change() -> None:
    stage = a_stage(static_data=True)
    books = Books(stage)
    later = stage.payment(amount="12.50", requestedExecutionDate=stage.day(2))
    stage.sign(later)
    stage.sign(stage.payment(amount="30.00", creditorAccount={"iban": THERE}))
    debtor = OWN[NONE][0]
    everything = str(facts.available(debtor))
    stage.sign(stage.payment(debtor=debtor, amount=everything))

    for _ in range(2):
        assert (books.moved(), books.moved(kind="pending"), books.change()) == ([], [], both("0"))
        assert (books.moved(THERE), books.change(THERE)) == ([], both("0"))
        assert stage.status(stage.payment(debtor=debtor, amount=everything)) == "RCVD"
        stage.move(days=3)
    assert stage.status(later) == "ACSP"


# -- periodic payments


def test_a_periodic_payment_executes_each_period_until_its_end(stage: Stage, books: Books) -> None:
    start = stage.today + timedelta(days=3)
    expected = [start + timedelta(days=7 * week) for week in range(4)]
    thing = stage.payment(
        bodies.PERIODIC,
        amount="2.00",
        startDate=start.isoformat(),
        endDate=expected[-1].isoformat(),
        frequency="Weekly",
    )
    stage.sign(thing)
    assert (stage.status(thing), books.moved(kind="pending")) == ("ACTC", [(start.isoformat(), "-2.00")])

    for position, day in enumerate(expected):
        stage.move_to(day)
        assert stage.status(thing) == "ACSP"
        booked = [(d.isoformat(), "-2.00") for d in reversed(expected[: position + 1])]
        pending = [(d.isoformat(), "-2.00") for d in expected[position + 1 : position + 2]]
        assert (books.moved(), books.moved(kind="pending")) == (booked, pending)
        assert books.change() == both(f"-{2 * len(booked)}.00", f"-{2 * (len(booked) + len(pending))}.00")

    stage.move(days=100)
    assert (len(books.moved()), books.moved(kind="pending")) == (4, [])


def test_a_periodic_payment_is_listed_as_a_standing_order_while_it_executes(stage: Stage, books: Books) -> None:
    def orders() -> list[Any]:
        listed = books._get(f"{HERE}/transactions?bookingStatus=information")["transactions"]["information"]
        return [order for order in listed if order["transactionId"].endswith("-order")]

    start, end = stage.today + timedelta(days=3), stage.today + timedelta(days=17)
    dates = {"startDate": start.isoformat(), "endDate": end.isoformat()}
    thing = stage.payment(bodies.PERIODIC, amount="2.00", frequency="Weekly", **dates)
    assert orders() == []
    stage.sign(thing)
    (order,) = orders()
    details = order["additionalInformationStructured"]["standingOrderDetails"]
    assert (order["transactionAmount"], order["bookingDate"]) == ({"currency": "EUR", "amount": "-2.00"}, None)
    assert {**details, **dates, "frequency": "Weekly", "dayOfExecution": str(start.day)} == details
    stage.move_to(end)
    assert orders() == []


def test_the_preconfigured_order_executes_without_entries(stage: Stage, books: Books) -> None:
    ((id, payment),) = facts.payments("ACTC")
    stage.move(days=60)
    thing = Thing("payment", f"/v1/{payment['service']}/{payment['product']}/{id}")
    assert stage.status(thing) == "ACSP"
    assert (books.moved(), books.moved(kind="pending")) == ([], [])


def test_a_payment_from_a_joint_account_waits_for_both_signatures(stage: Stage, books: Books) -> None:
    thing = stage.payment(debtor=JOINT, amount="9.00")
    stage.sign(thing, stage.signatories(thing)[0])
    assert books.change(JOINT) == both("0")
    stage.sign(thing, stage.signatories(thing)[1])
    assert books.change(JOINT) == both("-9.00")


def test_an_order_that_never_executes_is_rejected(stage: Stage) -> None:
    start = (stage.today + timedelta(days=40)).replace(day=20)
    end = start.replace(day=28)
    thing = stage.payment(
        bodies.PERIODIC,
        startDate=start.isoformat(),
        endDate=end.isoformat(),
        dayOfExecution="15",
        frequency="Monthly",
    )
    stage.sign(thing)
    assert stage.status(thing) == "RJCT"
