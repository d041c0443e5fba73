"""The sandbox against a model of its bank, in histories that hypothesis makes."""

import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.contract import bodies, facts
from tests.model.bank_model import Authorisation, Bank, Consent, Resource
from tests.model.histories import History

ANNA, FRANCS, ZUZANA = "AT449880000010204729", "AT519880000030577028", "AT049880000030577001"
ILSE, JOINT, FELIX, MIRA = (
    "AT719880000050033219",
    "AT669880000010263115",
    "AT149880000040190006",
    "AT479880000060071502",
)
STARTS = [
    "2026-12-01T10:00:00+01:00",
    "2026-10-25T02:59:50+02:00",
    "2026-10-25T02:30:00+01:00",
    "2026-10-24T23:59:40+02:00",
    "2026-03-29T01:59:50+01:00",
    "2026-03-28T12:00:00+01:00",
    "2028-02-28T23:59:50+01:00",
    "2026-12-31T23:59:45+01:00",
]
SECOND_OF_TWO = st.sampled_from([0, 0, 0, 1])
PICK = st.integers(0, 7)
DEBTORS = st.sampled_from([ANNA, ANNA, JOINT, FELIX, MIRA, ZUZANA, ILSE])
CREDITORS = st.sampled_from([facts.foreign_iban(), ANNA, FRANCS, JOINT, ILSE])
ACCOUNTS = st.sampled_from([(ANNA,), (ANNA,), (FRANCS,), (JOINT,), (MIRA,), (ANNA, FRANCS), (ILSE, ANNA), (FELIX,)])
APPROACHES = st.sampled_from(["redirect", "decoupled", "embedded"])
BEGINS = st.one_of(st.none(), APPROACHES)
SPANS = st.sampled_from(
    [1, 10, 19, 29, 30, 31, 60, 3600, 5400, 43200, 86399, 86400, 86401, 3 * 86400, 20 * 86400, 70 * 86400]
)


FOLLOWING = {"received": "identify", "psuIdentified": "password", "psuAuthenticated": "method"}


class Histories(RuleBasedStateMachine):
    """What an app, payment users, a tester and the time do."""

    history: History

    @initialize(start=st.sampled_from(STARTS), seeded=st.booleans())
    def begin(self, start: str, seeded: bool) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.history = History(start, Path(self.directory.name), seeded=seeded)
        self.history.begin()

    def teardown(self) -> None:
        if hasattr(self, "history"):
            try:
                if not self.history.broken:
                    self.history.end()
            finally:
                self.history.close()
                self.directory.cleanup()

    # -- what there is

    def bank(self, who: int) -> Bank:
        return self.history.models[who]

    def resources(self, who: int) -> list[tuple[Resource, str]]:
        """What could be authorised, the newest last, and as what."""
        bank = self.bank(who)
        made: list[Resource] = [*bank.consents, *bank.payments, *bank.baskets]
        several = [
            (one, one.kind) for one in made if not (isinstance(one, Consent) and (one.preconfigured or not one.holders))
        ]
        cancelled = [(one, "cancellation") for one in bank.payments if one.cancelling]
        return sorted([*several, *cancelled], key=lambda one: one[0].number)

    def authorisations(self, who: int) -> list[Authorisation]:
        several = [
            one
            for resource, family in self.resources(who)
            for one in resource.authorisations.get(family, ())
            if resource.status != "deleted"
        ]
        return sorted(several, key=lambda one: one.number)

    @staticmethod
    def newest(several: Sequence[Any], pick: int) -> Any:
        """The newest ones most of the time, as the pick is small in simple histories."""
        return several[-1 - pick % len(several)] if several else None

    # -- the app

    @rule(
        who=SECOND_OF_TWO,
        debtor=DEBTORS,
        creditor=CREDITORS,
        money=st.sampled_from(
            [("12.50", "EUR"), ("0.01", "EUR"), ("20.00", "EUR"), ("5.00", "CHF"), ("999999.00", "EUR")]
        ),
        product=st.sampled_from([bodies.SEPA, bodies.SEPA, bodies.INSTANT, bodies.CROSS_BORDER, bodies.BULK]),
        days=st.sampled_from([None, None, 0, 1, 1, 2, 30, -1]),
        wish=BEGINS,
    )
    def pay(
        self,
        who: int,
        debtor: str,
        creditor: str,
        money: tuple[str, str],
        product: str,
        days: int | None,
        wish: str | None,
    ) -> None:
        self.history.pay(who, debtor, creditor, *money, product, days, wish)

    @rule(
        who=SECOND_OF_TWO,
        debtor=DEBTORS,
        creditor=CREDITORS,
        starts=st.sampled_from([0, 1, 1, 5, 30, -3]),
        ends=st.sampled_from([None, 0, 1, 10, 400, -1]),
        frequency=st.sampled_from(
            ["Monthly", "Daily", "Weekly", "EveryTwoWeeks", "Quarterly", "Annual", "Fortnightly"]
        ),
        day=st.sampled_from([None, None, "1", "15", "29", "31", "32", "0", "٣"]),
        wish=BEGINS,
    )
    def order(
        self,
        who: int,
        debtor: str,
        creditor: str,
        starts: int,
        ends: int | None,
        frequency: str,
        day: str | None,
        wish: str | None,
    ) -> None:
        self.history.order(who, debtor, creditor, "0.10", starts, ends, frequency, day, wish)

    @rule(
        who=SECOND_OF_TWO,
        accounts=ACCOUNTS,
        days=st.sampled_from([9999, 9999, 0, 1, 30, -1]),
        recurring=st.sampled_from([True, True, False]),
        wish=BEGINS,
    )
    def consent(self, who: int, accounts: tuple[str, ...], days: int, recurring: bool, wish: str | None) -> None:
        self.history.consent(who, accounts, days, recurring=recurring, wish=wish)

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(
        who=SECOND_OF_TWO,
        picks=st.lists(PICK, min_size=1, max_size=3, unique=True),
        waiting=st.sampled_from([True, True, True, False]),
    )
    def basket(self, who: int, picks: list[int], waiting: bool) -> None:
        several = [
            one
            for one, family in self.resources(who)
            if family in ("payment", "consent")
            and (not waiting or (one.status in ("RCVD", "received") and not one.basket))
        ]
        members = dict.fromkeys(self.newest(several, pick) for pick in picks) if several else {}
        if members:
            self.history.basket(who, tuple(members))

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(who=SECOND_OF_TWO, pick=PICK)
    def delete(self, who: int, pick: int) -> None:
        if one := self.newest(self.resources(who), pick):
            self.history.delete(who, one[0])

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(who=SECOND_OF_TWO, pick=PICK, psu=st.sampled_from([None, 0, 0, 1, 1, -1]), wish=APPROACHES)
    def start(self, who: int, pick: int, psu: int | None, wish: str) -> None:
        if one := self.newest(self.resources(who), pick):
            resource, family = one
            holders = resource.holders
            customer = None if psu is None else "lukas" if psu < 0 else holders[psu % len(holders)]
            self.history.start_authorisation(who, resource, family, customer, wish)

    @precondition(lambda self: any(map(self.authorisations, (0, 1))))
    @rule(
        who=SECOND_OF_TWO,
        pick=PICK,
        step=st.sampled_from(["identify", "password", "method", "otp", "next", "next", "next", "next"]),
        psu=st.integers(0, 1),
        right=st.sampled_from([True, True, True, False]),
    )
    def put(self, who: int, pick: int, step: str, psu: int, right: bool) -> None:
        if one := self.newest(self.authorisations(who), pick):
            step = FOLLOWING.get(one.status, "otp") if step == "next" else step
            self.history.put(who, one, step, one.resource.holders[psu % len(one.resource.holders)], right)

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(
        who=SECOND_OF_TWO,
        pick=PICK,
        psu=st.integers(0, 1),
        mistakes=st.sampled_from([(0, 0), (0, 0), (1, 2), (2, 0), (0, 3), (3, 0)]),
        stops=st.sampled_from([None, None, None, "psuIdentified", "psuAuthenticated", "scaMethodSelected"]),
    )
    def log_in(self, who: int, pick: int, psu: int, mistakes: tuple[int, int], stops: str | None) -> None:
        """Embedded, step by step, with wrong passwords and wrong one-time passwords, and perhaps not to the end."""
        if one := self.newest(self.resources(who), pick):
            resource, family = one
            before = self.authorisations(who)
            customer = resource.holders[psu % len(resource.holders)]
            self.history.start_authorisation(who, resource, family, customer, "embedded")
            wrong = dict(zip(("psuIdentified", "scaMethodSelected"), mistakes, strict=True))
            for new in [one for one in self.authorisations(who) if one not in before and one.approach == "embedded"]:
                while new.open and new.status != stops:
                    right = wrong.get(new.status, 0) == 0
                    if not right:
                        wrong[new.status] -= 1
                    steps = len(self.history.steps)
                    self.history.put(who, new, FOLLOWING.get(new.status, "otp"), customer, right)
                    if len(self.history.steps) == steps:
                        return

    @precondition(lambda self: any(bank.payments for bank in self.history.models))
    @rule(who=SECOND_OF_TWO, pick=PICK)
    def read(self, who: int, pick: int) -> None:
        if payment := self.newest(self.bank(who).payments, pick):
            self.history.read(who, payment)

    # -- payment users

    @precondition(lambda self: any(map(self.authorisations, (0, 1))))
    @rule(
        who=SECOND_OF_TWO,
        pick=PICK,
        decision=st.sampled_from(["approve", "approve", "approve", "decline", "timeout", "error"]),
    )
    def decide(self, who: int, pick: int, decision: str) -> None:
        if one := self.newest(self.authorisations(who), pick):
            self.history.decide(who, one, decision)

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(who=SECOND_OF_TWO, pick=PICK, wish=st.sampled_from(["redirect", "decoupled"]))
    def sign(self, who: int, pick: int, wish: str) -> None:
        """All who have to sign do."""
        if one := self.newest(self.resources(who), pick):
            resource, family = one
            for psu in resource.holders if resource.joint else resource.holders[:1]:
                before = self.authorisations(who)
                self.history.start_authorisation(who, resource, family, psu, wish)
                for new in [one for one in self.authorisations(who) if one not in before]:
                    self.history.decide(who, new, "approve")

    @precondition(lambda self: any(map(self.resources, (0, 1))))
    @rule(who=SECOND_OF_TWO, pick=PICK, decision=st.sampled_from(["approve", "approve", None, "decline"]))
    def visit(self, who: int, pick: int, decision: str | None) -> None:
        if one := self.newest(self.resources(who), pick):
            resource, family = one
            self.history.visit(who, resource, family, decision)

    # -- the time

    @rule(who=SECOND_OF_TWO, seconds=SPANS, back=st.sampled_from([False, False, True]))
    def wait(self, who: int, seconds: int, back: bool) -> None:
        """For the session's clock alone, or where it runs, perhaps in real time."""
        if not back and self.history.running[who] is not None and seconds % 2:
            self.history.real_time(seconds)
        else:
            self.history.wait(who, -seconds if back else seconds)

    @rule(who=SECOND_OF_TWO, seconds=st.sampled_from([-20, -10, -1, 0, 20]), runs=st.booleans())
    def wait_for_midnight(self, who: int, seconds: int, runs: bool) -> None:
        self.history.clock(who, self.history.next_midnight(who) + timedelta(seconds=seconds), runs=runs)

    @precondition(lambda self: len(self.history.steps) % 5 == 4)
    @rule()
    def restart(self) -> None:
        self.history.restart()


def profile(**changes: Any) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(
        **{
            "deadline": None,
            "database": None,
            "suppress_health_check": checks,
            "print_blob": False,
            "report_multiple_bugs": False,
            **changes,
        }
    )


def test_histories() -> None:
    """Always the same few; `make model` makes others, for as long as you like, and shortens what shows a difference."""
    few = profile(derandomize=True, max_examples=8, stateful_step_count=30, phases=[Phase.generate])
    run_state_machine_as_test(Histories, settings=few)
