"""Runs as forks of a process that has imported the libraries before."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tests.support.doors import wait_until
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.command import Command, Ended
from xs2a_sandbox.features.campaign.warm_python import PythonProgram, find_program

APP = """
import os, sys, colorsys
print(os.environ["XS2A_SANDBOX_URL"], sys.argv[1:], __name__, sys.path[0] == os.path.dirname(__file__))
print("loaded before" if hasattr(sys, "warm") else "new", file=sys.stderr)
sys.warm = True
if "die" in sys.argv:
    os.kill(os.getpid(), 9)
if "wait" in sys.argv:
    __import__("threading").Event().wait()
sys.exit(3)
"""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "app.py").write_text(APP)
    cold = Command((sys.executable, "app.py", "one"), {}, tmp_path)
    warm = cold.warm_up()
    assert warm
    yield replace(cold, warm=warm)
    warm.stop()


def run(command: Command, *, url: str = "http://a", seconds: float = 60) -> Ended:
    return command.run({"XS2A_SANDBOX_URL": url}, command.directory, seconds, Event())


def test_a_fork_behaves_like_the_command(command: Command) -> None:
    cold = run(replace(command, warm=None))
    first = run(command)
    assert command.warm
    assert command.warm.load()
    second = run(command, url="http://b")

    assert cold.output == "http://a ['one'] __main__ True\nnew\n"
    assert (first.output, first.status) == (cold.output, cold.status) == (cold.output, 3)
    # Nothing of an earlier run is left, and the environment is new.
    assert (second.output, second.status) == (cold.output.replace("//a", "//b"), 3)
    assert second.processor_seconds > 0


def test_a_command_with_variables_of_python_is_not_forked(command: Command) -> None:
    assert replace(command, variables={"PYTHONPATH": "src"}).warm_up() is None


def test_a_fork_runs_in_the_time_zone_of_its_environment(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import time; print(time.localtime(0).tm_hour)")
    cold = Command((sys.executable, "app.py"), {"TZ": "EST5"}, tmp_path)
    warm = cold.warm_up()
    assert warm
    try:
        first = run(replace(cold, warm=warm))
        assert warm.load()
        second = run(replace(cold, warm=warm, variables={"TZ": "XST-14"}))
    finally:
        warm.stop()

    assert (first.output, second.output) == ("19\n", "14\n")


def test_a_fork_that_dies_or_hangs_is_recognised(command: Command) -> None:
    words = (sys.executable, "app.py")
    dies = run(replace(command, words=(*words, "die"), warm=None))
    for warm in (None, Command((*words, "die"), {}, command.directory).warm_up()):
        dies = run(replace(command, words=(*words, "die"), warm=warm))
        assert (dies.signal, dies.hung) == ("SIGKILL", False)
        if warm:
            warm.stop()
    waits = Command((*words, "wait"), {}, command.directory)
    warm = waits.warm_up()
    assert warm
    hangs = run(replace(waits, warm=warm), seconds=1)
    warm.stop()
    assert (hangs.signal, hangs.hung) == (None, True)


def test_a_run_after_the_end_of_the_process_is_an_error(command: Command) -> None:
    assert command.warm
    command.warm.stop()
    with pytest.raises(UserMistake, match="cannot run"):
        run(command)


def test_the_program_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = {"tests": "#!/opt/bin/python3.12 -B\n", "binary": "\x7fELF", "shell": "#!/bin/sh\n"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_program(["python3", "-B", "-m", "pytest", "-q"]) == PythonProgram(
        ("python3", "-B"), "pytest", ("-q",), is_module=True
    )
    assert find_program(["/x/python", "app.py", "-m"]) == PythonProgram(("/x/python",), "app.py", ("-m",))
    assert find_program(["tests", "-q"]) == PythonProgram(
        ("/opt/bin/python3.12", "-B"), str(tmp_path / "tests"), ("-q",)
    )
    others = (["python", "-c", "pass"], ["python", "-X", "dev", "a.py"], ["python"], ["binary"], ["shell"], ["none"])
    assert [find_program(words) for words in others] == [None] * len(others)


def test_the_process_ends_with_a_campaign_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    code = (
        "import sys; from pathlib import Path; from xs2a_sandbox.features.campaign.command import Command\n"
        "warm = Command((sys.executable, 'app.py'), {}, Path.cwd()).warm_up()\n"
        "warm._connect().close(); print(warm._address, flush=True); input()"
    )
    campaign = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert campaign.stdout
    address = campaign.stdout.readline().strip()
    assert listens(address)

    campaign.kill()
    campaign.communicate()

    wait_until(lambda: not listens(address))


def listens(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(address) == 0
