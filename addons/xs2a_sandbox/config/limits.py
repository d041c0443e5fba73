"""How much of a request is taken, how many clients there may be, and how long each may keep the sandbox waiting."""

from dataclasses import dataclass
from itertools import chain

from xs2a_sandbox.config.readers import LONGEST
from xs2a_sandbox.http import Request

JOURNALED = 200
"""Exchanges that the journal keeps where the settings do not say how many."""
CONNECTIONS = 1000
"""Connections at a time where the settings do not say how many."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A number of things that a connection may do at once, and how many more it may do with each second."""

    most: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """One object of them, which the engine and all its doors share."""

    target: int
    """Bytes of path and query."""

    headers: int
    """Bytes of the headers' names and values."""

    body: int
    """Bytes of a body. A door reads one byte more at most, so that the engine can tell one that is too large."""

    swallowed: int
    """Bytes a door swallows so that a client which sends first and reads later still sees its 413."""

    chunk_line: int
    """Bytes of a line between two chunks of a body, with its extensions, that are always read; of more than three times
    as many none are."""

    pipelined: int
    """Requests that may wait on a connection of the direct door for the answers to those before them."""

    connections: int
    """Connections at a time, all doors together."""

    crowd: int
    """More that are told that there are too many. The next are closed as they come."""

    head_time: float
    """Seconds from the beginning of a connection, or of a tunnel, to the end of the first request's head, with TLS."""

    body_time: float
    """Seconds from the end of a head to the end of its body."""

    idle_time: float
    """Seconds from an answer to the end of the next head; and without a byte taken of an answer."""

    answer_time: float
    """Seconds for one answer, those included that a cassette may delay it by."""

    unanswered_streams: Allowance
    """Streams of an HTTP/2 connection that are open, or ended without an answer. A hundred may be open at a time."""

    frames: Allowance
    """Frames of an HTTP/2 connection that open no stream and bring less than 1 KiB of a body.

    A stream brings a few with it, and an answer a few more and one for each KiB.
    """

    http2_settings: Allowance
    """SETTINGS frames of an HTTP/2 connection, and the settings in them."""

    unsent: int
    """Bytes of answers that may wait on an HTTP/2 connection for its client's windows."""

    @property
    def head(self) -> int:
        """Bytes of a head, or of anything else that comes between two bodies, after which a door reads no further."""
        return self.target + 2 * self.headers

    def excess(self, request: Request) -> tuple[str, int] | None:
        """The error that a request is for being too large, by name, with the limit that it does not keep."""
        if len(request.target) > self.target:
            return "target-too-long", self.target
        if len("".join(chain.from_iterable(request.headers.pairs))) > self.headers:
            return "headers-too-large", self.headers
        return ("body-too-large", self.body) if len(request.body) > self.body else None


USUAL = Limits(
    target=8 * 1024,
    headers=64 * 1024,
    body=1024 * 1024,
    swallowed=64 * 1024 * 1024,
    chunk_line=16 * 1024,
    pipelined=100,
    connections=CONNECTIONS,
    crowd=100,
    head_time=30.0,
    body_time=300.0,
    idle_time=75.0,
    answer_time=LONGEST + 30,
    unanswered_streams=Allowance(300, 100),
    frames=Allowance(10_000, 1000),
    http2_settings=Allowance(200, 10),
    unsent=128 * 1024 * 1024,
)
"""A setting changes the number of connections; none changes the others."""
