"""Paths of cassettes: words, parameters and a tail, and the comparison of two paths."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from xs2a_sandbox.http.target import _split

_PARAMETER = re.compile(r"\{([A-Za-z_][\w-]*)(\*?)\}")

LITERAL, PARAMETER, TAIL = 2, 1, 0
WHOLE = 3
"""Goes before the rank of a path that is matched as a whole."""


@dataclass(frozen=True, slots=True)
class Segment:
    kind: int
    text: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path such as `/v1/consents/{consentId}/status`: literals, `{one}` segment, `{rest*}` for the tail."""

    text: str
    segments: tuple[Segment, ...]

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """Parse a path. Raises ValueError with a message for the author of the cassette."""
        if not text.startswith("/"):
            raise ValueError("a path must start with /")
        if "?" in text or "#" in text:
            raise ValueError("a path must not contain a query; write query parameters under the key query")
        segments = []
        parts = _split(text)
        for position, part in enumerate(parts):
            parameter = _PARAMETER.fullmatch(part)
            if not parameter:
                if "{" in part or "}" in part:
                    raise ValueError(f"{part!r} must be either a word or a single {{parameter}}")
                segments.append(Segment(LITERAL, unquote(part)))
            elif parameter[2] and position != len(parts) - 1:
                raise ValueError(f"{part} matches the rest of the path, so it must be last")
            else:
                segments.append(Segment(TAIL if parameter[2] else PARAMETER, parameter[1]))
        names = [s.text for s in segments if s.kind != LITERAL]
        if len(set(names)) != len(names):
            raise ValueError("each parameter needs a different name")
        return cls(text, tuple(segments))

    @property
    def rank(self) -> tuple[int, ...]:
        """The kinds of the segments from left to right. Greater is more literal."""
        return tuple(segment.kind for segment in self.segments)

    def is_whole(self, beginnings: Collection[str]) -> bool:
        """Return whether the pattern has segments before those with which the interface's own paths begin.

        `/berlingroup/v1` is an example.
        """
        if len(self.segments) < 2:
            return False
        first, *others = self.segments
        again = {first.text} if first.kind == LITERAL and first.text in beginnings else beginnings
        return any(segment.kind == LITERAL and segment.text in again for segment in others)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(s.text for s in self.segments if s.kind != LITERAL)

    def overlaps(self, other: "Pattern") -> bool:
        """Return whether one path can match both."""
        for mine, theirs in zip(self.segments, other.segments, strict=False):
            if TAIL in (mine.kind, theirs.kind):
                return True
            if mine.kind == theirs.kind == LITERAL and mine.text != theirs.text:
                return False
        shorter, longer = sorted((self.segments, other.segments), key=len)
        return len(shorter) == len(longer)

    def covers(self, other: "Pattern") -> bool:
        """Return whether every path that matches `other` matches this pattern."""
        for position, mine in enumerate(self.segments):
            if mine.kind == TAIL:
                return len(other.segments) > position
            if position >= len(other.segments) or other.segments[position].kind == TAIL:
                return False
            theirs = other.segments[position]
            if mine.kind == LITERAL and (theirs.kind != LITERAL or mine.text != theirs.text):
                return False
        return len(self.segments) == len(other.segments)


def beginnings(patterns: Iterable[Pattern]) -> frozenset[str]:
    """Return the literal first segments of these paths."""
    firsts = (pattern.segments[0] for pattern in patterns if pattern.segments)
    return frozenset(first.text for first in firsts if first.kind == LITERAL)
