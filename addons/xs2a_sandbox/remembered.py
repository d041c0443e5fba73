"""What has been replaced once, so that it is found again inside of other texts."""

from collections import deque
from collections.abc import Iterator
from threading import Lock

from xs2a_sandbox.vocabulary import is_words

_SHORTEST, _LONGEST = 5, 200
"""Characters: shorter ones are found everywhere, longer ones are no names or numbers."""


class Remembered:
    """The last `limit` texts that were replaced, with their pseudonyms; upper and lower case are the same."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._lock = Lock()  # recordings are written in other threads
        self._order: deque[str] = deque()
        self._by_start: dict[str, dict[str, str]] = {}

    def add(self, text: str, pseudonym: str) -> None:
        text = _lower(text.strip())
        if not _SHORTEST <= len(text) <= _LONGEST or is_words(text):
            return
        with self._lock:
            if text not in self._by_start.get(text[:_SHORTEST], ()):
                if len(self._order) >= self._limit:
                    self._forget(self._order.popleft())
                self._order.append(text)
            self._by_start.setdefault(text[:_SHORTEST], {})[text] = pseudonym.strip()

    def knows(self, text: str) -> bool:
        text = _lower(text.strip())
        return text in self._by_start.get(text[:_SHORTEST], ())

    def inside(self, text: str) -> bool:
        with self._lock:
            return next(self._found(text), None) is not None

    def replaced(self, text: str) -> str:
        """The text with pseudonyms where it holds one of the remembered."""
        pieces, end = [], 0
        with self._lock:
            for start, original, pseudonym in self._found(text):
                if start >= end:
                    pieces += [text[end:start], pseudonym]
                    end = start + len(original)
        return "".join([*pieces, text[end:]])

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where one of the remembered stands as a whole word or words, and its pseudonym."""
        spans: list[tuple[int, int, str]] = []
        with self._lock:
            for start, original, pseudonym in self._found(text):
                end = start + len(original)
                if start >= (spans[-1][1] if spans else 0) and not _inside_a_word(text, start, end):
                    spans.append((start, end, pseudonym))
        return spans

    def _found(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Where it begins, what it is, its pseudonym; the longest of those that begin at the same place first."""
        text = _lower(text)
        for start in range(len(text) - _SHORTEST + 1):
            for original in sorted(self._by_start.get(text[start : start + _SHORTEST], ()), key=len, reverse=True):
                if text.startswith(original, start):
                    yield start, original, self._by_start[original[:_SHORTEST]][original]

    def _forget(self, text: str) -> None:
        same_start = self._by_start[text[:_SHORTEST]]
        del same_start[text]
        if not same_start:
            del self._by_start[text[:_SHORTEST]]


def _inside_a_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()


def _lower(text: str) -> str:
    """Every character where it was: the lower case of some is two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
