"""The skill, and the command that installs it. tests/docs/test_docs.py runs its commands."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.features.agents.skill import NAME, SKILL


def install(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(cli, ["skill", "install", *arguments], prog_name="xs2a-sandbox")
    assert done.exit_code == status, done.output
    return done.output


def test_the_skill_has_the_form_that_agents_expect() -> None:
    _, front, body = SKILL.read_text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", about["name"])
    assert about["name"] == NAME
    assert 100 < len(about["description"]) <= 1024
    assert len(body.splitlines()) < 500


def test_all_commands_of_the_skill_are_run() -> None:
    text = SKILL.read_text()
    blocks = re.findall(r"^```(\w*)$", text, re.MULTILINE)
    assert set(blocks) == {"sh", ""}
    assert blocks.count("sh") >= 6
    assert len(re.findall(r"^<!-- runs -->\n```sh$", text, re.MULTILINE)) == blocks.count("sh")


def test_the_skill_is_installed_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(".claude/skills/xs2a-sandbox/SKILL.md")
    assert install() == f"{file} written\n"
    assert file.read_text() == SKILL.read_text()
    assert install() == f"{file} is up to date\n"
    file.write_text("my own")
    assert f"{file} is different: replace it with --replace" in install(status=2)
    assert file.read_text() == "my own"
    assert install("--replace") == f"{file} written\n"
    assert install("elsewhere") == "elsewhere/xs2a-sandbox/SKILL.md written\n"
    (tmp_path / "file").write_text("")
    assert "is a file" in install("file", status=2)
