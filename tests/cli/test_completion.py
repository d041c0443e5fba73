"""Completion scripts, and the candidates that they get from the program."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from xs2a_sandbox.cli.main import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell: str, home: Path) -> None:
    result = CliRunner().invoke(cli, ["completion", shell], prog_name="xs2a-sandbox")

    assert result.exit_code == 0
    assert f"_XS2A_SANDBOX_COMPLETE={shell}_complete" in result.stdout
    assert "complete" in result.stdout


def test_unknown_shells_are_refused(home: Path) -> None:
    result = CliRunner().invoke(cli, ["completion", "csh"], prog_name="xs2a-sandbox")

    assert result.exit_code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in result.stderr


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("xs2a-sandbox ser", ["plain,serve"]),
        ("xs2a-sandbox tpp re", ["plain,revoke"]),
        ("xs2a-sandbox serve --cass", ["plain,--cassettes"]),
        ("xs2a-sandbox serve --mode s", ["plain,simulate", "plain,spy"]),
        ("xs2a-sandbox serve --checks sig", ["plain,signature"]),
        ("xs2a-sandbox serve --cassettes cas", ["dir,cas"]),
        ("xs2a-sandbox serve --testdata my", ["file,my"]),
        ("xs2a-sandbox lint --format g", ["plain,github"]),
    ],
)
def test_candidates_for_completion(typed: str, completions: list[str], home: Path) -> None:
    words = typed.split()
    environment: Mapping[str, str] = {
        "HOME": str(home),
        "_XS2A_SANDBOX_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }

    done = subprocess.run(
        [sys.executable, "-m", "xs2a_sandbox"], env=environment, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout.split(), done.stderr) == (0, completions, "")
