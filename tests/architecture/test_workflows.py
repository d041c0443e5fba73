import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.release_notes import CHANGELOG, notes

from xs2a_sandbox import __version__

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PINNED = re.compile(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+|[0-9a-f]{40})|\./")
"""Pinned to a major version, or to the digest that Renovate inserts; or the action of this repository."""


def read(name: str) -> dict[str, Any]:
    # Do not resolve scalars, because `on` would become true.
    return yaml.load((ROOT / ".github" / "workflows" / name).read_text(), yaml.BaseLoader)


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("name", [file.name for file in WORKFLOWS])
def test_a_workflow_has_triggers_and_jobs(name: str) -> None:
    workflow = read(name)
    assert workflow["name"]
    assert workflow["on"]
    # A job must declare every permission beyond reading.
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs.keys()
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["runs-on"]
        assert int(job["timeout-minutes"]) > 0
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if "uses" in step:
                assert PINNED.fullmatch(step["uses"])


def test_renovate_pins_digests_and_covers_all_installed_software() -> None:
    settings = json.loads((ROOT / "renovate.json").read_text())
    covered = {
        "pep621": ["pyproject.toml"],
        "pip_requirements": ["requirements/dev.txt", "requirements/run.txt"],
        "github-actions": [str(file.relative_to(ROOT)) for file in WORKFLOWS],
        "dockerfile": ["Dockerfile"],
        "docker-compose": ["deploy/compose/compose.yaml"],
        "helm-values": ["deploy/helm/values.yaml"],
    }
    (pattern,) = settings["pip_requirements"]["managerFilePatterns"]
    locks = sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "requirements").glob("*.txt"))

    assert settings["enabledManagers"] == list(covered)
    assert {"docker:pinDigests", "helpers:pinGitHubActionDigests"} <= set(settings["extends"])
    assert all((ROOT / file).is_file() for files in covered.values() for file in files)
    # The slashes mark it as a regular expression for Renovate. Renovate's own pattern would match none of these.
    assert [lock for lock in locks if re.search(pattern.strip("/"), lock)] == locks == covered["pip_requirements"]
    assert {name for rule in settings["packageRules"] for name in rule["matchManagers"]} <= covered.keys()


def test_a_release_starts_with_a_button_and_is_tested_before_anything_is_published() -> None:
    workflow = read("release.yml")
    jobs = workflow["jobs"]
    assert workflow["on"] == {"workflow_dispatch": ""}
    assert jobs["ci"]["needs"] == "version"
    assert "workflow_call" in read("ci.yml")["on"]
    assert jobs["build"]["needs"] == "ci"
    assert {name for name, job in jobs.items() if "build" in job.get("needs", "")} == {"pypi", "image"}
    assert jobs["tag"]["needs"] == ["version", "pypi", "image"]
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in str(jobs["pypi"])


@pytest.mark.parametrize(
    ("changelog", "tags", "mistake"),
    [
        (f"## [{__version__}]\n", ["v0.0.1"], ""),
        (f"## [{__version__}]\n", [f"v{__version__}"], "has been released"),
        ("## [0.0.1]\n", [], f"has no section [{__version__}]"),
    ],
)
def test_only_a_new_version_with_a_section_in_the_changelog_is_released(
    tmp_path: Path, changelog: str, tags: list[str], mistake: str
) -> None:
    (command,) = commands(read("release.yml")["jobs"]["version"])
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    (tmp_path / "addons").symlink_to(ROOT / "addons")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "Add nothing"], check=True)
    for tag in tags:
        subprocess.run([*git, "tag", tag], check=True)
    output = tmp_path / "output"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env={"PATH": path, "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode != 0) is bool(mistake), done.stderr
    assert mistake in done.stdout
    assert mistake or output.read_text() == f"version={__version__}\n"


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    text = "# Changelog\n\n## [1.1.0]\n\n- New.\n\n## [1.0.0] - 2026-01-02\n\n- The first.\n"
    assert notes(text, "1.0.0") == "- The first.\n"
    assert notes(text, "1.1.0") == "- New.\n"
    with pytest.raises(ValueError, match=r"has no section \[2\.0\.0\]"):
        notes(text, "2.0.0")
    assert notes(CHANGELOG.read_text(), __version__)
