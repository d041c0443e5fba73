"""Random bytes of the operating system, read in advance: asking it for each new id takes as long as making the rest."""

import os
from collections import deque

SIZE = 16
"""Bytes of one draw."""
_DRAWS = 256

_waiting: deque[bytes] = deque()
# A process that continues a copy of this one must not draw the same bytes.
os.register_at_fork(after_in_child=_waiting.clear)


def draw() -> bytes:
    """Return SIZE random bytes that nobody can predict. Each draw is returned once, also to threads."""
    try:
        return _waiting.pop()
    except IndexError:
        read = os.urandom(SIZE * _DRAWS)
        first, *others = (read[start : start + SIZE] for start in range(0, len(read), SIZE))
        _waiting.extend(others)
        return first
