"""Campaigns over the app `household`, with no hint where to look.

Each of its bugs is found by a finding that names it, and the correct app has no finding over the whole set of faults.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.campaign.household.household import BUGS
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.campaign import Campaign, CampaignState, FaultResult, Results
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile

DIALECT = "berlin-group-1.3"
APP = Path(__file__).parent / "household"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")

SIGNS = {
    "pays-twice": ("initiate-payment 1", "payments", "The app made 2 payments with the end-to-end identification RENT"),
    "keeps-dead-consent": ("consent expires", "consent", "and did not ask the customer for a new one."),
    "parks": ("account-", "recovery", "The app no longer calls account-list"),
    "one-stops-all": ("account-balances 1", "accounts", "less often than usual, because /v1/accounts/"),
    "ignores-retry-after": ("429 with Retry-After", "retry-after", "the bank asked to wait for 3 s."),
    "pages-forever": ("paging-never-ends", "paging", "and got the same entries each time."),
    "keeps-by-consent": ("consent expires", "stored", "2 times, without the fault once."),
    "moves-on": ("account-transactions 1", "stored", "The app does not have"),
    "day-in-utc": ("zone-east", "dates", "on another day in household.json"),
    "sign-from-payee": ("payee-missing", "amounts", "with a wrong amount in household.json (cents)"),
    "forgets-intent": ("initiate-payment 1", "payments", "because the run after it paid again."),
}
"""By bug: words of the fault, the oracle, and words of the finding that describes it."""


LATE = frozenset("pages-forever keeps-by-consent moves-on day-in-utc sign-from-payee".split())
"""Bugs that a whole campaign finds only after minutes. Only their faults are tried."""

BEYOND_THE_APP = {
    "balances-fail",
    "empty-lists-null",
    "entries-late",
    "no-entries-no-body",
    "payment-final-late",
}
"""Quirks that even the correct app, or its tests, do not handle. The campaign is right to report them."""


class Found(Exception):
    """The bug is found, so the rest of the campaign is not needed."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Results]:
    app = tmp_path / "app"
    shutil.copytree(APP, app)
    (app / "pytest.ini").write_text("[pytest]\n")  # not the settings of this project
    (tmp_path / "scratch").mkdir()

    def run(
        bug: str = "", tell: Callable[[CampaignState], None] = lambda state: None, choose: Sequence[str] = ()
    ) -> Results:
        monkeypatch.setenv("HOUSEHOLD_BUG", bug)
        campaign = Campaign(
            Command((*PYTEST, "check_household.py"), {}, app),
            interface_and_schemas(Settings(dialect=DIALECT, state="memory:"))[0],
            tmp_path / "scratch",
            flags=("--dialect", DIALECT),
            choose=choose,
            tell=tell,
        )
        return campaign.run(ResultsFile(tmp_path / "scratch" / "results.jsonl", {}, False))

    return run


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_is_found_by_a_finding_that_names_it(bug: str, run: Callable[..., Results]) -> None:
    name, oracle, text = SIGNS[bug]

    def names_it(result: FaultResult) -> bool:
        return name in str(result.fault) and any(one.oracle == oracle and text in one.text for one in result.findings)

    def tell(state: CampaignState) -> None:
        if names_it(state.last):
            raise Found

    with pytest.raises(Found):
        run(bug, tell, (name,) if bug in LATE else ())


@pytest.mark.slow
def test_the_correct_app_has_no_finding_but_for_quirks_that_it_does_not_handle(run: Callable[..., Results]) -> None:
    results = run()

    assert len(results.results) > 200
    assert {str(one.fault) for one in results.findings} == BEYOND_THE_APP
