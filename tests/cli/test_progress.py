"""Progress of long operations, shown on a terminal after two seconds."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from xs2a_sandbox.cli import progress
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import Verbosity


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """This is not a fixture, because pytest replaces standard error when the test starts."""
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    return terminal


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the time."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] = seconds

    return move


def test_a_terminal_shows_count_share_and_time_after_two_seconds(
    at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = a_terminal(monkeypatch)
    with Progress("comparing") as show:
        at(1.9)
        show(1, 8)
        assert stderr.getvalue() == ""
        at(2.1)
        show(4, 8, "1 with findings")
    line = stderr.getvalue().replace("\x1b[?25l", "")

    assert "comparing  [" in line
    assert "4/8   50%" in line
    assert "0:00:02 elapsed, 1 with findings" in line
    assert stderr.getvalue().endswith("\n")


def test_quick_work_shows_nothing(at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = a_terminal(monkeypatch)
    with Progress("comparing") as show:
        for done in range(1, 4):
            show(done, 3)

    assert stderr.getvalue() == ""


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str], at: Callable[[float], None]) -> None:
    with Progress("comparing") as show:
        at(9)
        show(1, 3)

    assert capsys.readouterr() == ("", "")


def test_quiet_shows_nothing(at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = a_terminal(monkeypatch)
    monkeypatch.setattr(Verbosity, "current", classmethod(lambda cls: cls.QUIET))
    with Progress("comparing") as show:
        at(9)
        show(1, 3)

    assert stderr.getvalue() == ""


def test_another_process_can_read_the_progress_in_a_file(
    at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "progress.json"
    monkeypatch.setenv("XS2A_SANDBOX_PROGRESS", str(file))
    with Progress("comparing") as show:
        at(10)
        show(2, 6)
        assert json.loads(file.read_text()) == {"done": 2, "of": 6, "left": 20}
        show(3, 6, left=4.5)
        assert json.loads(file.read_text()) == {"done": 3, "of": 6, "left": 4.5}
        file.unlink()
        tmp_path.rmdir()
        show(6, 6)
