"""Lines of the log: all of them, in their order, and none torn by another process that writes into the same pipe."""

import asyncio
from io import BytesIO, StringIO, TextIOWrapper
from select import PIPE_BUF

from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.journal.log_writer import LogWriter


class Stream(StringIO):
    """Keeps what each call of the system would have been given."""

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


def write(stream: Stream, *batches: list[str]) -> None:
    """Writes the lines of each batch before the first of them is due."""

    async def work() -> None:
        lines = LogWriter(stream)
        for texts in batches:
            for text in texts:
                lines.write(text)
            lines.close()

    asyncio.run(work())


def test_lines_are_written_together() -> None:
    stream = Stream()
    write(stream, ["a", "b"], [], ["c"])
    assert stream.calls == ["a\nb\n", "c\n"]


def test_lines_are_written_without_being_asked_for() -> None:
    class Watched(Stream):
        def flush(self) -> None:
            super().flush()
            written.set()

    async def work() -> None:
        LogWriter(stream).write("one")
        await asyncio.wait_for(written.wait(), 10)

    written, stream = asyncio.Event(), Watched()
    asyncio.run(work())
    assert stream.calls == ["one\n"]


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=700), max_size=60))
def test_no_call_is_torn_and_no_line_is_lost(texts: list[str]) -> None:
    stream = Stream()
    write(stream, texts)
    assert "".join(stream.calls).splitlines() == texts
    for call in stream.calls:
        assert len(call.encode()) <= PIPE_BUF or call.count("\n") == 1


def test_who_reads_no_more_stops_nothing() -> None:
    stream = Stream(broken=True)
    write(stream, ["a"], ["b"])
    assert stream.calls == []


def test_a_character_that_the_encoding_has_not_costs_no_line() -> None:
    written = BytesIO()

    async def work() -> None:
        lines = LogWriter(TextIOWrapper(written, encoding="ascii", write_through=True))
        for text in ("before", "Bäckerei", "after"):
            lines.write(text)
        lines.close()
        assert written.getvalue() == b"before\nB\\xe4ckerei\nafter\n"

    asyncio.run(work())
