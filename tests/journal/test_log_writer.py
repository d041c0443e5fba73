"""The text of the log is complete, and no line is torn by another process that writes to the same pipe."""

from io import BytesIO, StringIO, TextIOWrapper
from select import PIPE_BUF

from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.journal.log_writer import LogWriter


class Stream(StringIO):
    """Stores what each system call would have written."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._broken = broken

    def flush(self) -> None:
        if self._broken:
            raise BrokenPipeError
        self.calls.append(self.getvalue())
        self.seek(0)
        self.truncate()


def test_lines_are_written_together() -> None:
    stream = Stream()
    lines = LogWriter(stream)
    for text in ("a\nb\n", "", "c\n"):
        lines.write(text)
    assert stream.calls == ["a\nb\n", "c\n"]


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=700), max_size=60))
def test_no_line_is_torn_or_lost(texts: list[str]) -> None:
    stream = Stream()
    LogWriter(stream).write("".join(f"{text}\n" for text in texts))
    assert "".join(stream.calls).splitlines() == texts
    for call in stream.calls:
        assert call.endswith("\n")
        assert len(call.encode()) <= PIPE_BUF or call.count("\n") == 1


def test_a_line_longer_than_the_pipe_buffer_is_written_in_one_piece() -> None:
    stream, long = Stream(), "x" * (PIPE_BUF * 2)
    LogWriter(stream).write(f"before\n{long}\nafter\n")
    assert stream.calls == ["before\n", f"{long}\n", "after\n"]


def test_a_reader_that_has_gone_stops_nothing() -> None:
    stream = Stream(broken=True)
    lines = LogWriter(stream)
    lines.write("a\n")
    lines.write("b\n")
    assert stream.calls == []


def test_a_character_outside_the_encoding_does_not_lose_the_line() -> None:
    written = BytesIO()
    stream = TextIOWrapper(written, encoding="ascii", write_through=True)
    LogWriter(stream).write("before\nBäckerei\nafter\n")
    assert written.getvalue() == b"before\nB\\xe4ckerei\nafter\n"
