"""Campaigns over an app for UK Open Banking, with real processes: they find its bugs, and nothing without bugs."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.families.open_banking_app import BUGS
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.campaign import Campaign, Results
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.pytest.server_process import Process

APP = Path(__file__).with_name("open_banking_app.py")
LOST, EXPIRED = "create-vrp 1: reset, after", "accounts 1: consent expires, before"
KINDS = ("reset", "expires")
"""The faults that a campaign tries first, at every call. A campaign with all faults takes some minutes."""

type Run = Callable[..., Results]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("bank"), ("--dialect", "obie-4.0", "--checks", "idempotency"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def run(bank: Process, tmp_path: Path) -> Run:
    def made(*bugs: str, choose: tuple[str, ...] = KINDS) -> Results:
        interface, _ = interface_and_schemas(Settings(dialect="obie-4.0", state="memory:"))
        campaign = Campaign(
            Command((sys.executable, "-B", str(APP), *bugs), {}, tmp_path),
            interface,
            tmp_path / "scratch",
            url=bank.direct,
            confdir=bank.confdir,
            slow="10ms",
            choose=choose,
        )
        campaign.scratch.mkdir()
        return campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, False))

    return made


def findings(results: Results) -> dict[str, list[str]]:
    return {str(one.fault): [found.oracle for found in one.findings] for one in results.results if one.findings}


def test_a_second_payment_and_a_consent_that_is_kept_are_found(run: Run) -> None:
    assert findings(run(*BUGS, choose=(LOST, EXPIRED))) == {LOST: ["payments"], EXPIRED: ["consent"]}


@pytest.mark.slow
def test_they_are_found_among_all_calls(run: Run) -> None:
    found = findings(run(*BUGS))
    assert found[LOST] == ["payments"]
    assert found[EXPIRED] == ["consent"]
    assert {one.split(" ")[0] for one, oracles in found.items() if "payments" in oracles} == {"create-vrp"}


@pytest.mark.slow
def test_nothing_is_found_in_the_correct_app(run: Run) -> None:
    results = run()
    assert {LOST, EXPIRED} <= {str(one.fault) for one in results.results}
    assert findings(results) == {}
