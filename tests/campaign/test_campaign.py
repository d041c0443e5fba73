"""The whole campaign, with real processes: it finds what is planted in an app, and nothing in its mended twin."""

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
from xs2a_sandbox.features.campaign.plan import choose_faults
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
    """A campaign against one bank for all tests of this file, of faults with these words in them."""

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
            choose=lambda faults: choose_faults(faults, words),
        )

    return made


def run(campaign: Campaign, *, resumes: bool = False) -> Results:
    campaign.scratch.mkdir(exist_ok=True)
    return campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, resumes))


def oracles(results: Results) -> dict[str, list[str]]:
    return {str(one.fault): [found.oracle for found in one.findings] for one in results.results}


LOST, SHAPE = "initiate-payment 1: reset, after", "account-list 1: wrong-shape, after"


def test_it_finds_what_is_planted(make: Make) -> None:
    results = run(make(LOST, SHAPE, bugs=["pays-again,shape-parks"]))

    assert oracles(results) == {LOST: ["payments"], SHAPE: ["recovery"]}
    assert [one.statuses for one in results.results] == [(0, 0), (0, 1)]
    (recovery,) = next(one.findings for one in results.results if str(one.fault) == SHAPE)
    assert recovery.text.endswith("ends with status 1: not all accounts are read")
    assert results.left_out["alike"] > 100


def test_it_finds_what_only_the_next_run_pays_twice(make: Make) -> None:
    (result,) = run(make(LOST, bugs=["pays-next-day"])).results

    assert [f"{one.oracle}: {one.text}" for one in result.findings] == [
        "payments: together with the next run 2 payments of the intent KASSA-1"
    ]


def test_it_finds_nothing_in_the_mended_app_and_resumes(make: Make, tmp_path: Path) -> None:
    assert oracles(run(make(LOST, SHAPE))) == {LOST: [], SHAPE: []}

    file = tmp_path / "scratch" / "results.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    notes: list[str] = []
    again = make(LOST, SHAPE)
    again.note = notes.append
    assert oracles(run(again, resumes=True)) == {LOST: [], SHAPE: []}
    assert notes == ["16 calls of 7 operations, 2 faults, 1 of them tried before"]


def test_one_finding_is_played_again(make: Make) -> None:
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
def test_a_command_of_which_nothing_is_learned_is_red(make: Make, code: str, text: str) -> None:
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
"""A program that makes one call."""


@pytest.mark.parametrize(
    ("words", "budget", "text"),
    [
        (["nothing-like-it"], None, "--choose matches none of the 17 faults, which are: consent-status 1: "),
        (["busy"], 0.0, "no time left"),
    ],
)
def test_one_that_lets_nothing_go_wrong_is_red(make: Make, words: list[str], budget: float | None, text: str) -> None:
    with pytest.raises(UserMistake, match=text):
        run(make(*words, command=(sys.executable, "-c", CALLS), budget=budget))


def test_what_is_not_reached_proves_nothing(make: Make) -> None:
    campaign = make(command=(sys.executable, "-c", CALLS))
    campaign.scratch.mkdir()
    with pytest.raises(UserMistake, match="the campaign tried no fault: 1 not reached"):
        campaign.run_one(
            InjectedFault("busy", "consent-status", 9), {"operation": "consent-status", "skip": 8, "error": "busy"}
        )


def test_one_that_never_ends_hangs(make: Make) -> None:
    code = f"{CALLS}\nimport os, time\nif 'XS2A_SANDBOX_FAULT' in os.environ: time.sleep(3600)"
    campaign = make("busy", command=(sys.executable, "-c", code))
    campaign.timeout = 3

    assert oracles(run(campaign)) == {"consent-status 1: busy, before": ["hang"]}


# -- the proof


def is_found(bug: str, results: Sequence[FaultResult]) -> bool:
    """Says whether a finding tells of this bug."""
    names, oracle, text = SIGNS[bug]
    return any(
        (not names or any(name in str(one.fault) for name in names)) and found.oracle == oracle and text in found.text
        for one in results
        for found in one.findings
    )


SIGNS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "expired-stays": (("account-list 1: consent-expired", "account-list 1: consent expires"), "recovery", ""),
    "schedule-ends": (("account-balances 1: consent-unknown",), "recovery", ""),
    "always-cancelled": ((), "assertion", "is told to have cancelled"),
    "one-account-stops-all": (
        ("account-balances", "account-transactions"),
        "accounts",
        "is read less often than usual",
    ),
    "year-refused": (("history-90-days",), "calls", "alike, and refused with 400"),
    "reconnect-deletes": (("create-consent 2",), "assertion", "has deleted the connection"),
    "limit-is-error": (("429 with Retry-After",), "retry-after", "is called again after"),
    "id-zero": (("ids-zero",), "assertion", "1 are kept"),
    "dates-needed": (("dates-null",), "assertion", "the app failed: KeyError 'bookingDate'"),
    "pending-by-id": (("pending-ids-change",), "assertion", "are kept"),
    "pending-needed": (("pending-refused",), "assertion", "not all accounts are read"),
    "ids-needed": (("ids-null",), "assertion", "0 are kept"),
    "redirect-only": (("decoupled-only",), "assertion", "the app failed: KeyError 'scaRedirect'"),
    "no-way-out": (("payment-status",), "recovery", ""),
    "shape-parks": (("account-list 1: wrong-shape",), "recovery", ""),
    "no-trace": (("create-consent 1",), "assertion", "a connect has left no trace"),
    "pays-again": (("initiate-payment 1: reset, after",), "payments", "2 payments of the intent"),
}
"""By bug: words of the fault, the oracle, and words of the finding that tells of it."""


def whole(make: Make, bugs: Sequence[str]) -> Results:
    campaign = make(bugs=bugs)
    campaign.url, campaign.flags, campaign.jobs, campaign.slow = None, ("--dialect", DIALECT), 3, "300ms"
    return run(campaign)


@pytest.mark.slow
def test_all_bugs_are_found(make: Make) -> None:
    # An app that sends the payment again at once has nothing left to send in the next run.
    bugs = BUGS.keys() - {"pays-next-day"}
    assert SIGNS.keys() == bugs
    results = whole(make, [",".join(sorted(bugs))])

    assert [bug for bug in sorted(bugs) if not is_found(bug, results.results)] == []


@pytest.mark.slow
def test_nothing_is_found_in_the_mended_app(make: Make) -> None:
    results = whole(make, [])

    assert len(results.results) > 300
    assert {str(one.fault): one.findings for one in results.findings} == {}
