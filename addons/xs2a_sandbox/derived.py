"""What came of a recording that rules were derived from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CASSETTES = "cassettes"
"""The directory of the rules, beside that of the recording."""


@dataclass(frozen=True, slots=True)
class Derived:
    """`left_out` says of which exchanges something is left out, and why."""

    rules: int
    kept: int
    files: tuple[Path, ...]
    left_out: tuple[str, ...]


def told(derived: Derived, directory: Path) -> Iterator[str]:
    """What came of it, in lines for a terminal."""
    yield from (f"left out: {reason}" for reason in derived.left_out)
    kept = f", {counted(derived.kept, 'rule')} of yours kept" if derived.kept else ""
    yield f"{counted(derived.rules, 'rule')} in {counted(len(derived.files), 'file')}{kept}:"
    yield from (f"  {file}" for file in derived.files)
    yield f"They answer with: xs2a-sandbox serve --cassettes {directory / CASSETTES}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
