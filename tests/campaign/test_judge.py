"""The oracles: what each reports as a finding, and what it accepts."""

from dataclasses import replace

import pytest

from tests.campaign.seeing import call, observed
from xs2a_sandbox.features.campaign import judge
from xs2a_sandbox.features.campaign.case import Case, Learned
from xs2a_sandbox.features.campaign.judge import findings
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import SeenCall
from xs2a_sandbox.features.campaign.sent import SentEntries, SentEntry
from xs2a_sandbox.features.campaign.stored import KeptEntries
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

BALANCES = [call("balances", f"/v1/accounts/{name}/balances", number=number) for number, name in enumerate("ABC")]
USUAL = observed(*BALANCES, payments={"E-1": 1})
RESET = InjectedFault("reset", "balances", 2)
TOGETHER = ", because the run after it paid again."


def judged(
    run: Observed, after: Observed | None = None, *, usual: Observed = USUAL, fault: InjectedFault = RESET, **more: int
) -> list[str]:
    verdicts = findings(Case(Learned(usual, usual, more.get("frequency")), fault, run, after))
    return [f"{one.oracle}: {one.text}" for one in verdicts]


def test_an_unchanged_run_is_good() -> None:
    assert judged(USUAL, USUAL) == []


def test_the_exit_status_does_not_count_as_a_finding() -> None:
    assert judged(observed(*BALANCES, status=1), USUAL) == []


def test_assertions_of_the_command_are_findings() -> None:
    assertions = ({"test": "test_a", "text": "assert 1 == 2"}, {"test": "", "text": "no word to the customer"})

    assert judged(observed(*BALANCES, assertions=assertions)) == [
        "assertion: test_a: assert 1 == 2",
        "assertion: no word to the customer",
    ]


@pytest.mark.parametrize(
    ("payments", "told"),
    [
        ({"E-1": 2}, ["payments: The app made 2 payments with the end-to-end identification E-1."]),
        ({"E-1": 1, "E-2": 1}, ["payments: The app made 1 payment more than without the fault."]),
        ({"": 2}, ["payments: The app made 1 payment more than without the fault."]),
        ({}, []),
        ({"E-9": 1}, []),
    ],
)
def test_two_payments_with_one_intent_are_found(payments: dict[str, int], told: list[str]) -> None:
    assert judged(observed(*BALANCES, payments=payments)) == told


def test_a_rejected_payment_may_be_repeated() -> None:
    twice = observed(*BALANCES, payments={"E-1": 2}, rejected={"E-1": 1})

    assert judged(twice, fault=InjectedFault("decline", "sca", 1)) == []
    assert judged(twice) == ["payments: The app made 2 payments with the end-to-end identification E-1."]


@pytest.mark.parametrize(
    ("usual", "after", "told"),
    [
        (
            {"E-1": 1, "E-2": 1},
            {"E-1": 2},
            [f"payments: The app made 2 payments with the end-to-end identification E-1{TOGETHER}"],
        ),
        ({"E-1": 2}, {"E-1": 2}, []),
        ({"E-1": 1, "E-2": 1}, {"E-1": 1, "E-2": 1}, []),
        (
            {"E-1": 1},
            {"E-1": 1, "E-2": 1},
            [f"payments: The app made 1 payment more than without the fault{TOGETHER}"],
        ),
        ({"E-1": 1}, {"E-1": 1}, []),
    ],
)
def test_a_payment_repeated_in_the_next_run_is_found(
    usual: dict[str, int], after: dict[str, int], told: list[str]
) -> None:
    learned = Learned(USUAL, observed(all_payments=usual))
    once, next_run = observed(*BALANCES, payments={"E-1": 1}), observed(all_payments=after)
    twice = observed(*BALANCES, payments={"E-1": 2})

    assert [f"{one.oracle}: {one.text}" for one in findings(Case(learned, RESET, once, next_run))] == told
    assert findings(Case(learned, RESET, once)) == []
    # A finding in the run with the fault is reported once.
    assert len(findings(Case(learned, RESET, twice, next_run))) == 1


def test_the_finding_of_the_next_run_shows_its_failure() -> None:
    ended = "recovery: The run after it, without the fault, ended with status 1: "
    tests = tuple({"test": f"test_{number}", "text": "assert 1\n == 2"} for number in range(5))

    assert judged(USUAL, observed(*BALANCES, status=1, assertions=tests[:1])) == [f"{ended}test_0: assert 1 == 2"]
    assert judged(USUAL, observed(*BALANCES, status=1, assertions=tests))[0].endswith(
        "test_2: assert 1 == 2; and 2 more"
    )
    assert judged(USUAL, observed(*BALANCES, status=1, output="one\nthe connection is parked\n\n")) == [
        f"{ended}the connection is parked"
    ]


def test_a_failure_of_the_next_run_is_a_finding() -> None:
    ended = "recovery: The run after it, without the fault, ended with status 1."
    hung = "recovery: The run after it, without the fault, did not end in time."

    assert judged(USUAL, observed(*BALANCES, status=1)) == [ended]
    assert judged(USUAL, observed(*BALANCES, status=-9, hung=True)) == [hung]


def test_reads_that_are_missing_in_the_next_run_are_found() -> None:
    reads = [call("account-list", "/v1/accounts"), call("account-balances", "/v1/accounts/A/balances")]
    usual, other = observed(*reads), observed(call("consent-status"), call("account-list", "/v1/accounts"))
    failed = replace(other, ended=replace(other.ended, status=1, output="not all accounts are read"))
    missing = "recovery: The app no longer calls account-balances"

    assert judged(usual, other, usual=usual) == [f"{missing} in the run after it, without the fault."]
    assert judged(usual, failed, usual=usual) == [
        f"{missing}. The run after it, without the fault, ended with status 1: not all accounts are read"
    ]
    for fault in (InjectedFault("decline", "sca", 1), InjectedFault("limit", "account-list", 1, status=429)):
        assert judged(usual, other, usual=usual, fault=fault) == []


def test_an_ended_consent_that_is_used_again_is_found() -> None:
    read = call("account-list", "/v1/accounts")
    refused = call("account-list", "/v1/accounts", status=401)
    new = call("create-consent", "/v1/consents", method="POST", consent=None, headers={}, status=201)
    expires = InjectedFault("consent expires", "account-list", 1)
    finding = (
        "consent: The app used the ended consent again in the run after it, 2 times (GET /v1/accounts got 401), and "
        "did not ask the customer for a new one."
    )

    def judge_next(*calls: SeenCall) -> list[str]:
        return judged(observed(refused), observed(*calls), usual=observed(read), fault=expires)

    assert judge_next(refused, refused) == [finding]
    assert judge_next(refused, new) == []
    assert judge_next(read) == []
    # After another error the consent is still valid.
    assert judged(observed(refused), observed(refused), usual=observed(read)) == []


def test_the_next_run_is_not_judged_if_it_always_fails() -> None:
    case = Case(Learned(USUAL, observed(status=1)), RESET, USUAL, observed(status=1))

    assert findings(case) == []


def test_too_many_calls_are_found() -> None:
    polls = [call("status", number=number) for number in range(12)]

    assert judged(observed(*BALANCES, *polls[:10])) == []
    assert judged(observed(*BALANCES, *polls)) == ["calls: The app called status 12 times; without the fault: never."]
    assert judged(observed(*BALANCES, is_cut=True)) == [
        "calls: The app made more calls than the journal of the sandbox holds."
    ]


def test_a_run_that_was_ended_because_of_its_calls_is_found() -> None:
    flood = observed(*BALANCES, *(call(f"other-{number}", number=number) for number in range(30)), status=-9)
    decided = replace(flood, ended=replace(flood.ended, was_decided=True))

    assert judge.allow_all_calls(Learned(USUAL, USUAL)) == 2 * 3 + 10
    assert judged(decided) == ["calls: The app made 33 calls and went on; without the fault: 3 calls."]
    assert judged(USUAL, decided)[0].endswith("The run after it, without the fault, did not end in time.")


@pytest.mark.parametrize(("times", "is_found"), [(6, True), (5, False)])
def test_reading_the_same_page_again_and_again_is_found(times: int, is_found: bool) -> None:
    entry = {"transactionId": "E-1", "transactionAmount": {"amount": "1.00"}}
    last = "/v1/accounts/A/transactions?page=3"

    def pages(count: int, *booked: object) -> list[SeenCall]:
        return [
            call("account-transactions", last, answer={"transactions": {"booked": [*booked]}}) for _ in range(count)
        ]

    usual, finding = (
        observed(*pages(2, entry)),
        f"paging: The app sent GET {last} 6 times, and got the same entries each time.",
    )
    quirk = InjectedFault("paging-never-ends")

    assert judged(observed(*pages(times, entry)), usual=usual, fault=quirk) == ([finding] if is_found else [])
    assert judged(observed(*pages(times)), usual=usual, fault=quirk) == [], "waiting for the first entries"
    flood = judged(observed(*pages(40, entry)), usual=usual, fault=quirk)
    assert [text.partition(":")[0] for text in flood] == ["paging"], "not also as too many calls"


@pytest.mark.parametrize(("status", "is_found"), [(400, True), (429, False), (200, False)])
def test_repeating_a_refused_request_is_found(status: int, is_found: bool) -> None:
    calls = [call("transactions", "/v1/t?dateFrom=2025-01-01", status=status) for _ in range(4)]
    finding = (
        "calls: The app sent GET /v1/t?dateFrom=2025-01-01 4 times unchanged, "
        "and the bank refused it with 400 each time."
    )

    assert judged(observed(*BALANCES, *calls)) == ([finding] if is_found else [])
    assert judged(observed(*BALANCES, *calls[:3])) == []


@pytest.mark.parametrize(("second", "is_found"), [(1.0, True), (2.0, False)])
def test_ignoring_retry_after_is_found(second: float, is_found: bool) -> None:
    limited = call("balances", "/v1/accounts/B/balances", status=429, answered={"Retry-After": "2"})
    again = call("balances", "/v1/accounts/B/balances", second=second)
    finding = "retry-after: The app sent GET /v1/accounts/B/balances again after 1.0 s; the bank asked to wait for 2 s."

    assert judged(observed(BALANCES[0], limited, again, BALANCES[2])) == ([finding] if is_found else [])


def test_the_wait_binds_neither_another_account_nor_another_consent() -> None:
    limited = call("balances", "/v1/accounts/B/balances", status=429, answered={"Retry-After": "2"})
    other_account = call("balances", "/v1/accounts/C/balances", second=0.1)
    other_consent = call("balances", "/v1/accounts/B/balances", second=0.1, consent="new")

    assert judged(observed(BALANCES[0], limited, other_account, other_consent)) == []


def test_calls_at_the_same_time_are_not_too_early() -> None:
    limited = call("balances", "/v1/accounts/B/balances", status=429, second=1, answered={"Retry-After": "2"})
    beside = call("balances", "/v1/accounts/C/balances", second=0.9)

    assert judged(observed(BALANCES[0], limited, beside, BALANCES[2])) == []


def test_reading_more_often_than_the_consent_allows_is_found() -> None:
    alone = [call("list", headers={}) for _ in range(5)]
    finding = "frequency: The app read /v1/list 5 times without the customer; the consent allows it 4 times a day."

    assert judged(observed(*BALANCES, *alone), frequency=4) == [finding]
    assert judged(observed(*BALANCES, *alone), frequency=5) == []
    assert judged(observed(*BALANCES, *[call("list")] * 5), frequency=4) == []
    pages = [call("list", f"/v1/list?page={number}", headers={}) for number in range(5)]
    assert judged(observed(*BALANCES, *pages), frequency=4) == []


def test_other_accounts_must_still_be_read() -> None:
    stops = observed(*BALANCES[:2])
    finding = (
        "accounts: The app read /v1/accounts/C/balances less often than usual, because /v1/accounts/B/balances failed."
    )

    assert judged(stops) == [finding]
    assert judged(stops, fault=InjectedFault("consent-expired", "balances", 2, status=401)) == []
    assert judged(stops, fault=InjectedFault("consent expires", "balances", 2)) == []
    assert judged(stops, fault=InjectedFault("pending-refused")) == []


def test_other_accounts_are_counted_if_each_session_has_its_own_ids() -> None:
    usual = observed(*[call("balances", f"/accounts/{id}/balances") for id in ("a1", "a2", "a1", "a2")])
    goes_on = observed(*[call("balances", f"/accounts/{id}/balances") for id in ("b1", "b2", "b2", "b1")])
    stops = observed(*[call("balances", "/accounts/b1/balances")] * 2)
    finding = "accounts: The app read 0 other accounts with balances, not 1, because /accounts/b1/balances failed."

    assert judged(goes_on, usual=usual) == []
    assert judged(stops, usual=usual) == [finding]


def test_a_run_that_fails_with_a_quirk_is_found_unless_the_bank_refuses_something() -> None:
    quirk = InjectedFault("dates-null")
    read = call("account-list", "/v1/accounts")
    usual, fails = observed(read), observed(read, status=1, output="no date")
    refused = observed(read, call("account-list", "/v1/accounts", status=400), status=1)
    finding = "quirk: The command ended with status 1, although the bank refused nothing: no date"

    assert judged(fails, usual=usual, fault=quirk) == [finding]
    assert judged(refused, usual=usual, fault=quirk) == []
    assert judged(refused, usual=refused, fault=quirk)[0].startswith("quirk: The command ended with status 1")
    assert judged(usual, usual=usual, fault=quirk) == []
    assert judged(fails, usual=usual) == []
    assert judged(observed(call("create-consent", status=201), status=1), usual=usual, fault=quirk) == []
    assert judged(fails, usual=usual, fault=InjectedFault("zone-east")) == [], "the tests may expect days of their own"


def test_entries_that_are_not_read_because_balances_are_refused_are_found() -> None:
    def balances(status: int) -> SeenCall:
        return call("account-balances", "/v1/accounts/A/balances", status=status)

    entries = call("account-transactions", "/v1/accounts/A/transactions")
    usual, quirk = observed(balances(200), entries), InjectedFault("balances-fail")
    finding = "quirk: The app no longer calls account-transactions, although the bank refused only account-balances."

    assert judged(observed(balances(400)), usual=usual, fault=quirk) == [finding]
    assert judged(observed(balances(400), entries), usual=usual, fault=quirk) == []
    assert judged(observed(balances(401)), usual=usual, fault=quirk) == [], "the consent may have ended"
    listed = call("account-list", "/v1/accounts", status=404)
    assert judged(observed(listed), usual=usual, fault=quirk) == [], "without accounts nothing can be read"


def test_a_further_page_that_is_refused_because_of_its_parameters_is_found() -> None:
    def run(entries: int, *pages: tuple[str, int]) -> Observed:
        path = "/v1/accounts/A/transactions"
        calls = [call("account-transactions", f"{path}?{query}", status=status) for query, status in pages]
        sent = tuple(SentEntry({f"E-{number}": "id"}, frozenset(), None, path) for number in range(entries))
        return replace(observed(*calls), kept=KeptEntries(SentEntries(sent)))

    usual, refused = run(16, ("from=1", 200)), run(10, ("from=1", 200), ("page=2", 422))
    other_way = run(16, ("from=1", 200), ("page=2", 422), ("from=1&page=2", 200))
    never = run(0, ("from=1", 422))

    def judge_quirk(made: Observed, is_avoidable: bool = True) -> list[str]:
        case = Case(Learned(usual, usual), InjectedFault("paging-same-parameters"), made, is_avoidable=is_avoidable)
        return [one.text for one in findings(case)]

    assert judge_quirk(refused) == [
        "The bank refused the request for a further page, GET /v1/accounts/A/transactions?page=2, with 422, and would "
        "have accepted it with other parameters. The app got 10 of 16 entries."
    ]
    assert judge_quirk(refused, is_avoidable=False) == judge_quirk(other_way) == judge_quirk(never) == []


def test_hanging_and_crashing_are_found() -> None:
    assert judged(observed(*BALANCES, status=-9, hung=True)) == ["hang: The command did not end within 1 s."]
    assert judged(observed(*BALANCES, status=-11)) == ["crash: The command was killed by SIGSEGV."]


def test_every_oracle_describes_its_expectation() -> None:
    assert judge.EXPECTED.keys() == judge.ORACLES.keys()
