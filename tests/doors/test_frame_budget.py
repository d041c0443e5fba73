from collections.abc import Iterable

import h2.errors
import pytest
from hyperframe.frame import DataFrame, Frame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as some

from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.frame_budget import FrameBudget

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LARGEST = 2**17
NOW = [0.0]


def budget() -> FrameBudget:
    """Return a budget for which no time passes unless a test changes it."""
    NOW[0] = 0.0
    made = FrameBudget(USUAL, LARGEST, lambda: NOW[0])
    assert made.read(PREFACE) is None
    return made


def request(stream: int) -> bytes:
    return HeadersFrame(stream, b"\x82", flags=("END_HEADERS", "END_STREAM")).serialize()


def wire(frames: Iterable[Frame]) -> bytes:
    return b"".join(frame.serialize() for frame in frames)


def test_any_number_of_answered_requests_is_free() -> None:
    counting = budget()
    for start in range(1, 20_001, 200):
        for stream in range(start, start + 200, 2):
            body = wire([DataFrame(stream, b"{}"), DataFrame(stream, flags=("END_STREAM",))])
            assert counting.read(request(stream) + body) is None
        for _ in range(100):
            counting.note_sent(500)
            counting.note_answered()
    assert counting.read(PingFrame(0).serialize()) is None


def test_unanswered_streams_are_counted_and_expire() -> None:
    counting, most = budget(), USUAL.unanswered_streams.most
    assert counting.read(b"".join(request(1 + 2 * number) for number in range(most))) is None
    NOW[0] = 1.0
    after = range(most, most + int(USUAL.unanswered_streams.per_second))
    assert counting.read(b"".join(request(1 + 2 * number) for number in after)) is None
    excess = counting.read(request(2 * most + 1001))
    assert excess is not None
    assert excess.code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("settings", [{}, {1: 0}, dict.fromkeys(range(100, 300), 0)])
def test_each_setting_is_counted(settings: dict[int, int]) -> None:
    counting = budget()
    frame = SettingsFrame(0, settings).serialize()
    fitting = USUAL.http2_settings.most // (1 + len(settings))
    assert [counting.read(frame) for _ in range(fitting)] == [None] * fitting
    assert counting.read(frame)


FRAMES = [
    request(1),
    request(3),
    RstStreamFrame(1).serialize(),
    DataFrame(3, b"a" * 5000).serialize(),
    DataFrame(3, b"").serialize(),
    SettingsFrame(0, {4: 1}).serialize(),
    PingFrame(0).serialize(),
]


@given(some.lists(some.sampled_from(FRAMES), max_size=30), some.lists(some.integers(1, 40), min_size=1))
def test_frames_are_counted_regardless_of_how_their_bytes_are_split(frames: list[bytes], sizes: list[int]) -> None:
    whole, pieces = budget(), FrameBudget(USUAL, LARGEST, lambda: 0.0)
    data, position, number = PREFACE + b"".join(frames), 0, 0
    assert whole.read(data[len(PREFACE) :]) is None
    while position < len(data):
        size = sizes[number % len(sizes)]
        assert pieces.read(data[position : position + size]) is None
        position, number = position + size, number + 1
    left = [
        vars(one[name])["_left"] for one in (vars(whole), vars(pieces)) for name in ("_streams", "_frames", "_settings")
    ]
    assert left[:3] == left[3:]
