"""Apps by others connect to the sandbox and read everything, without any change to them.

They are installed in an environment of their own (`make apps`), because they need other packages than the sandbox.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_clients import HERE, plain, runs
from tests.families.enable_banking import APPLICATION, ENTRIES, EVERYDAY, SAVINGS
from tests.support.recorded_bank.process import ROOT
from tests.support.serving import Serving, served

PYTHON = ROOT / ".venv-apps" / "bin" / "python"
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
