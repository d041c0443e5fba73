"""Limits: the size of requests, the number of clients, and the time that each may keep the sandbox waiting."""

from dataclasses import dataclass
from itertools import chain

from xs2a_sandbox.config.readers import LONGEST
from xs2a_sandbox.http import Request

JOURNALED = 2000
"""The default number of exchanges in the journal."""
CONNECTIONS = 1000
"""The default number of connections at a time."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A rate limit for a connection: the allowance at once, and its increase per second."""

    most: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits, shared by the engine and all its doors."""

    target: int
    """The most bytes of path and query."""

    headers: int
    """The most bytes of the names and values of all headers."""

    body: int
    """The most bytes of a body. A door reads at most one byte more, so that the engine can detect a too large one."""

    swallowed: int
    """Bytes that a door reads and drops. A client that reads only after sending still gets its 413."""

    chunk_line: int
    """Bytes of a line between two chunks of a body, with its extensions, that are always accepted. More than three
    times as many are always rejected.
    """

    pipelined: int
    """The most requests that may wait on a connection of the direct door for earlier answers."""

    connections: int
    """The most connections at a time, of all doors together."""

    crowd: int
    """The most further connections that get an error about too many connections. Others are closed at once."""

    head_time: float
    """Seconds from the start of a connection or tunnel to the end of the first request's head, including TLS."""

    body_time: float
    """Seconds from the end of a head to the end of its body."""

    idle_time: float
    """Seconds from an answer to the end of the next head, and without progress while the client reads an answer."""

    answer_time: float
    """Seconds for an answer, including delays of a cassette."""

    unanswered_streams: Allowance
    """Streams of an HTTP/2 connection that are open, or ended without an answer. A hundred may be open at a time."""

    frames: Allowance
    """Frames of an HTTP/2 connection that open no stream and carry less than 1 KiB of a body.

    A stream allows a few more, and an answer a few more and one for each KiB.
    """

    http2_settings: Allowance
    """SETTINGS frames of an HTTP/2 connection, and the settings in them."""

    unsent: int
    """The most bytes of answers that may wait on an HTTP/2 connection for the client's windows."""

    @property
    def head(self) -> int:
        """The most bytes of a head, or of anything else between two bodies."""
        return self.target + 2 * self.headers

    def excess(self, request: Request) -> tuple[str, int] | None:
        """Return the name of the error for a too large request, with the exceeded limit, or None."""
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
"""The default limits. Only the number of connections can be changed by a setting."""
