"""Whole campaigns with real processes.

A campaign finds the bugs planted in an app, and nothing in the corrected app.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.campaign.example.app import BUGS
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.campaign import Campaign, FaultResult, Results
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.campaign.left_out import ALIKE
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault
from xs2a_sandbox.features.pytest.server_process import Process

DIALECT = "berlin-group-1.3"
CHECK = Path(__file__).parent / "example" / "check.py"

type Make = Callable[..., Campaign]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("bank"), ("--dialect", DIALECT))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def make(bank: Process, tmp_path: Path) -> Make:
    """Return a campaign with the faults that contain these words. All tests of this file share one bank."""

    def made(
        *words: str, command: Sequence[str] = (), bugs: Sequence[str] = (), budget: float | None = None
    ) -> Campaign:
        command = command or (sys.executable, "-B", str(CHECK), *bugs)
        interface, _ = interface_and_schemas(Settings(dialect=DIALECT, state="memory:"))
        return Campaign(
            Command(command, {}, tmp_path),
            interface,
            tmp_path / "scratch",
            url=bank.direct,
            confdir=bank.confdir,
            budget=budget,
            slow="10ms",
            choose=words,
        )

    return made


def run(campaign: Campaign, *, resumes: bool = False) -> Results:
    campaign.scratch.mkdir(exist_ok=True)
    return campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, resumes))


def oracles(results: Results) -> dict[str, list[str]]:
    return {str(one.fault): [found.oracle for found in one.findings] for one in results.results}


LOST, SHAPE = "initiate-payment 1: reset, after", "account-list 1: wrong-shape, after"


def test_a_campaign_finds_planted_bugs(make: Make) -> None:
    results = run(make(LOST, SHAPE, bugs=["pays-again,shape-parks"]))

    assert oracles(results) == {LOST: ["payments"], SHAPE: ["recovery"]}
    assert [one.statuses for one in results.results] == [(0, 0), (0, 1)]
    (recovery,) = next(one.findings for one in results.results if str(one.fault) == SHAPE)
    assert recovery.text.endswith("ended with status 1: not all accounts are read")
    assert sum(one.why == ALIKE for one in results.left_out) > 50


def test_a_second_payment_in_the_next_run_is_found(make: Make) -> None:
    (result,) = run(make(LOST, bugs=["pays-next-day"])).results

    assert [f"{one.oracle}: {one.text}" for one in result.findings] == [
        "payments: The app made 2 payments with the end-to-end identification KASSA-1, because the run after it "
        "paid again."
    ]


def test_nothing_is_found_in_the_corrected_app_and_the_campaign_resumes(make: Make, tmp_path: Path) -> None:
    assert oracles(run(make(LOST, SHAPE))) == {LOST: [], SHAPE: []}

    file = tmp_path / "scratch" / "results.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    notes: list[str] = []
    again = make(LOST, SHAPE)
    again.note = notes.append
    assert oracles(run(again, resumes=True)) == {LOST: [], SHAPE: []}
    assert notes[0].startswith("16 calls of 7 operations, 2 faults, 1 of them tried before; about ")


def test_a_finding_can_be_replayed(make: Make) -> None:
    order = {"operation": "initiate-payment", "next": 1, "fault": "reset", "after": True}
    campaign = make(bugs=["pays-again"])
    campaign.scratch.mkdir()

    results = campaign.run_one(InjectedFault("reset", "initiate-payment", 1, "after"), order)

    assert oracles(results) == {LOST: ["payments"]}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("", "the command did not call the bank"),
        (
            "import sys; sys.exit('no luck')",
            "the command fails without a fault, with status 1; fix that first\nno luck",
        ),
    ],
)
def test_a_command_that_fails_or_does_not_call_the_bank_is_an_error(make: Make, code: str, text: str) -> None:
    with pytest.raises(UserMistake, match=text):
        run(make(command=(sys.executable, "-c", code)))


CALLS = """
import os, urllib.error, urllib.request
headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
url = os.environ["XS2A_SANDBOX_URL"] + "/v1/consents/1/status"
try:
    urllib.request.urlopen(urllib.request.Request(url, headers=headers))
except urllib.error.HTTPError:
    pass
"""
"""A program that makes one request."""


@pytest.mark.parametrize(
    ("words", "budget", "text"),
    [
        (["busy", "rset"], None, "none of the 17 faults of this campaign contains 'rset'; did you mean reset\\?"),
        (["nothing-like-it"], None, "calls: consent-status 1\nfaults: 429 with Retry-After, 429 without"),
        (["busy"], 0.0, "1 fault was not tried because the time was over"),
    ],
)
def test_a_campaign_without_faults_is_an_error(make: Make, words: list[str], budget: float | None, text: str) -> None:
    with pytest.raises(UserMistake, match=text):
        run(make(*words, command=(sys.executable, "-c", CALLS), budget=budget))


def test_a_fault_that_is_not_reached_is_an_error(make: Make) -> None:
    campaign = make(command=(sys.executable, "-c", CALLS))
    campaign.scratch.mkdir()
    with pytest.raises(UserMistake, match="the campaign tried no fault: 1 fault was not reached"):
        campaign.run_one(
            InjectedFault("busy", "consent-status", 9), {"operation": "consent-status", "skip": 8, "error": "busy"}
        )


def test_a_command_that_never_ends_is_reported_as_hanging(make: Make) -> None:
    code = f"{CALLS}\nimport os, time\nif 'XS2A_SANDBOX_FAULT' in os.environ: time.sleep(3600)"
    campaign = make("busy", command=(sys.executable, "-c", code))
    campaign.timeout = 3

    assert oracles(run(campaign)) == {"consent-status 1: busy, before": ["hang"]}


def test_a_command_that_calls_again_and_again_is_ended(make: Make) -> None:
    code = f"import os\nwhile True:\n    exec({CALLS!r})\n    if 'XS2A_SANDBOX_FAULT' not in os.environ: break"
    (result,) = run(make("busy", command=(sys.executable, "-c", code))).results

    assert result.findings[0].oracle == "calls"
    assert result.findings[0].text.endswith(" times; without the fault: once.")
    assert "hang" not in [one.oracle for one in result.findings]


# -- all bugs


def is_found(bug: str, results: Sequence[FaultResult]) -> bool:
    """Return whether the finding describes this bug."""
    names, oracle, text = SIGNS[bug]
    return any(
        any(name in str(one.fault) for name in names) and found.oracle == oracle and text in found.text
        for one in results
        for found in one.findings
    )


SIGNS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "expired-stays": (("account-list 1: consent-expired", "account-list 1: consent expires"), "recovery", ""),
    "schedule-ends": (("account-balances 1: consent-unknown",), "recovery", ""),
    "always-cancelled": (("create-consent 1: busy",), "assertion", "is told to have cancelled"),
    "one-account-stops-all": (("account-balances 1: busy",), "accounts", "less often than usual"),
    "year-refused": (("history-90-days",), "calls", "unchanged, and the bank refused it with 400"),
    "reconnect-deletes": (("create-consent 2: busy",), "assertion", "has deleted the connection"),
    "limit-is-error": (("account-list 1: 429 with Retry-After",), "retry-after", "again after"),
    "id-zero": (("ids-zero",), "assertion", "1 are kept"),
    "dates-needed": (("dates-null",), "assertion", "the app failed: KeyError 'bookingDate'"),
    "pending-by-id": (("pending-ids-change",), "assertion", "are kept"),
    "pending-needed": (("pending-refused",), "assertion", "not all accounts are read"),
    "ids-needed": (("ids-null",), "assertion", "0 are kept"),
    "redirect-only": (("decoupled-only",), "assertion", "the app failed: KeyError 'scaRedirect'"),
    "no-way-out": (("payment-status 1: busy",), "recovery", ""),
    "shape-parks": (("account-list 1: wrong-shape",), "recovery", ""),
    "no-trace": (("create-consent 1: busy",), "assertion", "a connect has left no trace"),
    "pays-again": (("initiate-payment 1: reset, after",), "payments", "2 payments with the end-to-end identification"),
}
"""By bug: the faults that show it, the oracle, and words of the finding that describes it."""
OF_SIGNS = tuple(dict.fromkeys(name for names, *_ in SIGNS.values() for name in names))


def with_new_banks(make: Make, words: Sequence[str], bugs: Sequence[str]) -> Results:
    campaign = make(*words, bugs=bugs)
    campaign.url, campaign.flags, campaign.slow = None, ("--dialect", DIALECT), "300ms"
    return run(campaign)


@pytest.mark.slow
def test_all_bugs_are_found(make: Make) -> None:
    # An app that immediately repeats the payment has nothing left to repeat in the next run.
    bugs = BUGS.keys() - {"pays-next-day"}
    assert SIGNS.keys() == bugs
    results = with_new_banks(make, OF_SIGNS, [",".join(sorted(bugs))])

    assert [bug for bug in sorted(bugs) if not is_found(bug, results.results)] == []


@pytest.mark.slow
def test_no_bugs_are_found_in_the_corrected_app(make: Make) -> None:
    """Try the faults that show the bugs, and all faults at the second call of each operation.

    The campaign over the app `household` tries the first calls, and every quirk.
    """
    results = with_new_banks(make, [*OF_SIGNS, " 2: "], [])

    assert len(results.results) > 60
    # The app does not handle a bank that gives only 90 days.
    assert {str(one.fault) for one in results.findings} == {"history-90-days"}
