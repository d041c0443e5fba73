"""What make installs, and when: with an interpreter, a pip and a uv that only write down what they are asked."""

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
*"-m pip install"*) echo "pip $*" >> asked; case "$*" in *"$REFUSED"*) echo "no such index" >&2; exit 1;; esac;;
esac
"""
UV = """#!/bin/sh
[ "$1" = --version ] || echo "uv $*" >> asked
exit $UV_FAILS
"""


class Checkout:
    """A folder with what the rules of installing read."""

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

    def asked(self) -> list[str]:
        """What was asked to be installed since the last look, without the words that are always the same."""
        file = self.at / "asked"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [re.sub(r" (-m pip|pip)? ?install.*?(?= --(require|no-deps|editable))", "", line) for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


FOR_RUNNING = ["pip --require-hashes --requirement requirements/run.txt", "pip --no-deps --editable ."]
FOR_TESTS = ["pip --require-hashes --requirement requirements/dev.txt"]


def test_running_installs_what_running_needs_and_tests_add_the_rest(checkout: Checkout) -> None:
    assert checkout.make("install").returncode == 0
    assert checkout.asked() == FOR_RUNNING
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.asked() == FOR_TESTS
    assert checkout.make("install").returncode == 0
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.asked() == []


def test_tests_first_leave_nothing_to_install_for_running(checkout: Checkout) -> None:
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.asked() == FOR_RUNNING + FOR_TESTS
    assert checkout.make("install").returncode == 0
    assert checkout.asked() == []


@pytest.mark.parametrize("refused", ["--no-deps", "--requirement"])
def test_an_interrupted_install_is_made_again(checkout: Checkout, refused: str) -> None:
    assert checkout.make("install", refused=refused).returncode == (2 if refused == "--no-deps" else 0)
    asked = checkout.asked()
    if refused == "--no-deps":
        assert checkout.make("install").returncode == 0
        assert checkout.asked() == asked == FOR_RUNNING
    else:
        assert asked == [FOR_RUNNING[0], "pip --editable .", FOR_RUNNING[1]]


def test_what_cannot_be_installed_is_said(checkout: Checkout) -> None:
    made = checkout.make(".venv/.installed", refused="dev")
    assert made.returncode == 2
    assert "What requirements/dev.txt locks cannot be installed here: taking what pyproject.toml allows." in made.stderr
    assert "Cannot install into .venv; the reason is above. Is the package index within reach" in made.stderr
    assert made.stderr.index("no such index") < made.stderr.index("Cannot install")
    checkout.asked()
    assert checkout.make("install").returncode == 0
    assert checkout.asked() == [], "what running needs is there"
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.asked() == FOR_TESTS


def test_uv_installs_where_it_runs_and_pip_where_uv_fails(checkout: Checkout) -> None:
    checkout.add("uv", UV.replace("exit $UV_FAILS", ""))
    assert checkout.make("install").returncode == 0
    assert checkout.asked() == [line.replace("pip", "uv", 1) for line in FOR_RUNNING]
    checkout.add("uv", UV.replace("exit $UV_FAILS", '[ "$1" = --version ]'))
    assert checkout.make(".venv/.installed").returncode == 0
    assert checkout.asked() == [FOR_TESTS[0].replace("pip", "uv", 1), *FOR_TESTS]


def test_a_uv_that_does_not_run_is_none(checkout: Checkout) -> None:
    """pyenv leaves commands behind for what is installed for another version of Python."""
    checkout.add("uv", UV)
    assert checkout.make("install", uv_fails=127).returncode == 0
    assert checkout.asked() == FOR_RUNNING


def test_what_runs_is_locked_in_the_same_versions_for_tests() -> None:
    """Else the one install would undo the other."""
    run, dev = (
        dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", (ROOT / name).read_text(), re.MULTILINE)) for name in (RUN, DEV)
    )
    assert run
    assert run.items() <= dev.items()


def test_the_tests_of_other_versions_are_there() -> None:
    edges = re.search(r"^EDGES := .*?,(?!\.py)((?:[^)]|\n)*?)\)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert edges
    names = edges.group(1).rpartition(",")[2].replace("\\", " ").split()
    assert len(names) > 10
    assert [name for name in names if not (ROOT / f"tests/{name}.py").is_file()] == []
