import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from xs2a_sandbox import __version__

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PINNED = re.compile(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+|[0-9a-f]{40})|\./")
"""By its major version, or by the digest that Renovate puts in its place. The repository is an action itself."""


def read(name: str) -> dict[str, Any]:
    # Without resolving scalars: `on` is a key, not the truth.
    return yaml.load((ROOT / ".github" / "workflows" / name).read_text(), yaml.BaseLoader)


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("name", [file.name for file in WORKFLOWS])
def test_it_is_a_workflow(name: str) -> None:
    workflow = read(name)
    assert workflow["name"]
    assert workflow["on"]
    # What a job may do beyond reading it has to say itself.
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


def test_renovate_pins_digests_and_covers_all_that_is_installed() -> None:
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
    # Slashes around it tell Renovate that it is an expression; its own pattern would match none of these.
    assert [lock for lock in locks if re.search(pattern.strip("/"), lock)] == locks == covered["pip_requirements"]
    assert {name for rule in settings["packageRules"] for name in rule["matchManagers"]} <= covered.keys()


def test_a_release_begins_with_a_tag_and_is_tested() -> None:
    workflow = read("release.yml")
    jobs = workflow["jobs"]
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert jobs["ci"]["needs"] == "version"
    assert "workflow_call" in read("ci.yml")["on"]
    assert jobs["build"]["needs"] == "ci"
    assert {name for name, job in jobs.items() if job.get("needs") == "build"} == {"pypi", "image"}
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in str(jobs["pypi"])


@pytest.mark.parametrize(("tag", "passes"), [(f"v{__version__}", True), ("v0.0.0", False), (__version__, False)])
def test_a_tag_has_to_be_the_version(tag: str, passes: bool) -> None:
    (command,) = commands(read("release.yml")["jobs"]["version"])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env={"PATH": path, "GITHUB_REF_NAME": tag},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode == 0) is passes
    assert ("::error::" in done.stdout) is not passes
