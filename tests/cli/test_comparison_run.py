from io import StringIO
from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.compare import comparison_run

CASE = """\
    rules:
      - id: mine
        match: {path: "/own/{x}"}
        respond: {body: 1}
        examples:
          - {request: {where: {x: a}}, expect: {status: 200}}
          - {request: {where: {x: b}, body: {}}, expect: {status: 200}}
"""


def test_an_example_with_an_open_placeholder_is_reported_with_its_place(tmp_path: Path) -> None:
    layers = cassette(tmp_path, CASE.replace("where: {x: a}", ""))
    with pytest.raises(ConfigError, match=r"case\.yaml:\d+: the example has no value for \{x\}"):
        comparison_run.of_examples(an_engine(layers=layers).interface, [tmp_path])


class Terminal(StringIO):
    """Return the line on a terminal, or in a log."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def line(self) -> str:
        shown = ""
        for part in self.getvalue().split("\r"):
            shown = part + shown[len(part) :]
        return shown.rstrip()


def waiting(seconds: int) -> str:
    return f"waiting for the payment user, {seconds} s left; to skip this, use --sca-timeout 0"


def test_on_a_terminal_one_line_counts_down_and_disappears_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal(is_terminal=True))
    show = comparison_run._count_down()
    for _ in range(2):  # the second wait is for another payment user
        for seconds in (100, 99, 10, 9):
            show(seconds)
            assert terminal.line == waiting(seconds)
        show(0)
        assert terminal.line == ""
    assert "\n" not in terminal.getvalue()


def test_elsewhere_a_new_line_shows_the_remaining_time_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", log := Terminal(is_terminal=False))
    show = comparison_run._count_down()
    for seconds in [*range(100, 0, -1), 0, 5, 4, 0]:
        show(seconds)
    assert log.getvalue().splitlines() == [waiting(seconds) for seconds in (100, 70, 40, 10, 5)]
