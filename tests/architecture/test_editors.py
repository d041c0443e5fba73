"""The extension for Visual Studio Code starts an existing command, and its own tests pass."""

import json
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from xs2a_sandbox.cli.main import cli

FOLDER = Path(__file__).resolve().parents[2] / "editors/vscode"


def test_the_default_command_exists() -> None:
    properties = json.loads((FOLDER / "package.json").read_text())["contributes"]["configuration"]["properties"]
    program, command = properties["xs2a-sandbox.command"]["default"]
    assert program == "xs2a-sandbox"
    assert command in cli.list_commands(click.Context(cli))


def test_the_lock_has_the_declared_versions() -> None:
    declared = json.loads((FOLDER / "package.json").read_text())["devDependencies"]
    locked = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    assert locked[""]["devDependencies"] == declared
    assert {name: locked[f"node_modules/{name}"]["version"] for name in declared} == declared


@pytest.mark.slow
def test_the_extension_can_be_built_and_loaded() -> None:
    if shutil.which("npm") is None or not (FOLDER / "node_modules").is_dir():
        pytest.skip("needs npm, and `npm ci` in editors/vscode")
    done = subprocess.run(["npm", "test"], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
