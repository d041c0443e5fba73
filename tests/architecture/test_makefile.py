"""Installations by make. Python, pip and uv are replaced by scripts that record their arguments."""

import os
import re
import subprocess
from pathlib import Path
from shutil import copy2

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN, DEV = "requirements/run.txt", "requirements/dev.txt"
PYTHON = """#!/bin/sh
case "$*" in
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python;;
*"-m pip install"*) echo "pip $*" >> new_installs; case "$*" in *"$REFUSED"*) echo "no such index" >&2; exit 1;; esac;;
esac
"""
UV = """#!/bin/sh
[ "$1" = --version ] || echo "uv $*" >> new_installs
exit $UV_FAILS
"""


class Checkout:
    """A folder with the files that the installation rules read."""

    def __init__(self, at: Path) -> None:
        self.at = at
        for name in ("Makefile", "pyproject.toml", RUN, DEV, "addons/xs2a_sandbox/__init__.py"):
            (at / name).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / name, at / name)
        (at / "tools").mkdir()
        self.add("python3.13", PYTHON)

    def add(self, name: str, script: str) -> None:
        file = self.at / "tools" / name
        file.write_text(script)
        file.chmod(0o755)

    def make(self, target: str, refused: str = "nothing", uv_fails: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.at / 'tools'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "REFUSED": refused,
            "UV_FAILS": str(uv_fails),
        }
        return subprocess.run(
            ["make", "--silent", target], cwd=self.at, env=environment, capture_output=True, text=True, check=False
        )

    def new_installs(self) -> list[str]:
        """Return the installations requested since the last call, without constant arguments."""
        file = self.at / "new_installs"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [re.sub(r" (-m pip|pip)? ?install.*?(?= --(require|no-deps|editable))", "", line) for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


FOR_RUNNING = ["pip --require-hashes --requirement requirements/run.txt", "pip --no-deps --editable ."]
FOR_TESTS = ["pip --require-hashes --requirement requirements/dev.txt"]


def test_run_installs_only_its_requirements_and_test_adds_the_others(checkout: Checkout) -> None:
    assert checkout.make("install").returncode == 0
    assert checkout.new_installs() == FOR_RUNNING
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.new_installs() == FOR_TESTS
    assert checkout.make("install").returncode == 0
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.new_installs() == []


def test_run_installs_nothing_after_test(checkout: Checkout) -> None:
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.new_installs() == FOR_RUNNING + FOR_TESTS
    assert checkout.make("install").returncode == 0
    assert checkout.new_installs() == []


@pytest.mark.parametrize("refused", ["--no-deps", "--requirement"])
def test_an_interrupted_install_is_repeated(checkout: Checkout, refused: str) -> None:
    assert checkout.make("install", refused=refused).returncode == (2 if refused == "--no-deps" else 0)
    new_installs = checkout.new_installs()
    if refused == "--no-deps":
        assert checkout.make("install").returncode == 0
        assert checkout.new_installs() == new_installs == FOR_RUNNING
    else:
        assert new_installs == [FOR_RUNNING[0], "pip --editable .", FOR_RUNNING[1]]


def test_a_failed_installation_is_reported(checkout: Checkout) -> None:
    made = checkout.make(".venv/.installed", refused="dev")
    assert made.returncode == 2
    assert (
        "Cannot install the versions in requirements/dev.txt. Installing other versions that pyproject.toml allows."
        in made.stderr
    )
    assert "Cannot install into .venv; the reason is above. Check that the package index is reachable" in made.stderr
    assert made.stderr.index("no such index") < made.stderr.index("Cannot install")
    checkout.new_installs()
    assert checkout.make("install").returncode == 0
    assert checkout.new_installs() == [], "the requirements of run are installed"
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.new_installs() == FOR_TESTS


def test_uv_installs_if_available_and_pip_if_uv_fails(checkout: Checkout) -> None:
    checkout.add("uv", UV.replace("exit $UV_FAILS", ""))
    assert checkout.make("install").returncode == 0
    assert checkout.new_installs() == [line.replace("pip", "uv", 1) for line in FOR_RUNNING]
    checkout.add("uv", UV.replace("exit $UV_FAILS", '[ "$1" = --version ]'))
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.new_installs() == [FOR_TESTS[0].replace("pip", "uv", 1), *FOR_TESTS]


def test_a_broken_uv_is_ignored(checkout: Checkout) -> None:
    """pyenv leaves shims behind for commands that are installed for another version of Python."""
    checkout.add("uv", UV)
    assert checkout.make("install", uv_fails=127).returncode == 0
    assert checkout.new_installs() == FOR_RUNNING


def test_run_and_dev_lock_the_same_versions() -> None:
    """Otherwise each installation would undo the other."""
    run, dev = (
        set(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", (ROOT / name).read_text(), re.MULTILINE)) for name in (RUN, DEV)
    )
    assert run
    assert run <= dev


def test_the_tests_for_other_versions_exist() -> None:
    edges = re.search(r"^EDGES := .*?,(?!\.py)((?:[^)]|\n)*?)\)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert edges
    names = edges.group(1).rpartition(",")[2].replace("\\", " ").split()
    assert len(names) > 10
    assert [name for name in names if not (ROOT / f"tests/{name}.py").is_file()] == []
