"""Events at the bank depend only on requests and the clock, not on the order of reads."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.rehearsal import authorising, with_options
from tests.support.timed_bank import APART, DECOUPLED, EMBEDDED, REDIRECT, Thing, TimedBank, an_engine_at
from xs2a_sandbox.clock import read_time
from xs2a_sandbox.state import MemoryStore, Store
from xs2a_sandbox.state.sqlite import SqliteStore

MORNING = "2026-12-01T10:00"
DAY = 24 * 60 * 60
ANNA, ANNAS_OTHER = "AT459880000010204711", "AT449880000010204729"
FRANCS = "AT519880000030577028"  # Zuzana's account
FELIX = "AT149880000040190006"
LUKAS, ILSE = "AT699880000020411880", "AT719880000050033219"
JOINT = "AT669880000010263115"  # Ilse's and Lukas's account
ANNAS_CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


def a_bank(time: str = MORNING, store: Store | None = None, **options: Any) -> TimedBank:
    return TimedBank(an_engine_at(time, store, **options))


def set_to(directory: Path, **options: Any) -> dict[str, Any]:
    """Return the argument of `a_bank` that changes the section `authorisation`."""
    return {"layers": authorising(directory, **options)}


@pytest.fixture
def bank() -> TimedBank:
    return a_bank()


@pytest.fixture(params=["memory", "sqlite"])
def kept_bank(request: pytest.FixtureRequest, tmp_path: Path) -> TimedBank:
    return a_bank(store=MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "state.db"))


def moved(bank: TimedBank, iban: str) -> Decimal:
    """Return the change of the account's booked balance."""
    before = next(
        Decimal(one["balanceAmount"]["amount"])
        for one in facts.accounts()[iban]["balances"]
        if one["balanceType"] == "interimAvailable"
    )
    return Decimal(bank.amount(iban)) - before


# -- 1: ended baskets


def test_a_deleted_basket_moves_no_money(bank: TimedBank) -> None:
    payment, consent = bank.payment(ANNA), bank.consent(ANNAS_OTHER)
    basket = bank.basket(payment, consent)
    bank.begin(basket, "anna", DECOUPLED)
    assert bank.delete(basket) == 204

    bank.wait(seconds=31)

    assert (bank.status(basket), bank.status(payment), bank.status(consent)) == ("CANC", "RCVD", "received")
    assert (moved(bank, ANNA), bank.entries(ANNA, dateFrom=bank.day())) == (0, [])


@pytest.mark.parametrize("declined", ["own", "beside"])
def test_a_refused_basket_moves_no_money(bank: TimedBank, declined: str) -> None:
    payment = bank.payment(JOINT)
    basket = bank.basket(payment)
    ilse = bank.begin(basket, "ilse", DECOUPLED)
    bank.begin(basket, "lukas", DECOUPLED)
    refused = ilse if declined == "own" else bank.begin(basket)
    assert bank.decide(refused, "decline").json()["resourceStatus"] == "RJCT"

    bank.wait(seconds=31)

    assert (bank.status(basket), bank.status(payment), moved(bank, JOINT)) == ("RJCT", "RCVD", 0)


def test_reading_a_deleted_basket_executes_nothing_in_another_one(bank: TimedBank) -> None:
    payment = bank.payment(ANNA)
    first = bank.basket(payment)
    bank.begin(first, "anna", DECOUPLED)
    bank.delete(first)
    second = bank.basket(payment)

    bank.wait(seconds=31)

    assert bank.get(first.path)["transactionStatus"] == "CANC"
    assert (bank.status(payment), bank.status(second), moved(bank, ANNA)) == ("RCVD", "RCVD", 0)


# -- 2: reads


def test_executions_do_not_depend_on_reads() -> None:
    eager, lazy = a_bank(), a_bank()
    payments = []
    for bank in (eager, lazy):
        payment = bank.payment(JOINT)
        bank.begin(payment, None, REDIRECT)
        bank.begin(payment, "ilse", DECOUPLED)
        bank.begin(payment, "lukas", DECOUPLED)
        payments.append(payment)

    assert eager.wait(seconds=31).status(payments[0]) == "ACSP"
    for bank, payment in zip((eager, lazy), payments, strict=True):
        bank.at("2026-12-02T11:00")
        assert (bank.status(payment), moved(bank, JOINT)) == ("ACSP", Decimal("-12.50"))


# -- 3: deadlines


@pytest.mark.parametrize("reads", [[25, 35], [35], [20, 35]], ids=["before", "after", "at once"])
def test_events_happen_in_order_of_their_due_times(tmp_path: Path, reads: list[int]) -> None:
    bank = a_bank(**set_to(tmp_path, expires_after=20))
    payment = bank.payment(ANNA)
    bank.begin(payment, "anna", DECOUPLED)
    begun = bank.now
    statuses = [bank.at(begun).wait(seconds=after).status(payment) for after in reads]
    assert statuses == ["RJCT"] * len(reads)
    assert moved(bank, ANNA) == 0


def test_a_cancellation_decided_before_midnight_is_in_time() -> None:
    bank = a_bank("2026-12-01T23:59")
    payment = bank.payment(ANNA, requestedExecutionDate=bank.day(1))
    bank.sign(payment, "anna")
    own = bank.begin(bank.cancellation(payment), "anna", DECOUPLED)

    bank.at("2026-12-02T00:10")

    assert (bank.status(payment), bank.sca(own), moved(bank, ANNA)) == ("CANC", "finalised", 0)


def test_a_cancellation_decided_after_midnight_is_too_late() -> None:
    bank = a_bank("2026-12-01T23:59:50")
    payment = bank.payment(ANNA, requestedExecutionDate=bank.day(1))
    bank.sign(payment, "anna")
    bank.begin(bank.cancellation(payment), "anna", DECOUPLED)

    bank.at("2026-12-02T00:10")

    assert (bank.status(payment), moved(bank, ANNA)) == ("ACSP", Decimal("-12.50"))


@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
def test_past_events_stay_if_the_clock_is_set_back(bank: TimedBank, read: bool) -> None:
    payment, consent = bank.payment(ANNA), bank.consent(ANNAS_OTHER, validUntil=bank.day(1))
    for thing in (payment, consent):
        bank.begin(thing, "anna", DECOUPLED)
    bank.at("2026-12-03T10:00")
    if read:
        assert (bank.status(payment), bank.status(consent)) == ("ACSP", "expired")

    bank.at(MORNING)

    assert (bank.status(payment), bank.status(consent)) == ("ACSP", "expired")
    bank.at("2026-12-03T10:00")
    assert (bank.status(payment), bank.status(consent), moved(bank, ANNA)) == ("ACSP", "expired", Decimal("-12.50"))


# -- 4: owners of consents


def test_a_basket_ends_the_older_consent_of_each_customer(bank: TimedBank) -> None:
    older = [bank.consent(ANNAS_OTHER), bank.consent(FRANCS)]
    for consent, psu in zip(older, ("anna", "zuzana"), strict=True):
        bank.sign(consent, psu)
    newer = [bank.consent(ANNAS_OTHER), bank.consent(FRANCS)]

    bank.sign(bank.basket(*newer), "anna", "zuzana")

    assert [bank.status(one) for one in newer] == ["valid", "valid"]
    assert [bank.status(one) for one in older] == ["expired", "expired"]


def test_the_last_signatory_of_a_basket_need_not_be_the_customer_of_the_consent(bank: TimedBank) -> None:
    older, of_another = bank.consent(ANNAS_OTHER), bank.consent(FRANCS)
    bank.sign(older, "anna")
    bank.sign(of_another, "zuzana")
    newer = bank.consent(ANNAS_OTHER)
    payment = bank.payment(FRANCS, amount="1.00", currency="CHF")

    bank.sign(bank.basket(newer, payment), "anna", "zuzana")

    assert (bank.status(newer), bank.status(payment)) == ("valid", "ACSP")
    assert (bank.status(older), bank.status(of_another)) == ("expired", "valid")


# -- 5: a second authorisation


def opened(bank: TimedBank, thing: Thing) -> None:
    assert bank.open(thing.link or "").status == 200


def identified(bank: TimedBank, thing: Thing) -> None:
    (own,) = bank.listed(thing)
    answer = bank.ask("PUT", f"{thing.path}/authorisations/{own}", headers={"PSU-ID": "anna"}, json={})
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("use", [opened, identified])
@pytest.mark.parametrize("kind", ["payment", "consent", "consent of two customers"])
def test_an_authorisation_in_use_blocks_others(
    bank: TimedBank, kind: str, use: Callable[[TimedBank, Thing], None]
) -> None:
    wish = EMBEDDED if use is identified else REDIRECT
    if kind == "payment":
        thing = bank.payment(ANNA, wishes=wish)
    else:
        thing = bank.consent(ANNAS_OTHER, *([FRANCS] if "two" in kind else []), wishes=wish)
    use(bank, thing)

    answer = bank.start(thing, "zuzana" if "two" in kind else "anna")

    assert answer.status == 409, answer.body
    assert answer.error["code"] == "STATUS_INVALID"
    assert len(bank.listed(thing)) == 1


def test_an_authorisation_that_waits_for_its_code_blocks_others(tmp_path: Path) -> None:
    bank = a_bank(**set_to(tmp_path, confirmation=True))
    payment = bank.payment(ANNA, wishes=REDIRECT)
    (own,) = bank.listed(payment)
    assert bank.decide(own).json()["status"] == "unconfirmed"

    answer = bank.start(payment, "anna")

    assert answer.status == 409, answer.body
    assert answer.error["code"] == "STATUS_INVALID"


# -- 6: baskets that expire


@pytest.mark.parametrize("wishes", [APART, REDIRECT], ids=["apart", "with their own"])
def test_an_expired_basket_releases_its_members(bank: TimedBank, wishes: dict[str, str]) -> None:
    payment, consent = bank.payment(ANNA, wishes=wishes), bank.consent(ANNAS_OTHER, wishes=wishes)
    basket = bank.basket(payment, consent)
    bank.begin(basket, "anna")

    bank.wait(seconds=DAY)

    assert (bank.status(basket), bank.status(payment), bank.status(consent)) == ("RJCT", "RCVD", "received")
    if wishes is APART:
        assert bank.sign(payment, "anna") == "ACSP"
    else:
        (own,) = bank.listed(payment)
        assert bank.decide(own).json()["resourceStatus"] == "ACSP"


def test_the_authorisation_of_a_member_does_not_expire_in_a_basket(bank: TimedBank) -> None:
    payment = bank.payment(ANNA, wishes=REDIRECT)
    (own,) = bank.listed(payment)
    basket = bank.basket(payment)

    bank.wait(seconds=DAY + 1)
    assert (bank.sca(f"{payment.path}/authorisations/{own}"), bank.status(payment)) == ("received", "RCVD")

    bank.delete(basket)
    assert bank.status(payment) == "RCVD"
    assert bank.decide(own).json()["resourceStatus"] == bank.status(payment) == "ACSP"


def test_the_authorisation_of_a_member_cannot_succeed_in_a_basket(bank: TimedBank) -> None:
    payment = bank.payment(ANNA)
    own = bank.begin(payment, "anna", DECOUPLED)
    basket = bank.basket(payment)

    bank.wait(seconds=31)
    assert (bank.sca(own), bank.status(payment), moved(bank, ANNA)) == ("started", "RCVD", 0)

    bank.delete(basket)
    bank.wait(seconds=31)
    assert (bank.sca(own), bank.status(payment), moved(bank, ANNA)) == ("finalised", "ACSP", Decimal("-12.50"))


# -- 7: the clock change


@pytest.mark.parametrize(
    ("begins", "before", "due"),
    [
        ("2026-10-25T02:59:50+02:00", "2026-10-25T01:00:19Z", "2026-10-25T01:00:20Z"),
        ("2026-10-25T02:30:00+01:00", "2026-10-25T01:30:29Z", "2026-10-25T01:30:30Z"),
        ("2026-03-29T01:59:50+01:00", "2026-03-29T01:00:19Z", "2026-03-29T01:00:20Z"),
    ],
)
def test_a_decision_takes_the_same_time_during_the_clock_change(begins: str, before: str, due: str) -> None:
    bank = a_bank(begins)
    payment = bank.payment(ANNA)
    own = bank.begin(payment, "anna", DECOUPLED)
    assert bank.sca(own) == "started"
    assert (bank.at(before).sca(own), bank.status(payment)) == ("started", "RCVD")
    assert (bank.at(due).sca(own), bank.status(payment)) == ("finalised", "ACSP")


@pytest.mark.parametrize(
    ("begins", "before", "due"),
    [
        ("2026-10-24T12:00:00Z", "2026-10-25T11:59:59Z", "2026-10-25T12:00:00Z"),
        ("2026-10-25T00:30:00Z", "2026-10-26T00:29:59Z", "2026-10-26T00:30:00Z"),
        ("2026-03-28T12:00:00Z", "2026-03-29T11:59:59Z", "2026-03-29T12:00:00Z"),
        ("2026-03-28T01:30:00Z", "2026-03-29T01:29:59Z", "2026-03-29T01:30:00Z"),
    ],
)
def test_24_hours_are_24_hours_during_the_clock_change(begins: str, before: str, due: str) -> None:
    bank = a_bank(begins)
    payment = bank.payment(ANNA)
    own = bank.begin(payment, "anna")
    assert (bank.at(before).sca(own), bank.status(payment)) == ("psuIdentified", "RCVD")
    assert (bank.at(due).sca(own), bank.status(payment)) == ("failed", "RJCT")


# -- 8: consistent views


@pytest.mark.parametrize("signed_on", [0, 1, 2])
def test_the_answer_to_a_decision_equals_a_later_read(bank: TimedBank, signed_on: int) -> None:
    payment = bank.payment(ANNA, requestedExecutionDate=bank.day(1))
    bank.wait(days=signed_on)
    decided = bank.sign(payment, "anna")
    assert decided == bank.status(payment) == ("ACSP" if signed_on else "ACTC")


def test_the_control_interface_shows_an_expired_consent_as_expired(bank: TimedBank) -> None:
    consent = bank.consent(validUntil=bank.day())
    bank.wait(days=1)
    refused = bank.ask("GET", "/v1/accounts", consent=consent.id)
    assert (refused.status, refused.error["code"]) == (401, "CONSENT_EXPIRED")
    assert bank.kept("consents", consent.id)["status"] == "expired"


LOOKS: dict[str, Callable[[TimedBank, str], str]] = {
    "answer": TimedBank.sca,
    "state": lambda bank, own: bank.kept("authorisations", own.rpartition("/")[2])["status"],
    "control": lambda bank, own: bank.control("GET", f"sca/{own.rpartition('/')[2]}").json()["status"],
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_due_decision_is_visible_to_the_first_reader(bank: TimedBank, look: str) -> None:
    own = bank.begin(bank.payment(ANNA), "anna", DECOUPLED)
    bank.wait(seconds=30)
    assert LOOKS[look](bank, own) == ("finalised" if look == "answer" else "done")


@pytest.mark.parametrize("look", ["record", "status", "state"])
@pytest.mark.parametrize("kind", ["payment", "basket"])
def test_consequences_of_a_decision_are_visible_to_the_first_reader(bank: TimedBank, kind: str, look: str) -> None:
    payment = bank.payment(ANNA)
    bank.begin(payment if kind == "payment" else bank.basket(payment), "anna", DECOUPLED)
    bank.wait(seconds=30)
    if look == "state":
        assert bank.kept("payments", payment.id)["status"] == "ACSP"
    else:
        assert bank.get(payment.path + "/status" * (look == "status"))["transactionStatus"] == "ACSP"


@pytest.mark.parametrize(("starts", "status"), [("2026-12-01", "ACSP"), ("2026-12-02", "ACTC")])
def test_the_answer_to_a_decision_about_a_standing_order_equals_a_later_read(
    bank: TimedBank, starts: str, status: str
) -> None:
    order = bank.payment(ANNA, bodies.PERIODIC, startDate=starts, endDate="2027-06-30")
    decided = bank.sign(order, "anna")
    assert (decided, bank.status(order), bank.kept("payments", order.id)["status"]) == (status,) * 3


def test_the_page_shows_a_due_decision(bank: TimedBank) -> None:
    """The page shows a payment whose authorisation has been decided, even if it is the first to read it."""
    payment = bank.payment(ANNA)
    bank.begin(payment, "anna", DECOUPLED)
    bank.wait(seconds=31)
    assert bank.open(payment.link or "").status == 409
    assert bank.status(payment) == "ACSP"


# -- 9: bookings of one day


def test_bookings_of_one_day_are_shown_newest_first(kept_bank: TimedBank) -> None:
    amounts = ["1.00", "2.00", "3.00", "4.00", "5.00"]
    for amount in amounts:
        kept_bank.sign(kept_bank.payment(ANNA, amount=amount), "anna")
    shown = kept_bank.entries(ANNA, dateFrom=kept_bank.day())
    assert [entry["transactionAmount"]["amount"] for entry in shown] == [f"-{amount}" for amount in reversed(amounts)]


# -- 10: details


def test_a_transfer_of_zero_to_the_same_account_has_two_entry_ids(bank: TimedBank) -> None:
    body = {"amount": "0.01", "currency": "HUF", "creditorAccount": {"iban": ANNA}}
    bank.sign(bank.payment(ANNA, bodies.CROSS_BORDER, **body), "anna")
    ids = [entry["transactionId"] for entry in bank.entries(ANNA, dateFrom=bank.day())]
    assert (len(ids), len(set(ids))) == (2, 2)


def test_the_later_of_two_simultaneous_recurring_consents_survives(kept_bank: TimedBank) -> None:
    for _ in range(8):
        older, newer = kept_bank.consent(ANNAS_OTHER), kept_bank.consent(ANNAS_OTHER)
        for consent in (older, newer):
            kept_bank.begin(consent, "anna", DECOUPLED)
        kept_bank.wait(seconds=30)
        assert [kept_bank.status(consent) for consent in (older, newer)] == ["expired", "valid"]


def test_requesting_a_preconfigured_consent_again_keeps_its_authorisations(bank: TimedBank) -> None:
    consent = bank.consent(ANNA)
    assert consent.id == ANNAS_CONSENT
    own = bank.begin(consent, "anna", EMBEDDED)

    again = bank.consent(ANNA)

    assert again.id == consent.id
    assert own.rpartition("/")[2] in bank.listed(again)
    assert bank.sca(own) == "psuIdentified"


def test_the_authorisation_of_a_member_cannot_be_decided(bank: TimedBank) -> None:
    payment = bank.payment(ANNA, wishes=REDIRECT)
    (own,) = bank.listed(payment)
    bank.basket(payment)
    answer = bank.decide(own)
    assert (answer.status, bank.status(payment)) == (409, "RCVD"), answer.body


def test_a_consent_that_expires_before_its_authorisation_ends_no_other() -> None:
    bank = a_bank("2026-12-01T23:59:45")
    older = bank.consent(ANNAS_OTHER)
    bank.sign(older, "anna")
    late = bank.consent(ANNAS_OTHER, validUntil=bank.day())
    bank.begin(late, "anna", DECOUPLED)

    bank.at("2026-12-02T00:10")

    assert (bank.status(late), bank.status(older)) == ("expired", "valid")


@pytest.mark.parametrize("day", ["32", "٣", "0", "-1", " 3", "3.0", "third"])
def test_an_invalid_day_of_execution_means_the_start_day(bank: TimedBank, day: str) -> None:
    payment = bank.payment(
        ANNA,
        bodies.PERIODIC,
        startDate="2026-12-10",
        endDate="2027-06-30",
        frequency="Monthly",
        dayOfExecution=day,
    )
    assert bank.sign(payment, "anna") == "ACTC"
    bank.at("2027-02-15T10:00")
    booked = [entry["bookingDate"] for entry in bank.entries(ANNA, dateFrom="2026-12-01")]
    assert booked == ["2027-02-10", "2027-01-10", "2026-12-10"]


def test_a_standing_order_that_ended_yesterday_is_refused(bank: TimedBank) -> None:
    body = bodies.payment(bodies.PERIODIC, debtor=ANNA, startDate="2026-11-01", endDate="2026-11-30")
    answer = bank.ask("POST", f"/v1/{bodies.PERIODIC}", json=body)
    assert answer.status == 400, answer.body
    assert (answer.error["code"], answer.error["path"]) == ("PERIOD_INVALID", "/endDate")


def test_a_standing_order_that_ends_before_its_authorisation_is_not_pending_for_ever(bank: TimedBank) -> None:
    payment = bank.payment(ANNA, bodies.PERIODIC, startDate="2026-12-02", endDate="2026-12-05", dayOfExecution=None)
    bank.wait(days=10)
    decided = bank.sign(payment, "anna")
    assert decided == bank.status(payment) != "ACTC"
    assert len(bank.entries(ANNA, dateFrom="2026-12-01")) == (1 if decided == "ACSP" else 0)


def test_a_daily_order_continues_until_its_end(bank: TimedBank) -> None:
    payment = bank.payment(
        ANNA, bodies.PERIODIC, amount="0.01", startDate="2026-12-02", endDate="2030-12-01", frequency="Daily"
    )
    bank.sign(payment, "anna")
    bank.at("2030-12-31T10:00")
    assert len(bank.entries(ANNA, dateFrom="2026-12-01")) == 4 * 365 + 1
    assert moved(bank, ANNA) == Decimal("-14.61")


def test_a_balance_has_the_date_of_its_last_booking(bank: TimedBank) -> None:
    bank.sign(bank.payment(ANNA, requestedExecutionDate=bank.day(5)), "anna")
    bank.wait(days=7)
    (entry,) = bank.entries(ANNA, dateFrom="2026-12-01")
    balances = bank.balances(ANNA)
    assert entry["bookingDate"] == "2026-12-06"
    for kind in ("interimAvailable", "forwardAvailable"):
        assert entry["bookingDate"] <= balances[kind]["referenceDate"] <= bank.day()


def test_a_joint_consent_ends_older_consents_of_all_signatories(bank: TimedBank) -> None:
    of_ilse, of_lukas, of_anna = (bank.consent(*ibans) for ibans in ((ILSE, ANNA), (LUKAS, ANNA), (ANNAS_OTHER,)))
    for consent, psu in ((of_ilse, "ilse"), (of_lukas, "lukas"), (of_anna, "anna")):
        assert bank.sign(consent, psu) == "authorised"
    joint = bank.consent(JOINT)

    assert bank.sign(joint, "ilse", "lukas") == "authorised"

    assert [bank.status(one) for one in (of_ilse, of_lukas, of_anna)] == ["expired", "expired", "valid"]


def test_money_due_in_centuries_is_not_available(bank: TimedBank) -> None:
    bank.sign(
        bank.payment(ANNA, amount="500.00", creditorAccount={"iban": FELIX}, requestedExecutionDate="2990-01-01"),
        "anna",
    )
    question = {"account": {"iban": FELIX}, "instructedAmount": {"currency": "EUR", "amount": "400.00"}}
    assert bank.ask("POST", "/v1/funds-confirmations", json=question).json() == {"fundsAvailable": False}
    assert bank.status(bank.payment(FELIX, amount="400.00")) == "RJCT"


@pytest.mark.parametrize("kind", ["payment", "consent"])
def test_a_superseded_authorisation_has_no_effect_when_it_expires(bank: TimedBank, kind: str) -> None:
    thing = bank.payment(ANNA, wishes={}) if kind == "payment" else bank.consent(ANNAS_OTHER, wishes={})
    before = bank.status(thing)
    bank.wait(minutes=1)
    own = bank.begin(thing, "anna", REDIRECT)
    bank.wait(seconds=DAY - 60)
    assert (bank.status(thing), bank.sca(own)) == (before, "psuIdentified")
    bank.wait(minutes=1)
    assert (bank.status(thing), bank.sca(own)) == ({"payment": "RJCT", "consent": "rejected"}[kind], "failed")


# -- reads before anything is due


class _Counting(MemoryStore):
    """Count commits, and record which collections are listed."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.lists: list[str] = []

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Any]]:
        self.lists.append(collection)
        return super().list(session, collection)

    def commit(self, *given: Any) -> bool:
        self.commits += 1
        return super().commit(*given)


def test_a_read_in_a_new_session_writes_nothing(bank: TimedBank) -> None:
    store = _Counting()
    bank = a_bank(store=store)
    bank.get(f"/v1/consents/{ANNAS_CONSENT}/status")
    bank.get("/v1/accounts", consent=ANNAS_CONSENT)
    assert (store.commits, store.counts()) == (0, {})


def test_no_collection_is_listed_before_something_is_due() -> None:
    store = _Counting()
    bank = a_bank(store=store)
    payment = bank.payment(ANNA)
    bank.begin(payment, "anna", DECOUPLED)
    bank.wait(seconds=29)
    store.commits, store.lists = 0, []

    assert bank.status(payment) == "RCVD"
    assert (store.commits, store.lists) == (0, [])

    bank.wait(seconds=1)
    assert (bank.status(payment), bool(store.lists)) == ("ACSP", True)
    store.commits, store.lists = 0, []
    assert (bank.status(payment), store.commits, store.lists) == ("ACSP", 0, [])


def test_due_events_are_stored_even_if_the_request_fails() -> None:
    store = _Counting()
    bank = a_bank(store=store)
    consent = bank.consent(ANNAS_OTHER, validUntil=bank.day())
    bank.wait(days=2)
    store.commits = 0
    for _ in range(3):
        assert bank.ask("GET", "/v1/accounts", consent=consent.id).status == 401
    assert store.commits <= 1
    assert store.read("default", "consents", consent.id)[1]["status"] == "expired"


def test_a_preconfigured_consent_survives_newer_ones_years_and_a_restart(tmp_path: Path) -> None:
    bank = a_bank(store=SqliteStore(tmp_path / "state.db"))
    before = bank.get(f"/v1/consents/{ANNAS_CONSENT}")
    assert bank.sign(bank.consent(ANNAS_OTHER), "anna") == "authorised"
    assert bank.get(f"/v1/consents/{ANNAS_CONSENT}") == before
    assert bank.consent(ANNA).id == ANNAS_CONSENT

    later = a_bank("2028-01-01T10:00", store=SqliteStore(tmp_path / "state.db"))

    assert later.get(f"/v1/consents/{ANNAS_CONSENT}/status") == {"consentStatus": "valid"}
    assert later.get(f"/v1/consents/{ANNAS_CONSENT}")["consentStatus"] == "valid"


@pytest.mark.parametrize(
    ("collection", "document"),
    [
        ("authorisations", {"status": "deciding", "expires": "2026-12-01T09:00:00+01:00"}),
        ("authorisations", {"status": "deciding", "expires": "soon"}),
        ("authorisations", {"colour": "blue"}),
        ("consents", {"status": "authorised", "valid_until": "2026-11-30"}),
        ("consents", {"status": "authorised", "valid_until": 7}),
        ("payments", {"status": "ACTC", "kind": "single", "execute_on": 7}),
        ("payments", {"status": "ACTC", "kind": "standing", "schedule": {"start": "x"}}),
    ],
)
def test_documents_written_by_others_do_not_stop_the_bank(
    bank: TimedBank, collection: str, document: dict[str, Any]
) -> None:
    assert bank.control("PUT", f"state/{collection}/mine", document).status == 201
    payment = bank.payment(ANNA)
    bank.begin(payment, "anna", DECOUPLED)
    bank.wait(days=2)
    assert bank.status(payment) == "ACSP"


def test_documents_written_through_the_control_interface_become_due_too(bank: TimedBank) -> None:
    consent = bank.consent(ANNAS_OTHER)
    document = {**bank.kept("consents", consent.id), "valid_until": "2026-12-03"}
    bank.control("PUT", f"state/consents/{consent.id}", document)
    bank.at("2026-12-03T23:59:59")
    assert bank.status(consent) == "received"
    bank.at("2026-12-04T00:00")
    assert bank.status(consent) == "expired"


def test_a_clock_that_is_set_back_books_the_same_amount(kept_bank: TimedBank) -> None:
    order = kept_bank.payment(ANNA, bodies.PERIODIC, amount="1.00", startDate="2026-12-02", frequency="Daily")
    kept_bank.sign(order, "anna")
    kept_bank.at("2026-12-05T10:00").at(MORNING)
    assert (moved(kept_bank, ANNA), kept_bank.status(order)) == (Decimal("-4.00"), "ACSP")
    assert [one["bookingDate"] for one in kept_bank.entries(ANNA, "pending")][:1] == ["2026-12-06"]
    kept_bank.at("2026-12-07T10:00")
    assert moved(kept_bank, ANNA) == Decimal("-6.00")


# -- ids of a seed


def _made(bank: TimedBank) -> list[str]:
    payment, consent = bank.payment(ANNA), bank.consent(ANNAS_OTHER, wishes={})
    return [payment.id, consent.id, bank.basket(payment).id, *bank.listed(consent)]


def test_a_seed_produces_the_same_ids_again(kept_bank: TimedBank) -> None:
    seeded = {"frozen": MORNING, "seed": 7}
    body = kept_bank.control("PUT", "clock", seeded).json()
    assert (body["frozen"], body["seed"]) == ("2026-12-01T10:00:00+01:00", "7")
    first = _made(kept_bank)
    assert kept_bank.control("PUT", "clock", seeded).status == 200
    more = _made(kept_bank)
    assert len({*first, *more}) == 8  # ids are unique in a session

    kept_bank.control("POST", "reset")
    kept_bank.control("PUT", "clock", seeded)
    assert _made(kept_bank) == first
    kept_bank.control("POST", "reset")
    kept_bank.control("PUT", "clock", {**seeded, "seed": "8"})
    assert not {*_made(kept_bank)} & {*first}


def test_only_a_frozen_clock_has_a_seed(bank: TimedBank) -> None:
    bank.control("PUT", "clock", {"frozen": MORNING, "seed": "spring"})
    assert bank.control("POST", "clock", {"move": "1d"}).json()["seed"] == "spring"
    for other in ({"shift": 0}, {"real": True}, {"frozen": MORNING}):
        assert bank.control("PUT", "clock", other).json()["seed"] is None
    seeds = ("", True, [], 1.5, "x" * 201)
    for wrong in ({"real": True, "seed": 1}, {"seed": 1}, *({"frozen": MORNING, "seed": seed} for seed in seeds)):
        answer = bank.control("PUT", "clock", wrong)
        assert (answer.status, answer.json()["error"]) == (400, "body-invalid")


# -- business days


@pytest.mark.parametrize(
    ("wanted", "executes"),
    [
        ("2026-12-03", "2026-12-03"),
        ("2026-12-05", "2026-12-07"),  # a Saturday
        ("2026-12-25", "2026-12-28"),  # Christmas, Saint Stephen's day, a Sunday
        ("2027-03-26", "2027-03-30"),  # Good Friday to Easter Monday
        ("2027-05-01", "2027-05-03"),
        ("2026-12-08", "2026-12-08"),  # a holiday only in Vienna
    ],
)
def test_payments_are_executed_on_t2_days_if_the_dialect_says_so(tmp_path: Path, wanted: str, executes: str) -> None:
    bank = a_bank(layers=with_options(tmp_path, {"initiate-payment": {"business_days": "T2"}}))
    payment = bank.payment(ANNA, requestedExecutionDate=wanted)
    assert bank.sign(payment, "anna") == "ACTC"
    bank.at(read_time(f"{executes}T00:00") - timedelta(seconds=1))
    assert bank.status(payment) == "ACTC"
    bank.wait(seconds=1)
    assert (bank.status(payment), [one["bookingDate"] for one in bank.entries(ANNA)][:1]) == ("ACSP", [executes])


def test_several_due_dates_on_the_same_business_day_execute_an_order_once(tmp_path: Path) -> None:
    bank = a_bank(layers=with_options(tmp_path, {"initiate-periodic-payment": {"business_days": "T2"}}))
    order = bank.payment(ANNA, bodies.PERIODIC, amount="1.00", startDate="2026-12-04", frequency="Daily")
    bank.sign(order, "anna")
    bank.at("2026-12-08T10:00")
    days = [one["bookingDate"] for one in bank.entries(ANNA, dateFrom="2026-12-01")]
    assert days == ["2026-12-08", "2026-12-07", "2026-12-04"]


def test_by_default_payments_are_executed_on_any_day(bank: TimedBank) -> None:
    payment = bank.payment(ANNA, requestedExecutionDate="2026-12-25")
    bank.sign(payment, "anna")
    bank.at("2026-12-25T00:00")
    assert bank.status(payment) == "ACSP"
