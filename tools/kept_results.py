"""Results of a long check, kept line by line: it may be interrupted and begun again, or be done in parts."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path


class KeptResults:
    """Results by their keys in a file of JSON lines, which may be several files put together.

    Each was found with `sources`; what was found with others counts no more, and the last one of a key counts.
    """

    def __init__(self, file: Path, sources: str) -> None:
        self._file = file
        self._sources = sources

    def read(self) -> Mapping[str, str]:
        if not self._file.exists():
            return {}
        entries = [entry for line in self._file.read_text().splitlines() if (entry := _entry(line))]
        return {key: result for sources, key, result in entries if sources == self._sources}

    def add(self, key: str, result: str) -> None:
        """Writes one, so that it stays whatever becomes of the process; begins a line of its own after half a one."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        begun = self._file.exists() and not self._file.read_bytes().endswith(b"\n") and self._file.stat().st_size > 0
        with self._file.open("a") as lines:
            lines.write(("\n" if begun else "") + json.dumps([self._sources, key, result]) + "\n")


def _entry(line: str) -> tuple[str, str, str] | None:
    try:
        sources, key, result = json.loads(line)
    except ValueError:
        return None
    return sources, key, result


def digest(files: Iterable[Path], root: Path) -> str:
    """One name for the contents of all these files, and where they are below the root."""
    whole = hashlib.sha256()
    for file in sorted(files):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        whole.update(f"{file.relative_to(root)} {content}\n".encode())
    return whole.hexdigest()[:16]


def every(part: str) -> slice:
    """Returns the slice of N/M: every Mth from the Nth on."""
    first, step = map(int, part.split("/"))
    if not 1 <= first <= step:
        raise ValueError(f"{part} is no part: 1/8 to 8/8 are those of eight")
    return slice(first - 1, None, step)
