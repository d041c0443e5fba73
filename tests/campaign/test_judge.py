"""The oracles: what each calls a finding, and what it lets pass."""

import pytest

from tests.campaign.seeing import call, observed
from xs2a_sandbox.features.campaign.judge import Case, Learned, findings
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

BALANCES = [call("balances", f"/v1/accounts/{name}/balances", number=number) for number, name in enumerate("ABC")]
USUAL = observed(*BALANCES, payments={"E-1": 1})
RESET = InjectedFault("reset", "balances", 2)


def judged(
    run: Observed, after: Observed | None = None, *, usual: Observed = USUAL, fault: InjectedFault = RESET, **more: int
) -> list[str]:
    verdicts = findings(Case(Learned(usual, usual, more.get("frequency")), fault, run, after))
    return [f"{one.oracle}: {one.text}" for one in verdicts]


def test_a_run_that_does_as_usual_is_good() -> None:
    assert judged(USUAL, USUAL) == []


def test_the_exit_status_is_no_finding() -> None:
    assert judged(observed(*BALANCES, status=1), USUAL) == []


def test_a_test_that_knows_the_fault_is_heard() -> None:
    assertions = ({"test": "test_a", "text": "assert 1 == 2"}, {"test": "", "text": "no word to the customer"})

    assert judged(observed(*BALANCES, assertions=assertions)) == [
        "assertion: test_a: assert 1 == 2",
        "assertion: no word to the customer",
    ]


@pytest.mark.parametrize(
    ("payments", "told"),
    [
        ({"E-1": 2}, ["payments: 2 payments of the intent E-1"]),
        ({"E-1": 1, "E-2": 1}, ["payments: 1 payment more than where nothing goes wrong"]),
        ({"": 2}, ["payments: 1 payment more than where nothing goes wrong"]),
        ({}, []),
        ({"E-9": 1}, []),
    ],
)
def test_one_intent_is_one_payment(payments: dict[str, int], told: list[str]) -> None:
    assert judged(observed(*BALANCES, payments=payments)) == told


def test_who_has_declined_may_begin_again() -> None:
    twice = observed(*BALANCES, payments={"E-1": 2}, rejected={"E-1": 1})

    assert judged(twice, fault=InjectedFault("decline", "sca", 1)) == []
    assert judged(twice) == ["payments: 2 payments of the intent E-1"]


@pytest.mark.parametrize(
    ("usual", "after", "told"),
    [
        ({"E-1": 1, "E-2": 1}, {"E-1": 2}, ["payments: together with the next run 2 payments of the intent E-1"]),
        ({"E-1": 2}, {"E-1": 2}, []),
        ({"E-1": 1, "E-2": 1}, {"E-1": 1, "E-2": 1}, []),
        (
            {"E-1": 1},
            {"E-1": 1, "E-2": 1},
            ["payments: together with the next run 1 payment more than where nothing goes wrong"],
        ),
        ({"E-1": 1}, {"E-1": 1}, []),
    ],
)
def test_the_next_run_does_not_pay_again(usual: dict[str, int], after: dict[str, int], told: list[str]) -> None:
    learned = Learned(USUAL, observed(all_payments=usual))
    once, next_run = observed(*BALANCES, payments={"E-1": 1}), observed(all_payments=after)
    twice = observed(*BALANCES, payments={"E-1": 2})

    assert [f"{one.oracle}: {one.text}" for one in findings(Case(learned, RESET, once, next_run))] == told
    assert findings(Case(learned, RESET, once)) == []
    # What the run with the fault has done already is said once.
    assert len(findings(Case(learned, RESET, twice, next_run))) == 1


def test_the_next_run_says_what_failed() -> None:
    ended = "recovery: the next run, in which nothing goes wrong, ends with status 1: "
    tests = tuple({"test": f"test_{number}", "text": "assert 1\n == 2"} for number in range(5))

    assert judged(USUAL, observed(status=1, assertions=tests[:1])) == [f"{ended}test_0: assert 1 == 2"]
    assert judged(USUAL, observed(status=1, assertions=tests))[0].endswith("test_2: assert 1 == 2; and 2 more")
    assert judged(USUAL, observed(status=1, output="one\nthe connection is parked\n\n")) == [
        f"{ended}the connection is parked"
    ]


def test_the_next_run_recovers() -> None:
    ended = "recovery: the next run, in which nothing goes wrong, ends with status 1"
    hung = "recovery: the next run, in which nothing goes wrong, hangs"

    assert judged(USUAL, observed(status=1)) == [ended]
    assert judged(USUAL, observed(status=-9, hung=True)) == [hung]


def test_nothing_is_said_of_the_next_run_where_no_second_one_passes() -> None:
    case = Case(Learned(USUAL, observed(status=1)), RESET, USUAL, observed(status=1))

    assert findings(case) == []


def test_calls_are_bounded() -> None:
    polls = [call("status", number=number) for number in range(12)]

    assert judged(observed(*BALANCES, *polls[:10])) == []
    assert judged(observed(*BALANCES, *polls)) == ["calls: status is called 12 times, 0 times where nothing goes wrong"]
    assert judged(observed(*BALANCES, is_cut=True)) == ["calls: more calls than the journal of the sandbox holds"]


@pytest.mark.parametrize(("status", "is_found"), [(400, True), (429, False), (200, False)])
def test_what_is_refused_is_not_asked_alike_again_and_again(status: int, is_found: bool) -> None:
    calls = [call("transactions", "/v1/t?dateFrom=2025-01-01", status=status) for _ in range(4)]
    finding = "calls: GET /v1/t?dateFrom=2025-01-01 is asked 4 times alike, and refused with 400 each time"

    assert judged(observed(*BALANCES, *calls)) == ([finding] if is_found else [])
    assert judged(observed(*BALANCES, *calls[:3])) == []


@pytest.mark.parametrize(("second", "is_found"), [(1.0, True), (2.0, False)])
def test_who_is_told_to_wait_waits(second: float, is_found: bool) -> None:
    limited = call("balances", "/v1/accounts/B/balances", status=429, answered={"Retry-After": "2"})
    again = call("balances", "/v1/accounts/B/balances", second=second)
    finding = "retry-after: balances is called again after 1.0 s: the bank asked to wait for 2 s"

    assert judged(observed(BALANCES[0], limited, again, BALANCES[2])) == ([finding] if is_found else [])


def test_nothing_is_read_more_often_than_the_consent_allows() -> None:
    alone = [call("list", headers={"Consent-ID": "c"}) for _ in range(5)]
    finding = "frequency: /v1/list is read 5 times without the customer: the consent allows 4 a day"

    assert judged(observed(*BALANCES, *alone), frequency=4) == [finding]
    assert judged(observed(*BALANCES, *alone), frequency=5) == []
    assert judged(observed(*BALANCES, *[call("list")] * 5), frequency=4) == []


def test_other_accounts_are_still_read() -> None:
    stops = observed(*BALANCES[:2])
    finding = "accounts: /v1/accounts/C/balances is read less often than usual, as /v1/accounts/B/balances failed"

    assert judged(stops) == [finding]
    assert judged(stops, fault=InjectedFault("consent-expired", "balances", 2, status=401)) == []
    assert judged(stops, fault=InjectedFault("consent expires", "balances", 2)) == []
    assert judged(stops, fault=InjectedFault("pending-refused")) == []


def test_hanging_and_crashing() -> None:
    assert judged(observed(*BALANCES, status=-9, hung=True)) == ["hang: it does not end within 1 s"]
    assert judged(observed(*BALANCES, status=-11)) == ["crash: it died of SIGSEGV"]
