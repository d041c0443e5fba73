"""What a terminal shows of a run beside those before it."""

from io import StringIO

from rich.console import Console

from tests.compare.reports.test_report import comparison
from tests.compare.test_history import run
from xs2a_sandbox.compare.history import changes
from xs2a_sandbox.compare.reports import changes as told_changes
from xs2a_sandbox.compare.reports.report import report


def test_it_is_told_by_what_has_changed() -> None:
    before = [run("stays", "goes", "flaps"), run("stays", "goes")]
    text = StringIO()
    made = report(comparison(({}, {})), "bank", None)
    told_changes.write(made, changes(before, run("stays", "comes", "flaps")), 2, Console(file=text, width=160))
    first = [line.split() for line in text.getvalue().splitlines() if " value at " in line]
    assert [(words[0], words[4]) for words in first] == [
        ("new", "/comes"), ("gone", "/goes"), ("flaps", "/flaps"), ("standing", "/stays"),
    ]  # fmt: skip
    assert "drift since 2 runs: 1 new, 1 gone, 1 flaps, 1 standing, 0 not compared" in text.getvalue()
