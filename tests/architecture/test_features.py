"""The bank works without the features."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, rmtree

import click
import httpx
import pytest

import xs2a_sandbox
from tests.support.admin import STATUS
from tests.support.serving import served
from xs2a_sandbox.cli.main import COMMANDS, cli
from xs2a_sandbox.plugins import plugins

PACKAGE = Path(xs2a_sandbox.__file__).parent


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package with its data, which processes import instead of this one."""
    copied = Path(copytree(PACKAGE, tmp_path / "copied/xs2a_sandbox"))
    for name in ("cassettes", "schemas", "docs"):
        (copied / name).symlink_to(PACKAGE.parents[1] / name)
    monkeypatch.setenv("PYTHONPATH", str(copied.parent))
    return copied


def commands() -> set[str]:
    code = "import click; from xs2a_sandbox.cli.main import cli; print(*cli.list_commands(click.Context(cli)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_sandbox_without_features_answers(copied: Path, tmp_path: Path) -> None:
    rmtree(copied / "features")
    (copied / "features").mkdir()
    assert commands() == set(COMMANDS)
    with served(tmp_path) as sandbox:
        headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
        assert httpx.get(f"{sandbox.direct}{STATUS}", headers=headers).json() == {"consentStatus": "valid"}


def test_a_broken_feature_disables_only_its_own_commands(copied: Path, tmp_path: Path) -> None:
    (copied / "features/derive/feature.py").write_text("import nothing_of_this_name\n")
    (copied / "features/compare/commands.py").write_text("import nothing_of_this_name\n")
    every = set(cli.list_commands(click.Context(cli)))
    assert commands() == every - {"derive", "compare", "watch"}
    with served(tmp_path) as sandbox:
        sandbox.warning(
            "the feature derive cannot be used: ModuleNotFoundError: No module named 'nothing_of_this_name'"
        )


def test_all_features_are_listed() -> None:
    assert plugins().failed == {}
