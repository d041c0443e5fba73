"""The workflow in docs/watch.md: it is valid, and its commands run against a bank that changes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_compare import a_tape
from tests.docs.test_docs import blocks
from tests.support.far_bank import FarBank, ok


def workflow() -> dict[str, Any]:
    (block,) = [block for block in blocks("watch.md") if block.language == "yaml"]
    # Do not resolve scalars: `on` is a key, not a boolean.
    read: dict[str, Any] = yaml.load(block.text, yaml.BaseLoader)
    return read


def steps() -> list[dict[str, Any]]:
    (job,) = workflow()["jobs"].values()
    listed: list[dict[str, Any]] = job["steps"]
    return listed


def test_the_workflow_has_only_read_permissions() -> None:
    page = workflow()
    assert page["permissions"] == {"contents": "read"}
    assert {"schedule", "workflow_dispatch"} == page["on"].keys()
    assert all(("run" in step) != ("uses" in step) for step in steps())
    assert all(step["uses"].startswith("actions/") and "@v" in step["uses"] for step in steps() if "uses" in step)


def test_the_history_is_saved_even_if_watch_fails() -> None:
    restored, saved = (step for step in steps() if "cache/" in step.get("uses", ""))
    assert restored["with"]["path"] == saved["with"]["path"] == "drift"
    assert saved["if"] == "always()"
    assert restored["with"]["key"].startswith(restored["with"]["restore-keys"])


@pytest.mark.slow
def test_the_command_fails_on_new_drift_and_writes_the_history(tmp_path: Path) -> None:
    (step,) = [step for step in steps() if "watch" in step.get("run", "")]
    tape = a_tape(tmp_path, "/own", 200, '{"name": "old"}')
    tape.rename(tmp_path / "recording")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}

    def run(text: bytes) -> subprocess.CompletedProcess[str]:
        with FarBank(ok(text, b"Content-Type: application/json")) as bank:
            command = ["bash", "-eo", "pipefail", "-c", step["run"]]
            own = environment | {"BANK": bank.url}
            return subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)

    same = run(b'{"name": "old"}')
    assert same.returncode == 0, same.stderr
    assert "0 new" in same.stdout
    moved = run(b'{"name": "new"}')
    assert moved.returncode == 1, moved.stderr
    assert "1 new" in moved.stdout
    assert {file.name for file in tmp_path.glob("drift*")} == {"drift", "drift.html", "drift.xml"}
