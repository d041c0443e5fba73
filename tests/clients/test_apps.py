"""Apps by others connect to the sandbox and read everything, without any change to them.

They are installed in an environment of their own (`make apps`), because they need other packages than the sandbox.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_clients import HERE, plain, runs
from tests.families.enable_banking import APPLICATION, ENTRIES, EVERYDAY, SAVINGS
from tests.support.recorded_bank.process import ROOT
from tests.support.serving import Serving, served
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.campaign import Campaign, CampaignState, FaultResult
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile

PYTHON = ROOT / ".venv-apps" / "bin" / "python"
EARLIER_LEGGEN = ROOT / ".venv-apps" / "leggen-2026.8.0"
WALK = 120
"""Seconds for one app, on a machine that is busy with other tests."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("sandbox"), "--dialect", "enable-banking") as serving:
        yield serving


def walk(app: str, sandbox: Serving, home: Path, **variables: str) -> Any:
    if not runs(f"{PYTHON} -c 'import {app}'"):
        pytest.skip(f"{app} is not installed: `make apps`")
    done = subprocess.run(
        [PYTHON, HERE / "apps" / f"read_with_{app}.py"],
        env={**plain(), "APPLICATION": APPLICATION, "HOME": str(home), **variables},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=WALK,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    printed = json.loads(done.stdout.splitlines()[-1])
    assert printed["entries"] == {EVERYDAY: ENTRIES, SAVINGS: ["S-1"]}
    return printed


def test_leggen_stores_every_entry_once(sandbox: Serving, tmp_path: Path) -> None:
    assert walk("leggen", sandbox, tmp_path, BASE_URL=sandbox.direct)["added"] == [15, 0]


def test_the_sdk_accepts_the_types_of_all_members(sandbox: Serving, tmp_path: Path) -> None:
    balances = walk("enablebanking_sdk", sandbox, tmp_path, BASE_URL=sandbox.direct)["balances"]
    assert balances == {EVERYDAY: 1874.15, SAVINGS: 8200.0}


def test_bankfetch_reads_every_entry_through_the_proxy(sandbox: Serving, tmp_path: Path) -> None:
    way = {"HTTPS_PROXY": sandbox.proxy, "REQUESTS_CA_BUNDLE": str(sandbox.ca_file)}
    assert walk("bankfetch", sandbox, tmp_path, **way)["status"] == "AUTHORIZED"


class Enough(Exception):
    """The campaign has shown what the test is about."""


def try_leggen(folder: Path, choose: Sequence[str] = (), until: str = "") -> list[FaultResult]:
    """Return the results of a campaign over the test of leggen, which ends after the fault `until`."""
    if not runs(f"{PYTHON} -c 'import leggen'"):
        pytest.skip("leggen is not installed: `make apps`")
    app = shutil.copytree(HERE / "apps", folder / "app")
    (folder / "scratch").mkdir()
    results: list[FaultResult] = []

    def tell(state: CampaignState) -> None:
        results.append(state.last)
        if state.last.fault.name == until:
            raise Enough

    campaign = Campaign(
        Command((str(PYTHON), "check_leggen.py"), {}, app),
        interface_and_schemas(Settings(dialect="enable-banking", state="memory:"))[0],
        folder / "scratch",
        flags=("--dialect", "enable-banking"),
        jobs=1,
        choose=choose,
        tell=tell,
    )
    with suppress(Enough):
        campaign.run(ResultsFile(folder / "results.jsonl", {}, False))
    return results


def test_a_campaign_finds_at_once_that_leggen_2026_8_needs_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not EARLIER_LEGGEN.is_dir():
        pytest.skip("leggen 2026.8.0 is not installed: `make apps`")
    monkeypatch.setenv("PYTHONPATH", str(EARLIER_LEGGEN))

    results = try_leggen(tmp_path, until="dates-null")

    place, result = next((place, one) for place, one in enumerate(results) if one.fault.name == "dates-null")
    assert place < 10
    assert "ValueError: No valid date found in transaction" in result.findings[0].text


def test_leggen_2026_9_needs_no_dates(tmp_path: Path) -> None:
    results = try_leggen(tmp_path, choose=["dates-null"])

    assert {str(one.fault): one.findings for one in results} == {"dates-null": (), "pending-dates-null": ()}
