"""What came of a recording, as a terminal shows it."""

from pathlib import Path

from xs2a_sandbox.recording.derive import Derived, report_lines


def test_what_was_written_and_what_was_not() -> None:
    directory = Path("tape")
    files = (Path("tape/cassettes/a.yaml"), Path("tape/cassettes/b.yaml"))
    assert list(report_lines(Derived(3, 1, files, ("GET /v1/x at noon: its path is no path",)), directory)) == [
        "left out: GET /v1/x at noon: its path is no path",
        "3 rules in 2 files, 1 rule of yours kept:",
        "  tape/cassettes/a.yaml",
        "  tape/cassettes/b.yaml",
        "They answer with: xs2a-sandbox serve --cassettes tape/cassettes",
    ]


def test_one_is_not_many_and_nothing_of_yours_is_not_said() -> None:
    first, *_ = report_lines(Derived(1, 0, (Path("a.yaml"),), ()), Path("tape"))
    assert first == "1 rule in 1 file:"
