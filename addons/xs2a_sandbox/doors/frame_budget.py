"""Counts the frames of an HTTP/2 connection before anything else reads them, and ends a connection that floods."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from h2.errors import ErrorCodes

from xs2a_sandbox.config.limits import Allowance, Limits

_PREFACE = 24
_FRAME_HEAD = 9
_DATA, _HEADERS, _SETTINGS, _CONTINUATION = 0x0, 0x1, 0x4, 0x9
_PADDED = 0x8

_SMALL = 1024
"""Bytes of a DATA frame below which reading the frame costs more than its content."""

_EARNED = 4
"""Frames that a client may send for each stream: the end of its body, and windows for the answer."""

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Excess:
    """The reason why a connection has to end."""

    code: ErrorCodes
    reason: str


class FrameBudget:
    """Reads the headers of a client's frames, and deducts their cost from the allowances in `limits`.

    A stream has a cost until it is answered. So it does not matter how a client wastes the sandbox's work: by resetting
    its streams, or by making the sandbox reset them.
    """

    def __init__(self, limits: Limits, largest: int, clock: Callable[[], float] = monotonic) -> None:
        self._largest = largest
        self._most_of_block = limits.head
        self._clock = clock
        self._streams = _Left(limits.unanswered_streams)
        self._frames = _Left(limits.frames)
        self._settings = _Left(limits.http2_settings)
        self._now = clock()
        self._skip = _PREFACE
        """Bytes up to the next frame header."""
        self._head = b""
        """The beginning of an incomplete frame header."""
        self._highest = 0
        self._block = 0

    def read(self, data: bytes) -> Excess | None:
        """Count received data, and return the first excess, if there is one."""
        now = self._clock()
        for left in (self._streams, self._frames, self._settings):
            left.refill(now - self._now)
        self._now = now
        data, position = self._head + data, self._skip
        while position + _FRAME_HEAD <= len(data):
            length = int.from_bytes(data[position : position + 3])
            stream = int.from_bytes(data[position + 5 : position + _FRAME_HEAD]) & 0x7FFFFFFF
            if excess := self._count(data[position + 3], data[position + 4], length, stream):
                return excess
            position += _FRAME_HEAD + length
        self._head, self._skip = data[position:], max(position - len(data), 0)
        return None

    def note_sent(self, size: int) -> None:
        """Note that a part of an answer was sent, so that the client may send window updates for it."""
        self._frames.earn(_EARNED + size // _KIB)

    def note_answered(self) -> None:
        """Return the cost of a stream."""
        self._streams.give_back()

    def _count(self, kind: int, flags: int, length: int, stream: int) -> Excess | None:
        if length > self._largest:
            # h2 would wait for the end of the frame, and keep everything until then.
            return Excess(ErrorCodes.FRAME_SIZE_ERROR, "a frame that is too large")
        if kind in (_HEADERS, _CONTINUATION):
            self._block = length + (self._block if kind == _CONTINUATION else 0)
            if self._block > self._most_of_block:
                return Excess(ErrorCodes.ENHANCE_YOUR_CALM, "headers that are too large")
        if kind == _HEADERS and stream > self._highest:
            self._highest = stream
            self._frames.earn(_EARNED)
            return self._streams.take(1, "streams that end before they are answered")
        if kind == _SETTINGS:
            return self._settings.take(1 + length // 6, "settings")
        if kind == _DATA and length >= _SMALL and not flags & _PADDED:
            return None
        return self._frames.take(1, "frames without a request")


class _Left:
    """The rest of an allowance."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._left = float(allowance.most)

    def refill(self, seconds: float) -> None:
        if self._left < self._allowance.most:
            self._left = min(self._left + seconds * self._allowance.per_second, self._allowance.most)

    def give_back(self) -> None:
        self._left = min(self._left + 1, self._allowance.most)

    def earn(self, amount: int) -> None:
        """Add units that have been paid for, even beyond the allowance."""
        self._left += amount

    def take(self, amount: int, what: str) -> Excess | None:
        self._left -= amount
        return None if self._left >= 0 else Excess(ErrorCodes.ENHANCE_YOUR_CALM, f"too many {what}")
