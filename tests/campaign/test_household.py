"""Campaigns over the app `household`, with no hint where to look.

Each of its bugs is found by a finding that names it, and the correct app has no finding over the whole set of faults.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.campaign.household.household import BUGS
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.campaign import Campaign, Results
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile

DIALECT = "berlin-group-1.3"
APP = Path(__file__).parent / "household"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Sign:
    """The faults with which a bug is looked for, and the finding that describes it: its fault, oracle and words."""

    fault: str
    oracle: str
    text: str


REFUSED, LOST = "initiate-payment 1: format-error", "initiate-payment 1: reset, after"
SIGNS = {
    "pays-twice": Sign(LOST, "payments", "The app made 2 payments with the end-to-end identification RENT"),
    "keeps-dead-consent": Sign("account-list 1: consent expires", "consent", "and did not ask the customer for a new"),
    "parks": Sign("account-list 1: reset", "recovery", "The app no longer calls account-list"),
    "one-stops-all": Sign("account-balances 1: reset", "accounts", "less often than usual, because /v1/accounts/"),
    "ignores-retry-after": Sign("account-list 1: 429 with Retry", "retry-after", "the bank asked to wait for 3 s."),
    "pages-forever": Sign("paging-never-ends", "paging", "and got the same entries each time."),
    "keeps-by-consent": Sign("account-balances 2: consent expires", "stored", "2 times, without the fault once."),
    "moves-on": Sign("account-transactions 1: reset", "stored", "The app does not have"),
    "day-in-utc": Sign("zone-east", "dates", "on another day in household.json"),
    "sign-from-payee": Sign("payee-missing", "amounts", "with a wrong amount in household.json (cents)"),
    "forgets-intent": Sign(LOST, "payments", "because the run after it paid again."),
    "shows-later-for-ended": Sign("account-list 1: consent expires", "shown", "although the consent has ended."),
    "shows-later-for-refused": Sign(REFUSED, "shown", "although the bank has refused the payment."),
    "shows-refused-for-lost": Sign(LOST, "shown", "although the app cannot know whether the bank has made the"),
    "shows-paid-for-lost": Sign(LOST, "shown", "although the app cannot know whether the bank has made the"),
    "shows-paid-for-declined": Sign("sca 1: decline", "shown", "although the bank has accepted 0 of 1 payments."),
    "shows-error-for-declined": Sign("sca 1: decline", "shown", "although the customer has declined."),
    "shows-ended-for-limited": Sign("account-list 1: 429 without", "shown", "although the bank limits the number"),
    "shows-updated-for-limited": Sign("account-list 1: 429 without", "shown", "(updated), although the bank limits"),
    "shows-password-for-failed": Sign("account-list 1: busy", "shown", "(password), although the bank has failed."),
    "shows-declined-for-failed": Sign("account-list 1: busy", "shown", "(declined), although the bank has failed."),
}

TOGETHER = [
    ("pays-twice", "keeps-dead-consent", "one-stops-all", "ignores-retry-after", "pages-forever"),
    ("keeps-by-consent", "day-in-utc", "forgets-intent", "shows-later-for-refused"),
    ("parks",),
    ("moves-on", "sign-from-payee"),
    (
        *("shows-later-for-ended", "shows-refused-for-lost", "shows-paid-for-declined", "shows-ended-for-limited"),
        "shows-password-for-failed",
    ),
    (
        *("shows-paid-for-lost", "shows-error-for-declined", "shows-updated-for-limited"),
        "shows-declined-for-failed",
    ),
]
"""Bugs that do not hide each other, so that one campaign finds them all."""

BEYOND_THE_APP = {
    "balances-fail",
    "empty-lists-null",
    "entries-late",
    "no-entries-no-body",
    "payment-final-late",
}
"""Quirks that even the correct app, or its tests, do not handle. The campaign is right to report them."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Results]:
    app = tmp_path / "app"
    shutil.copytree(APP, app)
    (app / "pytest.ini").write_text("[pytest]\n")  # not the settings of this project
    (tmp_path / "scratch").mkdir()

    def run(bugs: Sequence[str] = (), choose: Sequence[str] = ()) -> Results:
        monkeypatch.setenv("HOUSEHOLD_BUGS", ",".join(bugs))
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        campaign = Campaign(
            Command((*PYTEST, "check_household.py"), {}, app),
            interface_and_schemas(Settings(dialect=DIALECT, state="memory:"))[0],
            tmp_path / "scratch",
            flags=("--dialect", DIALECT),
            choose=choose,
        )
        return campaign.run(ResultsFile(tmp_path / "scratch" / "results.jsonl", {}, False))

    return run


def test_every_bug_is_tried() -> None:
    assert sorted(bug for bugs in TOGETHER for bug in bugs) == sorted(BUGS) == sorted(SIGNS)


@pytest.mark.slow
@pytest.mark.parametrize("bugs", TOGETHER, ids=lambda bugs: bugs[0])
def test_each_bug_is_found_by_a_finding_that_names_it(bugs: Sequence[str], run: Callable[..., Results]) -> None:
    results = run(bugs, [SIGNS[bug].fault for bug in bugs])

    found = [(str(one.fault), finding) for one in results.findings for finding in one.findings]
    for bug in bugs:
        sign = SIGNS[bug]
        assert [fault for fault, finding in found if finding.oracle == sign.oracle and sign.text in finding.text], (
            bug,
            found,
        )


@pytest.mark.slow
def test_the_correct_app_has_no_finding_but_for_quirks_that_it_does_not_handle(run: Callable[..., Results]) -> None:
    results = run()

    assert len(results.results) > 200
    assert {str(one.fault) for one in results.findings} == BEYOND_THE_APP
